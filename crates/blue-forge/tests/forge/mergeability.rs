//! Whether a pull request would merge, after waiting for the forge to know

use blue_forge::model::{CreatePrOpts, MergeOutcome, MergeStrategy, Mergeability};
use blue_testkit::{Cx, Import, Result, Skip};

use crate::words::{PATIENCE, merge, pull, squash_only};

blue_testkit::on_every_forge![
    clean,
    conflict,
    after_a_push_is_of_the_new_head,
    draft,
    a_draft_does_not_hide_its_conflict,
    an_empty_commit_is_clean_and_merges,
    merge_styles_are_told,
    a_squash_only_repository_tells_its_style,
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

async fn a_draft_does_not_hide_its_conflict(cx: Cx) -> Result<()> {
    if !cx.backend.is_github() {
        return Err(Skip::new("the flag of Gitea and Forgejo is \"no\" for every draft").into());
    }
    let (forge, repo) = cx.start().await?;
    let change: &[(&str, &[u8])] = &[("README.md", b"topic\n")];
    cx.lab.write_new(&repo, "topic", "main", change).await?;
    let opts = CreatePrOpts {
        draft: true,
        ..pull(&repo.id, "topic", "main")
    };
    let number = forge.create_pr(opts).await?.number;
    let other: &[(&str, &[u8])] = &[("README.md", b"main\n")];
    cx.lab.write(&repo, "main", other).await?;
    let found = forge.mergeability(&repo.id, number, PATIENCE).await?;
    assert_eq!(found, Mergeability::Conflict);
    Ok(())
}

/// One commit without a change is something to merge: the verdict and the merge agree
async fn an_empty_commit_is_clean_and_merges(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let mut history = Import::new();
    history
        .commit("main", "first", &[("README.md", b"one\n")])
        .branch("topic")
        .commit("topic", "nothing", &[]);
    let repo = cx.lab.repo_from(&owner, &history).await?;
    let forge = cx.forge(&owner);
    let number = forge
        .create_pr(pull(&repo.id, "topic", "main"))
        .await?
        .number;
    let found = forge.mergeability(&repo.id, number, PATIENCE).await?;
    assert_eq!(found, Mergeability::Clean);
    let done = forge
        .merge_pr(&repo.id, number, &merge(MergeStrategy::Merge))
        .await?;
    assert!(matches!(done, MergeOutcome::Merged { .. }), "{done:?}");
    Ok(())
}

async fn merge_styles_are_told(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let styles = forge.repository(&repo.id).await?.styles.expect("told");
    assert_eq!(styles.unnamed(), Some(MergeStrategy::Merge));
    assert!(styles.allowed.contains(&MergeStrategy::Squash));
    assert_eq!(forge.recent_merge_styles(&repo.id), Some(styles));
    let rule = forge.protection(&repo.id, "main").await?;
    assert_eq!(rule.merge_styles, None);
    Ok(())
}

async fn a_squash_only_repository_tells_its_style(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    cx.lab.edit_repo(&repo, &squash_only()).await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    let forge = cx.forge(&repo.owner);
    let styles = forge.repository(&repo.id).await?.styles.expect("told");
    assert_eq!(styles.allowed, [MergeStrategy::Squash]);
    assert_eq!(styles.unnamed(), Some(MergeStrategy::Squash));
    // Gitea and Forgejo tell it with the pull request, too.
    let pr = forge.get_pr(&repo.id, number).await?;
    assert!(pr.styles.is_none_or(|with_pr| with_pr == styles));
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
