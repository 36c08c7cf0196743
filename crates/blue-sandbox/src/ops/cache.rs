//! Answers that cannot change, kept for a while

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use super::Result;
use crate::git::{Diff, Oid};

/// Entries per kind before it is emptied
const ENTRIES: usize = 2_000;

/// Facts about git objects, keyed by object names
#[derive(Debug, Default)]
pub(crate) struct Cache {
    diffs: Memo<(i64, Oid, Oid), Arc<Diff>>,
    last_commits: Memo<(i64, Oid, String), Oid>,
    commit_times: Memo<Oid, i64>,
}

impl Cache {
    pub(crate) fn diff(
        &self,
        key: (i64, Oid, Oid),
        make: impl FnOnce() -> Result<Diff>,
    ) -> Result<Arc<Diff>> {
        self.diffs.get_or(key, || make().map(Arc::new))
    }

    /// When a commit was made
    pub(crate) fn commit_time(&self, oid: Oid, make: impl FnOnce() -> Result<i64>) -> Result<i64> {
        self.commit_times.get_or(oid, make)
    }

    pub(crate) fn last_commit(&self, key: &(i64, Oid, String)) -> Option<Oid> {
        self.last_commits.get(key)
    }

    pub(crate) fn put_last_commit(&self, key: (i64, Oid, String), oid: Oid) {
        self.last_commits.put(key, oid);
    }
}

#[derive(Debug)]
struct Memo<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    fn get(&self, key: &K) -> Option<V> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)
            .cloned()
    }

    fn put(&self, key: K, value: V) {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if map.len() >= ENTRIES {
            map.clear();
        }
        map.insert(key, value);
    }

    fn get_or(&self, key: K, make: impl FnOnce() -> Result<V>) -> Result<V> {
        if let Some(value) = self.get(&key) {
            return Ok(value);
        }
        let value = make()?;
        self.put(key, value.clone());
        Ok(value)
    }
}
