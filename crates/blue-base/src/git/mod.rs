//! The git command line, in one place

mod bare;
mod credential;
mod run;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

pub use run::run_program;

use crate::secret::Secret;

/// Longest time a local git command may take
const PATIENCE: Duration = Duration::from_secs(20);

/// How git and ssh are called; the children see the program's own environment
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    ssh: PathBuf,
    env: Vec<(OsString, OsString)>,
}

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("could not run `{program}`")]
    Spawn {
        program: String,
        #[source]
        source: std::io::Error,
    },
    /// Git's own words
    #[error("{message}")]
    Failed { message: String },
    #[error("`{program}` took longer than {seconds} seconds")]
    Slow { program: String, seconds: u64 },
    #[error("`{program}` printed more than {limit} bytes")]
    TooMuch { program: String, limit: u64 },
    #[error("`{program}` printed something that is not text")]
    NotText { program: String },
}

/// User name and password of a host, as git's helpers know them
#[derive(Debug, Clone)]
pub struct GitCredential {
    pub username: Option<String>,
    pub password: Secret,
}

/// Where a folder is, as git sees it
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Outside,
    /// In a repository, but in none of its work trees
    Bare,
    WorkTree {
        /// Top folder of the work tree
        top: PathBuf,
        /// The file with patterns that git ignores in this clone alone; all work trees share it
        exclude: PathBuf,
    },
}

impl Default for Git {
    fn default() -> Self {
        Self {
            program: PathBuf::from("git"),
            ssh: PathBuf::from("ssh"),
            env: Vec::new(),
        }
    }
}

impl Git {
    /// Use other programs than those in the path
    pub fn with_programs(git: impl Into<PathBuf>, ssh: impl Into<PathBuf>) -> Self {
        Self {
            program: git.into(),
            ssh: ssh.into(),
            env: Vec::new(),
        }
    }

    /// Set a variable for the children
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Whether `dir` is in a repository, bare ones included
    pub async fn is_repository(&self, dir: &Path) -> Result<bool, GitError> {
        Ok(self.place(dir).await? != Place::Outside)
    }

    /// Where in a repository `dir` is
    pub async fn place(&self, dir: &Path) -> Result<Place, GitError> {
        // Most servers of agents run outside of any, and need not start a program to know that.
        if !dir.is_dir() || !bare::may_be_inside(dir) {
            return Ok(Place::Outside);
        }
        let is_bare = bare::repository(dir).is_some();
        let args = [
            "rev-parse",
            "--is-inside-work-tree",
            "--git-path",
            "info/exclude",
            "--show-toplevel",
        ];
        let out = self.output(dir, &args).await?;
        let (ok, message) = (out.ok, out.message());
        let text = out.text("git")?;
        let mut lines = text.splitn(3, '\n');
        match (lines.next(), lines.next(), lines.next()) {
            (Some("true" | "false"), ..) if is_bare => Ok(Place::Bare),
            (Some("true"), Some(exclude), Some(top)) if ok => Ok(Place::WorkTree {
                top: top.strip_suffix('\n').unwrap_or(top).into(),
                // Git prints it relative to the folder that it was asked in.
                exclude: dir.join(exclude),
            }),
            // The last question has no answer here, and is why it failed.
            (Some("false"), ..) => Ok(Place::Bare),
            _ if message.contains("not a git repository") => Ok(Place::Outside),
            _ => Err(GitError::Failed { message }),
        }
    }

    /// Whether git tracks a file; `path` is relative to `top`, the top folder of a work tree
    pub async fn is_tracked(&self, top: &Path, path: &str) -> Result<bool, GitError> {
        let out = self.text(top, &["ls-files", "--", path]).await?;
        Ok(!out.is_empty())
    }

    /// Top folder of the work tree that `dir` is in: of a linked one, its own
    pub async fn toplevel(&self, dir: &Path) -> Result<Option<PathBuf>, GitError> {
        match self.place(dir).await? {
            Place::WorkTree { top, .. } => Ok(Some(top)),
            Place::Outside | Place::Bare => Ok(None),
        }
    }

    /// The folder that all work trees of a repository share
    pub async fn common_dir(&self, dir: &Path) -> Result<PathBuf, GitError> {
        let args = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        self.line(dir, &args).await.map(PathBuf::from)
    }

    /// Names of the remotes, sorted
    pub async fn remotes(&self, dir: &Path) -> Result<Vec<String>, GitError> {
        let out = self.text(dir, &["remote"]).await?;
        let mut names: Vec<String> = out.lines().map(str::to_owned).collect();
        names.sort();
        Ok(names)
    }

    /// URL that a remote is fetched from, after the user's `insteadOf` rules
    pub async fn remote_url(&self, dir: &Path, remote: &str) -> Result<String, GitError> {
        self.line(dir, &["remote", "get-url", "--", remote]).await
    }

    /// The branch that is checked out; none with a detached head
    pub async fn current_branch(&self, dir: &Path) -> Result<Option<String>, GitError> {
        let args = ["symbolic-ref", "--quiet", "--short", "HEAD"];
        self.optional(dir, &args).await
    }

    /// The default branch of a remote, as the clone remembers it; it may have changed since
    pub async fn remote_head(&self, dir: &Path, remote: &str) -> Result<Option<String>, GitError> {
        let of_remote = format!("refs/remotes/{remote}/");
        let args = ["symbolic-ref", "--quiet", &format!("{of_remote}HEAD")];
        let head = self.optional(dir, &args).await?;
        Ok(head.and_then(|head| Some(head.strip_prefix(&of_remote)?.to_owned())))
    }

    /// The remote that a branch follows; `.` is the repository itself
    pub async fn upstream_remote(
        &self,
        dir: &Path,
        branch: &str,
    ) -> Result<Option<String>, GitError> {
        let key = format!("branch.{branch}.remote");
        self.optional(dir, &["config", "--get", &key]).await
    }

    /// Id of a local branch's last commit; none without such a branch
    pub async fn branch_commit(
        &self,
        dir: &Path,
        branch: &str,
    ) -> Result<Option<String>, GitError> {
        let name = format!("refs/heads/{branch}");
        self.optional(dir, &["rev-parse", "--verify", "--quiet", &name])
            .await
    }

    /// Host that `ssh` would connect to for a name of its configuration
    pub async fn ssh_hostname(&self, name: &str) -> Result<Option<String>, GitError> {
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let mut command = self.command(&self.ssh);
        command.args(["-G", "--", name]);
        let out = run::collect("ssh", command, None, PATIENCE).await?;
        if !out.ok {
            return Err(GitError::Failed {
                message: out.message(),
            });
        }
        let text = out.text("ssh")?;
        let found = text.lines().find_map(|l| l.strip_prefix("hostname "));
        Ok(found.map(|h| h.trim().to_owned()).filter(|h| !h.is_empty()))
    }

    async fn line(&self, dir: &Path, args: &[&str]) -> Result<String, GitError> {
        let out = self.text(dir, args).await?;
        Ok(out.strip_suffix('\n').unwrap_or(&out).to_owned())
    }

    async fn text(&self, dir: &Path, args: &[&str]) -> Result<String, GitError> {
        let out = self.output(dir, args).await?;
        if out.ok {
            return out.text("git");
        }
        Err(GitError::Failed {
            message: out.message(),
        })
    }

    /// A question to which exit code 1 without a word is "nothing"
    async fn optional(&self, dir: &Path, args: &[&str]) -> Result<Option<String>, GitError> {
        let out = self.output(dir, args).await?;
        if out.ok {
            let text = out.text("git")?;
            return Ok(Some(text.strip_suffix('\n').unwrap_or(&text).to_owned()));
        }
        let message = out.message();
        if message.is_empty() {
            return Ok(None);
        }
        Err(GitError::Failed { message })
    }

    async fn output(&self, dir: &Path, args: &[&str]) -> Result<run::Output, GitError> {
        let mut command = self.command_in(dir);
        command.args(args);
        run::collect("git", command, None, PATIENCE).await
    }
}
