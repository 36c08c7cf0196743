//! Many writers at once

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::api::Forge;

#[tokio::test]
async fn of_many_writers_with_the_same_sha_one_wins() {
    let forge = Forge::instant().await;
    let file = forge.api.get("repos/admin/r/contents/README.md").await;
    let writers = (0..8).map(|writer| {
        let api = forge.api.clone();
        let body = json!({
            "content": BASE64_STANDARD.encode(format!("writer {writer}\n")),
            "sha": file["sha"], "branch": "main",
        });
        tokio::spawn(async move {
            api.call("PUT", "repos/admin/r/contents/README.md", body)
                .await
        })
    });
    let mut won = 0;
    for writer in writers.collect::<Vec<_>>() {
        let (status, answer) = writer.await.unwrap();
        match status {
            200 => won += 1,
            422 => assert!(
                answer["message"]
                    .as_str()
                    .unwrap()
                    .starts_with("sha does not match")
            ),
            other => panic!("{other}: {answer}"),
        }
    }
    assert_eq!(won, 1);
    assert_eq!(forge.git(&["rev-list", "--count", "main"]), "2");
}

#[tokio::test]
async fn writers_of_different_files_all_get_through() {
    let forge = Forge::instant().await;
    let writers = (0..8).map(|writer| {
        let api = forge.api.clone();
        tokio::spawn(async move {
            api.commit("admin/r", &format!("f{writer}"), "x", "main", "main")
                .await
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    assert_eq!(forge.git(&["rev-list", "--count", "main"]), "9");
    forge.git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn of_many_mergers_one_merges() {
    let forge = Forge::instant().await;
    forge.api.commit("admin/r", "f", "x", "main", "work").await;
    forge
        .api
        .post(
            "repos/admin/r/pulls",
            json!({"title": "t", "head": "work", "base": "main"}),
        )
        .await;
    let mergers = (0..6).map(|_| {
        let api = forge.api.clone();
        tokio::spawn(async move {
            api.call(
                "POST",
                "repos/admin/r/pulls/1/merge",
                json!({"Do": "merge"}),
            )
            .await
            .0
        })
    });
    let mut won = 0;
    for merger in mergers.collect::<Vec<_>>() {
        won += usize::from(merger.await.unwrap() == 200);
    }
    assert_eq!(won, 1);
}

#[tokio::test]
async fn of_many_twins_one_pull_request_is_made() {
    let forge = Forge::instant().await;
    forge.api.commit("admin/r", "f", "x", "main", "work").await;
    let makers = (0..6).map(|_| {
        let api = forge.api.clone();
        let body = json!({"title": "t", "head": "work", "base": "main"});
        tokio::spawn(async move { api.call("POST", "repos/admin/r/pulls", body).await.0 })
    });
    let mut answers = Vec::new();
    for maker in makers.collect::<Vec<_>>() {
        answers.push(maker.await.unwrap());
    }
    answers.sort_unstable();
    assert_eq!(answers, [201, 409, 409, 409, 409, 409]);
}

/// All files of a change are written, or none
#[tokio::test]
async fn a_change_of_many_files_is_whole_or_nothing() {
    let forge = Forge::instant().await;
    let files = json!([
        {"operation": "create", "path": "new.txt", "content": ""},
        {"operation": "update", "path": "README.md", "content": "", "sha": "0".repeat(40)},
    ]);
    let (status, _) = forge
        .api
        .call("POST", "repos/admin/r/contents", json!({"files": files}))
        .await;
    assert_eq!(status, 422);
    assert_eq!(
        forge
            .api
            .call("GET", "repos/admin/r/contents/new.txt", Value::Null)
            .await
            .0,
        404
    );
    assert_eq!(forge.git(&["rev-list", "--count", "main"]), "1");
}
