//! Branch protection

use anyhow::Result;
use blue_base::http::Method;
use serde_json::Value;

use super::{Lab, Repo};

impl Lab {
    /// Protect the branches that `rule` names; `options` are Gitea's
    pub async fn protect(&self, repo: &Repo, rule: &str, options: Value) -> Result<Value> {
        let mut body = options;
        body["rule_name"] = rule.into();
        self.post(&repo.owner, &repo.path(&["branch_protections"]), &body)
            .await
    }

    pub async fn unprotect(&self, repo: &Repo, rule: &str) -> Result<()> {
        let path = repo.path(&["branch_protections", rule]);
        self.must(&repo.owner, Method::DELETE, &path, None).await?;
        Ok(())
    }
}
