//! An error tells the status of the answer that led to it

use blue_base::secret::Secret;
use blue_forge::{
    ForgeError,
    model::{MergeStrategy, RepoId, TagOpts},
};
use blue_testkit::{Cx, Result};
use serde_json::json;

use crate::words::{WHOLE, commit, merge, nowhere, pull, write};

blue_testkit::on_every_forge![
    what_is_missing_has_a_status,
    what_is_in_the_way_has_a_status,
    what_is_not_permitted_has_a_status,
    what_cannot_be_merged_has_a_status,
    what_was_never_asked_has_none,
];

fn status<T: std::fmt::Debug>(result: Result<T, ForgeError>) -> Option<u16> {
    result.expect_err("it cannot work").status()
}

async fn what_is_missing_has_a_status(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let none = RepoId::parse(repo.id.owner(), "none")?;
    let id = &repo.id;
    assert_eq!(status(forge.repository(&none).await), Some(404));
    assert_eq!(status(forge.all_branches(&none).await), Some(404));
    assert_eq!(status(forge.get_branch(id, "gone").await), Some(404));
    assert!(status(forge.delete_branch(id, "gone").await).is_some());
    assert_eq!(status(forge.get_pr(id, 99).await), Some(404));
    assert_eq!(status(forge.get_tag(id, "gone").await), Some(404));
    let read = forge.read_file(id, "gone.txt", Some("main"), WHOLE).await;
    assert_eq!(status(read), Some(404));
    let read = forge.read_file(id, "README.md", Some("gone"), WHOLE).await;
    assert!(matches!(status(read), Some(404 | 422)));
    let change = commit("gone", vec![write("a", "a")]);
    assert_eq!(status(forge.commit_files(id, &change).await), Some(404));
    let found = status(forge.get_commit(id, nowhere().as_str()).await);
    assert!(matches!(found, Some(404 | 422)), "{found:?}");
    let opts = pull(id, "gone", "main");
    assert_eq!(status(forge.create_pr(opts).await), Some(404));
    Ok(())
}

async fn what_is_in_the_way_has_a_status(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let id = &repo.id;
    let expected = if cx.backend.is_github() { 422 } else { 409 };
    let again = forge.create_branch(id, "main", "main").await;
    assert_eq!(status(again), Some(expected));
    let tag = TagOpts {
        name: "v1".to_owned(),
        target: "main".to_owned(),
        message: None,
    };
    forge.create_tag(id, &tag).await?;
    cx.lab
        .write_new(&repo, "other", "main", &[("b", b"b")])
        .await?;
    let other = TagOpts {
        target: "other".to_owned(),
        ..tag
    };
    assert_eq!(status(forge.create_tag(id, &other).await), Some(expected));
    forge.create_pr(pull(id, "other", "main")).await?;
    let again = forge.create_pr(pull(id, "other", "main")).await;
    assert_eq!(status(again), Some(expected));
    Ok(())
}

async fn what_is_not_permitted_has_a_status(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let reader = cx.lab.user("reader").await?;
    let forge = cx.forge(&reader);
    let change = commit("main", vec![write("a", "a")]);
    let refused = status(forge.commit_files(&repo.id, &change).await);
    assert!(matches!(refused, Some(403 | 404)), "{refused:?}");
    let stranger = reader.with_token(Secret::new("no-such-token"));
    let unknown = cx.forge(&stranger).whoami().await;
    assert_eq!(status(unknown), Some(401));
    cx.lab.edit_repo(&repo, &json!({"archived": true})).await?;
    let forge = cx.forge(&repo.owner);
    let archived = status(forge.create_branch(&repo.id, "new", "main").await);
    assert!(matches!(archived, Some(403 | 423)), "{archived:?}");
    Ok(())
}

async fn what_cannot_be_merged_has_a_status(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let rule = json!({"required_approvals": 1, "enable_approvals_whitelist": false,
        "enable_push": true});
    let number = cx.lab.pr_with(&repo, "topic", &[("b", b"b")]).await?;
    cx.lab.protect(&repo, "main", rule).await?;
    let refused = forge
        .merge_pr(&repo.id, number, &merge(MergeStrategy::Merge))
        .await;
    let error = refused.expect_err("an approval is missing");
    assert!(
        matches!(error, ForgeError::NotMergeable { .. }),
        "{error:?}"
    );
    // Where the pull request itself tells, nothing is tried.
    assert!(matches!(error.status(), Some(405) | None), "{error:?}");
    assert!(
        error.status().is_some() || cx.backend.is_github(),
        "{error:?}"
    );
    Ok(())
}

async fn what_was_never_asked_has_none(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let none = forge.create_branch(&repo.id, "a..b", "main").await;
    assert_eq!(status(none), None);
    let none = forge.commit_files(&repo.id, &commit("main", vec![])).await;
    assert_eq!(status(none), None);
    Ok(())
}
