//! Workflow runs and their jobs

use blue_core::forge::{
    ForgeError,
    model::{RunFilter, RunState},
};
use blue_testkit::{Cx, Result};

use crate::words::{ALL, nowhere};

contract![
    no_runs_is_an_empty_list,
    a_missing_run_is_not_found,
    a_missing_job_has_no_log,
    runs_of_a_missing_repository_are_not_found,
];

async fn no_runs_is_an_empty_list(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let listed = forge.list_runs(&repo.id, &RunFilter::default(), ALL).await;
    match listed {
        Ok(page) => assert_eq!(page.items, []),
        // Forgejo 11 has no such list.
        Err(ForgeError::Unsupported { .. }) if cx.backend.is_forgejo() => {}
        Err(other) => panic!("{other:?}"),
    }
    Ok(())
}

async fn a_missing_run_is_not_found(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    for error in [
        forge.get_run(&repo.id, 999_999).await.map(drop),
        forge.list_jobs(&repo.id, 999_999).await.map(drop),
    ] {
        match error {
            Err(ForgeError::NotFound { .. }) => {}
            Err(ForgeError::Unsupported { .. }) if cx.backend.is_forgejo() => {}
            other => panic!("{other:?}"),
        }
    }
    Ok(())
}

async fn a_missing_job_has_no_log(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    match forge.job_log(&repo.id, 999_999, 1000).await {
        Err(ForgeError::NotFound { .. }) => {}
        Err(ForgeError::Unsupported { .. }) if cx.backend.is_forgejo() => {}
        other => panic!("{other:?}"),
    }
    Ok(())
}

async fn runs_of_a_missing_repository_are_not_found(cx: Cx) -> Result<()> {
    let user = cx.lab.user("someone").await?;
    let none = blue_core::forge::model::RepoId::parse(&user.login, "no-such")?;
    let _ = (nowhere(), RunState::Queued);
    match cx
        .forge(&user)
        .list_runs(&none, &RunFilter::default(), ALL)
        .await
    {
        Err(ForgeError::NotFound { .. }) => {}
        Err(ForgeError::Unsupported { .. }) if cx.backend.is_forgejo() => {}
        other => panic!("{other:?}"),
    }
    Ok(())
}
