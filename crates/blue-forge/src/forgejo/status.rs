//! Commit statuses

use serde::{Deserialize, Serialize};

use super::{Forgejo, wire};
use crate::{
    Result,
    model::{Check, CheckState, Checks, RepoId, Sha, StatusOpts},
};

#[derive(Debug, Deserialize)]
struct Combined {
    #[serde(default, deserialize_with = "wire::or_default")]
    statuses: Vec<Option<WireStatus>>,
}

#[derive(Debug, Deserialize)]
struct WireStatus {
    #[serde(default, deserialize_with = "wire::or_default")]
    id: u64,
    #[serde(default, deserialize_with = "wire::or_default")]
    context: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    status: String,
    /// What GitHub calls it, and a future server may
    #[serde(default, deserialize_with = "wire::or_default")]
    state: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    description: String,
    #[serde(default, deserialize_with = "wire::or_default")]
    target_url: String,
}

#[derive(Debug, Serialize)]
struct NewStatus<'a> {
    context: &'a str,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_url: Option<&'a str>,
}

impl Forgejo {
    /// The server's own verdict covers one page only, so all pages are read and judged here
    pub(super) async fn read_checks(&self, repo: &RepoId, sha: &Sha) -> Result<Checks> {
        let rows = self
            .repo_get(repo, &["commits", sha.as_str(), "status"])
            .what(format!("commit `{sha}` of `{repo}`"))
            .all_of(self.likely_cap(), |answer| {
                let page: Option<Combined> = answer.json()?;
                let rows = page.map(|p| p.statuses).unwrap_or_default();
                Ok((rows.into_iter().flatten().collect(), None))
            })
            .await?;
        let mut items = newest(rows);
        for check in &mut items {
            if check.url.starts_with('/') {
                check.url = self.web(check.url.trim_start_matches('/'));
            }
        }
        Ok(Checks {
            items,
            partial: false,
        })
    }

    pub(super) async fn report_status(
        &self,
        repo: &RepoId,
        sha: &Sha,
        opts: &StatusOpts,
    ) -> Result<()> {
        let body = NewStatus {
            context: &opts.context,
            state: match opts.state {
                CheckState::Success => "success",
                CheckState::Failure => "failure",
                CheckState::Pending => "pending",
                CheckState::Skipped => "skipped",
            },
            description: opts.description.as_deref(),
            target_url: opts.target_url.as_deref(),
        };
        let what = format!("commit `{sha}` of `{repo}`");
        let answer = self
            .repo_post(repo, &["statuses", sha.as_str()])
            .what(&what)
            .json(&body)
            .answer()
            .await?;
        // An unknown commit is a 500, whose words only site admins get to see.
        if answer.status.as_u16() == 500 {
            self.resolve_rev(repo, sha.as_str()).await?;
        }
        self.explain(repo, answer.ok()).await.map(|_| ())
    }
}

fn newest(mut rows: Vec<WireStatus>) -> Vec<Check> {
    rows.sort_by(|a, b| a.context.cmp(&b.context).then(b.id.cmp(&a.id)));
    rows.dedup_by(|later, kept| later.context == kept.context);
    rows.into_iter()
        .map(|row| Check {
            state: state(if row.status.is_empty() {
                &row.state
            } else {
                &row.status
            }),
            context: row.context,
            description: row.description,
            url: row.target_url,
            app: None,
        })
        .collect()
}

/// Anyone may write any word as a state; only known good ones are good
fn state(word: &str) -> CheckState {
    match word {
        "success" => CheckState::Success,
        "failure" | "error" | "warning" => CheckState::Failure,
        "skipped" => CheckState::Skipped,
        _ => CheckState::Pending,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Verdict;

    #[test]
    fn the_newest_of_each_context_counts_and_unknown_words_are_pending() {
        let page: Combined = serde_json::from_str(
            r#"{"state":"success","statuses":[null,
                {"id":1,"context":"ci","status":"failure"},
                {"id":3,"context":"ci","status":"success"},
                {"id":2,"context":"ci","status":"pending"},
                {"id":4,"context":"lint","state":"skipped"}]}"#,
        )
        .unwrap();
        let items = newest(page.statuses.into_iter().flatten().collect());
        assert_eq!(items.len(), 2);
        assert_eq!(items[0].state, CheckState::Success);
        let checks = Checks {
            items,
            partial: false,
        };
        assert_eq!(checks.verdict(), Verdict::Success);
        assert_eq!(state("bogus"), CheckState::Pending);
        assert_eq!(state("warning"), CheckState::Failure);
        assert_eq!(state("error"), CheckState::Failure);
    }
}
