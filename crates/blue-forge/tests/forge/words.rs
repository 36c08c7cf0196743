//! Short words for long types

use std::time::Duration;

use blue_forge::model::{
    CommitOpts, CreatePrOpts, Expect, FileChange, MergeOpts, MergeStrategy, Page, RepoId, Sha,
};

/// As long as a forge may take to make up its mind
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Larger than every file of these tests
pub(crate) const WHOLE: u64 = 32 * 1024 * 1024;

pub(crate) const ALL: Page = Page {
    number: 1,
    limit: 50,
};

pub(crate) fn write(path: &str, content: impl AsRef<[u8]>) -> FileChange {
    write_if(path, content, Expect::Any)
}

pub(crate) fn write_if(path: &str, content: impl AsRef<[u8]>, expect: Expect) -> FileChange {
    FileChange::Write {
        path: path.to_owned(),
        content: content.as_ref().to_vec(),
        expect,
    }
}

pub(crate) fn delete(path: &str) -> FileChange {
    FileChange::Delete {
        path: path.to_owned(),
        expect: Expect::Any,
    }
}

pub(crate) fn rename(from: &str, to: &str, content: Option<&[u8]>) -> FileChange {
    FileChange::Rename {
        from: from.to_owned(),
        to: to.to_owned(),
        content: content.map(<[u8]>::to_vec),
        expect: Expect::Any,
    }
}

pub(crate) fn commit(branch: &str, changes: Vec<FileChange>) -> CommitOpts {
    CommitOpts {
        branch: branch.to_owned(),
        base: None,
        message: "A change".to_owned(),
        changes,
        expected_head: None,
    }
}

pub(crate) fn pull(repo: &RepoId, head: &str, base: &str) -> CreatePrOpts {
    CreatePrOpts {
        repo: repo.clone(),
        head: head.to_owned(),
        base: base.to_owned(),
        title: format!("Take {head}"),
        body: None,
        draft: false,
    }
}

pub(crate) fn merge(strategy: MergeStrategy) -> MergeOpts {
    MergeOpts {
        patience: PATIENCE,
        ..strategy.into()
    }
}

/// A commit that no repository has
pub(crate) fn nowhere() -> Sha {
    Sha::parse(&"deadbeef".repeat(5)).expect("40 hexadecimal digits")
}

/// Settings of a repository that allows nothing but squashing
pub(crate) fn squash_only() -> serde_json::Value {
    serde_json::json!({
        "has_pull_requests": true, "allow_merge_commits": false, "allow_rebase": false,
        "allow_rebase_explicit": false, "allow_squash_merge": true,
        "allow_fast_forward_only_merge": false, "default_merge_style": "squash",
    })
}
