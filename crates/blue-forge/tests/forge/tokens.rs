//! Who asks, and what a token may do

use blue_base::{http::HttpConfig, secret::Secret};
use blue_forge::{Flavor, ForgeError, ForgeType, model::Page};
use blue_testkit::{Cx, Result};

use crate::words::{commit, write};

blue_testkit::on_every_forge![
    about_tells_the_program,
    whoami_tells_the_login,
    whoami_tells_an_admin,
    whoami_without_a_token_is_unauthorized,
    a_bad_token_is_unauthorized,
    a_bad_token_is_never_shown,
    a_missing_scope_is_forbidden_in_the_forges_words,
    a_reading_scope_reads_and_does_not_write,
    nobody_reads_a_public_repository,
    nobody_cannot_write,
    a_read_only_client_writes_nothing,
];

async fn about_tells_the_program(cx: Cx) -> Result<()> {
    let forge = cx.forge(cx.lab.admin());
    let about = forge.about().await?;
    assert_eq!(about.flavor, cx.backend.flavor());
    assert!(about.page_limit >= 50, "{about:?}");
    let kind = if cx.backend.is_github() {
        ForgeType::GitHub
    } else {
        ForgeType::Forgejo
    };
    assert_eq!(forge.forge_type(), kind);
    if about.flavor == Flavor::Gitea {
        assert_eq!(about.version.as_deref(), Some("1.26.0"));
    }
    assert_eq!(
        Some(forge.host().as_str()),
        cx.lab.server().url.as_str().split('/').nth(2)
    );
    Ok(())
}

async fn whoami_tells_the_login(cx: Cx) -> Result<()> {
    let user = cx.lab.user("someone").await?;
    let who = cx.forge(&user).whoami().await?;
    assert_eq!(who.login, user.login);
    assert!(!who.admin);
    Ok(())
}

async fn whoami_tells_an_admin(cx: Cx) -> Result<()> {
    let who = cx.forge(cx.lab.admin()).whoami().await?;
    assert_eq!(who.login, cx.lab.admin().login);
    assert!(who.admin);
    Ok(())
}

async fn whoami_without_a_token_is_unauthorized(cx: Cx) -> Result<()> {
    refused!(
        cx.anonymous().whoami().await,
        ForgeError::Unauthorized { .. }
    );
    Ok(())
}

async fn a_bad_token_is_unauthorized(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let bad = Secret::new("0123456789abcdef0123456789abcdef01234567");
    let forge = cx.forge_with(Some(&bad), HttpConfig::default());
    refused!(forge.whoami().await, ForgeError::Unauthorized { .. });
    // Also for a repository that an anonymous client may read.
    refused!(
        forge.repository(&repo.id).await,
        ForgeError::Unauthorized { .. }
    );
    Ok(())
}

async fn a_bad_token_is_never_shown(cx: Cx) -> Result<()> {
    let bad = Secret::new("feedfacefeedfacefeedfacefeedfacefeedface");
    let forge = cx.forge_with(Some(&bad), HttpConfig::default());
    let error = forge.whoami().await.expect_err("the token is no token");
    let shown = format!("{error} {error:?} {forge:?}");
    assert!(!shown.contains("feedface"), "{shown}");
    Ok(())
}

async fn a_missing_scope_is_forbidden_in_the_forges_words(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let token = cx.lab.token(&repo.owner, &["read:user"]).await?;
    let forge = cx.forge_with(Some(&token), HttpConfig::default());
    assert_eq!(forge.whoami().await?.login, repo.owner.login);
    let message = refused!(
        forge.repository(&repo.id).await,
        ForgeError::Forbidden { message, .. } => message
    );
    if !cx.backend.is_github() {
        assert!(message.contains("required scope"), "{message}");
        assert!(message.contains("read:repository"), "{message}");
    }
    Ok(())
}

async fn a_reading_scope_reads_and_does_not_write(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let token = cx.lab.token(&repo.owner, &["read:repository"]).await?;
    let forge = cx.forge_with(Some(&token), HttpConfig::default());
    assert_eq!(forge.get_branch(&repo.id, "main").await?.name, "main");
    refused!(
        forge.create_branch(&repo.id, "topic", "main").await,
        ForgeError::Forbidden { .. }
    );
    refused!(cx.lab.head(&repo, "topic").await, _);
    Ok(())
}

async fn nobody_reads_a_public_repository(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let forge = cx.anonymous();
    assert_eq!(forge.repository(&repo.id).await?.id, repo.id);
    assert_eq!(
        forge
            .list_branches(&repo.id, Page::default())
            .await?
            .items
            .len(),
        1
    );
    Ok(())
}

async fn nobody_cannot_write(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let opts = commit("main", vec![write("new.txt", "x")]);
    refused!(
        cx.anonymous().commit_files(&repo.id, &opts).await,
        ForgeError::Unauthorized { .. }
    );
    assert_eq!(cx.lab.blob(&repo, "main", "new.txt").await?, None);
    Ok(())
}

async fn a_read_only_client_writes_nothing(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let http = HttpConfig {
        read_only: true,
        ..HttpConfig::default()
    };
    let forge = cx.forge_with(Some(&repo.owner.token), http);
    assert_eq!(forge.get_branch(&repo.id, "main").await?.name, "main");
    refused!(
        forge.create_branch(&repo.id, "topic", "main").await,
        ForgeError::ReadOnly { .. }
    );
    refused!(cx.lab.head(&repo, "topic").await, _);
    Ok(())
}
