//! Limits on the bytes and the work of one call
//!
//! They hold for all files of a call together. A limit for each file would let one call of a few
//! kilobytes take as many gigabytes and minutes as it has files.

use std::sync::atomic::{AtomicU64, Ordering};

use blue_base::load::{self, LIGHT_BYTES};
use blue_forge::model::{File, FileChange};

use super::{
    Input,
    wish::{Then, What, Wish},
};
use crate::{ErrorCode, ToolError};

/// Most files of one call: each costs requests, and they are compared with each other
const MAX_FILES: usize = 1000;
/// Most bytes of the files that one call edits
pub(super) const MAX_EDITED_BYTES: u64 = 16 * 1024 * 1024;
/// Most bytes of all files that one call writes: they are in memory together
const MAX_TOTAL_BYTES: usize = 64 * 1024 * 1024;
/// Most bytes that the edits of one call go through: each edit searches its whole file
const MAX_EDIT_WORK_BYTES: u64 = 256 * 1024 * 1024;
/// Work of edits that is done where it is; more of it gets a thread of its own
const INLINE_WORK_BYTES: u64 = 64 * 1024;
/// Work of edits from which on a call is a heavy one
const HEAVY_WORK_BYTES: u64 = 16 * 1024 * 1024;

const HINT: &str = "write some of them, and then the others";

pub(super) fn check_file_count(count: usize) -> Result<(), ToolError> {
    if count > MAX_FILES {
        let message = format!("{count} files in one call; at most {MAX_FILES} are written at once");
        return Err(ToolError::new(ErrorCode::TooLarge, message).with_hint(HINT));
    }
    Ok(())
}

/// Bytes of all contents as they were sent
pub(super) fn content_bytes(input: &Input) -> u64 {
    let all = input.files.iter().map(|file| &file.content);
    let all = all.chain([&input.content]).flatten();
    all.map(|content| content.len() as u64).sum()
}

/// Bytes that were read to be edited, over all files of a call
#[derive(Debug, Default)]
pub(super) struct EditedBytes(AtomicU64);

impl EditedBytes {
    /// Counts a file that was read; a call that holds much waits until it may be heavy
    pub(super) async fn add(&self, bytes: usize) -> Result<(), ToolError> {
        let bytes = bytes as u64;
        let total = self.0.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if total > MAX_EDITED_BYTES {
            let message = format!("the files to edit have more than {MAX_EDITED_BYTES} bytes");
            return Err(ToolError::new(ErrorCode::TooLarge, message)
                .with_hint("edit some of them, and then the others; or give `content`"));
        }
        if total > LIGHT_BYTES {
            load::heavy().await?;
        }
        Ok(())
    }
}

/// Bytes that the edits of a call have to go through
pub(super) fn edit_work(pairs: &[(Wish, Option<File>)]) -> Result<u64, ToolError> {
    let (mut work, mut count) = (0_u64, 0);
    for (wish, file) in pairs {
        let edits = match &wish.what {
            What::Edit(edits)
            | What::Move {
                then: Then::Edit(edits),
                ..
            } => edits.len(),
            _ => 0,
        };
        let size = file.as_ref().map_or(0, |file| file.content.len());
        work = work.saturating_add((size as u64).saturating_mul(edits as u64));
        count += edits;
    }
    if work > MAX_EDIT_WORK_BYTES {
        let message = format!("{count} edits in one call are too many for files of this size");
        return Err(ToolError::new(ErrorCode::TooLarge, message)
            .with_hint("make some of them, and then the others; or give `content`"));
    }
    Ok(work)
}

/// Makes the edits of a call: a few of them at once, more on a thread of their own
pub(super) async fn run_edits<T: Send + 'static>(
    work: u64,
    edits: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    if work <= INLINE_WORK_BYTES {
        return edits();
    }
    if work > HEAVY_WORK_BYTES {
        load::heavy().await?;
    }
    load::offload(edits).await
}

pub(super) fn check_total(changes: &[FileChange]) -> Result<(), ToolError> {
    let bytes = changes.iter().map(|change| match change {
        FileChange::Write { content, .. } => content.len(),
        FileChange::Rename { content, .. } => content.as_ref().map_or(0, Vec::len),
        FileChange::Delete { .. } => 0,
    });
    if bytes.sum::<usize>() > MAX_TOTAL_BYTES {
        let message = format!("the files have more than {MAX_TOTAL_BYTES} bytes together");
        return Err(ToolError::new(ErrorCode::TooLarge, message).with_hint(HINT));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use blue_base::load::{Load, LoadLimits};
    use blue_forge::model::{EntryKind, Expect, Sha};
    use serde_json::json;

    use super::*;

    fn wish(edits: usize) -> Wish {
        let edits = vec![json!({"old": "a", "new": "b"}); edits];
        let file = json!({"path": "f", "edits": edits});
        Wish::of(serde_json::from_value(file).unwrap()).unwrap()
    }

    fn file(bytes: usize) -> File {
        File {
            path: "f".to_owned(),
            sha: Sha::parse(&"a".repeat(40)).unwrap(),
            size: bytes as u64,
            content: vec![b'x'; bytes],
            kind: EntryKind::File,
            target: None,
            html_url: String::new(),
            commit: None,
        }
    }

    #[test]
    fn edits_of_all_files_share_one_limit_of_work() {
        let pairs = |count: usize| {
            let pairs = (0..count).map(|_| (wish(32), Some(file(1 << 20))));
            pairs.collect::<Vec<_>>()
        };
        assert_eq!(edit_work(&pairs(8)).unwrap(), MAX_EDIT_WORK_BYTES);
        let error = edit_work(&pairs(9)).unwrap_err();
        assert_eq!(error.code, ErrorCode::TooLarge, "{error}");
        assert!(
            error.message.starts_with("288 edits in one call"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn bytes_of_all_edited_files_share_one_limit() {
        let edited = EditedBytes::default();
        for _ in 0..16 {
            edited.add(1 << 20).await.unwrap();
        }
        let error = edited.add(1).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::TooLarge, "{error}");
    }

    #[tokio::test]
    async fn a_call_that_edits_much_waits_for_the_heavy_call_of_the_same_user() {
        let load = Load::new(LoadLimits {
            heavy_wait: std::time::Duration::ZERO,
            ..LoadLimits::default()
        });
        let alice = load.user("alice");
        let _heavy = alice.heavy_request().await.unwrap();
        let edit = async || {
            let edited = EditedBytes::default();
            edited.add(1 << 20).await.unwrap();
            edited.add(1).await.unwrap_err()
        };
        let error = alice.call(None).await.unwrap().run(edit()).await;
        assert_eq!(error.code, ErrorCode::Busy, "{error}");
        assert!(error.retryable);
        let work = run_edits(HEAVY_WORK_BYTES + 1, || Ok(()));
        let error = alice.call(None).await.unwrap().run(work).await;
        assert_eq!(error.unwrap_err().code, ErrorCode::Busy);
        let light = run_edits(HEAVY_WORK_BYTES, || Ok(()));
        assert!(alice.call(None).await.unwrap().run(light).await.is_ok());
    }

    #[tokio::test]
    async fn edits_of_a_large_file_leave_the_threads_that_answer() {
        let thread = || Ok(std::thread::current().id());
        let here = std::thread::current().id();
        assert_eq!(run_edits(INLINE_WORK_BYTES, thread).await.unwrap(), here);
        assert_ne!(
            run_edits(INLINE_WORK_BYTES + 1, thread).await.unwrap(),
            here
        );
    }

    #[test]
    fn a_call_has_a_limit_of_files_and_of_bytes_written() {
        assert!(check_file_count(MAX_FILES).is_ok());
        let error = check_file_count(MAX_FILES + 1).unwrap_err();
        assert_eq!(error.code, ErrorCode::TooLarge, "{error}");
        let write = |bytes: usize| FileChange::Write {
            path: "a".to_owned(),
            content: vec![0; bytes],
            expect: Expect::Any,
        };
        let half = MAX_TOTAL_BYTES / 2;
        assert!(check_total(&[write(half), write(half)]).is_ok());
        let error = check_total(&[write(half), write(half), write(1)]).unwrap_err();
        assert_eq!(error.code, ErrorCode::TooLarge, "{error}");
    }
}
