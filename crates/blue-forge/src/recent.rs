//! What a forge was told a moment ago, so that it need not be asked again
//!
//! Commits and merges never change, so they are kept for good. What can change is believed for a
//! short while, and only where a wrong belief costs another request and nothing else: the server
//! itself refuses what would be wrong.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::model::{Branch, MergeStyles, Permissions, PrState, PullRequest, RepoId, Sha};

/// How long what can change is believed
const FRESH: Duration = Duration::from_mins(1);
/// Entries of one kind; it starts afresh then
const MOST: usize = 512;

#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    default_branches: Map<RepoId, String>,
    /// What others than the forge say that it is
    likely_defaults: Map<RepoId, String>,
    permissions: Map<RepoId, Permissions>,
    styles: Map<RepoId, MergeStyles>,
    /// Branches that are there
    branches: Map<(RepoId, String), ()>,
    /// Branches of a repository, where all of them were listed
    all_branches: Map<RepoId, HashSet<String>>,
    /// Repositories whose open pull requests fit into one short list
    few_open: Map<RepoId, ()>,
    /// Plain files of the default branch
    files: Map<(RepoId, String), Sha>,
    open: Map<(RepoId, u64), OpenPr>,
    /// Pull requests that this very client opened
    opened: Map<(RepoId, u64), ()>,
    /// Whether the head of a pull request must have all of this branch
    up_to_date: Map<(RepoId, String), bool>,
    parents: Map<Sha, Vec<Sha>>,
    /// Heads that a pull request brought into another branch
    merged: Map<(RepoId, String, Sha), ()>,
}

/// An open pull request as it was read
#[derive(Debug, Clone)]
pub(crate) struct OpenPr {
    pub(crate) head: Sha,
    /// None for one of a fork
    pub(crate) own_branch: Option<String>,
    base: String,
}

#[derive(Debug)]
struct Map<K, V>(HashMap<K, (V, Instant)>);

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash, V: Clone> Map<K, V> {
    fn keep(&mut self, key: K, value: V) {
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(key, (value, Instant::now()));
    }

    fn ever(&self, key: &K) -> Option<V> {
        self.0.get(key).map(|(value, _)| value.clone())
    }

    fn fresh(&self, key: &K) -> Option<V> {
        self.fresh_at(key, Instant::now())
    }

    fn fresh_at(&self, key: &K, now: Instant) -> Option<V> {
        let (value, at) = self.0.get(key)?;
        (now.saturating_duration_since(*at) < FRESH).then(|| value.clone())
    }
}

impl Recent {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A repository with commits; an empty one changes all at once, so it is not remembered
    pub(crate) fn saw_default(&self, repo: &RepoId, branch: &str, empty: bool) {
        let mut kept = self.kept();
        if empty || branch.is_empty() {
            kept.default_branches.0.remove(repo);
        } else {
            kept.default_branches.keep(repo.clone(), branch.to_owned());
        }
    }

    pub(crate) fn default_branch(&self, repo: &RepoId) -> Option<String> {
        self.kept().default_branches.fresh(repo)
    }

    pub(crate) fn heard_default(&self, repo: &RepoId, branch: &str) {
        let branch = branch.to_owned();
        self.kept().likely_defaults.keep(repo.clone(), branch);
    }

    /// A guess, and no more: what was read, else what was heard
    pub(crate) fn likely_default(&self, repo: &RepoId) -> Option<String> {
        let heard = || self.kept().likely_defaults.ever(repo);
        self.default_branch(repo).or_else(heard)
    }

    pub(crate) fn saw_branch(&self, repo: &RepoId, name: &str) {
        let key = (repo.clone(), name.to_owned());
        self.kept().branches.keep(key, ());
    }

    pub(crate) fn saw_branches(&self, repo: &RepoId, rows: &[Branch]) {
        for row in rows {
            self.saw_branch(repo, &row.name);
        }
    }

    /// Every branch there is
    pub(crate) fn saw_all_branches(&self, repo: &RepoId, names: HashSet<String>) {
        self.kept().all_branches.keep(repo.clone(), names);
    }

    /// It was not there a moment ago, and was not made since by this client
    pub(crate) fn lacks_branch(&self, repo: &RepoId, name: &str) -> bool {
        let all = self.kept().all_branches.fresh(repo);
        all.is_some_and(|all| !all.contains(name)) && !self.has_branch(repo, name)
    }

    pub(crate) fn saw_permissions(&self, repo: &RepoId, may: Permissions) {
        self.kept().permissions.keep(repo.clone(), may);
    }

    pub(crate) fn permissions(&self, repo: &RepoId) -> Option<Permissions> {
        self.kept().permissions.fresh(repo)
    }

    pub(crate) fn saw_styles(&self, repo: &RepoId, styles: Option<&MergeStyles>) {
        if let Some(styles) = styles {
            self.kept().styles.keep(repo.clone(), styles.clone());
        }
    }

    pub(crate) fn styles(&self, repo: &RepoId) -> Option<MergeStyles> {
        self.kept().styles.fresh(repo)
    }

    pub(crate) fn saw_few_open(&self, repo: &RepoId) {
        self.kept().few_open.keep(repo.clone(), ());
    }

    pub(crate) fn has_few_open(&self, repo: &RepoId) -> bool {
        self.kept().few_open.fresh(repo).is_some()
    }

    pub(crate) fn missed_branch(&self, repo: &RepoId, name: &str) {
        let mut kept = self.kept();
        kept.branches.0.remove(&(repo.clone(), name.to_owned()));
        if kept.default_branches.ever(repo).as_deref() == Some(name) {
            kept.default_branches.0.remove(repo);
        }
    }

    pub(crate) fn has_branch(&self, repo: &RepoId, name: &str) -> bool {
        let key = (repo.clone(), name.to_owned());
        self.kept().branches.fresh(&key).is_some()
    }

    pub(crate) fn saw_file(&self, repo: &RepoId, path: &str, blob: &Sha) {
        let key = (repo.clone(), path.to_owned());
        self.kept().files.keep(key, blob.clone());
    }

    pub(crate) fn file(&self, repo: &RepoId, path: &str) -> Option<Sha> {
        self.kept().files.fresh(&(repo.clone(), path.to_owned()))
    }

    pub(crate) fn saw_pr(&self, repo: &RepoId, pr: &PullRequest) {
        let key = (repo.clone(), pr.number);
        self.saw_styles(repo, pr.styles.as_ref());
        match (&pr.head.sha, pr.state) {
            (Some(head), PrState::Open) => {
                let open = OpenPr {
                    head: head.clone(),
                    own_branch: pr.own_branch(repo),
                    base: pr.base.branch.clone(),
                };
                self.kept().open.keep(key, open);
            }
            _ => drop(self.kept().open.0.remove(&key)),
        }
    }

    pub(crate) fn opened_pr(&self, repo: &RepoId, number: u64) {
        self.kept().opened.keep((repo.clone(), number), ());
    }

    /// Whether this client opened the pull request a moment ago: it had no time to get dependencies
    pub(crate) fn is_new_pr(&self, repo: &RepoId, number: u64) -> bool {
        let opened = self.kept().opened.fresh(&(repo.clone(), number));
        opened.is_some()
    }

    pub(crate) fn saw_rule(&self, repo: &RepoId, branch: &str, up_to_date: bool) {
        let key = (repo.clone(), branch.to_owned());
        self.kept().up_to_date.keep(key, up_to_date);
    }

    /// A pull request that was open at this head
    pub(crate) fn open_at(&self, repo: &RepoId, number: u64, head: &Sha) -> Option<OpenPr> {
        let open = self.kept().open.fresh(&(repo.clone(), number));
        open.filter(|open| open.head == *head)
    }

    /// Whether its base takes a head that is behind
    pub(crate) fn may_be_behind(&self, repo: &RepoId, open: &OpenPr) -> bool {
        let key = (repo.clone(), open.base.clone());
        self.kept().up_to_date.fresh(&key) == Some(false)
    }

    pub(crate) fn saw_commit(&self, commit: &Sha, parents: Vec<Sha>) {
        self.kept().parents.keep(commit.clone(), parents);
    }

    pub(crate) fn parents(&self, commit: &Sha) -> Option<Vec<Sha>> {
        self.kept().parents.ever(commit)
    }

    pub(crate) fn is_parent(&self, parent: &Sha, commit: &Sha) -> bool {
        let parents = self.parents(commit);
        parents.is_some_and(|parents| parents.contains(parent))
    }

    /// The forge took a merge that was pinned to this head
    pub(crate) fn saw_merge(&self, repo: &RepoId, number: u64, pin: &Sha) {
        let open = self.open_at(repo, number, pin);
        if let Some(branch) = open.and_then(|open| open.own_branch) {
            let key = (repo.clone(), branch, pin.clone());
            self.kept().merged.keep(key, ());
        }
    }

    pub(crate) fn was_merged(&self, repo: &RepoId, branch: &str, head: &Sha) -> bool {
        let key = (repo.clone(), branch.to_owned(), head.clone());
        self.kept().merged.ever(&key).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Mergeable, PrSide, Ruling};

    fn repo() -> RepoId {
        RepoId::parse("a", "b").unwrap()
    }

    /// From `topic` to `main`
    fn pr() -> PullRequest {
        let side = |branch: &str| PrSide {
            branch: branch.to_owned(),
            sha: Some(sha("c")),
            repo: Some(repo()),
        };
        PullRequest {
            number: 7,
            title: String::new(),
            body: String::new(),
            state: PrState::Open,
            draft: false,
            head: side("topic"),
            base: side("main"),
            mergeable: Mergeable::Unknown,
            server_time: None,
            last_push: None,
            merge_base: None,
            ruling: Ruling::Unknown,
            archived: false,
            merge_sha: None,
            changed_files: None,
            commits: None,
            styles: None,
            author: String::new(),
            created: None,
            updated: None,
            html_url: String::new(),
        }
    }

    fn sha(digit: &str) -> Sha {
        Sha::parse(&digit.repeat(40)).unwrap()
    }

    #[test]
    fn what_can_change_is_believed_for_a_while() {
        let mut map = Map::default();
        map.keep("main", 1);
        let now = Instant::now();
        assert_eq!(map.fresh_at(&"main", now + FRESH / 2), Some(1));
        assert_eq!(map.fresh_at(&"main", now + FRESH), None);
        assert_eq!(map.ever(&"main"), Some(1));
        assert_eq!(map.ever(&"dev"), None);
    }

    #[test]
    fn what_is_known_is_told_of_the_very_same_thing_only() {
        let recent = Recent::default();
        recent.saw_default(&repo(), "main", false);
        recent.saw_file(&repo(), "a.txt", &sha("a"));
        recent.saw_commit(&sha("c"), vec![sha("b")]);
        recent.saw_pr(&repo(), &pr());
        recent.saw_merge(&repo(), 7, &sha("b"));
        assert!(!recent.was_merged(&repo(), "topic", &sha("b")));
        recent.saw_merge(&repo(), 7, &sha("c"));
        assert_eq!(recent.default_branch(&repo()).as_deref(), Some("main"));
        assert_eq!(recent.file(&repo(), "a.txt"), Some(sha("a")));
        assert_eq!(recent.file(&repo(), "b.txt"), None);
        assert!(recent.is_parent(&sha("b"), &sha("c")));
        assert!(!recent.is_parent(&sha("c"), &sha("b")));
        assert!(recent.was_merged(&repo(), "topic", &sha("c")));
        assert!(!recent.was_merged(&repo(), "main", &sha("c")));
        recent.opened_pr(&repo(), 7);
        assert!(recent.is_new_pr(&repo(), 7) && !recent.is_new_pr(&repo(), 8));
    }

    #[test]
    fn an_empty_repository_and_a_missing_branch_leave_nothing_behind() {
        let recent = Recent::default();
        recent.saw_default(&repo(), "main", false);
        recent.saw_branch(&repo(), "main");
        recent.saw_default(&repo(), "main", true);
        assert_eq!(recent.default_branch(&repo()), None);
        recent.saw_default(&repo(), "main", false);
        recent.heard_default(&repo(), "trunk");
        assert_eq!(recent.likely_default(&repo()).as_deref(), Some("main"));
        recent.missed_branch(&repo(), "main");
        assert_eq!(recent.default_branch(&repo()), None);
        assert_eq!(recent.likely_default(&repo()).as_deref(), Some("trunk"));
        assert!(!recent.has_branch(&repo(), "main"));
    }

    #[test]
    fn a_branch_is_missing_only_where_all_were_seen() {
        let recent = Recent::default();
        assert!(!recent.lacks_branch(&repo(), "topic"));
        recent.saw_all_branches(&repo(), HashSet::from(["main".to_owned()]));
        assert!(recent.lacks_branch(&repo(), "topic"));
        assert!(!recent.lacks_branch(&repo(), "main"));
        recent.saw_branch(&repo(), "topic");
        assert!(!recent.lacks_branch(&repo(), "topic"));
    }

    #[test]
    fn a_kind_starts_afresh_when_it_is_full() {
        let recent = Recent::default();
        for n in 0..=MOST {
            recent.saw_branch(&repo(), &n.to_string());
        }
        assert!(!recent.has_branch(&repo(), "0"));
        assert!(recent.has_branch(&repo(), &MOST.to_string()));
    }
}
