//! Answers that say nothing, or something else than they mean

use std::time::Duration;

use blue_base::http::Method;
use blue_forge::{
    ConflictKind, ForgeError, MergeBlock,
    model::{MergeStrategy, TagOpts},
};
use blue_sandbox::Flavor;
use blue_testkit::{Backend, Cx, Import, Result, Skip, eventually};
use serde_json::json;

use crate::words::{WHOLE, commit, merge, pull, write};

blue_testkit::on_every_forge![
    a_path_of_an_empty_repository_is_not_found,
    files_are_there_right_after_the_first_push,
    a_missing_branch_is_not_deleted,
    a_new_branch_below_or_above_another_is_a_name_clash,
    a_commit_to_a_branch_below_another_is_a_name_clash,
    a_new_branch_under_a_protected_pattern_is_forbidden,
    folders_of_the_server_are_not_shown,
    a_used_up_quota_is_not_a_bad_request,
    a_pull_request_from_a_fork_opens_where_nothing_is_compared,
    branches_are_compared_where_the_route_is_missing,
    a_stale_file_is_told_by_any_status,
    a_token_tells_what_it_may_do,
    a_merge_that_waits_for_checks_is_told,
    a_refused_merge_names_the_rule_on_every_version,
];

async fn a_path_of_an_empty_repository_is_not_found(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let repo = cx.lab.empty_repo(&owner).await?;
    let forge = cx.forge(&owner);
    let read = forge.read_file(&repo.id, "src/main.rs", None, WHOLE).await;
    let what = refused!(read, ForgeError::NotFound { what, .. } => what);
    assert!(what.ends_with("(the repository is empty)"), "{what}");
    let listed = forge.list_dir(&repo.id, "src", None).await;
    let what = refused!(listed, ForgeError::NotFound { what, .. } => what);
    assert!(what.ends_with("(the repository is empty)"), "{what}");
    assert_eq!(forge.list_dir(&repo.id, "", None).await?, []);
    Ok(())
}

async fn files_are_there_right_after_the_first_push(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let forge = cx.forge(&owner);
    let mut import = Import::new();
    import.commit("main", "first", &[("src/a.txt", b"a")]);
    let repo = cx.lab.pushed_repo(&owner, &import).await?;
    if cx.backend == Backend::SandboxForgejo {
        let file = forge.read_file(&repo.id, "src/a.txt", None, WHOLE).await?;
        assert_eq!(file.content, b"a");
        return Ok(());
    }
    // What a server does not know yet is missing, and never something else. A real Gitea that is
    // still processing the push sometimes answers 500 instead.
    eventually("the file is there", Duration::from_secs(10), || async {
        match forge.read_file(&repo.id, "src/a.txt", None, WHOLE).await {
            Err(ForgeError::NotFound { .. }) => Ok(None),
            Err(ForgeError::Unexpected { status: 500, .. }) if cx.backend == Backend::Gitea => {
                Ok(None)
            }
            other => Ok(Some(other?)),
        }
    })
    .await
    .map(|file| assert_eq!(file.content, b"a"))
}

async fn a_missing_branch_is_not_deleted(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let what = refused!(
        forge.delete_branch(&repo.id, "no-such-branch").await,
        ForgeError::NotFound { what, .. } => what
    );
    assert!(what.starts_with("branch `no-such-branch`"), "{what}");
    Ok(())
}

async fn a_new_branch_below_or_above_another_is_a_name_clash(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "nb", "main").await?;
    cx.lab.branch(&repo, "deep/er", "main").await?;
    for name in ["nb/sub", "nb/sub/below", "deep"] {
        refused!(
            forge.create_branch(&repo.id, name, "main").await,
            ForgeError::Conflict {
                kind: ConflictKind::NameClash,
                ..
            }
        );
    }
    Ok(())
}

async fn a_commit_to_a_branch_below_another_is_a_name_clash(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "nb", "main").await?;
    let mut opts = commit("nb/sub", vec![write("a.txt", "a")]);
    opts.base = Some("HEAD".to_owned());
    refused!(
        forge.commit_files(&repo.id, &opts).await,
        ForgeError::Conflict {
            kind: ConflictKind::NameClash,
            ..
        }
    );
    Ok(())
}

async fn a_new_branch_under_a_protected_pattern_is_forbidden(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub protects by rulesets").into());
    }
    let (_, repo) = cx.start().await?;
    let writer = cx.lab.user("writer").await?;
    cx.lab.collaborator(&repo, &writer, "write").await?;
    cx.lab
        .protect(&repo, "rel/*", json!({"enable_push": false}))
        .await?;
    let made = cx
        .forge(&writer)
        .create_branch(&repo.id, "rel/1", "main")
        .await;
    let message = refused!(made, ForgeError::Forbidden { message, .. } => message);
    assert!(message.contains("protect"), "{message}");
    Ok(())
}

async fn folders_of_the_server_are_not_shown(cx: Cx) -> Result<()> {
    if cx.backend != Backend::SandboxForgejo {
        return Err(Skip::new("only Forgejo shows its folders, and to site admins").into());
    }
    let admin = cx.lab.admin().clone();
    let repo = cx.lab.repo(&admin).await?;
    cx.lab.branch(&repo, "nb", "main").await?;
    let path = repo.path(&["branches"]);
    let body = json!({"new_branch_name": "nb/sub"});
    let answer = cx
        .lab
        .call(&admin, Method::POST, &path, Some(&body))
        .await?;
    assert!(answer.text.contains(".git"), "{}", answer.text);
    let message = refused!(
        cx.forge(&admin).create_branch(&repo.id, "nb/sub", "main").await,
        ForgeError::Conflict { message, kind: ConflictKind::NameClash, .. } => message
    );
    assert!(!message.contains(".git"), "{message}");
    Ok(())
}

async fn a_used_up_quota_is_not_a_bad_request(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub has no quota").into());
    }
    let cx = cx.faulty()?;
    let (forge, repo) = cx.start().await?;
    let body = json!({"message": "quota exceeded", "user_id": 1, "username": "owner"});
    let rule = json!({
        "path": format!("/api/v1/repos/{}/contents", repo.id), "method": "POST",
        "status": 413, "body": body,
    });
    cx.lab.fault(&rule).await?;
    let message = refused!(
        forge
            .commit_files(&repo.id, &commit("main", vec![write("a.txt", "a")]))
            .await,
        ForgeError::Forbidden { message, status: Some(413), .. } => message
    );
    assert!(message.contains("quota"), "{message}");
    Ok(())
}

async fn a_pull_request_from_a_fork_opens_where_nothing_is_compared(cx: Cx) -> Result<()> {
    let cx = cx.forgejo(Flavor::Forgejo7)?;
    let (forge, repo) = cx.start().await?;
    let other = cx.lab.user("forker").await?;
    let fork = cx.lab.fork(&repo, &other).await?;
    cx.lab
        .write_new(&fork, "topic", "main", &[("a.txt", b"a")])
        .await?;
    cx.lab.branch(&fork, "same", "main").await?;
    let theirs = cx.forge(&other);
    let head = format!("{}:topic", other.login);
    let pr = theirs.create_pr(pull(&repo.id, &head, "main")).await?;
    assert_eq!(pr.head.repo, Some(fork.id));
    let same = format!("{}:same", other.login);
    refused!(
        forge.create_pr(pull(&repo.id, &same, "main")).await,
        ForgeError::Invalid { .. }
    );
    let none = format!("{}:no-such-branch", other.login);
    refused!(
        forge.create_pr(pull(&repo.id, &none, "main")).await,
        ForgeError::NotFound { .. }
    );
    Ok(())
}

async fn branches_are_compared_where_the_route_is_missing(cx: Cx) -> Result<()> {
    let cx = cx.forgejo(Flavor::Forgejo7)?;
    let (forge, repo) = cx.start().await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a.txt", b"a")])
        .await?;
    assert_eq!(forge.ahead(&repo.id, "main", "topic").await?, 1);
    let pr = forge.create_pr(pull(&repo.id, "topic", "main")).await?;
    assert_eq!(pr.head.branch, "topic");
    Ok(())
}

async fn a_stale_file_is_told_by_any_status(cx: Cx) -> Result<()> {
    let cx = cx.forgejo(Flavor::Forgejo15)?;
    let (forge, repo) = cx.start().await?;
    forge.overview(&repo.id, None).await?;
    let read = forge.read_file(&repo.id, "README.md", None, WHOLE).await?;
    cx.lab
        .write(&repo, "main", &[("README.md", b"theirs")])
        .await?;
    let expect = blue_forge::model::Expect::Blob(read.sha);
    let mut opts = commit(
        "main",
        vec![crate::words::write_if("README.md", "ours", expect)],
    );
    opts.base = Some("HEAD".to_owned());
    refused!(
        forge.commit_files(&repo.id, &opts).await,
        ForgeError::Conflict {
            kind: ConflictKind::StaleFile { .. },
            ..
        }
    );
    Ok(())
}

async fn a_token_tells_what_it_may_do(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("the tokens of the set-up are Gitea's").into());
    }
    let user = cx.lab.user("someone").await?;
    for (given, reads, writes) in [
        (&["read:user", "read:repository"][..], true, false),
        (&["read:user", "write:repository"], true, true),
        (&["read:user"], false, false),
        (&["all"], true, true),
    ] {
        let token = cx.lab.token(&user, given).await?;
        let who = cx.forge(&user.with_token(token)).whoami().await?;
        assert_eq!(who.may_read(), Some(reads), "{given:?}: {who:?}");
        assert_eq!(who.may_write(), Some(writes), "{given:?}: {who:?}");
    }
    Ok(())
}

async fn a_merge_that_waits_for_checks_is_told(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub schedules by another API").into());
    }
    let (forge, repo) = cx.start().await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    let rule = json!({"enable_status_check": true, "status_check_contexts": ["ci"]});
    cx.lab.protect(&repo, "main", rule).await?;
    assert_eq!(forge.scheduled_merge(&repo.id, number).await?, None);
    let mut opts = merge(MergeStrategy::Merge);
    opts.when_checks_succeed = true;
    forge.merge_pr(&repo.id, number, &opts).await?;
    let by = forge.scheduled_merge(&repo.id, number).await?;
    assert_eq!(by.as_deref(), Some(repo.owner.login.as_str()));
    let path = ["pulls", &number.to_string(), "merge"];
    let path = repo.path(&path);
    cx.lab
        .must(&repo.owner, Method::DELETE, &path, None)
        .await?;
    assert_eq!(forge.scheduled_merge(&repo.id, number).await?, None);
    Ok(())
}

async fn a_refused_merge_names_the_rule_on_every_version(cx: Cx) -> Result<()> {
    for version in [Flavor::Forgejo7, Flavor::Forgejo15] {
        let cx = cx.forgejo(version)?;
        let (forge, repo) = cx.start().await?;
        let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
        cx.lab
            .protect(&repo, "main", json!({"required_approvals": 1}))
            .await?;
        refused!(
            forge
                .merge_pr(&repo.id, number, &merge(MergeStrategy::Merge))
                .await,
            ForgeError::NotMergeable {
                reason: MergeBlock::Approvals,
                ..
            }
        );
        let tag = TagOpts {
            name: "v1".to_owned(),
            target: "main".to_owned(),
            message: None,
        };
        assert_eq!(forge.create_tag(&repo.id, &tag).await?.name, "v1");
    }
    Ok(())
}
