//! Pull requests and reviews

use anyhow::{Context as _, Result};
use blue_base::http::Method;
use serde_json::{Value, json};

use super::{Lab, Repo, User};

impl Lab {
    /// Open a pull request and give its number
    pub async fn pr(&self, repo: &Repo, head: &str, base: &str, title: &str) -> Result<u64> {
        let body =
            json!({"head": head, "base": base, "title": title, "body": "made by the set-up"});
        let pr = self
            .post(&repo.owner, &repo.path(&["pulls"]), &body)
            .await?;
        pr["number"].as_u64().context("a pull request has `number`")
    }

    /// The usual start: a branch with one change and a pull request for it
    pub async fn pr_with(&self, repo: &Repo, branch: &str, files: &[(&str, &[u8])]) -> Result<u64> {
        self.write_new(repo, branch, "main", files).await?;
        self.pr(repo, branch, "main", &format!("Change of {branch}"))
            .await
    }

    pub async fn close_pr(&self, repo: &Repo, number: u64) -> Result<()> {
        let number = number.to_string();
        let body = json!({"state": "closed"});
        let path = repo.path(&["pulls", &number]);
        self.must(&repo.owner, Method::PATCH, &path, Some(&body))
            .await?;
        Ok(())
    }

    pub async fn pr_json(&self, repo: &Repo, number: u64) -> Result<Value> {
        let number = number.to_string();
        self.get(&repo.owner, &repo.path(&["pulls", &number])).await
    }

    /// Review: `APPROVED`, `REQUEST_CHANGES` or `COMMENT`; gives the review's id
    pub async fn review(&self, repo: &Repo, number: u64, who: &User, event: &str) -> Result<u64> {
        let number = number.to_string();
        let body = json!({"event": event, "body": "looked at it"});
        let path = repo.path(&["pulls", &number, "reviews"]);
        let review = self.post(who, &path, &body).await?;
        review["id"].as_u64().context("a review has `id`")
    }

    pub async fn dismiss_review(&self, repo: &Repo, number: u64, review: u64) -> Result<()> {
        let (number, review) = (number.to_string(), review.to_string());
        let path = repo.path(&["pulls", &number, "reviews", &review, "dismissals"]);
        let body = json!({"message": "not needed any more"});
        self.post(&repo.owner, &path, &body).await?;
        Ok(())
    }

    pub async fn request_review(&self, repo: &Repo, number: u64, who: &User) -> Result<()> {
        let number = number.to_string();
        let path = repo.path(&["pulls", &number, "requested_reviewers"]);
        let body = json!({"reviewers": [who.login]});
        self.post(&repo.owner, &path, &body).await?;
        Ok(())
    }
}
