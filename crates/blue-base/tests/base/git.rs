//! The git module on the real git

use std::path::Path;

use blue_base::git::*;
use blue_testkit::GitRepo;

#[tokio::test]
async fn remotes_branches_and_folders() {
    let repo = GitRepo::new();
    let git = repo.program();
    assert_eq!(
        git.remotes(&repo.path()).await.unwrap(),
        Vec::<String>::new()
    );
    repo.git(&["remote", "add", "upstream", "https://x.example/o/r"]);
    repo.git(&["remote", "add", "fork", "short:r"]);
    repo.git(&[
        "config",
        "--global",
        "url.https://y.example/o/.insteadOf",
        "short:",
    ]);
    assert_eq!(
        git.remotes(&repo.path()).await.unwrap(),
        ["fork", "upstream"]
    );
    assert_eq!(
        git.remote_url(&repo.path(), "fork").await.unwrap(),
        "https://y.example/o/r"
    );
    assert_eq!(
        git.current_branch(&repo.path()).await.unwrap().as_deref(),
        Some("main")
    );
    assert_eq!(
        git.upstream_remote(&repo.path(), "main").await.unwrap(),
        None
    );
    repo.git(&["config", "branch.main.remote", "upstream"]);
    let upstream = git.upstream_remote(&repo.path(), "main").await.unwrap();
    assert_eq!(upstream.as_deref(), Some("upstream"));

    repo.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    repo.git(&["worktree", "add", "-q", "../linked", "-b", "two"]);
    let linked = repo.path().parent().unwrap().join("linked");
    assert_eq!(git.toplevel(&linked).await.unwrap(), Some(linked.clone()));
    assert_eq!(
        git.common_dir(&linked).await.unwrap(),
        repo.path().join(".git")
    );
    let sub = linked.join("a");
    std::fs::create_dir(&sub).unwrap();
    assert_eq!(git.toplevel(&sub).await.unwrap(), Some(linked));
    repo.git(&["checkout", "-q", "--detach"]);
    assert_eq!(git.current_branch(&repo.path()).await.unwrap(), None);
}

#[tokio::test]
async fn what_is_no_repository() {
    let repo = GitRepo::new();
    let git = repo.program();
    let outside = repo.path().parent().unwrap().to_owned();
    assert!(!git.is_repository(&outside).await.unwrap());
    assert!(!git.is_repository(&outside.join("gone")).await.unwrap());
    assert!(git.is_repository(&repo.path()).await.unwrap());
    let bare = outside.join("bare");
    repo.git(&["init", "-q", "--bare", "../bare"]);
    assert!(git.is_repository(&bare).await.unwrap());
    assert_eq!(git.toplevel(&bare).await.unwrap(), None);
    let none = Git::with_programs(outside.join("no-git"), "ssh");
    assert!(matches!(
        none.is_repository(&repo.path()).await,
        Err(GitError::Spawn { .. })
    ));
    // A folder without `.git` is recognised without starting git.
    assert!(!none.is_repository(&outside).await.unwrap());
}

#[tokio::test]
async fn a_helper_is_asked_and_nobody_else() {
    let repo = GitRepo::new();
    let git = repo.program();
    let url: url::Url = "https://git.example.org/".parse().unwrap();
    assert!(
        git.credential(&repo.path(), &url, None)
            .await
            .unwrap()
            .is_none()
    );
    let helper = "!f() { cat > asked; echo username=alice; echo password=hunter2; }; f";
    repo.git(&["config", "--global", "credential.helper", helper]);
    repo.git(&["config", "--global", "core.askPass", "/bin/false"]);
    let found = git
        .credential(&repo.path(), &url, Some("alice"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.password.expose(), "hunter2");
    assert!(!format!("{found:?}").contains("hunter2"));
    let asked = std::fs::read_to_string(repo.path().join("asked")).unwrap();
    assert_eq!(
        asked,
        "protocol=https\nhost=git.example.org\nusername=alice\n"
    );
}

/// A helper that leaves a file where it ran, and gives its password to any host
fn telling_helper(log: &Path) -> String {
    format!(
        "!f() {{ echo ran >>'{}'; echo username=x; echo password=hunter2; }}; f",
        log.display()
    )
}

#[tokio::test]
async fn a_bare_repository_inside_a_clone_cannot_run_its_helper() {
    let repo = GitRepo::new();
    let log = repo.home();
    let evil = repo.path().join("vendor/evil.git");
    std::fs::create_dir_all(&evil).unwrap();
    repo.git_in(&evil, &["init", "-q", "--bare"]);
    repo.git_in(
        &evil,
        &["config", "credential.helper", &telling_helper(&log)],
    );
    repo.git_in(
        &evil,
        &["remote", "add", "origin", "https://evil.example/o/r"],
    );
    let git = repo.program();
    let url: url::Url = "https://git.example.org/".parse().unwrap();
    for dir in [evil.clone(), evil.join("refs")] {
        let found = git.credential(&dir, &url, None).await.unwrap();
        assert!(found.is_none(), "{found:?}");
        let error = git.place(&dir).await.unwrap_err();
        assert!(error.to_string().contains("safe.bareRepository"), "{error}");
        assert!(git.remotes(&dir).await.is_err());
    }
    assert!(!log.exists(), "the helper of the inner repository was run");
}

#[tokio::test]
async fn a_bare_repository_outside_of_clones_is_opened() {
    let repo = GitRepo::new();
    let log = repo.home();
    repo.git(&["init", "-q", "--bare", "../bare"]);
    let bare = repo.path().parent().unwrap().join("bare");
    repo.git_in(
        &bare,
        &["remote", "add", "origin", "https://git.example.org/o/r"],
    );
    repo.git_in(
        &bare,
        &["config", "credential.helper", &telling_helper(&log)],
    );
    let git = repo.program();
    for dir in [bare.clone(), bare.join("objects")] {
        assert_eq!(git.place(&dir).await.unwrap(), Place::Bare);
        assert_eq!(git.remotes(&dir).await.unwrap(), ["origin"]);
    }
    let url: url::Url = "https://git.example.org/".parse().unwrap();
    let found = git.credential(&bare, &url, None).await.unwrap();
    assert_eq!(found.unwrap().password.expose(), "hunter2");
    assert!(log.exists());
}

#[tokio::test]
async fn a_work_tree_knows_its_exclude_file_and_what_is_tracked() {
    let repo = GitRepo::new();
    let git = repo.program();
    std::fs::create_dir(repo.path().join("a")).unwrap();
    std::fs::write(repo.path().join("a/b"), "x").unwrap();
    repo.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    repo.git(&["worktree", "add", "-q", "../linked", "-b", "two"]);
    let linked = repo.path().parent().unwrap().join("linked");
    for dir in [repo.path(), repo.path().join("a"), linked] {
        let Place::WorkTree { exclude, .. } = git.place(&dir).await.unwrap() else {
            panic!("{dir:?}");
        };
        let real = repo.path().join(".git/info/exclude");
        assert_eq!(
            exclude.canonicalize().unwrap(),
            real.canonicalize().unwrap()
        );
    }
    assert!(!git.is_tracked(&repo.path(), "a/b").await.unwrap());
    repo.git(&["add", "a/b"]);
    assert!(git.is_tracked(&repo.path(), "a/b").await.unwrap());
}
