//! `branch_list`

use blue_testkit::{Backend, Cx, Import, Result, Skip};
use blue_tools::ErrorCode;
use serde_json::json;

use crate::desk::{self, Desk};

blue_testkit::on_every_forge![
    branches_come_with_their_commits,
    a_name_that_only_looks_like_another_is_told_apart,
    pages_follow_each_other,
    names_that_are_too_long_are_cut_and_told,
    an_empty_repository_has_none,
    odd_parts_are_refused,
    it_does_what_every_tool_owes,
];

async fn branches_come_with_their_commits(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    let head = cx.lab.head(&repo, "main").await?;
    let answer = desk.call("branch_list", json!({})).await?;
    assert_eq!(
        answer["branches"],
        json!([{"name": "main", "sha": head.as_str()}, {"name": "topic", "sha": head.as_str()}])
    );
    assert_eq!(answer.get("next_page"), None);
    assert_eq!(answer.get("next_steps"), None);
    Ok(())
}

/// Who may push could pose as `main` otherwise
async fn a_name_that_only_looks_like_another_is_told_apart(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let (posing, shown) = ("ma\u{200b}in", r"ma\u{200b}in");
    let write = json!({"branch": posing, "message": "m", "files":
        [{"path": "evil\u{200b}name.txt", "content": "x"}]});
    let answer = desk.call("file_write_branch", write).await?;
    assert_eq!(answer["branch"], shown, "{answer}");
    let answer = desk.call("branch_list", json!({})).await?;
    let rows = answer["branches"].as_array().unwrap();
    let mut names: Vec<_> = rows.iter().map(|row| row["name"].clone()).collect();
    names.sort_by_key(ToString::to_string);
    assert_eq!(names, [shown, "main"]);
    let answer = desk.call("dir_list", json!({"ref": posing})).await?;
    let listed = answer["entries"].to_string();
    assert!(listed.contains(r"evil\\u{200b}name.txt"), "{listed}");
    cx.lab.pr(&repo, posing, "main", "t\u{200b}itle").await?;
    let answer = desk.call("pr_list", json!({})).await?;
    let row = &answer["prs"][0];
    assert_eq!(
        (&row["head_branch"], &row["title"]),
        (&json!(shown), &json!("title"))
    );
    // Sent back as it was shown, it is nothing that there is.
    let error = desk.refused("dir_list", json!({"ref": shown})).await;
    assert_eq!(error.code, ErrorCode::NotFound, "{error}");
    let force = json!({"branch": shown, "force": true});
    let error = desk.refused("branch_delete", force).await;
    assert!(
        matches!(error.code, ErrorCode::NotFound | ErrorCode::Invalid),
        "{error}"
    );
    Ok(())
}

async fn pages_follow_each_other(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    for name in ["a", "b", "c"] {
        cx.lab.branch(&repo, name, "main").await?;
    }
    let first = desk.call("branch_list", json!({"limit": 3})).await?;
    assert_eq!(first["branches"].as_array().unwrap().len(), 3);
    assert_eq!(first["next_page"], 2);
    if !cx.backend.is_github() {
        assert_eq!(first["total"], 4);
    }
    let second = desk
        .call("branch_list", json!({"limit": "3", "page": 2}))
        .await?;
    assert_eq!(second["branches"].as_array().unwrap().len(), 1);
    assert_eq!(second.get("next_page"), None);
    let past = desk
        .call("branch_list", json!({"limit": 3, "page": 9}))
        .await?;
    assert_eq!(past["branches"], json!([]));
    assert_eq!(past.get("next_steps"), None);
    for tool in ["branch_list", "pr_list"] {
        let last = desk.call(tool, json!({"page": u32::MAX})).await?;
        assert_eq!(last.get("next_page"), None, "{tool}: {last}");
    }
    let head = json!({"page": u32::MAX, "head": "a"});
    let last = desk.call("pr_list", head).await?;
    assert_eq!((&last["prs"], last.get("next_page")), (&json!([]), None));
    Ok(())
}

async fn names_that_are_too_long_are_cut_and_told(cx: Cx) -> Result<()> {
    if matches!(cx.backend, Backend::Gitea | Backend::Forgejo) {
        return Err(Skip::new("its names are shorter").into());
    }
    let owner = cx.lab.user("owner").await?;
    let mut import = Import::new();
    let long = vec!["a".repeat(200); 6].join("/");
    import.commit("main", "one", &[("a", b"a")]);
    import.branches(&long, 99);
    let repo = cx.lab.repo_from(&owner, &import).await?;
    let desk = Desk::new(&cx, &owner, &repo);
    let answer = desk.call("branch_list", json!({"limit": 100})).await?;
    let shown = answer["branches"].as_array().unwrap().len();
    assert!((15..25).contains(&shown), "{shown}");
    let step = answer["next_steps"][0].as_str().unwrap();
    assert!(step.contains("left out"), "{step}");
    let answer = desk.call("repo_status", json!({})).await?;
    let shown = answer["branches"].as_array().unwrap().len();
    assert!((5..15).contains(&shown), "{shown}");
    let steps = answer["next_steps"].to_string();
    assert!(steps.contains("branch_list"), "{steps}");
    Ok(())
}

async fn an_empty_repository_has_none(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let repo = cx.lab.empty_repo(&owner).await?;
    let answer = Desk::new(&cx, &owner, &repo)
        .call("branch_list", json!({}))
        .await?;
    assert_eq!(answer["branches"], json!([]));
    let step = answer["next_steps"][0].as_str().unwrap();
    assert!(step.contains("empty") && step.contains("file_write_branch"));
    Ok(())
}

async fn odd_parts_are_refused(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    for (args, said) in [
        (json!({"limit": 0}), "`limit` must be from 1 to 100, not 0"),
        (
            json!({"limit": 101}),
            "`limit` must be from 1 to 100, not 101",
        ),
        (
            json!({"page": 0}),
            "`page` is counted from 1, so it cannot be 0",
        ),
        (
            json!({"limit": -1}),
            "branch_list: `limit` must be a whole number, not `-1`",
        ),
    ] {
        let error = desk.refused("branch_list", args).await;
        assert_eq!(
            (error.code, error.message.as_str()),
            (ErrorCode::Invalid, said)
        );
    }
    Ok(())
}

async fn it_does_what_every_tool_owes(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    desk.owes("branch_list", json!({})).await;
    Ok(())
}
