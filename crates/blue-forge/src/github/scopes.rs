//! Scopes of a token that a write needs, and which of them is missing
//!
//! GitHub answers "not found" to a write that the token may not make, also where the same token can
//! read the repository and its user may push.

use super::GitHub;
use crate::{ForgeError, Result, model::RepoId, rest::Answer};

/// Where the files are that only tokens with the scope `workflow` may change
const WORKFLOWS_DIR: &str = ".github/workflows/";

impl GitHub {
    /// This answer to a write, or what its refusal means
    pub(super) async fn written(&self, repo: &RepoId, answer: Answer) -> Result<Answer> {
        self.written_files(repo, answer, &[]).await
    }

    /// This answer to a write of files at `paths`, or what its refusal means
    pub(super) async fn written_files(
        &self,
        repo: &RepoId,
        answer: Answer,
        paths: &[&str],
    ) -> Result<Answer> {
        if answer.status.is_success() {
            return Ok(answer);
        }
        let mut paths = paths.iter().copied();
        let workflow = paths.find(|path| path.starts_with(WORKFLOWS_DIR));
        let held = answer.header("x-oauth-scopes").map(scopes);
        let error = answer.into_error();
        let explained = self
            .explain_or(repo, error, |hidden| {
                missing_scope(repo, held.as_deref(), workflow).map_or(hidden, |(scope, message)| {
                    ForgeError::MissingScope {
                        host: self.rest.host().clone(),
                        scope,
                        message,
                        status: Some(404),
                    }
                })
            })
            .await;
        Err(explained)
    }
}

/// The scope without which a write is "not found", and that in words; `held` is known of classic
/// tokens only
fn missing_scope(
    repo: &RepoId,
    held: Option<&[String]>,
    workflow: Option<&str>,
) -> Option<(&'static str, String)> {
    let has = |scope: &str| held.is_some_and(|held| held.iter().any(|one| one == scope));
    if let Some(path) = workflow
        && !has("workflow")
    {
        let message = format!("the token may not change `{path}`: it lacks the scope `workflow`");
        return Some(("workflow", message));
    }
    if held.is_some() && !has("repo") && !has("public_repo") {
        let message = format!("the token may not write to `{repo}`: it lacks the scope `repo`");
        return Some(("repo", message));
    }
    None
}

/// The scopes that GitHub lists in a header of each answer to a classic token
pub(super) fn scopes(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|s| !s.is_empty())
        .map(str::to_owned)
        .collect()
}
