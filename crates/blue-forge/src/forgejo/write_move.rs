//! Moving a file in a commit

use super::{
    Forgejo,
    write::{Operation, Planned, encode},
};
use crate::{
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
        let knows_rename = self.server().await?.at_least(Flavor::Gitea, (1, 26));
        let (action, bytes) = match (content, head) {
            (Some(content), _) => ("update", Some(content.to_vec())),
            (None, _) if knows_rename => ("rename", None),
            (None, Some(head)) => {
                let bytes = self.raw(repo, from, head, MAX_MOVED).await?;
                ("update", Some(bytes))
            }
            (None, None) => return Err(self.no_file(repo, from)),
        };
        let id = bytes
            .as_ref()
            .map_or_else(|| sha.clone(), |bytes| blob_id(bytes, format));
        // One step and not two, a file deleted and another made: that one would not be executable.
        Ok(Planned {
            operations: vec![Operation {
                action,
                path: to.to_owned(),
                content: bytes.map(|bytes| encode(&bytes)),
                sha: Some(sha),
                from_path: Some(from.to_owned()),
            }],
            written: Some(WrittenFile {
                path: to.to_owned(),
                sha: id,
                replaced: None,
            }),
        })
    }
}
