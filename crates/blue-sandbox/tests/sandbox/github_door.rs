//! The GitHub door: who is let in, headers, pages, redirects

use reqwest::Method;
use serde_json::json;

use super::github_hub::Hub;

#[tokio::test]
async fn every_answer_carries_githubs_headers() {
    let hub = Hub::start().await;
    let said = hub.get("/user").await;
    said.is(200);
    assert_eq!(said.json["login"], "alice");
    assert!(said.header("x-oauth-scopes").contains("repo"));
    assert_eq!(said.header("x-github-media-type"), "github.v3; format=json");
    assert_eq!(said.header("x-ratelimit-limit"), "5000");
    let left: i64 = said.header("x-ratelimit-remaining").parse().unwrap();
    let next = hub.get("/user").await;
    assert_eq!(next.header("x-ratelimit-remaining"), (left - 1).to_string());

    // What did not change costs nothing.
    let etag = said.header("etag").to_owned();
    assert!(etag.starts_with("W/\""));
    let same = hub
        .call(
            "alice",
            Method::GET,
            "/user",
            None,
            &[("if-none-match", &etag)],
        )
        .await;
    same.is(304);
    assert_eq!(same.text, "");
    assert_eq!(same.header("etag"), etag);
    assert_eq!(same.header("x-ratelimit-remaining"), (left - 1).to_string());
    let other = hub
        .call(
            "bob",
            Method::GET,
            "/user",
            None,
            &[("if-none-match", &etag)],
        )
        .await;
    other.is(200);

    let rate = hub.get("/rate_limit").await;
    assert_eq!(rate.is(200).json["rate"]["remaining"], left - 1);
    hub.get("/meta").await.is(200);
    hub.get("/zen").await.is(200);
    hub.get("/").await.is(200);
    hub.finish();
}

#[tokio::test]
async fn who_may_not_see_is_told_nothing() {
    let hub = Hub::start().await;
    hub.post(
        "/user/repos",
        json!({"name": "secret", "private": true, "auto_init": true}),
    )
    .await
    .is(201);
    hub.post("/user/repos", json!({"name": "open", "auto_init": true}))
        .await
        .is(201);
    hub.get_as("bob", "/repos/alice/secret")
        .await
        .refused(404, "Not Found");
    hub.get_as("", "/repos/alice/secret")
        .await
        .refused(404, "Not Found");
    hub.get_as("bob", "/repos/alice/missing")
        .await
        .refused(404, "Not Found");
    hub.get_as("nobody", "/repos/alice/open")
        .await
        .refused(401, "Bad credentials");
    hub.get_as("", "/repos/alice/open").await.is(200);
    hub.get_as("", "/user")
        .await
        .refused(401, "Requires authentication");
    let issue = json!({"ref": "refs/heads/x", "sha": hub.tip("/repos/alice/open", "main").await});
    let path = "/repos/alice/open/git/refs";
    hub.call("bob", Method::POST, path, Some(issue.clone()), &[])
        .await
        .refused(403, "push access");
    hub.call("", Method::POST, path, Some(issue), &[])
        .await
        .refused(401, "Requires authentication");

    let body = json!({"permission": "push"});
    hub.call(
        "alice",
        Method::PUT,
        "/repos/alice/secret/collaborators/bob",
        Some(body.clone()),
        &[],
    )
    .await
    .is(201);
    hub.get_as("bob", "/repos/alice/secret").await.is(200);
    hub.call(
        "alice",
        Method::PUT,
        "/repos/alice/secret/collaborators/bob",
        Some(body),
        &[],
    )
    .await
    .is(204);
    let who = hub.get("/repos/alice/secret/collaborators").await;
    assert_eq!(who.json[1]["login"], "bob");
    assert_eq!(who.json[1]["role_name"], "write");
    hub.get("/repos/alice/secret/collaborators/bob")
        .await
        .is(204);
    hub.get("/repos/alice/secret/collaborators/carol")
        .await
        .is(404);
    let may = hub
        .get("/repos/alice/secret/collaborators/bob/permission")
        .await;
    assert_eq!(may.json["permission"], "write");
    hub.delete("/repos/alice/secret/collaborators/bob")
        .await
        .is(204);
    hub.get_as("bob", "/repos/alice/secret").await.is(404);
    hub.finish();
}

#[tokio::test]
async fn a_renamed_repository_moves_by_id() {
    let hub = Hub::start().await;
    let repo = hub.repo("old").await;
    let id = hub.get(&repo).await.json["id"].as_i64().unwrap();
    hub.patch(&repo, json!({"name": "new"})).await.is(200);
    let moved = hub.get("/repos/alice/old/branches?per_page=5").await;
    moved.is(301);
    let to = format!("{}/api/v3/repositories/{id}/branches?per_page=5", hub.url());
    assert_eq!(moved.header("location"), to);
    let body = json!({"title": "t", "head": "x", "base": "main"});
    hub.post("/repos/alice/old/pulls", body).await.is(307);
    hub.get(&format!("/repositories/{id}/branches"))
        .await
        .is(200);
    let found = hub.get(&format!("/repositories/{id}")).await;
    assert_eq!(found.json["full_name"], "alice/new");
    hub.finish();
}

#[tokio::test]
async fn repositories_are_made_edited_and_listed() {
    let hub = Hub::start().await;
    let made = hub
        .post(
            "/user/repos",
            json!({"name": "r", "description": "d", "private": true}),
        )
        .await;
    made.is(201);
    assert_eq!(made.json["private"], true);
    hub.post("/user/repos", json!({"name": "R"}))
        .await
        .refused(422, "name already exists");
    hub.post("/user/repos", json!({"name": "a b"}))
        .await
        .refused(422, "name is invalid");
    hub.post("/user/repos", json!({}))
        .await
        .refused(422, "\"name\" wasn't supplied");
    hub.post(
        "/orgs/acme/repos",
        json!({"name": "app", "auto_init": true}),
    )
    .await
    .is(201);
    let body = json!({"name": "no"});
    hub.call("carol", Method::POST, "/orgs/acme/repos", Some(body), &[])
        .await
        .is(403);
    assert_eq!(
        hub.get("/orgs/acme/repos")
            .await
            .json
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(hub.get("/users/alice/repos").await.json[0]["name"], "r");
    assert_eq!(
        hub.get_as("bob", "/users/alice/repos").await.json,
        json!([])
    );
    assert_eq!(
        hub.get("/user/repos").await.json.as_array().unwrap().len(),
        2
    );
    let edited = hub
        .patch(
            "/repos/acme/app",
            json!({"archived": true, "allow_rebase_merge": false}),
        )
        .await;
    assert_eq!(edited.is(200).json["archived"], true);
    let file = json!({"message": "m", "content": ""});
    hub.put("/repos/acme/app/contents/x", file)
        .await
        .refused(403, "archived");
    hub.patch("/repos/acme/app", json!({"default_branch": "no"}))
        .await
        .refused(403, "archived");
    hub.patch("/repos/acme/app", json!({"archived": false}))
        .await
        .is(200);
    hub.patch("/repos/acme/app", json!({"default_branch": "no"}))
        .await
        .refused(422, "not found");
    hub.get("/orgs/acme").await.is(200);
    hub.get("/orgs/alice").await.is(404);
    hub.get("/users/bob").await.is(200);
    hub.get("/users/none").await.is(404);
    hub.delete("/repos/alice/r").await.is(204);
    hub.get("/repos/alice/r").await.is(404);
    hub.finish();
}

#[tokio::test]
async fn lists_come_in_pages() {
    let hub = Hub::start().await;
    let repo = hub.repo("many").await;
    for n in 0..7 {
        hub.branch(&repo, &format!("b/{n}")).await;
    }
    let first = hub.get(&format!("{repo}/branches?per_page=3")).await;
    assert_eq!(first.json.as_array().unwrap().len(), 3);
    assert!(
        first.header("link").contains("page=2>; rel=\"next\""),
        "{}",
        first.header("link")
    );
    assert!(first.header("link").contains("page=3>; rel=\"last\""));
    let last = hub.get(&format!("{repo}/branches?per_page=3&page=3")).await;
    assert_eq!(last.json.as_array().unwrap().len(), 2);
    assert!(!last.header("link").contains("next"));
    assert_eq!(
        hub.get(&format!("{repo}/branches?page=9")).await.json,
        json!([])
    );
    hub.finish();
}

#[tokio::test]
async fn a_token_may_do_less_than_its_user() {
    let hub = Hub::start().await;
    let repo = hub.repo("scoped").await;
    let token = hub.token(&["read:repository"]).await;
    let seen = hub.get_as(&token, &repo).await;
    assert_eq!(seen.is(200).header("x-oauth-scopes"), "");
    let refused = "Resource not accessible by personal access token";
    hub.get_as(&token, "/user").await.refused(403, refused);
    let file = Some(json!({"message": "m", "content": ""}));
    let at = format!("{repo}/contents/x");
    hub.call(&token, Method::PUT, &at, file, &[])
        .await
        .refused(403, refused);
    hub.finish();
}
