//! Repositories: what is told of them, and the ones that answer oddly

use blue_forge::{
    ForgeError,
    model::{MergeOpts, PrFilter, RepoId, TagOpts},
};
use blue_testkit::{Cx, Result};
use serde_json::json;

use crate::words::{ALL, commit, pull, write};

blue_testkit::on_every_forge![
    a_repository_is_told,
    a_missing_repository_is_not_found,
    a_missing_owner_is_not_found,
    a_private_repository_is_not_found_for_a_stranger,
    a_private_repository_is_told_to_a_collaborator,
    permissions_are_the_callers,
    names_match_in_any_case,
    an_empty_repository_is_told,
    an_empty_repository_has_no_branches_and_no_tags,
    an_empty_repository_has_no_commits_and_no_files,
    an_archived_repository_is_told,
    an_archived_repository_is_not_written,
    a_renamed_repository_is_read_under_its_new_name,
    a_renamed_repository_is_not_written_under_its_old_name,
    a_fork_is_told,
];

async fn a_repository_is_told(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab
        .edit_repo(&repo, &json!({"description": "Ünïcode & <b>markup</b>"}))
        .await?;
    let told = forge.repository(&repo.id).await?;
    assert_eq!(told.id, repo.id);
    assert_eq!(told.description, "Ünïcode & <b>markup</b>");
    assert_eq!(told.default_branch, "main");
    assert!(
        !told.private && !told.fork && !told.archived && !told.empty,
        "{told:?}"
    );
    let page = format!("{}{}", cx.lab.server().url, repo.id);
    assert_eq!(told.html_url, page);
    assert_eq!(told.clone_url, format!("{page}.git"));
    assert!(
        told.ssh_url.contains(&format!("{}.git", repo.id)),
        "{}",
        told.ssh_url
    );
    Ok(())
}

async fn a_missing_repository_is_not_found(cx: Cx) -> Result<()> {
    let user = cx.lab.user("someone").await?;
    let forge = cx.forge(&user);
    let none = RepoId::parse(&user.login, "no-such-repository")?;
    let what = refused!(
        forge.repository(&none).await,
        ForgeError::NotFound { what, .. } => what
    );
    assert!(what.contains("no-such-repository"), "{what}");
    // Never an empty list.
    refused!(
        forge.list_branches(&none, ALL).await,
        ForgeError::NotFound { .. }
    );
    refused!(forge.all_branches(&none).await, ForgeError::NotFound { .. });
    refused!(
        forge.list_tags(&none, ALL).await,
        ForgeError::NotFound { .. }
    );
    refused!(
        forge.list_prs(&none, &PrFilter::default(), ALL).await,
        ForgeError::NotFound { .. }
    );
    refused!(
        forge.checks(&none, "main").await,
        ForgeError::NotFound { .. }
    );
    refused!(
        forge.protection(&none, "main").await,
        ForgeError::NotFound { .. }
    );
    Ok(())
}

async fn a_missing_owner_is_not_found(cx: Cx) -> Result<()> {
    let user = cx.lab.user("someone").await?;
    let none = RepoId::parse("nobody-of-this-name", "repo")?;
    refused!(
        cx.forge(&user).repository(&none).await,
        ForgeError::NotFound { .. }
    );
    Ok(())
}

async fn a_private_repository_is_not_found_for_a_stranger(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let repo = cx
        .lab
        .repo_with(&owner, json!({"auto_init": true, "private": true}))
        .await?;
    let stranger = cx.lab.user("stranger").await?;
    for forge in [cx.forge(&stranger), cx.anonymous()] {
        refused!(
            forge.repository(&repo.id).await,
            ForgeError::NotFound { .. }
        );
        refused!(
            forge.read_file(&repo.id, "README.md", None, 1000).await,
            ForgeError::NotFound { .. }
        );
    }
    let opts = commit("main", vec![write("a.txt", "a")]);
    refused!(
        cx.forge(&stranger).commit_files(&repo.id, &opts).await,
        ForgeError::NotFound { .. }
    );
    assert!(cx.forge(&owner).repository(&repo.id).await?.private);
    Ok(())
}

async fn a_private_repository_is_told_to_a_collaborator(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let repo = cx
        .lab
        .repo_with(&owner, json!({"auto_init": true, "private": true}))
        .await?;
    let reader = cx.lab.user("reader").await?;
    cx.lab.collaborator(&repo, &reader, "read").await?;
    assert!(cx.forge(&reader).repository(&repo.id).await?.private);
    Ok(())
}

async fn permissions_are_the_callers(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let writer = cx.lab.user("writer").await?;
    let stranger = cx.lab.user("stranger").await?;
    cx.lab.collaborator(&repo, &writer, "write").await?;
    let mut seen = Vec::new();
    for forge in [forge, cx.forge(&writer), cx.forge(&stranger)] {
        let may = forge.repository(&repo.id).await?.permissions;
        seen.push(may.map(|may| (may.admin, may.push, may.pull)));
    }
    assert_eq!(
        seen,
        [
            Some((true, true, true)),
            Some((false, true, true)),
            Some((false, false, true)),
        ]
    );
    Ok(())
}

async fn names_match_in_any_case(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let loud = RepoId::parse(
        &repo.id.owner().to_uppercase(),
        &repo.id.name().to_uppercase(),
    )?;
    assert_eq!(forge.repository(&loud).await?.id, repo.id);
    assert_eq!(forge.get_branch(&loud, "main").await?.name, "main");
    Ok(())
}

async fn an_empty_repository_is_told(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let repo = cx.lab.empty_repo(&owner).await?;
    let told = cx.forge(&owner).repository(&repo.id).await?;
    assert_eq!(told.default_branch, "main");
    if !cx.backend.is_github() {
        // GitHub's answer has no word for it.
        assert!(told.empty);
    }
    Ok(())
}

async fn an_empty_repository_has_no_branches_and_no_tags(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let repo = cx.lab.empty_repo(&owner).await?;
    let forge = cx.forge(&owner);
    let page = forge.list_branches(&repo.id, ALL).await?;
    assert_eq!((page.items.len(), page.next_page), (0, None));
    assert_eq!(forge.all_branches(&repo.id).await?, []);
    assert_eq!(forge.list_tags(&repo.id, ALL).await?.items, []);
    assert_eq!(
        forge
            .list_prs(&repo.id, &PrFilter::default(), ALL)
            .await?
            .items,
        []
    );
    Ok(())
}

async fn an_empty_repository_has_no_commits_and_no_files(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let repo = cx.lab.empty_repo(&owner).await?;
    let forge = cx.forge(&owner);
    assert_eq!(
        forge.list_commits(&repo.id, None, None, ALL).await?.items,
        []
    );
    refused!(
        forge.read_file(&repo.id, "README.md", None, 1000).await,
        ForgeError::NotFound { .. }
    );
    refused!(
        forge.get_branch(&repo.id, "main").await,
        ForgeError::NotFound { .. }
    );
    refused!(
        forge.resolve(&repo.id, "main").await,
        ForgeError::NotFound { .. }
    );
    refused!(
        forge.create_branch(&repo.id, "topic", "main").await,
        ForgeError::NotFound { .. }
    );
    Ok(())
}

async fn an_archived_repository_is_told(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.edit_repo(&repo, &json!({"archived": true})).await?;
    assert!(forge.repository(&repo.id).await?.archived);
    // Reading goes on.
    assert_eq!(
        forge
            .read_file(&repo.id, "README.md", None, 1000)
            .await?
            .path,
        "README.md"
    );
    Ok(())
}

async fn an_archived_repository_is_not_written(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    cx.lab
        .write_new(&repo, "other", "main", &[("b.txt", b"b")])
        .await?;
    let head = cx.lab.head(&repo, "main").await?;
    cx.lab.edit_repo(&repo, &json!({"archived": true})).await?;
    refused!(
        forge.create_branch(&repo.id, "new", "main").await,
        ForgeError::Archived { .. }
    );
    refused!(
        forge.delete_branch(&repo.id, "other").await,
        ForgeError::Archived { .. }
    );
    let opts = commit("main", vec![write("c.txt", "c")]);
    refused!(
        forge.commit_files(&repo.id, &opts).await,
        ForgeError::Archived { .. }
    );
    refused!(
        forge.create_pr(pull(&repo.id, "other", "main")).await,
        ForgeError::Archived { .. }
    );
    refused!(
        forge
            .merge_pr(&repo.id, number, &MergeOpts::default())
            .await,
        ForgeError::Archived { .. }
    );
    let tag = TagOpts {
        name: "v1".to_owned(),
        target: "main".to_owned(),
        message: None,
    };
    refused!(
        forge.create_tag(&repo.id, &tag).await,
        ForgeError::Archived { .. }
    );
    assert_eq!(cx.lab.head(&repo, "main").await?, head);
    assert!(cx.lab.head(&repo, "other").await.is_ok());
    Ok(())
}

async fn a_renamed_repository_is_read_under_its_new_name(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let new = format!("{}-renamed", repo.id.name());
    cx.lab.edit_repo(&repo, &json!({"name": new})).await?;
    let told = forge.repository(&repo.id).await?;
    assert_eq!(told.id, RepoId::parse(repo.id.owner(), &new)?);
    assert_eq!(forge.get_branch(&repo.id, "main").await?.name, "main");
    let file = forge.read_file(&repo.id, "README.md", None, 1000).await?;
    assert!(!file.content.is_empty());
    Ok(())
}

async fn a_renamed_repository_is_not_written_under_its_old_name(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab
        .write_new(&repo, "other", "main", &[("b.txt", b"b")])
        .await?;
    let name = format!("{}-renamed", repo.id.name());
    cx.lab.edit_repo(&repo, &json!({"name": name})).await?;
    let to = refused!(
        forge.create_branch(&repo.id, "new", "main").await,
        ForgeError::Moved { to, .. } => to
    );
    assert!(to.contains(&name), "{to}");
    let opts = commit("main", vec![write("c.txt", "c")]);
    refused!(
        forge.commit_files(&repo.id, &opts).await,
        ForgeError::Moved { .. }
    );
    refused!(
        forge.delete_branch(&repo.id, "other").await,
        ForgeError::Moved { .. }
    );
    refused!(
        forge.create_pr(pull(&repo.id, "other", "main")).await,
        ForgeError::Moved { .. }
    );
    let moved = blue_testkit::Repo {
        id: RepoId::parse(repo.id.owner(), &name)?,
        ..repo
    };
    let branches = forge.all_branches(&moved.id).await?;
    let mut names: Vec<&str> = branches.iter().map(|b| b.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["main", "other"]);
    assert_eq!(cx.lab.blob(&moved, "main", "c.txt").await?, None);
    assert_eq!(
        forge
            .list_prs(&moved.id, &PrFilter::default(), ALL)
            .await?
            .items,
        []
    );
    Ok(())
}

async fn a_fork_is_told(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let other = cx.lab.user("forker").await?;
    let fork = cx.lab.fork(&repo, &other).await?;
    let told = cx.forge(&other).repository(&fork.id).await?;
    assert!(told.fork);
    assert_eq!(told.id, fork.id);
    Ok(())
}
