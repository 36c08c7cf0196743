//! What is refused before a commit is made

use blue_forge::ForgeError;

use super::wish::{What, Wish};
use crate::{Cx, ErrorCode, Repo, ToolError};

/// Names that git gives to remotes unless told otherwise
const USUAL_REMOTES: &[&str] = &["origin", "upstream"];

/// Refuses a deletion of a file that the caller need not have seen
pub(super) fn deletions_are_pinned(wishes: &[Wish]) -> Result<(), ToolError> {
    let is_blind = |wish: &&Wish| matches!(wish.what, What::Delete) && wish.sha.is_none();
    let Some(wish) = wishes.iter().find(is_blind) else {
        return Ok(());
    };
    let path = &wish.path;
    let message = format!("`{path}` is not deleted without `sha` or `expected_head`");
    Err(ToolError::new(ErrorCode::Invalid, message).with_hint(format!(
        "give its blob as `sha` beside `delete`: file_read, path \"{path}\" or dir_list tells it"
    )))
}

/// Refuses to make a branch `origin/m1`, which is git's local name for the branch `m1` of a remote
///
/// A branch that exists is what its name says, whatever it is called.
pub(super) async fn is_no_remote_branch(
    cx: &Cx,
    repo: &Repo,
    branch: &str,
) -> Result<(), ToolError> {
    let name = branch.strip_prefix("refs/").unwrap_or(branch);
    let name = name.strip_prefix("remotes/").unwrap_or(name);
    let Some((remote, meant)) = name.split_once('/').filter(|(_, rest)| !rest.is_empty()) else {
        return Ok(());
    };
    let is_usual = name != branch || USUAL_REMOTES.contains(&remote);
    if !is_usual && !cx.has_remote(remote).await {
        return Ok(());
    }
    match repo.forge.get_branch(&repo.id, branch).await {
        Ok(_) => Ok(()),
        Err(ForgeError::NotFound { .. }) => {
            let message = format!(
                "there is no branch `{branch}`, and `{remote}` is the name of a remote, not a part \
                 of the name of a branch on the forge"
            );
            Err(ToolError::new(ErrorCode::Invalid, message)
                .with_hint(format!("send the same with `branch: \"{meant}\"`"))
                .with_typed_hint(format!("run the same with `--branch {meant}`")))
        }
        Err(error) => Err(error.into()),
    }
}
