//! The first commit of a repository that has none
//!
//! The routes for blobs, trees and refs answer only once there is a commit; the one for a single
//! file makes it.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

use super::{
    CommitOpts, CommitOutcome, ForgeError, GitHub, MadeCommit, MoveRef, Plan, RepoId, Result, Sha,
    Tip, head_is_another,
};
use crate::{github::commit::tree::Present, model::FileChange};

#[derive(Debug, Serialize)]
struct PutFile<'a> {
    message: &'a str,
    content: String,
    branch: &'a str,
}

#[derive(Debug, Deserialize)]
struct Put {
    commit: MadeCommit,
}

impl GitHub {
    pub(super) async fn first_commit(
        &self,
        repo: &RepoId,
        opts: &CommitOpts,
    ) -> Result<CommitOutcome> {
        if let Some(expected) = &opts.expected_head {
            return Err(head_is_another(&opts.branch, expected, None, false));
        }
        if let Some(base) = opts.base_that_is_missing() {
            let what = format!("`{base}` of `{repo}`, which has no commit yet,");
            return Err(self.not_found(what));
        }
        // Refuses whatever needs a file that is there.
        let plan = Plan::make(self, &opts.changes, &Present::new())?;
        let Some(FileChange::Write { path, content, .. }) = opts.changes.first() else {
            return Err(ForgeError::Invalid {
                message: "the first commit needs a file".to_owned(),
                status: None,
            });
        };
        let mut made = self.put_file(repo, opts, path, content).await?;
        if opts.changes.len() > 1 {
            made = self.replace_first(repo, opts, &plan, &made.sha.0).await?;
        }
        Ok(CommitOutcome {
            sha: made.sha.0,
            html_url: made.html_url,
            branch_created: true,
            first: true,
            unchanged: false,
            files: plan.written(),
        })
    }

    async fn put_file(
        &self,
        repo: &RepoId,
        opts: &CommitOpts,
        path: &str,
        content: &[u8],
    ) -> Result<MadeCommit> {
        let body = PutFile {
            message: &opts.message,
            content: STANDARD.encode(content),
            branch: &opts.branch,
        };
        let answer = self
            .put(repo, &["contents"])
            .path(path)
            .json(&body)
            .answer()
            .await?;
        match self.written_files(repo, answer, &[path]).await {
            Ok(answer) => Ok(answer.json::<Put>()?.commit),
            // Another writer made the first commit.
            Err(ForgeError::Conflict { status, .. }) => {
                Err(self.moved(repo, &opts.branch).await.answered(status))
            }
            Err(error) => Err(error),
        }
    }

    /// Put one commit with all files in the place of the one with the first file
    async fn replace_first(
        &self,
        repo: &RepoId,
        opts: &CommitOpts,
        plan: &Plan,
        first: &Sha,
    ) -> Result<MadeCommit> {
        let tree = self.write_tree(repo, plan, None).await?;
        let made = self.write_commit(repo, &opts.message, &tree, &[]).await?;
        // The only forced move there is, and only over the commit made above.
        if self.branch_tip(repo, &opts.branch).await? != Tip::At(first.clone()) {
            return Err(self.moved(repo, &opts.branch).await);
        }
        let body = MoveRef {
            sha: made.sha.0.as_str(),
            force: true,
        };
        let answer = self
            .patch(repo, &["git", "refs", "heads"])
            .path(&opts.branch)
            .json(&body)
            .answer()
            .await?;
        self.written(repo, answer).await?;
        Ok(made)
    }
}
