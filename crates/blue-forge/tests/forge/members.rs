//! Repositories that hide their pull requests: mirrors, and teams that see the code only

use blue_forge::{
    ForgeError,
    model::{PrFilter, RepoId},
};
use blue_testkit::{Cx, Repo, Result, Skip, User};
use serde_json::json;

use crate::words::{ALL, commit, pull, write};

blue_testkit::on_every_forge![
    a_team_without_pull_requests_sees_the_rest,
    a_team_without_pull_requests_deletes_branches,
    a_team_without_pull_requests_opens_none,
    a_mirror_is_told_and_seen_whole,
    a_mirror_takes_no_writes_and_is_named,
    pull_requests_that_are_off_are_named_when_one_is_opened,
];

/// A repository and a user whose team may write its code and see nothing else of it
async fn coder(cx: &Cx) -> Result<(Repo, User)> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub has no rights by unit").into());
    }
    let owner = cx.lab.user("owner").await?;
    let coder = cx.lab.user("coder").await?;
    let repo = cx.lab.repo_of_coders(&owner, &coder).await?;
    Ok((repo, coder))
}

async fn a_team_without_pull_requests_sees_the_rest(cx: Cx) -> Result<()> {
    let (repo, coder) = coder(&cx).await?;
    cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    let seen = cx.forge(&coder).overview(&repo.id, None).await?;
    assert_eq!((seen.prs, seen.branches.items.len()), (None, 2));
    // Of anything else that is missing the whole call is.
    let none = RepoId::parse(repo.id.owner(), "no-such-repository")?;
    refused!(
        cx.forge(&coder).overview(&none, None).await,
        ForgeError::NotFound { .. }
    );
    let listed = cx.forge(&coder);
    let listed = listed.list_prs(&repo.id, &PrFilter::default(), ALL).await;
    let what = refused!(listed, ForgeError::NotFound { what, .. } => what);
    assert!(what.starts_with("pull requests of"), "{what}");
    Ok(())
}

async fn a_team_without_pull_requests_deletes_branches(cx: Cx) -> Result<()> {
    let (repo, coder) = coder(&cx).await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    let forge = cx.forge(&coder);
    assert_eq!(forge.open_prs_at(&repo.id, "topic").await?, []);
    forge.delete_branch(&repo.id, "topic").await?;
    assert!(cx.lab.head(&repo, "topic").await.is_err());
    Ok(())
}

async fn a_team_without_pull_requests_opens_none(cx: Cx) -> Result<()> {
    let (repo, coder) = coder(&cx).await?;
    let forge = cx.forge(&coder);
    cx.lab
        .write_new(&repo, "topic", "main", &[("a.txt", b"a")])
        .await?;
    let made = forge.create_pr(pull(&repo.id, "topic", "main")).await;
    let message = refused!(made, ForgeError::Forbidden { message, .. } => message);
    assert!(message.contains("pull requests"), "{message}");
    Ok(())
}

async fn mirror(cx: &Cx) -> Result<Repo> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub has no mirrors").into());
    }
    let (_, source) = cx.start().await?;
    cx.lab.branch(&source, "topic", "main").await?;
    cx.lab.mirror(&source).await
}

async fn a_mirror_is_told_and_seen_whole(cx: Cx) -> Result<()> {
    let repo = mirror(&cx).await?;
    let forge = cx.forge(&repo.owner);
    assert!(forge.repository(&repo.id).await?.mirror);
    let seen = forge.overview(&repo.id, None).await?;
    assert!(seen.repository.mirror);
    assert_eq!((seen.prs, seen.branches.items.len()), (None, 2));
    Ok(())
}

async fn a_mirror_takes_no_writes_and_is_named(cx: Cx) -> Result<()> {
    let repo = mirror(&cx).await?;
    let forge = cx.forge(&repo.owner);
    let opts = commit("main", vec![write("a.txt", "a")]);
    let branch = refused!(
        forge.create_branch(&repo.id, "new", "main").await,
        ForgeError::Forbidden { message, .. } => message
    );
    let files = refused!(
        forge.commit_files(&repo.id, &opts).await,
        ForgeError::Forbidden { message, .. } => message
    );
    let deleted = refused!(
        forge.delete_branch(&repo.id, "topic").await,
        ForgeError::Forbidden { message, .. } => message
    );
    assert!(
        forge
            .create_pr(pull(&repo.id, "topic", "main"))
            .await
            .is_err()
    );
    for message in [branch, files, deleted] {
        assert!(message.contains("mirror"), "{message}");
        assert!(!message.contains("/repos/"), "{message}");
    }
    assert_eq!(cx.lab.blob(&repo, "main", "a.txt").await?, None);
    Ok(())
}

async fn pull_requests_that_are_off_are_named_when_one_is_opened(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub has them always").into());
    }
    let (forge, repo) = cx.start().await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a.txt", b"a")])
        .await?;
    cx.lab
        .edit_repo(&repo, &json!({"has_pull_requests": false}))
        .await?;
    let message = refused!(
        forge.create_pr(pull(&repo.id, "topic", "main")).await,
        ForgeError::Unsupported { message, .. } => message
    );
    assert!(message.contains("switched off"), "{message}");
    Ok(())
}
