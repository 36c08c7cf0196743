//! Repositories and what is in them

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use anyhow::{Context as _, Result};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use blue_base::http::Method;
use blue_forge::model::{RepoId, Sha};
use serde_json::{Value, json};

use super::{Lab, User};
use crate::eventually;

/// A repository and the user it belongs to
#[derive(Debug, Clone)]
pub struct Repo {
    pub id: RepoId,
    pub owner: User,
}

impl Repo {
    pub(super) fn named(owner: &User, name: &str) -> Result<Self> {
        Ok(Self {
            id: RepoId::parse(&owner.login, name)?,
            owner: owner.clone(),
        })
    }

    /// The path of an API route below the repository
    pub fn path<'a>(&'a self, rest: &[&'a str]) -> Vec<&'a str> {
        let mut path = vec!["repos", self.id.owner(), self.id.name()];
        path.extend(rest);
        path
    }
}

impl Lab {
    /// Make a repository with a `README.md` on `main`
    pub async fn repo(&self, owner: &User) -> Result<Repo> {
        self.repo_with(owner, json!({"auto_init": true})).await
    }

    /// Make a repository without any commit
    pub async fn empty_repo(&self, owner: &User) -> Result<Repo> {
        self.repo_with(owner, json!({})).await
    }

    /// Make a repository; `options` are Gitea's
    pub async fn repo_with(&self, owner: &User, options: Value) -> Result<Repo> {
        let name = free_name();
        let mut body = options;
        body["name"] = name.as_str().into();
        body["default_branch"] = "main".into();
        self.post(owner, &["user", "repos"], &body).await?;
        Repo::named(owner, &name)
    }

    /// Change the repository's settings: archive, rename, switch features off
    pub async fn edit_repo(&self, repo: &Repo, options: &Value) -> Result<Value> {
        self.must(&repo.owner, Method::PATCH, &repo.path(&[]), Some(options))
            .await
    }

    /// Let a user in: `read`, `write` or `admin`
    pub async fn collaborator(&self, repo: &Repo, user: &User, permission: &str) -> Result<()> {
        let path = repo.path(&["collaborators", &user.login]);
        let body = json!({"permission": permission});
        self.must(&repo.owner, Method::PUT, &path, Some(&body))
            .await?;
        Ok(())
    }

    pub async fn branch(&self, repo: &Repo, name: &str, from: &str) -> Result<Sha> {
        let body = json!({"new_branch_name": name, "old_branch_name": from});
        let branch = self
            .post(&repo.owner, &repo.path(&["branches"]), &body)
            .await?;
        sha_at(&branch, "/commit/id")
    }

    pub async fn head(&self, repo: &Repo, branch: &str) -> Result<Sha> {
        let branch = self
            .get(&repo.owner, &repo.path(&["branches", branch]))
            .await?;
        sha_at(&branch, "/commit/id")
    }

    /// How many commits a branch has
    pub async fn count_commits(&self, repo: &Repo, branch: &str) -> Result<usize> {
        let mut url = self.url(&repo.path(&["commits"]))?;
        url.query_pairs_mut()
            .append_pair("sha", branch)
            .append_pair("limit", "50");
        let answer = self
            .call_url(Some(&repo.owner), Method::GET, url, None)
            .await?;
        Ok(answer.body.as_array().map_or(0, Vec::len))
    }

    /// Write files to a branch in one commit, whatever was there
    pub async fn write(&self, repo: &Repo, branch: &str, files: &[(&str, &[u8])]) -> Result<Sha> {
        let mut list = Vec::new();
        for (path, content) in files {
            let content = BASE64.encode(content);
            list.push(match self.blob(repo, branch, path).await? {
                Some(sha) => json!({
                    "operation": "update", "path": path, "content": content, "sha": sha.as_str(),
                }),
                None => json!({"operation": "create", "path": path, "content": content}),
            });
        }
        self.change(repo, branch, &list).await
    }

    /// Write files that are not there yet in one commit
    pub async fn create(&self, repo: &Repo, branch: &str, files: &[(&str, &[u8])]) -> Result<Sha> {
        let create = |(path, content): &(&str, &[u8])| json!({"operation": "create", "path": path, "content": BASE64.encode(content)});
        let list: Vec<Value> = files.iter().map(create).collect();
        self.change(repo, branch, &list).await
    }

    /// Write to a new branch that starts at `from`
    pub async fn write_new(
        &self,
        repo: &Repo,
        branch: &str,
        from: &str,
        files: &[(&str, &[u8])],
    ) -> Result<Sha> {
        self.branch(repo, branch, from).await?;
        self.write(repo, branch, files).await
    }

    pub async fn remove(&self, repo: &Repo, branch: &str, path: &str) -> Result<Sha> {
        let sha = self
            .blob(repo, branch, path)
            .await?
            .with_context(|| format!("set-up: no `{path}` to remove"))?;
        let change = json!({"operation": "delete", "path": path, "sha": sha.as_str()});
        self.change(repo, branch, &[change]).await
    }

    async fn change(&self, repo: &Repo, branch: &str, files: &[Value]) -> Result<Sha> {
        let body = json!({"branch": branch, "message": "set-up", "files": files});
        let answer = self
            .post(&repo.owner, &repo.path(&["contents"]), &body)
            .await?;
        sha_at(&answer, "/commit/sha")
    }

    /// The blob at a path, if there is a file
    pub async fn blob(&self, repo: &Repo, branch: &str, path: &str) -> Result<Option<Sha>> {
        let parts: Vec<&str> = ["contents"].into_iter().chain(path.split('/')).collect();
        let mut url = self.url(&repo.path(&parts))?;
        url.query_pairs_mut().append_pair("ref", branch);
        let answer = self
            .call_url(Some(&repo.owner), Method::GET, url, None)
            .await?;
        Ok(match answer.status {
            200 if answer.body.is_object() => Some(sha_at(&answer.body, "/sha")?),
            _ => None,
        })
    }

    /// The bytes of a file, as `/raw` gives them
    pub async fn raw(&self, repo: &Repo, branch: &str, path: &str) -> Result<Vec<u8>> {
        let parts: Vec<&str> = ["raw"].into_iter().chain(path.split('/')).collect();
        let mut url = self.url(&repo.path(&parts))?;
        url.query_pairs_mut().append_pair("ref", branch);
        let request = self.client().get(url).header(
            "Authorization",
            format!("token {}", repo.owner.token.expose()),
        );
        let answer = request.send().await?.error_for_status()?;
        Ok(answer.bytes().await?.to_vec())
    }

    pub async fn delete_branch(&self, repo: &Repo, branch: &str) -> Result<()> {
        let path = repo.path(&["branches", branch]);
        self.must(&repo.owner, Method::DELETE, &path, None).await?;
        Ok(())
    }

    pub async fn tag(&self, repo: &Repo, name: &str, target: &str, message: &str) -> Result<()> {
        let body = json!({"tag_name": name, "target": target, "message": message});
        self.post(&repo.owner, &repo.path(&["tags"]), &body).await?;
        Ok(())
    }

    pub async fn status(&self, repo: &Repo, sha: &Sha, context: &str, state: &str) -> Result<()> {
        let body = json!({"context": context, "state": state, "description": "from the set-up"});
        let path = repo.path(&["statuses", sha.as_str()]);
        self.post(&repo.owner, &path, &body).await?;
        Ok(())
    }

    /// Make a mirror of a repository, which takes changes from there only
    pub async fn mirror(&self, repo: &Repo) -> Result<Repo> {
        let name = free_name();
        let source = self.server().url.join(&format!("{}.git", repo.id))?;
        let body = json!({
            "clone_addr": source.as_str(), "repo_name": name, "mirror": true, "service": "git",
        });
        self.post(&repo.owner, &["repos", "migrate"], &body).await?;
        let mirror = Repo::named(&repo.owner, &name)?;
        self.wait_for_branch(&mirror, "main").await?;
        Ok(mirror)
    }

    /// Make a private repository of a new organisation, and a team that lets `member` write its
    /// code and see nothing else of it
    pub async fn repo_of_coders(&self, owner: &User, member: &User) -> Result<Repo> {
        let (org, name) = (format!("org-{}", free_name()), free_name());
        self.post(owner, &["orgs"], &json!({"username": org}))
            .await?;
        let body = json!({
            "name": name, "private": true, "auto_init": true, "default_branch": "main",
        });
        self.post(owner, &["orgs", &org, "repos"], &body).await?;
        let team = json!({
            "name": "coders", "permission": "write", "includes_all_repositories": true,
            "units": ["repo.code"], "units_map": {"repo.code": "write"},
        });
        let team = self.post(owner, &["orgs", &org, "teams"], &team).await?;
        let id = team["id"].to_string();
        let path = ["teams", &id, "members", &member.login];
        self.must(owner, Method::PUT, &path, None).await?;
        Ok(Repo {
            id: RepoId::parse(&org, &name)?,
            owner: owner.clone(),
        })
    }

    /// Fork into another user's account
    pub async fn fork(&self, repo: &Repo, user: &User) -> Result<Repo> {
        self.post(user, &repo.path(&["forks"]), &json!({})).await?;
        let fork = Repo::named(user, repo.id.name())?;
        self.wait_for_branch(&fork, "main").await?;
        Ok(fork)
    }

    pub(crate) async fn wait_for_branch(&self, repo: &Repo, branch: &str) -> Result<()> {
        let path = repo.path(&["branches", branch]);
        let what = format!("{} has `{branch}`", repo.id);
        eventually(&what, Duration::from_secs(20), || async {
            let answer = self.call(&repo.owner, Method::GET, &path, None).await?;
            let repository = self.get(&repo.owner, &repo.path(&[])).await?;
            let there = answer.status == 200 && repository["empty"] == false;
            Ok(there.then_some(()))
        })
        .await
    }
}

/// A name that no other repository of this process has
pub(super) fn free_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(1);
    format!("repo-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

pub(super) fn sha_at(body: &Value, pointer: &str) -> Result<Sha> {
    let text = body.pointer(pointer).and_then(Value::as_str);
    Ok(Sha::parse(text.with_context(|| {
        format!("set-up: no `{pointer}` in {body}")
    })?)?)
}
