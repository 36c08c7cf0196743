//! What happened to a pull request, where the pull request itself does not tell

use serde::Deserialize;

use super::{Forgejo, wire};
use crate::{ForgeError, Result, model::RepoId};

#[derive(Debug, Deserialize)]
struct WireEvent {
    #[serde(rename = "type", default, deserialize_with = "wire::or_default")]
    kind: String,
    user: Option<wire::User>,
}

impl Forgejo {
    /// Returns the login of the user whose scheduled merge still waits, by the last event about it
    pub(super) async fn scheduled_by(&self, repo: &RepoId, number: u64) -> Result<Option<String>> {
        let events = self
            .repo_get(repo, &["issues", &number.to_string(), "timeline"])
            .what(format!("pull request #{number} of `{repo}`"))
            .all::<WireEvent>(self.likely_cap())
            .await;
        let events = match events {
            // Without the right to read issues, or the unit, nothing can be said.
            Err(ForgeError::NotFound { .. } | ForgeError::Forbidden { .. }) => return Ok(None),
            other => other?,
        };
        let about = events.into_iter().rfind(|event| {
            matches!(
                event.kind.as_str(),
                "pull_scheduled_merge" | "pull_cancel_scheduled_merge"
            )
        });
        Ok(about
            .filter(|event| event.kind == "pull_scheduled_merge")
            .map(|event| event.user.unwrap_or_default().login))
    }
}
