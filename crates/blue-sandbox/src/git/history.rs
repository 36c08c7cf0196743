//! Walks over commits

use std::collections::{BinaryHeap, HashMap, HashSet};

use super::{Commit, Entry, Oid, Repo, Result};

impl Repo {
    /// Commits reachable from `from` and not from `without`, newest first
    pub(crate) fn log(&self, from: Oid, without: Option<Oid>) -> Result<Vec<(Oid, Commit)>> {
        let hidden = match without {
            Some(oid) => self.ancestors(oid)?,
            None => HashSet::new(),
        };
        let mut out = Vec::new();
        let mut seen = HashSet::from([from]);
        let mut heap = BinaryHeap::new();
        let mut turn = u64::MAX;
        let mut waiting = HashMap::new();
        if !hidden.contains(&from) {
            let commit = self.commit(from)?;
            heap.push((commit.committer.seconds, turn, from));
            waiting.insert(from, commit);
        }
        while let Some((_, _, oid)) = heap.pop() {
            let Some(commit) = waiting.remove(&oid) else {
                continue;
            };
            for parent in &commit.parents {
                if !hidden.contains(parent) && seen.insert(*parent) {
                    let next = self.commit(*parent)?;
                    turn -= 1;
                    heap.push((next.committer.seconds, turn, *parent));
                    waiting.insert(*parent, next);
                }
            }
            out.push((oid, commit));
        }
        Ok(out)
    }

    pub(crate) fn ancestors(&self, of: Oid) -> Result<HashSet<Oid>> {
        let mut seen = HashSet::from([of]);
        let mut todo = vec![of];
        while let Some(oid) = todo.pop() {
            for parent in self.commit(oid)?.parents {
                if seen.insert(parent) {
                    todo.push(parent);
                }
            }
        }
        Ok(seen)
    }

    pub(crate) fn is_ancestor(&self, older: Oid, newer: Oid) -> Result<bool> {
        Ok(older == newer || self.ancestors(newer)?.contains(&older))
    }

    /// The best common ancestor, as `git merge-base` picks it
    pub(crate) fn merge_base(&self, a: Oid, b: Oid) -> Result<Option<Oid>> {
        if a == b {
            return Ok(Some(a));
        }
        let of_b = self.ancestors(b)?;
        let (mut seen, mut todo, mut frontier) = (HashSet::from([a]), vec![a], Vec::new());
        while let Some(oid) = todo.pop() {
            if of_b.contains(&oid) {
                frontier.push((self.commit(oid)?.committer.seconds, oid));
                continue;
            }
            for parent in self.commit(oid)?.parents {
                if seen.insert(parent) {
                    todo.push(parent);
                }
            }
        }
        frontier.sort_by(|left, right| right.cmp(left));
        for (_, candidate) in &frontier {
            let mut covered = false;
            for (_, other) in &frontier {
                if other != candidate && self.is_ancestor(*candidate, *other)? {
                    covered = true;
                    break;
                }
            }
            if !covered {
                return Ok(Some(*candidate));
            }
        }
        Ok(None)
    }

    /// Commits only `a` has, and commits only `b` has
    pub(crate) fn ahead_behind(&self, a: Oid, b: Oid) -> Result<(usize, usize)> {
        if a == b {
            return Ok((0, 0));
        }
        let (of_a, of_b) = (self.ancestors(a)?, self.ancestors(b)?);
        Ok((
            of_a.difference(&of_b).count(),
            of_b.difference(&of_a).count(),
        ))
    }

    /// For each entry of a folder, the commit that made it what it is
    pub(crate) fn last_commits(
        &self,
        from: Oid,
        dir: &str,
        names: &[String],
    ) -> Result<HashMap<String, (Oid, Commit)>> {
        let mut out = HashMap::new();
        let mut heap = BinaryHeap::new();
        let mut wanted: HashMap<Oid, HashSet<String>> = HashMap::new();
        let start = self.commit(from)?;
        heap.push((start.committer.seconds, from));
        wanted.insert(from, names.iter().cloned().collect());
        while let Some((_, oid)) = heap.pop() {
            let Some(mut open) = wanted.remove(&oid) else {
                continue;
            };
            let commit = self.commit(oid)?;
            let here = self.folder(&commit, dir)?;
            for parent in &commit.parents {
                if open.is_empty() {
                    break;
                }
                let before = self.commit(*parent)?;
                let there = self.folder(&before, dir)?;
                // A merge that took an entry from one side did not make it.
                let same = |name: &String| here.get(name) == there.get(name);
                let follow: HashSet<String> =
                    open.iter().filter(|name| same(name)).cloned().collect();
                if follow.is_empty() {
                    continue;
                }
                open.retain(|name| !follow.contains(name));
                heap.push((before.committer.seconds, *parent));
                wanted.entry(*parent).or_default().extend(follow);
            }
            for name in open {
                out.insert(name, (oid, commit.clone()));
            }
        }
        Ok(out)
    }

    /// Commits that changed a path, newest first
    pub(crate) fn log_path(&self, from: Oid, path: &str) -> Result<Vec<(Oid, Commit)>> {
        let mut out = Vec::new();
        for (oid, commit) in self.log(from, None)? {
            let here = self.oid_at(&commit, path)?;
            let mut same_as_a_parent = commit.parents.is_empty() && here.is_none();
            for parent in &commit.parents {
                same_as_a_parent |= self.oid_at(&self.commit(*parent)?, path)? == here;
            }
            if !same_as_a_parent {
                out.push((oid, commit));
            }
        }
        Ok(out)
    }

    fn oid_at(&self, commit: &Commit, path: &str) -> Result<Option<Oid>> {
        Ok(self.entry(commit.tree, path)?.map(|entry| entry.oid))
    }

    fn folder(&self, commit: &Commit, dir: &str) -> Result<HashMap<String, (Oid, super::Mode)>> {
        let Some(Entry {
            oid,
            mode: super::Mode::Tree,
            ..
        }) = self.entry(commit.tree, dir)?
        else {
            return Ok(HashMap::new());
        };
        Ok(self
            .tree(oid)?
            .into_iter()
            .map(|e| (e.name, (e.oid, e.mode)))
            .collect())
    }
}
