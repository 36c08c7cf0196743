//! A git repository for tests that need the real git

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use blue_base::git::Git;

/// A temporary repository that is untouched by the user's git settings
#[derive(Debug)]
pub struct GitRepo {
    dir: tempfile::TempDir,
}

impl GitRepo {
    #[expect(
        clippy::new_without_default,
        reason = "making one starts git; a default would hide that"
    )]
    pub fn new() -> Self {
        let repo = Self {
            dir: tempfile::tempdir().expect("a temporary folder"),
        };
        std::fs::create_dir(repo.path()).expect("a new folder");
        repo.git(&["init", "-q", "-b", "main"]);
        repo
    }

    pub fn path(&self) -> PathBuf {
        self.dir
            .path()
            .canonicalize()
            .expect("the folder exists")
            .join("work")
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn git(&self, args: &[&str]) {
        self.git_in(&self.path(), args);
    }

    pub fn git_in(&self, dir: &Path, args: &[&str]) {
        let out = Command::new("git")
            .current_dir(dir)
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(args)
            .envs(self.vars())
            .output()
            .expect("git runs");
        assert!(
            out.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
    }

    fn vars(&self) -> Vec<(String, String)> {
        let global = self.dir.path().join("gitconfig");
        vec![
            (
                "GIT_CONFIG_GLOBAL".into(),
                global
                    .to_str()
                    .expect("temporary folders have names in UTF-8")
                    .into(),
            ),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
            (
                "GIT_CEILING_DIRECTORIES".into(),
                self.dir
                    .path()
                    .to_str()
                    .expect("temporary folders have names in UTF-8")
                    .into(),
            ),
        ]
    }

    pub fn program(&self) -> Git {
        let script = self.dir.path().join("ssh");
        let git = Git::with_programs("git", script);
        self.vars()
            .into_iter()
            .fold(git, |git, (k, v)| git.env(k, v))
    }

    /// A git that adds a character to `log` each time it runs
    #[cfg(unix)]
    pub fn counted(&self, log: &Path) -> Git {
        use std::os::unix::fs::PermissionsExt;
        let script = self.dir.path().join("git");
        let body = format!(
            "#!/bin/sh\nprintf . >>'{}'\nexec git \"$@\"\n",
            log.display()
        );
        std::fs::write(&script, body).expect("the folder can be written to");
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755))
            .expect("the file is ours");
        let git = Git::with_programs(&script, self.dir.path().join("ssh"));
        self.vars()
            .into_iter()
            .fold(git, |git, (k, v)| git.env(k, v))
    }

    /// An `ssh` that answers `ssh -G` with this text
    #[cfg(unix)]
    pub fn ssh_says(&self, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let script = self.dir.path().join("ssh");
        let body = format!("#!/bin/sh\n[ \"$1\" = -G ] || exit 1\ncat <<'END'\n{text}\nEND\n");
        std::fs::write(&script, body).expect("the folder can be written to");
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755))
            .expect("the file is ours");
    }
}
