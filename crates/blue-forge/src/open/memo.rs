//! What was opened before, while nothing that it was read from has changed
//!
//! A server that runs for days opens a repository for every call: that must not cost git, ssh,
//! credential helpers and probes each time. What files say is compared by their content; what is
//! not in a file (a helper, a command, ssh) is asked again after a while.

use std::{
    collections::HashMap,
    fs,
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use jiff::{SignedDuration, Timestamp};

use super::{Ask, Located, Opened};
use crate::{Forge, ForgeType, token::TokenSource};

/// How long what is in no file is believed
const FRESH: SignedDuration = SignedDuration::from_secs(60);
/// Entries of either map; it starts afresh then
const MOST: usize = 256;
/// No file that matters is larger
const LARGEST: u64 = 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Memo {
    opened: Mutex<HashMap<Ask, Kept>>,
    /// One for all repositories, so that what a forge learnt of its server is kept
    forges: Mutex<HashMap<Key, Arc<dyn Forge>>>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Kept {
    opened: Opened,
    files: Files,
    at: Timestamp,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    family: ForgeType,
    host: String,
    api: String,
    /// A keyed hash: the token itself is not kept
    token: Option<u64>,
}

/// Files, and a keyed hash of what is in each; none where there is none
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files(Vec<(PathBuf, Option<u64>)>);

impl Memo {
    /// What the same question was answered with
    pub(super) fn get(&self, ask: &Ask, now: Timestamp) -> Option<Opened> {
        let mut all = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get(ask)?;
        let age = now.duration_since(kept.at);
        let fresh = !age.is_negative() && age < FRESH;
        if fresh && self.read(kept.files.paths()) == kept.files {
            return Some(kept.opened.clone());
        }
        all.remove(ask);
        None
    }

    /// Keep an answer, if the files in `before` still are what they were before it was looked for
    ///
    /// Of its notices only `standing` is kept, to be said again.
    pub(super) fn keep(
        &self,
        ask: &Ask,
        opened: &Opened,
        standing: Vec<String>,
        before: &Files,
        now: Timestamp,
    ) {
        let guess = opened.found.guess;
        if guess || self.read(before.paths()) != *before {
            return;
        }
        let mut files = before.clone();
        if let Some(TokenSource::HostsFile(path) | TokenSource::VariableFile { path, .. }) =
            &opened.token
        {
            files.0.extend(self.read([path.clone()].into_iter()).0);
        }
        let mut all = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
            all.clear();
        }
        let opened = Opened {
            notices: standing,
            ..opened.clone()
        };
        let at = now;
        all.insert(ask.clone(), Kept { opened, files, at });
    }

    /// The forge of an endpoint and a token, made at most once
    pub(super) fn forge(&self, located: &Located) -> Arc<dyn Forge> {
        let token = located.credential.as_ref();
        let key = Key {
            family: located.family,
            host: located.endpoint.host.to_string(),
            api: located.endpoint.api.to_string(),
            token: token.map(|c| self.hasher.hash_one(c.token.expose())),
        };
        let mut all = self.forges.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
            all.clear();
        }
        all.entry(key).or_insert_with(|| located.forge()).clone()
    }

    pub(super) fn read(&self, paths: impl Iterator<Item = PathBuf>) -> Files {
        let hash = |path: &Path| {
            let size = fs::metadata(path).ok()?;
            if !size.is_file() || size.len() > LARGEST {
                return Some(size.len());
            }
            Some(self.hasher.hash_one(fs::read(path).ok()?))
        };
        Files(paths.map(|p| (p.clone(), hash(&p))).collect())
    }
}

impl Files {
    fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().map(|(path, _)| path.clone())
    }
}

/// The files that decide what `cwd` belongs to
pub(super) fn of_folder(cwd: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in cwd.ancestors() {
        let git = folder.join(".git");
        files.push(folder.join(".blue").join("config.yaml"));
        if git.is_file() {
            // A linked work tree: what all of them share is two folders above its own.
            if let Some(own) = fs::read_to_string(&git)
                .ok()
                .and_then(|text| Some(text.strip_prefix("gitdir:")?.trim().to_owned()))
                .map(|own| folder.join(own))
            {
                files.extend(["HEAD", "config", "config.worktree"].map(|f| own.join(f)));
                files.extend(own.ancestors().nth(2).map(|shared| shared.join("config")));
            }
            files.push(git);
            break;
        }
        // Before there is a repository, its appearance is what counts.
        files.extend(["HEAD", "config"].map(|f| git.join(f)));
        if git.is_dir() {
            break;
        }
    }
    // A repository without a work tree.
    files.extend(["HEAD", "config"].map(|f| cwd.join(f)));
    files
}
