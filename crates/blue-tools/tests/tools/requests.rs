//! What the loop of one change asks of a forge: each request is known, explained and needed

use std::time::Duration;

use blue_forge::model::Sha;
use blue_testkit::{Backend, Cx, Repo, Result, eventually};
use blue_tools::ErrorCode;
use serde_json::{Value, json};

use crate::{
    desk::{self, Desk},
    proxy::Proxy,
};

blue_testkit::on_every_forge![
    each_request_of_the_loop_is_explained,
    lists_of_their_own_and_no_blob_to_hold_against_fit_as_well,
    what_was_read_a_moment_ago_is_held_against_what_is_there,
    a_branch_that_came_meanwhile_is_written_on,
    a_default_branch_that_changed_meanwhile_is_found,
    a_pull_request_that_changed_meanwhile_is_looked_at,
    a_branch_that_went_on_after_the_merge_stays,
];

/// Where every request is explained, one table for each family
const EXPLAINED: &str = include_str!("../../../../bench/requests.md");
/// The most that a loop may take
fn most(cx: &Cx) -> usize {
    if cx.backend.is_github() { 26 } else { 20 }
}
const FILE: &str = "docs/guide.md";

/// The tools of one user, and what they asked
struct Counted {
    desk: Desk,
    repo: Repo,
    proxy: Proxy,
    asked: Vec<(String, String)>,
}

impl Counted {
    async fn start(cx: &Cx) -> Result<Self> {
        let (_, repo) = desk::start(cx).await?;
        for n in 0..10 {
            let path = format!("{n}.txt");
            let files = [(path.as_str(), b"text".as_slice())];
            cx.lab.pr_with(&repo, &format!("open/{n}"), &files).await?;
        }
        for n in 0..14 {
            cx.lab.branch(&repo, &format!("other/{n}"), "main").await?;
        }
        let guide = "A line of the guide.\n".repeat(143);
        let files = [(FILE, guide.as_bytes())];
        cx.lab.write(&repo, "main", &files).await?;
        let proxy = Proxy::start(&cx.lab.server().url, Duration::ZERO).await?;
        Ok(Self {
            desk: Desk::at(&proxy.url, cx, &repo.owner, &repo, |_| {}),
            repo,
            proxy,
            asked: Vec::new(),
        })
    }

    async fn call(&mut self, tool: &str, args: Value) -> Result<Value> {
        let answer = self.desk.call(tool, args).await?;
        let asked = self.proxy.take().requests;
        let home = format!("repos/{}", self.repo.id);
        let asked = asked.iter().map(|request| plain(request, &home));
        let asked = asked.map(|request| (tool.to_owned(), request));
        self.asked.extend(asked);
        Ok(answer)
    }

    /// One change from the first look to the tag
    async fn round(&mut self, cx: &Cx, n: usize, lists: bool, guarded: bool) -> Result<()> {
        let branch = format!("change/{n}");
        self.call("repo_status", json!({})).await?;
        if lists {
            self.call("branch_list", json!({})).await?;
            self.call("pr_list", json!({})).await?;
        }
        let read = self.call("file_read", json!({"path": FILE})).await?;
        let mut write = json!({
            "branch": branch, "path": FILE, "message": "Change the guide",
            "content": format!("Version {n} of the guide.\n"),
        });
        if guarded {
            write["sha"] = read["sha"].clone();
        }
        let written = self.call("file_write_branch", write).await?;
        assert_eq!(written["branch_created"], true);
        let made = json!({"head": branch, "base": "main", "title": "Change the guide"});
        let made = self.call("pr_create", made).await?;
        let number = made["pr_number"].as_u64().unwrap();
        self.settled(cx, number).await?;
        let verdict = self.call("pr_verify", json!({"index": number})).await?;
        assert_eq!(verdict["can_merge"], "yes", "{verdict:#}");
        let merge = json!({"index": number, "head_sha": verdict["head_sha"]});
        let merged = self.call("pr_merge", merge).await?;
        assert_eq!(merged["merged"], true);
        self.call("branch_delete", json!({"branch": branch}))
            .await?;
        let tag = json!({"tag": format!("v{n}"), "target": "main"});
        let tag = self.call("tag_create", tag).await?;
        assert_eq!(tag["commit_sha"], merged["commit_sha"]);
        Ok(())
    }

    /// Waits until the forge has computed mergeability, so that no request of the test is a poll
    async fn settled(&self, cx: &Cx, number: u64) -> Result<()> {
        let limit = Duration::from_secs(30);
        eventually("the forge knows that it merges", limit, async || {
            let pr = cx.lab.pr_json(&self.repo, number).await?;
            Ok((pr["mergeable"] == true).then_some(()))
        })
        .await
    }
}

/// `GET …/pulls/N` for `GET /api/v1/repos/OWNER/NAME/pulls/31?page=1`
fn plain(request: &str, home: &str) -> String {
    let (method, path) = request.split_once(' ').unwrap();
    let path = path.split('?').next().unwrap();
    let (_, path) = path.split_once(home).unwrap_or(("", path));
    let path = path.replace("change%2F", "change/");
    let mut words: Vec<&str> = Vec::new();
    for word in path.split('/') {
        let ends: Vec<&str> = word.split("...").collect();
        let is_id = |text: &str| Sha::parse(text).is_ok();
        let word = match ends[..] {
            [one] if is_id(one) => "SHA",
            [a, b] if is_id(a) && is_id(b) => "SHA...SHA",
            [a, "main"] if is_id(a) => "SHA...main",
            _ if word.bytes().all(|b| b.is_ascii_digit()) && !word.is_empty() => "N",
            _ => word,
        };
        words.push(word);
    }
    let path = words.join("/").replace("change/N", "BRANCH");
    format!("{method} …{path}")
}

/// While the forge computes whether the branches merge
fn is_asked_again((tool, request): &(String, String)) -> bool {
    let of_pr = request.contains("/pulls/N") && !request.ends_with("/reviews");
    of_pr && matches!(tool.as_str(), "pr_verify" | "pr_merge")
}

/// The rows `| tool | request | why |` of one table
fn explained(family: &str) -> Vec<(String, String)> {
    let title = format!("## {family}\n");
    let (_, rest) = EXPLAINED.split_once(&title).unwrap();
    let table = rest.split("\n#").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let mut cells = row.split('|').map(str::trim).skip(1);
        let mut next = || cells.next().unwrap().trim_matches('`').to_owned();
        let (tool, request, why) = (next(), next(), next());
        assert!(!why.is_empty(), "{request} is not explained");
        (tool, request)
    })
    .collect()
}

async fn each_request_of_the_loop_is_explained(cx: Cx) -> Result<()> {
    let github = cx.backend.is_github();
    let family = if github {
        "GitHub"
    } else {
        "Gitea and Forgejo"
    };
    let mut known = explained(family);
    known.sort();
    let mut counted = Counted::start(&cx).await?;
    // The second time the session knows more, and needs no less.
    for n in 1..=2 {
        counted.round(&cx, n, false, true).await?;
        let mut asked = std::mem::take(&mut counted.asked);
        asked.sort();
        // Forgejo knows at once; the others may have to be asked again whether the branches merge.
        if cx.backend != Backend::SandboxForgejo {
            asked.dedup_by(|one, other| one == other && is_asked_again(one));
        }
        assert_eq!(asked, known, "{asked:#?}");
        assert!(asked.len() <= most(&cx), "{asked:#?}");
    }
    Ok(())
}

async fn lists_of_their_own_and_no_blob_to_hold_against_fit_as_well(cx: Cx) -> Result<()> {
    let mut counted = Counted::start(&cx).await?;
    counted.round(&cx, 1, true, false).await?;
    let mut asked = counted.asked;
    asked.sort();
    asked.dedup_by(|one, other| one == other && is_asked_again(one));
    // Both lists are asked for in vain: what they told was known.
    let lists = if cx.backend.is_github() { 2 } else { 0 };
    assert!(asked.len() <= most(&cx) + lists, "{asked:#?}");
    Ok(())
}

/// Another client changes the file between the read and the write
async fn what_was_read_a_moment_ago_is_held_against_what_is_there(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    desk.call("repo_status", json!({})).await?;
    let read = desk.call("file_read", json!({"path": "README.md"})).await?;
    let theirs = [("README.md", b"theirs".as_slice())];
    cx.lab.write(&repo, "main", &theirs).await?;
    for branch in ["main", "topic"] {
        let write = json!({
            "branch": branch, "path": "README.md", "content": "ours", "sha": read["sha"],
        });
        let error = desk.refused("file_write_branch", write).await;
        assert_eq!(error.code, ErrorCode::Conflict, "{error:?}");
    }
    assert_eq!(cx.lab.raw(&repo, "main", "README.md").await?, b"theirs");
    let missing = desk
        .refused("branch_delete", json!({"branch": "topic"}))
        .await;
    assert_eq!(
        missing.code,
        ErrorCode::NotFound,
        "no branch was left behind"
    );
    // The same content again makes no commit, whatever is remembered.
    desk.call("file_read", json!({"path": "README.md"})).await?;
    let same = json!({"branch": "main", "path": "README.md", "content": "theirs"});
    let same = desk.call("file_write_branch", same).await?;
    assert_eq!(same["unchanged"], true, "{same:#}");
    Ok(())
}

async fn a_branch_that_came_meanwhile_is_written_on(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    desk.call("repo_status", json!({})).await?;
    desk.call("file_read", json!({"path": "README.md"})).await?;
    let theirs = [("theirs.txt", b"theirs".as_slice())];
    let tip = cx.lab.write_new(&repo, "topic", "main", &theirs).await?;
    let ours = json!({"branch": "topic", "path": "README.md", "content": "ours"});
    let written = desk.call("file_write_branch", ours).await?;
    assert_eq!(written.get("branch_created"), None, "{written:#}");
    assert_eq!(cx.lab.raw(&repo, "topic", "theirs.txt").await?, b"theirs");
    assert_eq!(cx.lab.raw(&repo, "topic", "README.md").await?, b"ours");
    assert_ne!(cx.lab.head(&repo, "topic").await?, tip);
    Ok(())
}

async fn a_default_branch_that_changed_meanwhile_is_found(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    desk.call("repo_status", json!({})).await?;
    desk.call("file_read", json!({"path": "README.md"})).await?;
    cx.lab.branch(&repo, "trunk", "main").await?;
    let trunk = json!({"default_branch": "trunk"});
    cx.lab.edit_repo(&repo, &trunk).await?;
    cx.lab.delete_branch(&repo, "main").await?;
    let write = json!({"branch": "topic", "path": "README.md", "content": "ours"});
    let written = desk.call("file_write_branch", write).await?;
    assert_eq!(written["branch_created"], true);
    let made = json!({"head": "topic", "title": "Change"});
    let made = desk.call("pr_create", made).await?;
    let pr = cx.lab.pr_json(&repo, made["pr_number"].as_u64().unwrap());
    assert_eq!(pr.await?["base"]["ref"], "trunk");
    let error = desk
        .refused("branch_delete", json!({"branch": "trunk"}))
        .await;
    assert_eq!(error.code, ErrorCode::Forbidden, "{error:?}");
    Ok(())
}

/// Pinned to what was verified, a merge does not look first; the forge does
async fn a_pull_request_that_changed_meanwhile_is_looked_at(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let files = |text: &'static str| [("a.txt", text.as_bytes())];
    let number = cx.lab.pr_with(&repo, "topic", &files("one")).await?;
    let verdict = desk.call("pr_verify", json!({"index": number})).await?;
    let merge = json!({"index": number, "head_sha": verdict["head_sha"]});
    let moved = cx.lab.write(&repo, "topic", &files("two")).await?;
    let error = desk.refused("pr_merge", merge).await;
    assert_eq!(error.code, ErrorCode::Conflict, "{error:?}");
    let hint = error.hint.unwrap();
    assert!(hint.contains(moved.as_str()), "{hint}");

    let verdict = desk.call("pr_verify", json!({"index": number})).await?;
    assert_eq!(verdict["can_merge"], "yes", "{verdict:#}");
    let merge = json!({"index": number, "head_sha": verdict["head_sha"]});
    let other = Desk::new(&cx, &repo.owner, &repo);
    let theirs = other.call("pr_merge", merge.clone()).await?;
    let ours = desk.call("pr_merge", merge).await?;
    assert_eq!(ours["already"], true, "{ours:#}");
    assert_eq!(ours["commit_sha"], theirs["commit_sha"]);

    let number = cx.lab.pr_with(&repo, "other", &[("b.txt", b"b")]).await?;
    let verdict = desk.call("pr_verify", json!({"index": number})).await?;
    cx.lab.close_pr(&repo, number).await?;
    let merge = json!({"index": number, "head_sha": verdict["head_sha"]});
    let error = desk.refused("pr_merge", merge).await;
    assert_eq!(error.code, ErrorCode::NotMergeable, "{error:?}");
    assert!(error.message.contains("is closed"), "{error:?}");
    Ok(())
}

async fn a_branch_that_went_on_after_the_merge_stays(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    let verdict = desk.call("pr_verify", json!({"index": number})).await?;
    let merge = json!({"index": number, "head_sha": verdict["head_sha"], "style": "squash"});
    desk.call("pr_merge", merge).await?;
    let more = [("b.txt", b"b".as_slice())];
    cx.lab.write(&repo, "topic", &more).await?;
    let error = desk
        .refused("branch_delete", json!({"branch": "topic"}))
        .await;
    assert_eq!(error.code, ErrorCode::Conflict, "{error:?}");
    cx.lab.head(&repo, "topic").await?;
    Ok(())
}
