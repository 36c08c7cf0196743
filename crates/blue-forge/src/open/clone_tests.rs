//! What a clone may decide: its remote and its `.blue/config.yaml`

use std::{fs, path::PathBuf};

use super::{
    tests::{Bench, host, named, on, plain},
    *,
};
use crate::{detect::FoundBy, stub::Stub, token::TokenError};

const HELPER_LOG: &str = "helper-ran";

/// A helper that ignores the host, and leaves a file where it ran
fn with_helper(mut bench: Bench) -> (Bench, PathBuf) {
    bench.git_credentials = true;
    let log = bench.repo.path().parent().unwrap().join(HELPER_LOG);
    let helper = format!(
        "!f() {{ echo ran >>'{}'; echo username=x; echo password=hunter2; }}; f",
        log.display()
    );
    bench
        .repo
        .git(&["config", "--global", "credential.helper", &helper]);
    (bench, log)
}

fn file_of(host: &Host, owner: &str, repo: &str) -> String {
    format!("forge:\n  type: gitea\n  host: \"{host}\"\n  owner: {owner}\n  repo: {repo}\n")
}

fn track(bench: &Bench) {
    bench.repo.git(&["add", "-f", ".blue/config.yaml"]);
    bench.repo.git(&["commit", "-q", "-m", "settings"]);
}

fn exclude(bench: &Bench) -> String {
    fs::read_to_string(bench.repo.path().join(".git/info/exclude")).unwrap_or_default()
}

#[cfg(unix)]
#[tokio::test]
async fn git_is_not_asked_for_a_host_that_only_the_file_names() {
    let evil = Stub::gitea().await;
    let (bench, log) = with_helper(Bench::new());
    bench.config(&file_of(&evil.host(), "alice", "demo"));
    for ask in [Ask::default(), on(&evil.host())] {
        let located = bench.call(ask).await.unwrap();
        assert!(located.credential.is_none());
        assert!(
            located
                .notices
                .iter()
                .any(|n| n.contains("blue forge trust")),
            "{:?}",
            located.notices
        );
    }
    // A command that a person types, without naming the host, is no better.
    let typed = bench
        .forges()
        .typed()
        .locate(&Ask::default())
        .await
        .unwrap();
    assert!(typed.credential.is_none());
    assert!(!log.exists() && !evil.got_token());
    // Named by a person, the helper is theirs to give.
    let bench = bench.hosts(&format!("\"{}\":\n  type: gitea\n", evil.host()));
    assert!(
        bench
            .call(Ask::default())
            .await
            .unwrap()
            .credential
            .is_some()
    );
    assert!(log.exists());
}

#[cfg(unix)]
#[tokio::test]
async fn git_is_asked_for_the_remote_whatever_the_file_names() {
    let (good, evil) = (Stub::gitea().await, Stub::gitea().await);
    let (bench, log) = with_helper(Bench::cloned_from(&good.url("/alice/demo")));
    bench.config(&file_of(&evil.host(), "alice", "demo"));
    track(&bench);
    let located = bench.call(Ask::default()).await.unwrap();
    assert!(located.credential.is_some() && log.exists());
    assert!(good.got_token() && !evil.got_token());
}

#[cfg(unix)]
#[tokio::test]
async fn a_guess_gets_no_token_from_anywhere() {
    let site = Stub::start(|_| (404, None, "<html>".into())).await;
    let (bench, log) = with_helper(Bench::cloned_from(&site.url("/alice/demo")));
    assert!(bench.call(Ask::default()).await.unwrap().found.guess);
    let typed = bench.forges().typed();
    assert!(typed.locate(&on(&site.host())).await.unwrap().found.guess);
    let bench = bench
        .var("MINE", "hunter2")
        .hosts(&format!("\"{}\":\n  token_env: MINE\n", site.host()));
    let located = bench.call(Ask::default()).await.unwrap();
    assert!(
        located.notices[0].contains("`type:`"),
        "{:?}",
        located.notices
    );
    let bench = bench.var("GITHUB_TOKEN", "hunter2");
    bench.forges().trust(&site.host()).await.unwrap();
    let error = bench.call(Ask::default()).await.unwrap_err();
    assert!(
        matches!(plain(&error), OpenError::Token(TokenError::Guess { .. })),
        "{error}"
    );
    assert!(!log.exists() && !site.got_token());
}

#[tokio::test]
async fn a_host_that_claims_to_be_github_is_not_the_first_of_a_token() {
    let evil = Stub::start(|path| match path {
        "/api/v3/meta" => (200, Some(("x-github-request-id", "1".into())), "{}".into()),
        _ => (404, None, String::new()),
    })
    .await;
    let bench = Bench::cloned_from(&evil.url("/alice/demo")).var("GITHUB_TOKEN", "hunter2");
    let error = bench.call(Ask::default()).await.unwrap_err();
    assert!(matches!(plain(&error), OpenError::Token(_)), "{error}");
    assert!(!evil.got_token());
    bench.forges().trust(&evil.host()).await.unwrap();
    bench.call(Ask::default()).await.unwrap();
    assert!(evil.got_token());
}

#[tokio::test]
async fn an_untracked_file_is_rewritten_after_the_remote() {
    let (old, new) = (Stub::gitea().await, Stub::gitea().await);
    let bench = Bench::cloned_from(&old.url("/alice/demo")).var("FORGEJO_TOKEN", "hunter2");
    bench.locate(Ask::default()).await.unwrap();
    let text = fs::read_to_string(bench.config_path()).unwrap();
    fs::write(bench.config_path(), format!("# ours\nrealm: x\n{text}")).unwrap();
    bench
        .repo
        .git(&["remote", "set-url", "origin", &new.url("/bob/site")]);
    let bench = bench.var("FORGEJO_URL", &new.url("/"));
    let forges = bench.forges();
    let opened = forges.open(&Ask::default()).await.unwrap();
    assert_eq!(opened.repo.to_string(), "bob/site");
    assert_eq!(opened.found.host, Some(new.host()));
    assert!(opened.reads_only.is_none());
    assert!(
        opened.notices[0].contains(&format!("now names {} bob/site", new.host())),
        "{:?}",
        opened.notices
    );
    let text = fs::read_to_string(bench.config_path()).unwrap();
    let wanted = file_of(&new.host(), "bob", "site");
    assert_eq!(text, format!("# ours\nrealm: x\n{wanted}"));
    let again = bench.forges().open(&Ask::default()).await.unwrap();
    assert_eq!(again.notices, Vec::<String>::new());
}

#[tokio::test]
async fn a_tracked_file_that_disagrees_allows_reads_only() {
    let gitea = Stub::gitea().await;
    let bench = Bench::cloned_from(&gitea.url("/acme/storefront"));
    let text = file_of(&gitea.host(), "alice", "prod");
    bench.config(&text);
    track(&bench);
    let forges = bench.forges();
    // Said with every call, also where opening costs nothing.
    for _ in 0..3 {
        let opened = forges.open(&Ask::default()).await.unwrap();
        assert_eq!(opened.repo.to_string(), "acme/storefront");
        assert!(
            matches!(opened.reads_only, Some(ReadsOnly::FileDisagrees { .. })),
            "{opened:?}"
        );
        let said = opened.notices.iter().filter(|n| n.contains("alice/prod"));
        assert_eq!(said.count(), 1, "{:?}", opened.notices);
    }
    let opened = forges.open(&named()).await.unwrap();
    assert_eq!(opened.repo.to_string(), "alice/demo");
    assert!(opened.reads_only.is_none());
    assert_eq!(fs::read_to_string(bench.config_path()).unwrap(), text);
    assert!(!exclude(&bench).contains(".blue"));
    // The type is taken from it: that is about the host, which is the same.
    assert_eq!(opened.found.found_by, Some(FoundBy::Config));
    // A file that names another host says nothing about this one.
    bench.config("forge: {type: github, host: git.example.org}\n");
    let opened = bench.forges().open(&Ask::default()).await.unwrap();
    assert_eq!(opened.found.kind, DetectedType::Gitea);
    // Written the way the remote has it, there is nothing to say.
    bench.config(&file_of(&gitea.host(), "Acme", "storefront"));
    let opened = bench.forges().open(&Ask::default()).await.unwrap();
    assert_eq!((opened.notices.len(), opened.reads_only), (0, None));
}

#[tokio::test]
async fn without_a_remote_the_file_serves_reads_only() {
    let gitea = Stub::gitea().await;
    for remote in [
        None,
        Some("/srv/git/x.git"),
        Some("https://evil.com\\@x/a/b"),
    ] {
        let bench = remote.map_or_else(Bench::new, Bench::cloned_from);
        let bench = bench.var("FORGEJO_TOKEN", "hunter2").var("MINE", "hunter3");
        bench.config(&file_of(&gitea.host(), "alice", "demo"));
        let error = bench.locate(Ask::default()).await.unwrap_err();
        assert!(matches!(plain(&error), OpenError::Token(_)), "{error}");
        let OpenError::Noticed { notices, .. } = &error else {
            panic!("{error}");
        };
        assert!(notices[0].contains("for reading only"), "{notices:?}");
        // Named in `hosts.yaml`, it has a token.
        let bench = bench.hosts(&format!(
            "\"{}\":\n  trusted: 2026-01-01T00:00:00Z\n",
            gitea.host()
        ));
        let located = bench.locate(Ask::default()).await.unwrap();
        assert!(located.credential.is_some());
        let alone = Some(ReadsOnly::FileAlone {
            file: format!("{} alice/demo", gitea.host()),
        });
        assert_eq!(located.reads_only, alone);
        let whole = bench.locate(on(&gitea.host())).await.unwrap();
        assert_eq!(whole.reads_only, None);
    }
}

#[tokio::test]
async fn an_ssh_host_is_mapped_to_its_web_host_in_hosts_yaml() {
    let gitea = Stub::gitea().await;
    let bench = Bench::cloned_from("git@ssh.invalid:alice/demo.git");
    bench.config(&file_of(&gitea.host(), "alice", "demo"));
    let located = bench.locate(Ask::default()).await.unwrap();
    assert_eq!(located.endpoint.host, host("ssh.invalid"));
    let advice = format!("`ssh_host: ssh.invalid` below `{}:`", gitea.host());
    let said = located.standing.join("\n");
    assert!(
        said.contains(&advice) && said.contains("hosts.yaml"),
        "{said}"
    );
    // Followed, the advice works.
    let entry = format!(
        "\"{}\":\n  type: gitea\n  ssh_host: ssh.invalid\n",
        gitea.host()
    );
    let bench = bench.hosts(&entry);
    let located = bench.locate(Ask::default()).await.unwrap();
    assert_eq!(located.endpoint.host, gitea.host());
    assert_eq!((located.standing.len(), located.reads_only), (0, None));
}

#[tokio::test]
async fn a_cached_file_is_kept_out_of_git_status() {
    let gitea = Stub::gitea().await;
    let bench = Bench::cloned_from(&gitea.url("/alice/demo"));
    bench.locate(Ask::default()).await.unwrap();
    assert!(bench.config_path().exists());
    let line = "/.blue/config.yaml\n";
    assert!(exclude(&bench).ends_with(line), "{}", exclude(&bench));
    // One that an older version made is hidden too, once.
    fs::write(bench.repo.path().join(".git/info/exclude"), "").unwrap();
    for _ in 0..2 {
        bench.locate(Ask::default()).await.unwrap();
        assert_eq!(exclude(&bench), line);
    }
    // In a linked work tree git reads the same exclude file.
    bench
        .repo
        .git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    bench
        .repo
        .git(&["worktree", "add", "-q", "../linked", "-b", "two"]);
    let linked = bench.repo.path().parent().unwrap().join("linked");
    bench.forges_in(&linked).detect_here(None).await.unwrap();
    assert!(linked.join(".blue/config.yaml").exists());
    assert_eq!(exclude(&bench), line);
    // A tracked file without `forge:` is not added to: that would be a change of the repository.
    let bench = Bench::cloned_from(&gitea.url("/alice/demo"));
    bench.config("realm: x\n");
    track(&bench);
    bench.locate(Ask::default()).await.unwrap();
    assert_eq!(
        fs::read_to_string(bench.config_path()).unwrap(),
        "realm: x\n"
    );
    assert!(!exclude(&bench).contains(".blue"));
}

#[tokio::test]
async fn read_only_creates_and_changes_nothing_in_the_clone() {
    let gitea = Stub::gitea().await;
    let mut bench = Bench::cloned_from(&gitea.url("/alice/demo"));
    bench.read_only = true;
    let before = exclude(&bench);
    bench.locate(Ask::default()).await.unwrap();
    assert!(!bench.repo.path().join(".blue").exists());
    let text = file_of(&gitea.host(), "bob", "other");
    bench.config(&text);
    let located = bench.locate(Ask::default()).await.unwrap();
    assert_eq!(located.repo.to_string(), "alice/demo");
    assert!(
        located.standing[0].contains("bob/other"),
        "{:?}",
        located.standing
    );
    assert_eq!(fs::read_to_string(bench.config_path()).unwrap(), text);
    assert_eq!(exclude(&bench), before);
}

#[tokio::test]
async fn the_type_is_the_one_that_the_server_reports() {
    let gitea = Stub::gitea().await;
    for variable in ["FORGEJO_URL", "GITEA_URL"] {
        let bench = Bench::cloned_from(&gitea.url("/alice/demo")).var(variable, &gitea.url("/"));
        let here = bench.forges().detect_here(None).await.unwrap();
        assert_eq!(here.found.kind, DetectedType::Gitea, "{variable}");
        let url = gitea.url("/alice/demo");
        let there = bench.forges().detect_url(&url).await.unwrap();
        assert_eq!(there.kind, DetectedType::Gitea, "{variable}");
        let kept = fs::read_to_string(bench.config_path()).unwrap();
        assert!(kept.contains("type: gitea"), "{kept}");
    }
    // Where no clone keeps it, it is known to be open, and asked when it is needed.
    let bench = Bench::new().var("FORGEJO_URL", &gitea.url("/"));
    let opened = bench.forges().open(&named()).await.unwrap();
    assert!(opened.found.family_only);
    assert_eq!(opened.forge.flavor().await.unwrap(), crate::Flavor::Gitea);
    // A page that is no forge is not made one by a variable.
    let site = Stub::start(|_| (200, None, "<html>".into())).await;
    let bench = Bench::cloned_from(&site.url("/a/b")).var("FORGEJO_URL", &site.url("/"));
    let here = bench.forges().detect_here(None).await.unwrap();
    assert!(here.found.failure.is_some_and(|failure| failure.answered));
    assert!(!bench.config_path().exists());
    let survey = bench.forges().survey(&Ask::default()).await.unwrap();
    let failure = survey.probe_failure().await.unwrap().to_string();
    assert!(failure.contains("is not a forge"), "{failure}");
}

#[tokio::test]
async fn a_plain_host_of_hosts_yaml_is_not_tried_with_tls() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, mut heads) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = vec![0; 4096];
            let read = stream.read(&mut head).await.unwrap_or(0);
            let plain = head[..read].starts_with(b"GET ");
            tell.send(plain).unwrap();
            let body = r#"{"version":"1.26.0"}"#;
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    let bench = Bench::new().hosts(&format!("\"{address}\":\n  type: gitea\n"));
    let located = bench.locate(named()).await.unwrap();
    assert_eq!(
        located.endpoint.api.as_str(),
        format!("http://{address}/api/v1/")
    );
    let mut tried = Vec::new();
    while let Ok(plain) = heads.try_recv() {
        tried.push(plain);
    }
    assert!(
        !tried.is_empty() && tried.iter().all(|plain| *plain),
        "{tried:?}"
    );
}
