//! A repository at a glance

use tokio::join;

use super::{
    Forgejo,
    branches::WireBranch,
    protection::{combined, strongest},
    pulls::WirePull,
    server::{DEFAULT_CAP, SMALL_PAGE},
    wire,
};
use crate::{
    ForgeError, Result,
    model::{Listing, Overview, Page, PrFilter, Protection, RepoId},
};

impl Forgejo {
    /// Reads the overview with four concurrent requests, and a fifth for a branch that the caller names
    /// or that is not on the first page
    ///
    /// The protection rules are read as a list, because asking for one rule would have to wait for the
    /// name of the default branch.
    pub(super) async fn read_overview(
        &self,
        repo: &RepoId,
        branch: Option<&str>,
    ) -> Result<Overview> {
        let what = || format!("repository `{repo}`");
        let (found, branches, prs, rules, named) = join!(
            self.wire_repo(repo),
            self.repo_get(repo, &["branches"])
                .what(what())
                .page::<WireBranch>(Page::first(DEFAULT_CAP), DEFAULT_CAP),
            self.pulls_call(repo, &PrFilter::default())
                .page::<WirePull>(Page::first(SMALL_PAGE), SMALL_PAGE),
            self.visible_rules(repo),
            self.row_if_named(repo, branch),
        );
        let found = found?;
        let branches = branches?;
        let prs = read_prs(&found, prs)?;
        // The list is not there although the repository is said to have one.
        let prs_unreadable = prs.is_none() && found.has_pull_requests != Some(false);
        let rules = rules?;
        let wanted = branch.unwrap_or(&found.default_branch).to_owned();
        let here = branches.items.iter().find(|row| row.name == wanted);
        let row = match (named?, here) {
            (Some(row), _) => Some(row),
            (None, Some(row)) => Some(row.clone()),
            (None, None) if branch.is_none() && branches.next_page.is_some() => {
                self.row_if_any(repo, &wanted).await?
            }
            (None, None) => None,
        };
        let empty = branches.items.is_empty();
        let tip = row.as_ref().map(|row| self.branch_of(row)).transpose()?;
        let protection = match row {
            Some(row) => combined(row, rules),
            None => match rules.and_then(|rules| strongest(rules, &wanted)) {
                Some(rule) => rule.into_model(None),
                None if branch.is_some() && !empty => {
                    return Err(ForgeError::NotFound {
                        host: self.rest.host().clone(),
                        what: format!("branch `{wanted}` of `{repo}`"),
                        status: Some(404),
                    });
                }
                None => Protection::none(),
            },
        };
        let items = self.branches(branches.items)?;
        self.recent.saw_branches(repo, &items);
        let mut repository = found.into_model(repo);
        repository.empty = empty;
        Ok(Overview {
            repository,
            branches: Listing {
                items,
                next_page: branches.next_page,
                total: branches.total,
            },
            prs,
            prs_unreadable,
            branch: wanted,
            tip,
            protection,
        })
    }

    async fn row_if_named(&self, repo: &RepoId, name: Option<&str>) -> Result<Option<WireBranch>> {
        match name {
            Some(name) => self.row_if_any(repo, name).await,
            None => Ok(None),
        }
    }
}

/// An empty repository has no such list, nor has one where pull requests are switched off, nor a
/// mirror, nor any for a member whose team may not read pull requests
fn read_prs(
    found: &wire::Repo,
    prs: Result<Listing<WirePull>>,
) -> Result<Option<Listing<crate::model::PullRequest>>> {
    match prs {
        Ok(list) => Ok(Some(Listing {
            items: list.items.into_iter().map(Into::into).collect(),
            next_page: list.next_page,
            total: list.total,
        })),
        Err(ForgeError::NotFound { .. })
            if found.empty && found.has_pull_requests != Some(false) =>
        {
            Ok(Some(Listing::of_all(Vec::new(), Page::default())))
        }
        Err(ForgeError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
