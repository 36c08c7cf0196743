//! The pages, as a browser sees them

use std::{
    collections::{BTreeSet, VecDeque},
    fs,
    time::{Duration, Instant},
};

use blue_sandbox::{Config, Sandbox, Seed};
use reqwest::Method;
use serde_json::Value;

use crate::visitor::{Answer, Visitor, start};

const EVIL: &str = r#"
users:
  - { login: root, admin: true, full_name: "<script>name</script>" }
repositories:
  - owner: root
    name: evil
    description: "<script>description</script>"
    files:
      "<script>file.txt": "<script>content</script>\n"
      "<script>dir/README.md": "<script>readme</script>\n"
      ".sandbox/ci.yaml": |
        workflows:
          - { name: "<script>ci.yaml", on: [push, pull_request], jobs: [{ name: "<script>job", context: "<script>context", log: "<script>log</script>" }] }
    commits:
      - { message: "<script>message</script>", files: { "<b>.txt": "1\n" } }
      - { branch: "<script>branch", message: "<script>on a branch", files: { "<b>.txt": "<script>2\n" } }
    tags: [{ name: "<script>tag", message: "<script>tag message" }]
    pulls: [{ head: "<script>branch", title: "<script>title</script>", body: "<script>body</script>" }]
"#;

async fn seeded(text: &str) -> (Sandbox, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seed.yaml");
    fs::write(&file, text).unwrap();
    (
        start(Config {
            seed: Seed::File(file),
            ..Config::default()
        })
        .await,
        folder,
    )
}

async fn signed_in(sandbox: &Sandbox) -> Visitor {
    let mut web = Visitor::new(sandbox);
    let user = sandbox.users()[0].clone();
    web.sign_in(&user).await;
    web
}

/// Open a page, going where it is sent
async fn open(web: &mut Visitor, address: &str) -> Answer {
    let mut page = web.get(address).await;
    for _ in 0..3 {
        if !(300..400).contains(&page.status) {
            break;
        }
        let to = page.location.split('#').next().unwrap().to_owned();
        page = web.get(&to).await;
    }
    page
}

fn links(page: &Answer) -> impl Iterator<Item = String> + '_ {
    page.text.split(" href=\"").skip(1).filter_map(|rest| {
        let address = rest.split('"').next()?.split('#').next()?;
        let address = address.replace("&amp;", "&");
        address.starts_with('/').then_some(address)
    })
}

/// Follow every link of this forge from the first page on
async fn walk(web: &mut Visitor) -> Vec<(String, Answer)> {
    let mut waiting = VecDeque::from(["/".to_owned()]);
    let mut seen: BTreeSet<String> = waiting.iter().cloned().collect();
    let mut pages = Vec::new();
    while let Some(address) = waiting.pop_front() {
        let page = open(web, &address).await;
        assert_eq!(page.status, 200, "{address}");
        for link in links(&page) {
            if seen.insert(link.clone()) {
                waiting.push_back(link);
            }
        }
        assert!(seen.len() < 2_000, "the pages do not end");
        pages.push((address, page));
    }
    pages
}

#[tokio::test]
async fn every_link_of_the_demo_opens_and_nothing_is_loaded_from_elsewhere() {
    let sandbox = start(Config {
        seed: Seed::Demo,
        ..Config::default()
    })
    .await;
    let mut web = signed_in(&sandbox).await;
    let pages = walk(&mut web).await;
    assert!(pages.len() > 60, "{}", pages.len());
    for (address, page) in &pages {
        if !page.header("content-type").starts_with("text/html") {
            continue;
        }
        let policy = page.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; style-src 'sha256-"),
            "{address}"
        );
        for foreign in ["<script", " src=", "@import", "onclick", "javascript:"] {
            let shown = page.text.replace("&lt;script", "");
            assert!(!shown.contains(foreign), "{address}: {foreign}");
        }
    }
    let text = |address: &str| {
        let found = pages.iter().find(|(seen, _)| seen == address);
        &found
            .unwrap_or_else(|| panic!("{address} was not reached"))
            .1
            .text
    };
    assert!(
        text("/").contains("dotfiles"),
        "the owner sees what is private"
    );
    let logo = text("/acme/storefront/src/branch/main/public/logo.png");
    assert!(logo.contains("A binary file"), "{logo}");
    // The forge takes a moment to know.
    until_it_says(
        &mut web,
        "/acme/storefront/pulls/1",
        "does not have enough approvals",
    )
    .await;
    until_it_says(
        &mut web,
        "/acme/storefront/pulls/2",
        "its branches conflict",
    )
    .await;
    until_it_says(&mut web, "/acme/inventory/pulls/1", "it is a draft").await;
}

async fn until_it_says(web: &mut Visitor, address: &str, words: &str) {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let page = open(web, address).await;
        if page.text.contains(words) {
            return;
        }
        assert!(
            Instant::now() < end,
            "{address} never said `{words}`: {}",
            page.text
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn whatever_people_write_is_escaped() {
    let (sandbox, _folder) = seeded(EVIL).await;
    let mut web = signed_in(&sandbox).await;
    let pages = walk(&mut web).await;
    let mut escaped = 0;
    for (address, page) in &pages {
        if page.header("content-type").starts_with("text/html") {
            assert!(!page.text.contains("<script"), "{address}: {}", page.text);
            escaped += page.text.matches("&lt;script").count();
        } else {
            assert!(
                page.header("content-type").starts_with("text/plain"),
                "{address}"
            );
            assert_eq!(
                page.header("x-content-type-options"),
                "nosniff",
                "{address}"
            );
        }
    }
    assert!(escaped > 50, "{escaped}");
}

#[tokio::test]
async fn the_paths_of_both_forges_lead_to_the_same_pages() {
    let sandbox = start(Config {
        seed: Seed::Demo,
        ..Config::default()
    })
    .await;
    let mut web = Visitor::new(&sandbox);
    let head = web.get("/acme/storefront/commits").await;
    let sha = head.text.split("/acme/storefront/commit/").nth(1).unwrap()[..40].to_owned();
    let short = &sha[..8];
    for address in [
        "/explore/repos".to_owned(),
        "/acme/storefront.git".to_owned(),
        "/acme/storefront/".to_owned(),
        "/ACME/Storefront".to_owned(),
        "/acme/storefront/src/branch/feature%2Fdiscount/src/shop/basket.py".to_owned(),
        "/acme/storefront/blob/feature/discount/src/shop/basket.py".to_owned(),
        "/acme/storefront/tree/main/docs".to_owned(),
        "/acme/storefront/src/tag/v0.1.0/README.md".to_owned(),
        "/acme/storefront/releases/tag/v0.1.0".to_owned(),
        "/acme/storefront/pull/1".to_owned(),
        "/acme/storefront/pulls/1/files".to_owned(),
        "/acme/storefront/actions/runs/1/job/1".to_owned(),
        "/acme/storefront/actions/runs/1/jobs/1".to_owned(),
        "/acme/storefront/runs/1".to_owned(),
        "/acme/storefront/compare/main...feature/discount".to_owned(),
        format!("/acme/storefront/commit/{sha}"),
        format!("/acme/storefront/commit/{short}"),
        format!("/acme/storefront/src/commit/{sha}/README.md"),
        format!("/acme/storefront/blob/{sha}/README.md"),
    ] {
        assert_eq!(open(&mut web, &address).await.status, 200, "{address}");
    }
    let diff = web.get("/acme/storefront/pulls/1.diff").await;
    assert!(diff.text.starts_with("diff --git "), "{diff:?}");
    let patch = web
        .get(&format!("/acme/storefront/commit/{sha}.patch"))
        .await;
    assert!(patch.text.starts_with("From "), "{patch:?}");
    for address in [
        "/nobody",
        "/acme/nothing",
        "/acme/storefront/pulls/99",
        "/acme/storefront/pulls/x",
        "/acme/storefront/src/branch/nope",
        "/acme/storefront/src/branch/main/nope",
        "/acme/storefront/commit/0000000000000000000000000000000000000000",
        "/acme/storefront/actions/runs/99",
        "/acme/storefront/whatever",
    ] {
        let page = web.get(address).await;
        assert_eq!(page.status, 404, "{address}");
        assert!(page.text.contains("Not found"), "{address}");
    }
}

#[tokio::test]
async fn private_repositories_are_seen_by_those_who_may() {
    let sandbox = start(Config {
        seed: Seed::Demo,
        ..Config::default()
    })
    .await;
    let mut stranger = Visitor::new(&sandbox);
    assert!(!stranger.get("/").await.text.contains("dotfiles"));
    assert_eq!(stranger.get("/alice/dotfiles").await.status, 404);
    let file = "/alice/dotfiles/raw/branch/main/.gitconfig";
    assert_eq!(stranger.get(file).await.status, 404);
    let token = sandbox.users()[0].token.expose().to_owned();
    // A token opens files, not pages.
    let request = stranger.request(Method::GET, file).bearer_auth(&token);
    assert_eq!(
        stranger.send(request).await.text,
        "[pull]\n\trebase = true\n"
    );
    let request = stranger
        .request(Method::GET, "/alice/dotfiles")
        .bearer_auth(&token);
    assert_eq!(stranger.send(request).await.status, 404);
    let mut owner = signed_in(&sandbox).await;
    assert_eq!(owner.get("/alice/dotfiles").await.status, 200);
    assert_eq!(owner.get(file).await.status, 200);
}

/// Every `html_url` in an answer, and the addresses to look further at
fn html_urls(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(rows) => rows.iter().for_each(|row| html_urls(row, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let page =
                    ["html_url", "diff_url", "patch_url", "avatar_url"].contains(&name.as_str());
                match value.as_str() {
                    Some(url) if page && !url.is_empty() => {
                        found.insert(url.to_owned());
                    }
                    _ => html_urls(value, found),
                }
            }
        }
        _ => {}
    }
}

#[tokio::test]
async fn every_html_url_of_both_doors_opens() {
    let sandbox = start(Config {
        seed: Seed::Demo,
        ..Config::default()
    })
    .await;
    let token = sandbox.users()[0].token.expose().to_owned();
    let mut web = signed_in(&sandbox).await;
    let (gitea, github) = (sandbox.gitea_api(), sandbox.github_api());
    let mut found = BTreeSet::new();
    let mut repos = Vec::new();
    for name in [
        "acme/storefront",
        "acme/inventory",
        "acme/legacy-billing",
        "alice/dotfiles",
        "bob/notes",
    ] {
        repos.push(format!("{gitea}/repos/{name}"));
        repos.push(format!("{github}/repos/{name}"));
    }
    let mut asked = vec![
        format!("{gitea}/user"),
        format!("{github}/user"),
        format!("{gitea}/orgs/acme"),
    ];
    for repo in repos {
        let below = [
            "",
            "/branches",
            "/tags",
            "/commits",
            "/pulls?state=all",
            "/contents",
            "/contents/docs",
            "/contents/README.md",
            "/actions/runs",
            "/actions/runs/1/jobs",
            "/pulls/1",
            "/pulls/1/files",
            "/pulls/1/commits",
            "/pulls/2/reviews",
            "/commits/main/status",
            "/commits/main/check-runs",
            "/compare/main...euros",
            "/git/refs/tags/v0.1.0",
            "/contents/%E6%97%A5%E6%9C%AC%E8%AA%9E",
            "/contents/100%25%20sure%3F.md",
            "/contents/bin?ref=main",
        ];
        asked.extend(below.iter().map(|path| format!("{repo}{path}")));
    }
    for address in asked {
        let request = web.request(Method::GET, &address).bearer_auth(&token);
        let answer = web.send(request).await;
        if answer.status == 200 {
            html_urls(&answer.json(), &mut found);
        }
    }
    assert!(found.len() > 60, "{found:?}");
    let mut broken = Vec::new();
    for url in &found {
        assert!(url.starts_with(sandbox.url()), "{url}");
        let page = open(&mut web, url.split('#').next().unwrap()).await;
        if page.status != 200 {
            broken.push((page.status, url));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
