//! A repository at a glance

use serde::de::IgnoredAny;
use tokio::join;

use super::{
    GitHub, PAGE_LIMIT,
    branches::WireBranch,
    protection::{ClassicRule, Rule, combined},
    pulls::WirePull,
    repo::likely_default,
};
use crate::{
    ForgeError, Result,
    model::{Branch, Listing, Overview, Page, PrFilter, RepoId},
    rest::Call,
};

/// What nearly every default branch is called; the rules of a branch can only be asked for by name
const GUESS: &str = "main";
/// Rows are large
const PRS: u32 = 50;
/// So many that all of them are asked for rather than twice for some
const FEW: usize = 30;

type Rules = (Result<Option<Vec<Rule>>>, Result<ClassicRule>);

impl GitHub {
    /// Reads the overview with five concurrent requests
    ///
    /// The rules can only be asked for by the name of the branch: the one that the caller gives, that
    /// the forge gave a moment ago, or that the clone hints at, else a guess. A wrong guess costs one or
    /// two requests more, after the first five, and so does each list that does not fit on its page.
    pub(super) async fn read_overview(
        &self,
        repo: &RepoId,
        branch: Option<&str>,
    ) -> Result<Overview> {
        let known = self.recent.likely_default(repo);
        let guess = branch.or(known.as_deref()).unwrap_or(GUESS);
        let (found, branches, prs, rules) = join!(
            self.wire_repo(repo),
            self.get(repo, &["branches"])
                .page::<WireBranch>(Page::first(PAGE_LIMIT), PAGE_LIMIT),
            self.pulls_call(repo, &PrFilter::default())
                .page::<WirePull>(Page::first(PRS), PAGE_LIMIT),
            self.both_rules(repo, guess),
        );
        let found = found?;
        let branches = branches?;
        let prs = match prs {
            Ok(list) => Some(list),
            // The repository is there, so its pull requests are switched off, unless it says otherwise.
            Err(ForgeError::NotFound { .. }) if found.has_pull_requests != Some(true) => None,
            Err(error) => return Err(error),
        };
        let (branches_total, prs_total) = join!(
            self.total(Some(&branches), self.get(repo, &["branches"])),
            self.total(prs.as_ref(), self.pulls_call(repo, &PrFilter::default())),
        );
        let (branches_total, prs_total) = (branches_total?, prs_total?);
        let empty = branches.items.is_empty();
        let names = branches.items.iter().map(|row| row.name.as_str());
        let default = match found.told_default() {
            Some(name) => name.to_owned(),
            None => likely_default(names),
        };
        let wanted = branch.unwrap_or(&default).to_owned();
        self.recent.saw_default(repo, &default, empty);
        if !empty && branches.next_page.is_none() {
            let names = branches.items.iter().map(|row| row.name.clone());
            self.recent.saw_all_branches(repo, names.collect());
        }
        if prs
            .as_ref()
            .is_some_and(|prs| prs.next_page.is_none() && prs.items.len() <= FEW)
        {
            self.recent.saw_few_open(repo);
        }
        let row = self.row(repo, &wanted, &branches).await?;
        let rules = if wanted == guess || empty {
            rules
        } else if row.as_ref().is_some_and(|row| row.protected) {
            self.both_rules(repo, &wanted).await
        } else {
            (self.rules(repo, &wanted).await, Ok(ClassicRule::Absent))
        };
        let protection = match &row {
            None => {
                let coming = rules.0?;
                let has_some = coming.as_ref().is_some_and(|r| !r.is_empty());
                if branch.is_some() && !empty && !has_some {
                    return Err(self.not_found(format!("branch `{wanted}` of `{repo}`")));
                }
                combined(None, coming)
            }
            Some(row) if row.protected => combined(Some((row.clone(), rules.1?)), rules.0?),
            Some(_) => combined(None, rules.0?),
        };
        Ok(Overview {
            repository: self.repository_of(found, default, empty)?,
            branches: Listing {
                items: branches.items.into_iter().map(Into::into).collect(),
                next_page: branches.next_page,
                total: branches_total,
            },
            prs_unreadable: false,
            prs: prs.map(|prs| Listing {
                items: prs.items.into_iter().map(Into::into).collect(),
                next_page: prs.next_page,
                total: prs_total,
            }),
            branch: wanted,
            tip: row.map(Branch::from),
            protection,
        })
    }

    /// How many rows a list has; where it goes on, GitHub tells it by the number of pages only
    async fn total<T>(&self, list: Option<&Listing<T>>, call: Call<'_>) -> Result<Option<u64>> {
        match list {
            Some(list) if list.next_page.is_some() && list.total.is_none() => {
                let one = call.page::<IgnoredAny>(Page::first(1), 1).await?;
                Ok(one.total)
            }
            Some(list) => Ok(list.total),
            None => Ok(None),
        }
    }

    async fn both_rules(&self, repo: &RepoId, branch: &str) -> Rules {
        join!(self.rules(repo, branch), self.classic(repo, branch))
    }

    /// The branch out of the list, or by itself where the list was cut before it
    async fn row(
        &self,
        repo: &RepoId,
        name: &str,
        branches: &Listing<WireBranch>,
    ) -> Result<Option<WireBranch>> {
        if let Some(row) = branches.items.iter().find(|row| row.name == name) {
            return Ok(Some(row.clone()));
        }
        if branches.next_page.is_none() {
            return Ok(None);
        }
        match self.wire_branch(repo, name).await {
            Ok(row) => Ok(Some(row)),
            Err(ForgeError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
