//! Pull requests that a push made, whose head is no branch (`AGit`)

use blue_forge::model::{
    MergeOpts, MergeOutcome, MergeStrategy, Mergeability, PrFilter, PrStateFilter,
};
use blue_testkit::{Cx, Repo, Result, Skip};

use crate::words::{ALL, PATIENCE, merge};

blue_testkit::on_every_forge![
    an_agit_pull_request_is_clean_and_has_no_branch,
    an_agit_pull_request_is_merged_and_no_branch_is_deleted,
];

async fn opened(cx: &Cx) -> Result<(Repo, u64)> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub knows no pushes for review").into());
    }
    let (_, repo) = cx.start().await?;
    cx.lab
        .write_new(&repo, "source", "main", &[("a.txt", b"a")])
        .await?;
    let number = cx.lab.agit(&repo, "source", "main").await?;
    Ok((repo, number))
}

async fn an_agit_pull_request_is_clean_and_has_no_branch(cx: Cx) -> Result<()> {
    let (repo, number) = opened(&cx).await?;
    let forge = cx.forge(&repo.owner);
    let found = forge.mergeability(&repo.id, number, PATIENCE).await?;
    assert_eq!(found, Mergeability::Clean);
    let pr = forge.get_pr(&repo.id, number).await?;
    assert_eq!((pr.head.branch.as_str(), pr.changed_files), ("", None));
    assert_eq!(forge.pr_files(&repo.id, number).await?.len(), 1);
    let all = PrFilter {
        state: PrStateFilter::All,
        ..PrFilter::default()
    };
    let listed = forge.list_prs(&repo.id, &all, ALL).await?;
    assert_eq!(listed.items[0].head.branch, "");
    Ok(())
}

async fn an_agit_pull_request_is_merged_and_no_branch_is_deleted(cx: Cx) -> Result<()> {
    let (repo, number) = opened(&cx).await?;
    let forge = cx.forge(&repo.owner);
    let opts = MergeOpts {
        delete_branch: true,
        ..merge(MergeStrategy::Merge)
    };
    let MergeOutcome::Merged {
        branch_deleted,
        own_branch,
        ..
    } = forge.merge_pr(&repo.id, number, &opts).await?
    else {
        panic!("it was only scheduled");
    };
    assert_eq!((branch_deleted, own_branch), (false, None));
    assert!(cx.lab.blob(&repo, "main", "a.txt").await?.is_some());
    Ok(())
}
