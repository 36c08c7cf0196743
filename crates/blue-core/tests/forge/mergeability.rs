//! Whether a pull request would merge, after waiting for the forge to know

use blue_core::forge::model::{CreatePrOpts, MergeStrategy, Mergeability};
use blue_testkit::{Cx, Result};

use crate::words::{PATIENCE, merge, pull};

blue_testkit::on_every_forge![
    clean,
    conflict,
    after_a_push_is_of_the_new_head,
    draft,
    merged_and_closed,
];

async fn clean(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    let found = forge.mergeability(&repo.id, number, PATIENCE).await?;
    assert_eq!(found, Mergeability::Clean);
    Ok(())
}

async fn conflict(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let number = cx
        .lab
        .pr_with(&repo, "topic", &[("README.md", b"topic\n")])
        .await?;
    cx.lab
        .write(&repo, "main", &[("README.md", b"main\n")])
        .await?;
    let found = forge.mergeability(&repo.id, number, PATIENCE).await?;
    assert_eq!(found, Mergeability::Conflict);
    Ok(())
}

async fn after_a_push_is_of_the_new_head(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    cx.lab
        .write(&repo, "main", &[("README.md", b"main\n")])
        .await?;
    cx.lab.write(&repo, "topic", &[("a.txt", b"a")]).await?;
    let number = cx.lab.pr(&repo, "topic", "main", "Topic").await?;
    let found = forge.mergeability(&repo.id, number, PATIENCE).await?;
    assert_eq!(found, Mergeability::Clean);
    // The forge keeps saying "mergeable" for a while after this.
    cx.lab
        .write(&repo, "topic", &[("README.md", b"topic\n")])
        .await?;
    let found = forge.mergeability(&repo.id, number, PATIENCE).await?;
    assert_eq!(found, Mergeability::Conflict);
    Ok(())
}

async fn draft(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a.txt", b"a")])
        .await?;
    let opts = CreatePrOpts {
        draft: true,
        ..pull(&repo.id, "topic", "main")
    };
    let number = forge.create_pr(opts).await?.number;
    let found = forge.mergeability(&repo.id, number, PATIENCE).await?;
    assert_eq!(found, Mergeability::Draft);
    Ok(())
}

async fn merged_and_closed(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let one = cx.lab.pr_with(&repo, "one", &[("1", b"1")]).await?;
    let two = cx.lab.pr_with(&repo, "two", &[("2", b"2")]).await?;
    cx.lab.close_pr(&repo, two).await?;
    forge
        .merge_pr(&repo.id, one, &merge(MergeStrategy::Merge))
        .await?;
    assert_eq!(
        forge.mergeability(&repo.id, one, PATIENCE).await?,
        Mergeability::Merged
    );
    assert_eq!(
        forge.mergeability(&repo.id, two, PATIENCE).await?,
        Mergeability::Closed
    );
    Ok(())
}
