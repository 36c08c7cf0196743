//! Moving a file in a commit

use super::{
    Forgejo,
    write::{Operation, Planned, delete, write},
};
use crate::forge::{
    Flavor, ForgeError, Result,
    blob::{ObjectFormat, blob_id},
    model::{EntryKind, RepoId, Sha, WrittenFile},
};

/// Largest file that is read to be moved
const MAX_MOVED: u64 = 64 * 1024 * 1024;

impl Forgejo {
    pub(super) async fn plan_move(
        &self,
        repo: &RepoId,
        (from, to): (&str, &str),
        content: Option<&[u8]>,
        (sha, kind): (Sha, EntryKind),
        head: Option<&Sha>,
    ) -> Result<Planned> {
        let format = head.map_or(ObjectFormat::Sha1, ObjectFormat::of);
        let written = |sha| {
            Some(WrittenFile {
                path: to.to_owned(),
                sha,
            })
        };
        // Moved by these servers, a link would become a plain file.
        if kind != EntryKind::File {
            return Err(ForgeError::Unsupported {
                message: format!(
                    "{} cannot move `{from}`, which is not a plain file",
                    self.rest.host()
                ),
                status: None,
            });
        }
        if content.is_none() && self.server().await?.at_least(Flavor::Gitea, (1, 26)) {
            return Ok(Planned {
                operations: vec![Operation {
                    action: "rename",
                    path: to.to_owned(),
                    content: None,
                    sha: Some(sha.clone()),
                    from_path: Some(from.to_owned()),
                }],
                written: written(sha),
            });
        }
        let bytes = match (content, head) {
            (Some(content), _) => content.to_vec(),
            (None, Some(head)) => self.raw(repo, from, head, MAX_MOVED).await?,
            (None, None) => return Err(self.no_file(repo, from)),
        };
        let id = blob_id(&bytes, format);
        Ok(Planned {
            operations: vec![delete(from, sha), write(to, &bytes, None)],
            written: written(id),
        })
    }
}
