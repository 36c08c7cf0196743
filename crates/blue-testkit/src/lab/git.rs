//! Real git: histories that no API can make

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use blue_base::http::Method;
use url::Url;

use super::{Lab, Repo, User, repos};
use crate::{Settings, eventually};

/// A history for `git fast-import`
#[derive(Debug, Default, Clone)]
pub struct Import {
    stream: Vec<u8>,
    commits: u32,
    refs: Vec<String>,
}

impl Import {
    pub fn new() -> Self {
        Self::default()
    }

    /// Add a commit to a branch with plain files
    pub fn commit(&mut self, branch: &str, message: &str, files: &[(&str, &[u8])]) -> &mut Self {
        let entries: Vec<_> = files.iter().map(|(p, c)| ("100644", *p, *c)).collect();
        self.commit_modes(branch, message, &entries)
    }

    /// Add a commit with files of any mode: `100755`, `120000` (a link), `160000` (a submodule,
    /// whose content is the commit it stands at)
    pub fn commit_modes(
        &mut self,
        branch: &str,
        message: &str,
        entries: &[(&str, &str, &[u8])],
    ) -> &mut Self {
        self.commits += 1;
        // Steady dates give steady ids.
        let date = 1_700_000_000 + u64::from(self.commits);
        let who = format!("Lab <lab@example.org> {date} +0000");
        self.line(&format!("commit refs/heads/{branch}"));
        self.line(&format!("mark :{}", self.commits));
        self.line(&format!("author {who}\ncommitter {who}"));
        self.data(message.as_bytes());
        for (mode, path, content) in entries {
            if *mode == "160000" {
                let commit = String::from_utf8_lossy(content);
                self.line(&format!("M 160000 {commit} {path}"));
            } else {
                self.line(&format!("M {mode} inline {path}"));
                self.data(content);
            }
        }
        self.line("");
        self.note(&format!("refs/heads/{branch}"));
        self
    }

    /// Point `count` branches `NAME-0001`… at the last commit
    pub fn branches(&mut self, name: &str, count: u32) -> &mut Self {
        for number in 1..=count {
            self.branch(&format!("{name}-{number:04}"));
        }
        self
    }

    /// Point a branch at the last commit
    pub fn branch(&mut self, name: &str) -> &mut Self {
        let commit = self.commits;
        self.line(&format!("reset refs/heads/{name}\nfrom :{commit}\n"));
        self.note(&format!("refs/heads/{name}"));
        self
    }

    fn note(&mut self, name: &str) {
        if !self.refs.iter().any(|known| known == name) {
            self.refs.push(name.to_owned());
        }
    }

    fn line(&mut self, text: &str) {
        self.stream.extend_from_slice(text.as_bytes());
        self.stream.push(b'\n');
    }

    fn data(&mut self, bytes: &[u8]) {
        self.line(&format!("data {}", bytes.len()));
        self.stream.extend_from_slice(bytes);
        self.stream.push(b'\n');
    }
}

impl Lab {
    /// Make a repository with this history, which needs a branch `main`
    pub async fn repo_from(&self, owner: &User, import: &Import) -> Result<Repo> {
        let last = import.refs.last().context("nothing to push")?;
        let repo = match &self.server().repositories {
            // A real server takes minutes for the push of a thousand branches, and lets everybody
            // else wait meanwhile; adopting what lies on its disk is quick.
            Some(dir) if import.refs.len() > 50 => self.adopt(owner, dir, import.clone()).await?,
            _ => {
                let repo = self.empty_repo(owner).await?;
                self.push(&repo, import.clone()).await?;
                repo
            }
        };
        self.wait_for_branch(&repo, "main").await?;
        self.wait_for_branch(&repo, last.trim_start_matches("refs/heads/"))
            .await?;
        Ok(repo)
    }

    /// Make a repository with this history by a push, and do not wait until the server knows it
    pub async fn pushed_repo(&self, owner: &User, import: &Import) -> Result<Repo> {
        let repo = self.empty_repo(owner).await?;
        self.push(&repo, import.clone()).await?;
        Ok(repo)
    }

    /// Ask for a merge of a branch's commit by a push to `refs/for/` (`AGit`), and delete the branch;
    /// returns the number of the pull request
    pub async fn agit(&self, repo: &Repo, branch: &str, base: &str) -> Result<u64> {
        let head = self.head(repo, branch).await?;
        let (url, header) = self.git_door(repo);
        let (from, to) = (
            format!("refs/heads/{branch}"),
            format!("FETCH_HEAD:refs/for/{base}/topic"),
        );
        tokio::task::spawn_blocking(move || {
            let dir = tempfile::tempdir()?;
            let auth = git_auth(&header);
            git(dir.path(), &["init", "-q", "--bare"], None, &[])?;
            git(
                dir.path(),
                &["fetch", "-q", url.as_str(), &from],
                None,
                &auth,
            )?;
            git(dir.path(), &["push", "-q", url.as_str(), &to], None, &auth)
        })
        .await??;
        self.delete_branch(repo, branch).await?;
        eventually(
            "the pull request is listed",
            Duration::from_secs(20),
            || async {
                let all = self.get(&repo.owner, &repo.path(&["pulls"])).await?;
                let rows = all.as_array().cloned().unwrap_or_default();
                let row = rows.iter().find(|row| row["head"]["sha"] == head.as_str());
                Ok(row.and_then(|row| row["number"].as_u64()))
            },
        )
        .await
    }

    /// Where a repository is pushed to, and the header that lets its owner do so
    fn git_door(&self, repo: &Repo) -> (Url, String) {
        let mut url = self.server().url.clone();
        url.set_path(&format!("{}/{}.git", repo.id.owner(), repo.id.name()));
        let login = format!("{}:{}", repo.owner.login, repo.owner.token.expose());
        let header = format!("Authorization: Basic {}", BASE64.encode(login));
        (url, header)
    }

    async fn adopt(&self, owner: &User, repositories: &Path, import: Import) -> Result<Repo> {
        let repo = Repo::named(owner, &repos::free_name())?;
        let dir = repositories
            .join(owner.login.to_lowercase())
            .join(format!("{}.git", repo.id.name()));
        tokio::task::spawn_blocking(move || {
            std::fs::create_dir_all(&dir)?;
            git(&dir, &["init", "-q", "--bare"], None, &[])?;
            git(
                &dir,
                &["symbolic-ref", "HEAD", "refs/heads/main"],
                None,
                &[],
            )?;
            git(&dir, &["fast-import", "--quiet"], Some(&import.stream), &[])
        })
        .await??;
        let path = ["admin", "unadopted", repo.id.owner(), repo.id.name()];
        self.must(self.admin(), Method::POST, &path, None).await?;
        Ok(repo)
    }

    async fn push(&self, repo: &Repo, import: Import) -> Result<()> {
        let (url, header) = self.git_door(repo);
        tokio::task::spawn_blocking(move || {
            let dir = tempfile::tempdir()?;
            git(dir.path(), &["init", "-q", "--bare"], None, &[])?;
            git(
                dir.path(),
                &["fast-import", "--quiet"],
                Some(&import.stream),
                &[],
            )?;
            let push = ["push", "-q", url.as_str(), "refs/heads/*:refs/heads/*"];
            git(dir.path(), &push, None, &git_auth(&header))
        })
        .await?
    }
}

/// By variable: an argument would show the token to every process of the machine
fn git_auth(header: &str) -> [(&'static str, &str); 3] {
    [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "http.extraHeader"),
        ("GIT_CONFIG_VALUE_0", header),
    ]
}

fn git(dir: &Path, args: &[&str], input: Option<&[u8]>, vars: &[(&str, &str)]) -> Result<()> {
    let mut child = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("PATH", Settings::get().path())
        .env("HOME", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .envs(vars.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("git cannot be started")?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.unwrap_or_default())?;
    }
    let Output { status, stderr, .. } = child.wait_with_output()?;
    if !status.success() {
        bail!(
            "set-up: git {}: {}",
            args[0],
            String::from_utf8_lossy(&stderr)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_takes_the_history() {
        let dir = tempfile::tempdir().unwrap();
        let mut import = Import::new();
        import
            .commit("main", "first", &[("a b.txt", b"one\n")])
            .commit_modes(
                "main",
                "second",
                &[
                    ("100755", "run", b"#!/bin/sh\n"),
                    ("120000", "link", b"a b.txt"),
                    ("160000", "sub", b"0123456789012345678901234567890123456789"),
                ],
            )
            .branches("many", 3);
        git(dir.path(), &["init", "-q", "--bare"], None, &[]).unwrap();
        git(
            dir.path(),
            &["fast-import", "--quiet"],
            Some(&import.stream),
            &[],
        )
        .unwrap();
        git(
            dir.path(),
            &["cat-file", "-e", "many-0003:a b.txt"],
            None,
            &[],
        )
        .unwrap();
        git(dir.path(), &["cat-file", "-e", "main:link"], None, &[]).unwrap();
        assert!(git(dir.path(), &["cat-file", "-e", "main:none"], None, &[]).is_err());
    }
}
