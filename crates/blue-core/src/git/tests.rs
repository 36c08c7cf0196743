use std::process::Command;

use super::*;

/// A repository of its own, untouched by the user's settings
pub(crate) struct Repo {
    dir: tempfile::TempDir,
}

impl Repo {
    pub(crate) fn new() -> Self {
        let repo = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(repo.path()).unwrap();
        repo.git(&["init", "-q", "-b", "main"]);
        repo
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("work")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn git(&self, args: &[&str]) {
        self.git_in(&self.path(), args);
    }

    pub(crate) fn git_in(&self, dir: &Path, args: &[&str]) {
        let out = Command::new("git")
            .current_dir(dir)
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(args)
            .envs(self.vars())
            .output()
            .unwrap();
        assert!(
            out.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
    }

    fn vars(&self) -> Vec<(String, String)> {
        let global = self.dir.path().join("gitconfig");
        vec![
            ("GIT_CONFIG_GLOBAL".into(), global.to_str().unwrap().into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
            (
                "GIT_CEILING_DIRECTORIES".into(),
                self.dir.path().to_str().unwrap().into(),
            ),
        ]
    }

    pub(crate) fn program(&self) -> Git {
        let script = self.dir.path().join("ssh");
        let git = Git::with_programs("git", script);
        self.vars()
            .into_iter()
            .fold(git, |git, (k, v)| git.env(k, v))
    }

    /// A git that adds a character to `log` each time it runs
    #[cfg(unix)]
    pub(crate) fn counted(&self, log: &Path) -> Git {
        use std::os::unix::fs::PermissionsExt;
        let script = self.dir.path().join("git");
        let body = format!(
            "#!/bin/sh\nprintf . >>'{}'\nexec git \"$@\"\n",
            log.display()
        );
        std::fs::write(&script, body).unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        let git = Git::with_programs(&script, self.dir.path().join("ssh"));
        self.vars()
            .into_iter()
            .fold(git, |git, (k, v)| git.env(k, v))
    }

    /// An `ssh` that answers `ssh -G` with this text
    #[cfg(unix)]
    pub(crate) fn ssh_says(&self, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let script = self.dir.path().join("ssh");
        let body = format!("#!/bin/sh\n[ \"$1\" = -G ] || exit 1\ncat <<'END'\n{text}\nEND\n");
        std::fs::write(&script, body).unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    }
}

#[tokio::test]
async fn remotes_branches_and_folders() {
    let repo = Repo::new();
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
    let repo = Repo::new();
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
    // Nobody is needed to see that there is nothing.
    assert!(!none.is_repository(&outside).await.unwrap());
}

#[tokio::test]
async fn a_helper_is_asked_and_nobody_else() {
    let repo = Repo::new();
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

#[cfg(unix)]
#[tokio::test]
async fn ssh_tells_the_host_behind_an_alias() {
    use crate::forge::git_url::GitUrl;
    let repo = Repo::new();
    repo.ssh_says("user git\nhostname ssh.github.com\nport 443");
    let GitUrl::Hosted(url) = GitUrl::parse("git@work:o/r.git").unwrap() else {
        panic!();
    };
    let real = url.resolve_alias(&repo.program()).await.unwrap();
    assert_eq!(real.host().as_str(), "github.com");
    assert_eq!((real.owner(), real.repo(), real.port()), ("o", "r", None));
    repo.ssh_says("hostname -oProxyCommand=x");
    let GitUrl::Hosted(url) = GitUrl::parse("git@work:o/r.git").unwrap() else {
        panic!();
    };
    let same = url.clone().resolve_alias(&repo.program()).await.unwrap();
    assert_eq!(same, url);
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
    let repo = Repo::new();
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
    let repo = Repo::new();
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
    let repo = Repo::new();
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
