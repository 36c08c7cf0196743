//! What a pull request holds and what people and GitHub think of it

use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use tokio::time::Instant;

use super::{super::commits::WireFile, GitHub, PAGE_LIMIT, WirePull, wire};
use crate::{
    Forge, Result,
    model::{
        ChangedFile, Mergeability, Mergeable, PrState, PullRequest, RepoId, Review, ReviewState,
    },
};

/// Between two looks at a pull request that GitHub still computes
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

#[derive(Debug, Deserialize)]
struct WireReview {
    user: Option<wire::User>,
    state: String,
    author_association: Option<String>,
    commit_id: Option<wire::Oid>,
    submitted_at: Option<Timestamp>,
}

impl GitHub {
    pub(in crate::github) async fn files_of_pr(
        &self,
        repo: &RepoId,
        number: u64,
    ) -> Result<Vec<ChangedFile>> {
        let rows = self
            .get(repo, &["pulls", &number.to_string(), "files"])
            .what(format!("pull request #{number} of `{repo}`"))
            .all::<WireFile>(PAGE_LIMIT)
            .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    pub(in crate::github) async fn reviews_at(
        &self,
        repo: &RepoId,
        pr: &PullRequest,
    ) -> Result<Vec<Review>> {
        let rows = self
            .get(repo, &["pulls", &pr.number.to_string(), "reviews"])
            .what(format!("pull request #{} of `{repo}`", pr.number))
            .all::<WireReview>(PAGE_LIMIT)
            .await?;
        Ok(rows.into_iter().map(|row| review(row, pr)).collect())
    }

    /// Look again while GitHub still computes; what it says of its rules is known only then
    pub(in crate::github) async fn settled(
        &self,
        repo: &RepoId,
        mut pr: PullRequest,
        patience: Duration,
    ) -> Result<(Mergeability, PullRequest)> {
        let end = Instant::now() + patience;
        let mut pause = FIRST_PAUSE;
        loop {
            let told = told_by(&pr);
            if told != Mergeability::Checking || Instant::now() + pause > end {
                let told = match told {
                    Mergeability::Checking if pr.draft => Mergeability::Draft,
                    told => told,
                };
                return Ok((told, pr));
            }
            tokio::time::sleep(pause).await;
            pr = self.get_pr(repo, pr.number).await?;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Look until GitHub knows whether it merges, or until `end`
    pub(super) async fn known_pull(
        &self,
        repo: &RepoId,
        number: u64,
        end: Instant,
    ) -> Result<WirePull> {
        let mut pause = FIRST_PAUSE;
        loop {
            let pull = self.wire_pull(repo, number).await?;
            if pull.mergeability() != Mergeability::Checking || Instant::now() + pause > end {
                return Ok(pull);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

impl WirePull {
    pub(super) fn mergeability(&self) -> Mergeability {
        match self.state() {
            PrState::Merged => return Mergeability::Merged,
            PrState::Closed => return Mergeability::Closed,
            PrState::Open => {}
        }
        match self.mergeable {
            Some(false) => Mergeability::Conflict,
            _ if self.draft => Mergeability::Draft,
            None => Mergeability::Checking,
            Some(true) if self.commits == Some(0) => Mergeability::Empty,
            Some(true) => Mergeability::Clean,
        }
    }
}

/// What one look tells
///
/// A draft may conflict, and that is known only once GitHub has computed it. Commits without a change
/// merge; right after the creation no file is listed because none is computed yet.
fn told_by(pr: &PullRequest) -> Mergeability {
    match (pr.state, pr.mergeable) {
        (PrState::Merged, _) => Mergeability::Merged,
        (PrState::Closed, _) => Mergeability::Closed,
        (_, Mergeable::No) => Mergeability::Conflict,
        (_, Mergeable::Unknown) => Mergeability::Checking,
        (_, Mergeable::Yes) if pr.draft => Mergeability::Draft,
        (_, Mergeable::Yes) if pr.commits == Some(0) => Mergeability::Empty,
        (_, Mergeable::Yes) => Mergeability::Clean,
    }
}

fn review(row: WireReview, pr: &PullRequest) -> Review {
    let state = match row.state.as_str() {
        "APPROVED" => ReviewState::Approved,
        "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
        "COMMENTED" => ReviewState::Commented,
        "DISMISSED" => ReviewState::Dismissed,
        _ => ReviewState::Pending,
    };
    let commit = row.commit_id.map(|c| c.0);
    // Only reviewers who may write count, and GitHub tells no more of that than this word. A member of
    // an organization who hides the membership is shown as a contributor.
    let official = match row.author_association.as_deref() {
        _ if state == ReviewState::Pending => Some(false),
        Some("OWNER" | "MEMBER" | "COLLABORATOR") => Some(true),
        None | Some("CONTRIBUTOR") => None,
        Some(_) => Some(false),
    };
    Review {
        author: wire::login(row.user),
        state,
        official,
        stale: commit.is_some() && commit != pr.head.sha,
        commit,
        submitted: row.submitted_at,
    }
}
