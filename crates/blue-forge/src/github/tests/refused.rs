//! Refusals of GitHub that say less, or other things, than they mean

use super::*;

fn workflow_commit() -> CommitOpts {
    CommitOpts {
        branch: "main".to_owned(),
        base: None,
        message: "ci".to_owned(),
        changes: vec![FileChange::Write {
            path: ".github/workflows/ci.yml".to_owned(),
            content: b"on: push".to_vec(),
            expect: Expect::Any,
        }],
        expected_head: None,
    }
}

/// A repository in which the token's user may push, and whose trees cannot be written
fn refusing_trees(fake: &Fake, refusal: Reply) {
    fake.json(
        "GET /repos/o/r/branches/main",
        &json!({"name": "main", "commit": {"sha": A, "commit": {"tree": {"sha": B}}}}),
    );
    fake.json(
        &format!("GET /repos/o/r/git/trees/{B}"),
        &json!({"sha": B, "tree": [], "truncated": false}),
    );
    fake.on("POST /repos/o/r/git/trees", [refusal]);
    fake.json(
        "GET /repos/o/r",
        &json!({"name": "r", "owner": {"login": "o"}, "size": 5, "default_branch": "main",
            "permissions": {"push": true, "pull": true}}),
    );
}

#[tokio::test]
async fn a_workflow_file_without_its_scope_names_the_scope() {
    for (held, scope) in [
        (Some("repo, gist"), Some("workflow")),
        (Some("read:org"), Some("workflow")),
        // A token whose scopes are not told.
        (None, Some("workflow")),
        (Some("gist, workflow"), Some("repo")),
        (Some("repo, workflow"), None),
    ] {
        let fake = Fake::start().await;
        let mut refusal = message(404, "Not Found");
        if let Some(held) = held {
            refusal = refusal.with("x-oauth-scopes", held);
        }
        refusing_trees(&fake, refusal);
        let error = github(&fake)
            .commit_files(&repo(), &workflow_commit())
            .await
            .unwrap_err();
        match (scope, &error) {
            (Some(wanted), ForgeError::MissingScope { scope, message, .. }) => {
                assert_eq!(*scope, wanted);
                assert!(message.contains(&format!("`{wanted}`")), "{message}");
            }
            (None, ForgeError::NotFound { .. }) => {}
            _ => panic!("{held:?}: {error:?}"),
        }
        assert_eq!(error.status(), Some(404));
    }
}

#[tokio::test]
async fn a_repository_that_is_gone_lacks_no_scope() {
    let fake = Fake::start().await;
    refusing_trees(&fake, message(404, "Not Found").with("x-oauth-scopes", ""));
    fake.on("GET /repos/o/r", [message(404, "Not Found")]);
    let error = github(&fake)
        .commit_files(&repo(), &workflow_commit())
        .await
        .unwrap_err();
    assert!(matches!(error, ForgeError::NotFound { .. }), "{error:?}");
}

#[tokio::test]
async fn an_open_pull_request_is_found_whatever_the_token_is() {
    let fake = Fake::start().await;
    fake.on(
        "POST /repos/o/r/pulls",
        [failed("A pull request already exists for o:topic.")],
    );
    fake.json("GET /repos/o/r/pulls", &json!([pull(&json!({}))]));
    let opts = CreatePrOpts {
        repo: repo(),
        head: "topic".to_owned(),
        base: "main".to_owned(),
        title: "t".to_owned(),
        body: None,
        draft: false,
    };
    for token in ["x", "e", "already"] {
        let error = github_with_token(&fake, token)
            .create_pr(opts.clone())
            .await
            .unwrap_err();
        let ForgeError::Conflict {
            kind: ConflictKind::Exists,
            message,
            ..
        } = error
        else {
            panic!("{token}: {error:?}");
        };
        assert!(message.contains("(#1)"), "{message}");
        assert!(!message.contains(token), "{message}");
    }
}

#[tokio::test]
async fn a_file_over_100_mb_is_too_large() {
    let fake = Fake::start().await;
    let words = "This API returns blobs up to 100 MB in size. The requested blob is too large to \
                 fetch via the API, but you can always clone the repository via Git.";
    let body = json!({"message": words,
        "errors": [{"resource": "Blob", "field": "data", "code": "too_large"}]});
    fake.on("GET /repos/o/r/contents/big.bin", [json_reply(403, &body)]);
    fake.json(
        "GET /repos/o/r/git/trees/HEAD",
        &json!({"sha": A, "tree": [], "truncated": false}),
    );
    let error = github(&fake)
        .read_file(&repo(), "big.bin", None, 1000)
        .await
        .unwrap_err();
    assert!(
        matches!(error, ForgeError::TooLarge { limit, .. } if limit == 100 * 1024 * 1024),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_repository_of_an_old_server_without_a_default_branch_has_one() {
    let bare = json!({"name": "r", "owner": {"login": "o"}, "size": 5});
    let mut named = bare.clone();
    named["master_branch"] = "trunk".into();
    let row = |name: &str| json!({"name": name, "commit": {"sha": A}});
    for (answer, branches, expected) in [
        (&named, json!([row("a")]), "trunk"),
        (&bare, json!([row("a"), row("master")]), "master"),
        (&bare, json!([row("dev"), row("topic")]), "dev"),
    ] {
        let fake = Fake::start().await;
        fake.json("GET /repos/o/r", answer);
        fake.json("GET /repos/o/r/branches", &branches);
        let forge = github(&fake);
        assert_eq!(forge.default_branch(&repo()).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn a_status_of_an_old_server_without_a_context_is_read() {
    let fake = Fake::start().await;
    fake.json(
        &format!("GET /repos/o/r/commits/{A}/status"),
        &json!({"total_count": 2, "statuses": [
            {"state": "success", "description": null, "target_url": null},
            {"state": "failure", "context": null},
        ]}),
    );
    fake.json(
        &format!("GET /repos/o/r/commits/{A}/check-runs"),
        &json!({"total_count": 0, "check_runs": []}),
    );
    let checks = github(&fake).checks_of(&repo(), &sha(A)).await.unwrap();
    let names: Vec<&str> = checks.items.iter().map(|c| c.context.as_str()).collect();
    assert!(names.iter().all(|name| *name == "default"), "{names:?}");
    assert!(!names.is_empty());
}
