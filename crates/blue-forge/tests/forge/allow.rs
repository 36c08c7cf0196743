//! What is not on the list of allowed owners and repositories is not touched, wherever it went

use blue_forge::{
    Forge, ForgeError,
    allow::Allow,
    model::{MergeStrategy, PrFilter, RepoId},
};
use blue_testkit::{Cx, Repo, Result, Skip};
use serde_json::json;

use crate::words::{ALL, PATIENCE, commit, merge, pull, write};

blue_testkit::on_every_forge![
    only_what_is_allowed_is_read,
    a_repository_that_was_renamed_out_of_the_list_is_refused,
    a_repository_that_was_given_away_is_refused,
    a_fork_that_is_not_allowed_is_not_drawn_from,
    the_branch_of_a_fork_that_is_not_allowed_stays,
];

/// Try every kind of call; all are refused
async fn all_refused(forge: &dyn Forge, repo: &RepoId) {
    refused!(forge.repository(repo).await, ForgeError::NotAllowed(_));
    refused!(forge.all_branches(repo).await, ForgeError::NotAllowed(_));
    refused!(
        forge.get_branch(repo, "main").await,
        ForgeError::NotAllowed(_)
    );
    refused!(
        forge.protection(repo, "main").await,
        ForgeError::NotAllowed(_)
    );
    refused!(
        forge.read_file(repo, "README.md", None, 1000).await,
        ForgeError::NotAllowed(_)
    );
    refused!(
        forge.list_dir(repo, "", Some("main")).await,
        ForgeError::NotAllowed(_)
    );
    refused!(
        forge.list_prs(repo, &PrFilter::default(), ALL).await,
        ForgeError::NotAllowed(_)
    );
    refused!(forge.get_pr(repo, 1).await, ForgeError::NotAllowed(_));
    refused!(
        forge.mergeability(repo, 1, PATIENCE).await,
        ForgeError::NotAllowed(_)
    );
    refused!(forge.checks(repo, "main").await, ForgeError::NotAllowed(_));
    refused!(
        forge.list_commits(repo, None, None, ALL).await,
        ForgeError::NotAllowed(_)
    );
    refused!(forge.list_tags(repo, ALL).await, ForgeError::NotAllowed(_));
    let change = commit("main", vec![write("c.txt", "c")]);
    refused!(
        forge.commit_files(repo, &change).await,
        ForgeError::NotAllowed(_)
    );
    refused!(
        forge.create_branch(repo, "new", "main").await,
        ForgeError::NotAllowed(_)
    );
    refused!(
        forge.delete_branch(repo, "other").await,
        ForgeError::NotAllowed(_)
    );
    refused!(
        forge.create_pr(pull(repo, "other", "main")).await,
        ForgeError::NotAllowed(_)
    );
    refused!(
        forge.merge_pr(repo, 1, &merge(MergeStrategy::Merge)).await,
        ForgeError::NotAllowed(_)
    );
}

async fn with_pr(cx: &Cx) -> Result<Repo> {
    let (_, repo) = cx.start().await?;
    cx.lab.pr_with(&repo, "other", &[("b.txt", b"b")]).await?;
    Ok(repo)
}

async fn only_what_is_allowed_is_read(cx: Cx) -> Result<()> {
    let repo = with_pr(&cx).await?;
    let owner = repo.id.owner();
    let allow = Allow::parse(&format!("somebody, {owner}/else"))?;
    let forge = cx.forge_allowing(&repo.owner, allow);
    all_refused(&*forge, &repo.id).await;
    assert_eq!(forge.whoami().await?.login, owner);
    for list in [owner.to_uppercase(), format!("{}/{owner}", forge.host())] {
        let forge = cx.forge_allowing(&repo.owner, Allow::parse(&list)?);
        assert_eq!(forge.repository(&repo.id).await?.id, repo.id);
        assert_eq!(forge.get_branch(&repo.id, "main").await?.name, "main");
    }
    Ok(())
}

async fn a_repository_that_was_renamed_out_of_the_list_is_refused(cx: Cx) -> Result<()> {
    let repo = with_pr(&cx).await?;
    let forge = cx.forge_allowing(&repo.owner, Allow::parse(&repo.id.to_string())?);
    assert_eq!(forge.repository(&repo.id).await?.id, repo.id);
    let new = format!("{}-renamed", repo.id.name());
    cx.lab.edit_repo(&repo, &json!({"name": new})).await?;
    all_refused(&*forge, &repo.id).await;
    let moved = RepoId::parse(repo.id.owner(), &new)?;
    let prs = cx
        .forge(&repo.owner)
        .list_prs(&moved, &PrFilter::default(), ALL)
        .await?;
    assert_eq!(prs.items.len(), 1);
    Ok(())
}

async fn a_repository_that_was_given_away_is_refused(cx: Cx) -> Result<()> {
    if cx.backend.name().starts_with("sandbox") {
        return Err(Skip::new("the sandbox has no transfer").into());
    }
    let repo = with_pr(&cx).await?;
    let mallory = cx.lab.user("mallory").await?;
    let forge = cx.forge_allowing(&repo.owner, Allow::parse(repo.id.owner())?);
    assert_eq!(forge.repository(&repo.id).await?.id, repo.id);
    // A transfer by an administrator takes effect without the consent of the new owner.
    let admin = cx.lab.admin();
    cx.lab
        .post(
            admin,
            &repo.path(&["transfer"]),
            &json!({"new_owner": mallory.login}),
        )
        .await?;
    all_refused(&*forge, &repo.id).await;
    let to = refused!(
        forge.repository(&repo.id).await,
        ForgeError::NotAllowed(refused) => refused.owner
    );
    assert_eq!(to, mallory.login);
    Ok(())
}

async fn a_fork_that_is_not_allowed_is_not_drawn_from(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let other = cx.lab.user("forker").await?;
    let fork = cx.lab.fork(&repo, &other).await?;
    // GitHub lets only those who may write to the fork ask from it.
    cx.lab.collaborator(&fork, &repo.owner, "write").await?;
    cx.lab
        .write_new(&fork, "topic", "main", &[("t.txt", b"t")])
        .await?;
    let forge = cx.forge_allowing(&repo.owner, Allow::parse(repo.id.owner())?);
    let opts = pull(&repo.id, &format!("{}:topic", other.login), "main");
    refused!(
        forge.create_pr(opts.clone()).await,
        ForgeError::NotAllowed(_)
    );
    let both = Allow::parse(&format!("{},{}", repo.id.owner(), other.login))?;
    let made = cx.forge_allowing(&repo.owner, both).create_pr(opts).await?;
    assert_eq!(made.head.branch, "topic");
    Ok(())
}

async fn the_branch_of_a_fork_that_is_not_allowed_stays(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let other = cx.lab.user("forker").await?;
    let fork = cx.lab.fork(&repo, &other).await?;
    // Who merges may write to the fork, so that only the list keeps the branch.
    cx.lab.collaborator(&fork, &repo.owner, "write").await?;
    cx.lab
        .write_new(&fork, "topic", "main", &[("t.txt", b"t")])
        .await?;
    let opts = pull(&repo.id, &format!("{}:topic", other.login), "main");
    let number = cx.forge(&repo.owner).create_pr(opts).await?.number;
    let forge = cx.forge_allowing(&repo.owner, Allow::parse(repo.id.owner())?);
    let mut opts = merge(MergeStrategy::Merge);
    opts.delete_branch = true;
    forge.merge_pr(&repo.id, number, &opts).await?;
    assert!(forge.pr_is_merged(&repo.id, number).await?);
    assert!(cx.lab.head(&fork, "topic").await.is_ok());
    Ok(())
}
