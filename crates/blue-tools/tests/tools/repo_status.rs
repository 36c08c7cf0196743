//! `repo_status`

use std::time::Duration;

use blue_testkit::{Cx, Result, Skip};
use blue_tools::ErrorCode;
use serde_json::{Value, json};

use crate::{
    desk::{self, Desk},
    proxy::Proxy,
};

blue_testkit::on_every_forge![
    a_free_repository_is_worked_on_directly,
    a_repository_with_reviews_wants_branches,
    a_branch_can_be_asked_about,
    a_branch_that_is_not_there_is_told,
    long_lists_are_cut_and_counted,
    an_empty_repository_says_what_to_do,
    an_archived_repository_takes_nothing,
    a_default_branch_of_another_name_is_found,
    who_may_not_push_is_sent_to_a_branch,
    a_branch_that_takes_no_push_is_not_committed_to,
    pull_requests_may_be_switched_off,
    a_mirror_is_named_and_not_committed_to,
    pull_requests_that_a_team_may_not_read_are_named,
    it_takes_one_round_of_few_requests,
    one_failure_fails_the_whole,
    it_does_what_every_tool_owes,
];

async fn a_free_repository_is_worked_on_directly(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    let main = cx.lab.head(&repo, "main").await?;
    let topic = cx.lab.head(&repo, "topic").await?;
    let answer = desk.call("repo_status", json!({})).await?;
    assert_eq!(
        answer,
        json!({
            "host": desk.host(), "owner": desk.owner, "name": desk.name,
            "default_branch": "main",
            "branches": [
                {"name": "main", "sha": main.as_str()}, {"name": "topic", "sha": topic.as_str()},
            ],
            "open_prs": [{
                "number": number, "title": "Change of topic",
                "head_branch": "topic",
            }],
            "protection": {"protected": false},
            "workflow": "trunk",
            "reason": "`main` is not protected",
            "next_steps": ["Commit with file_write_branch, branch \"main\" if the user wants a push to the default branch, else a new one"],
        })
    );
    Ok(())
}

async fn a_repository_with_reviews_wants_branches(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab
        .protect(&repo, "main", json!({"required_approvals": 2}))
        .await?;
    let answer = desk.call("repo_status", json!({})).await?;
    assert_eq!(answer["workflow"], "feature-branch");
    assert_eq!(
        answer["reason"],
        "`main` is protected and needs 2 approvals"
    );
    assert_eq!(answer["protection"]["required_approvals"], 2);
    let step = answer["next_steps"][0].as_str().unwrap();
    assert!(step.contains("file_write_branch") && step.contains("pr_create"));
    // What the other tool says of the same branch is the same.
    let alone = desk
        .call("branch_protection_get", json!({"branch": "main"}))
        .await?;
    assert_eq!(answer["protection"], alone);
    // Protected is not yet reviewed.
    cx.lab.unprotect(&repo, "main").await?;
    cx.lab
        .protect(&repo, "main", json!({"enable_push": true}))
        .await?;
    let answer = desk.call("repo_status", json!({})).await?;
    assert_eq!(answer["protection"]["protected"], true);
    assert_eq!(answer["workflow"], "trunk");
    assert_eq!(
        answer["reason"],
        "`main` is protected, but needs no approval"
    );
    Ok(())
}

async fn a_branch_can_be_asked_about(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "rel/1", "main").await?;
    cx.lab
        .protect(&repo, "rel/*", json!({"required_approvals": 1}))
        .await?;
    let answer = desk.call("repo_status", json!({"branch": "rel/1"})).await?;
    assert_eq!(answer["default_branch"], "main");
    assert_eq!(answer["protection"]["required_approvals"], 1);
    assert_eq!(
        answer["reason"],
        "`rel/1` is protected and needs 1 approval"
    );
    Ok(())
}

async fn a_branch_that_is_not_there_is_told(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    let error = desk
        .refused("repo_status", json!({"branch": "no/such"}))
        .await;
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(error.message.contains("branch `no/such`"), "{error:?}");
    Ok(())
}

async fn long_lists_are_cut_and_counted(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    for n in 0..34 {
        cx.lab.branch(&repo, &format!("a{n:02}"), "main").await?;
    }
    let answer = desk.call("repo_status", json!({})).await?;
    let names: Vec<&Value> = answer["branches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| &b["name"])
        .collect();
    assert_eq!(names.len(), 30);
    assert_eq!(names[0], "main", "the default branch comes first");
    assert_eq!(answer["branches_total"], 35);
    assert_eq!(answer.get("open_prs_total"), None);
    let steps = answer["next_steps"].as_array().unwrap();
    assert!(
        steps
            .iter()
            .any(|s| s.as_str().unwrap().contains("branch_list"))
    );
    Ok(())
}

async fn an_empty_repository_says_what_to_do(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let repo = cx.lab.empty_repo(&owner).await?;
    let desk = Desk::new(&cx, &owner, &repo);
    for args in [json!({}), json!({"branch": "main"})] {
        let answer = desk.call("repo_status", args).await?;
        assert_eq!(
            answer,
            json!({
                "host": desk.host(), "owner": desk.owner, "name": desk.name,
            "default_branch": "main", "branches": [], "open_prs": [],
                "protection": {"protected": false}, "workflow": "trunk", "empty": true,
                "reason": "`main` is not protected",
                "next_steps": ["The repository is empty: file_write_branch makes its first commit"],
            })
        );
    }
    Ok(())
}

async fn an_archived_repository_takes_nothing(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.edit_repo(&repo, &json!({"archived": true})).await?;
    let answer = desk.call("repo_status", json!({})).await?;
    assert_eq!(answer["archived"], true);
    assert_eq!(answer.get("next_steps"), None);
    Ok(())
}

async fn a_default_branch_of_another_name_is_found(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "stable", "main").await?;
    cx.lab
        .protect(&repo, "stable", json!({"required_approvals": 1}))
        .await?;
    cx.lab
        .edit_repo(&repo, &json!({"default_branch": "stable"}))
        .await?;
    let answer = desk.call("repo_status", json!({})).await?;
    assert_eq!(answer["default_branch"], "stable");
    assert_eq!(answer["branches"][0]["name"], "stable");
    assert_eq!(answer["protection"]["required_approvals"], 1);
    assert_eq!(answer["workflow"], "feature-branch");
    Ok(())
}

async fn who_may_not_push_is_sent_to_a_branch(cx: Cx) -> Result<()> {
    let (_, repo) = desk::start(&cx).await?;
    let writer = cx.lab.user("writer").await?;
    cx.lab.collaborator(&repo, &writer, "write").await?;
    let rule = json!({
        "enable_push": true, "enable_push_whitelist": true,
        "push_whitelist_usernames": [repo.owner.login],
    });
    cx.lab.protect(&repo, "main", rule).await?;
    let desk = Desk::new(&cx, &writer, &repo);
    let answer = desk.call("repo_status", json!({})).await?;
    assert_eq!(answer["workflow"], "feature-branch");
    // GitHub shows the list of users that may push to admins only.
    let reason = if cx.backend.is_github() {
        "`main` is protected by a rule that this token cannot read"
    } else {
        "`main` needs no approval, but takes no push from you"
    };
    assert_eq!(answer["reason"], reason);
    let step = answer["next_steps"][0].as_str().unwrap();
    assert!(step.contains("pr_create"), "{step}");
    let reader = cx.lab.user("reader").await?;
    let answer = Desk::new(&cx, &reader, &repo)
        .call("repo_status", json!({}))
        .await?;
    assert_eq!(answer.get("next_steps"), None, "{answer}");
    Ok(())
}

/// No user may push and no approval is needed: the forge would refuse a commit to the branch
async fn a_branch_that_takes_no_push_is_not_committed_to(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let rule = json!({"enable_push": false});
    cx.lab.protect(&repo, "main", rule).await?;
    let answer = desk.call("repo_status", json!({})).await?;
    assert_eq!(answer["workflow"], "feature-branch");
    let reason = if cx.backend.is_github() {
        assert_eq!(answer["protection"]["requires_pr"], true);
        "`main` takes changes by pull request only"
    } else {
        "`main` needs no approval, but takes no push from you"
    };
    assert_eq!(answer["reason"], reason);
    let step = answer["next_steps"][0].as_str().unwrap();
    assert!(step.contains("pr_create"), "{step}");
    let direct = json!({"branch": "main", "path": "a.txt", "content": "a", "message": "m"});
    let error = desk.refused("file_write_branch", direct).await;
    assert_eq!(error.code, ErrorCode::Forbidden, "{error:?}");
    Ok(())
}

async fn pull_requests_may_be_switched_off(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let off = json!({"has_pull_requests": false});
    cx.lab.edit_repo(&repo, &off).await?;
    let answer = desk.call("repo_status", json!({})).await?;
    assert_eq!(answer["open_prs"], json!([]));
    assert_eq!(answer["workflow"], "trunk");
    Ok(())
}

async fn a_mirror_is_named_and_not_committed_to(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub has no mirrors").into());
    }
    let (_, source) = desk::start(&cx).await?;
    let repo = cx.lab.mirror(&source).await?;
    let desk = Desk::new(&cx, &repo.owner, &repo);
    let answer = desk.call("repo_status", json!({})).await?;
    assert_eq!(answer["mirror"], true, "{answer:#}");
    assert_eq!(answer.get("next_steps"), None, "{answer:#}");
    assert!(answer["reason"].as_str().unwrap().contains("mirror"));
    let write = json!({"branch": "main", "path": "a.txt", "content": "a"});
    let error = desk.refused("file_write_branch", write).await;
    assert_eq!(error.code, ErrorCode::Forbidden, "{error:?}");
    let hint = error.hint.unwrap();
    assert!(hint.contains("make the change there"), "{hint}");
    Ok(())
}

async fn pull_requests_that_a_team_may_not_read_are_named(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub has no rights by unit").into());
    }
    let owner = cx.lab.user("owner").await?;
    let coder = cx.lab.user("coder").await?;
    let repo = cx.lab.repo_of_coders(&owner, &coder).await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    let desk = Desk::new(&cx, &coder, &repo);
    let answer = desk.call("repo_status", json!({})).await?;
    assert_eq!(answer["open_prs"], json!([]));
    let notes = answer["notes"].to_string();
    assert!(notes.contains("pull requests"), "{answer:#}");
    let gone = desk
        .call("branch_delete", json!({"branch": "topic"}))
        .await?;
    assert!(gone["message"].as_str().unwrap().starts_with("deleted"));
    Ok(())
}

/// All requests are on their way before the first is answered: the whole takes no longer than the
/// slowest of them
async fn it_takes_one_round_of_few_requests(cx: Cx) -> Result<()> {
    let (_, repo) = desk::start(&cx).await?;
    cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    let proxy = Proxy::start(&cx.lab.server().url, Duration::from_millis(500)).await?;
    for protected in [false, true] {
        if protected {
            let rule = json!({"required_approvals": 1});
            cx.lab.protect(&repo, "main", rule).await?;
        }
        for args in [json!({}), json!({"branch": "main"})] {
            // New each time: nothing is known of the server.
            let desk = Desk::at(&proxy.url, &cx, &repo.owner, &repo, |_| {});
            let answer = desk.call("repo_status", args).await?;
            assert_eq!(answer["protection"]["protected"], protected);
            let seen = proxy.take();
            let count = seen.requests.len();
            assert!((4..=5).contains(&count), "{:#?}", seen.requests);
            assert_eq!(seen.first_round, Some(count), "{:#?}", seen.requests);
        }
    }
    Ok(())
}

async fn one_failure_fails_the_whole(cx: Cx) -> Result<()> {
    let cx = cx.faulty()?;
    let (desk, repo) = desk::start(&cx).await?;
    let protections = if cx.backend.is_github() {
        "/rules/branches/main"
    } else {
        "/branch_protections"
    };
    for (n, part) in ["", "/branches", "/pulls", protections].iter().enumerate() {
        let said = format!("no luck with {n}");
        let rule = json!({
            "path": format!("/api/v*/repos/{}{part}", repo.id), "method": "GET", "count": 1,
            "status": 500, "body": {"message": said},
        });
        cx.lab.fault(&rule).await?;
        let error = desk.refused("repo_status", json!({})).await;
        assert!(error.message.contains(&said), "{error:?}");
        assert_eq!(error.code, ErrorCode::UnexpectedAnswer);
    }
    desk.call("repo_status", json!({})).await?;
    Ok(())
}

async fn it_does_what_every_tool_owes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    desk.owes("repo_status", json!({})).await;
    Ok(())
}
