//! A commit in one request, where what is known already is enough
//!
//! A file that was read a moment ago is sent with the blob that was read: the server itself refuses
//! it when the file is another by now, or the branch is there already. Whatever it refuses is then
//! done step by step.

use super::{
    Forgejo,
    write::{Operation, write},
};
use crate::{
    Result,
    blob::{ObjectFormat, blob_id},
    model::{CommitOpts, CommitOutcome, Expect, FileChange, RepoId, WrittenFile},
};

impl Forgejo {
    /// `None` when it must be done step by step, and nothing was done yet
    pub(super) async fn commit_at_once(
        &self,
        repo: &RepoId,
        opts: &CommitOpts,
    ) -> Result<Option<CommitOutcome>> {
        let from_default = opts.base.as_deref() == Some("HEAD");
        if !from_default || opts.expected_head.is_some() {
            return Ok(None);
        }
        let Some(default) = self.recent.default_branch(repo) else {
            return Ok(None);
        };
        let created = default != opts.branch;
        if created && self.recent.has_branch(repo, &opts.branch) {
            return Ok(None);
        }
        let planned: Option<Vec<_>> = opts
            .changes
            .iter()
            .map(|change| self.known_write(repo, change))
            .collect();
        let Some(planned) = planned else {
            return Ok(None);
        };
        let (operations, files): (Vec<Operation>, Vec<WrittenFile>) = planned.into_iter().unzip();
        let way = (None, Some(opts.branch.as_str()));
        let answer = self.post_files(repo, opts, way, &operations).await?;
        if !answer.status.is_success() {
            return Ok(None);
        }
        self.committed(repo, opts, answer, files, created)
            .await
            .map(Some)
    }

    /// A write that changes a file whose blob is known
    fn known_write(&self, repo: &RepoId, change: &FileChange) -> Option<(Operation, WrittenFile)> {
        let FileChange::Write {
            path,
            content,
            expect,
        } = change
        else {
            return None;
        };
        let now = self.recent.file(repo, path)?;
        match expect {
            Expect::Any => {}
            Expect::Blob(blob) if *blob == now => {}
            _ => return None,
        }
        let sha = blob_id(content, ObjectFormat::of(&now));
        // The server would make a commit that changes nothing.
        if sha == now {
            return None;
        }
        let path = path.clone();
        let operation = write(&path, content, Some(now.clone()));
        let replaced = Some(now);
        Some((
            operation,
            WrittenFile {
                path,
                sha,
                replaced,
            },
        ))
    }
}
