//! Writers of one branch within this process, one after the other
//!
//! Gitea and Forgejo cannot be told which commit a branch must still be at, so what is compared
//! before a write holds only while nobody else of this process writes there. It is one list for the
//! whole process: behind the broker each caller has a client of their own.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

use super::model::{Host, RepoId};

/// Host, repository and branch
type Key = (String, String, String);

static TURNS: Mutex<BTreeMap<Key, Weak<Turn<()>>>> = Mutex::new(BTreeMap::new());

/// Wait until nobody else writes to this branch; dropping it lets the next one go
pub(super) async fn take(host: &Host, repo: &RepoId, branch: &str) -> OwnedMutexGuard<()> {
    turn(host, repo, branch).lock_owned().await
}

fn turn(host: &Host, repo: &RepoId, branch: &str) -> Arc<Turn<()>> {
    // Forges do not tell names of repositories apart by case, but those of branches.
    let key = (
        host.to_string(),
        repo.to_string().to_lowercase(),
        branch.to_owned(),
    );
    let mut turns = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(turn) = turns.get(&key).and_then(Weak::upgrade) {
        return turn;
    }
    turns.retain(|_, turn| turn.strong_count() > 0);
    let turn = Arc::new(Turn::new(()));
    turns.insert(key, Arc::downgrade(&turn));
    turn
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn one_branch_has_one_writer_and_the_others_go_on() {
        let host = Host::parse("turns.example.org").unwrap();
        let repo = |name: &str| RepoId::parse("alice", name).unwrap();
        let (site, same) = (repo("site"), repo("Site"));
        let writing = take(&host, &site, "main").await;
        let mut gone = Box::pin(take(&host, &site, "main"));
        let mut second = Box::pin(take(&host, &same, "main"));
        assert!(gone.as_mut().now_or_never().is_none());
        assert!(second.as_mut().now_or_never().is_none());
        for (name, branch) in [("site", "topic"), ("site", "Main"), ("shop", "main")] {
            let other = take(&host, &repo(name), branch).now_or_never();
            assert!(other.is_some(), "{name} {branch}");
        }
        // One that gives up takes nobody's turn.
        drop((gone, writing));
        let next = second.as_mut().now_or_never();
        assert!(next.is_some());
        drop((second, next));
        drop(turn(&host, &repo("other"), "x"));
        let kept = TURNS.lock().unwrap();
        let here = kept.iter().filter(|(key, _)| key.0 == host.as_str());
        assert!(here.count() <= 1, "what nobody waits for is forgotten");
    }
}
