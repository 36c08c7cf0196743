//! The GitHub door: refs, objects, files, commits

use base64::{Engine, engine::general_purpose::STANDARD};
use reqwest::Method;
use serde_json::{Value, json};

use super::github_hub::Hub;

const RAW: &[(&str, &str)] = &[("accept", "application/vnd.github.raw+json")];

#[tokio::test]
async fn refs_are_made_moved_and_deleted() {
    let hub = Hub::start().await;
    let repo = hub.repo("refs").await;
    let refs = format!("{repo}/git/refs");
    let first = hub.branch(&repo, "feat/x").await;
    let make = |name: &str, sha: &str| json!({"ref": name, "sha": sha});
    hub.post(&refs, make("refs/heads/feat/x", &first))
        .await
        .refused(422, "Reference already exists");
    hub.post(&refs, make("refs/heads/feat", &first))
        .await
        .refused(422, "Reference update failed");
    hub.post(&refs, make("refs/heads/y", &"1".repeat(40)))
        .await
        .refused(422, "Object does not exist");
    hub.post(&refs, make("heads/y", &first))
        .await
        .refused(422, "Reference name");
    hub.post(&refs, make("refs/heads/a..b", &first))
        .await
        .refused(422, "not a valid ref name");
    let second = hub.write(&repo, "feat/x", "x.txt", "1").await;
    let at = format!("{refs}/heads/feat/x");
    hub.patch(&at, json!({"sha": first}))
        .await
        .refused(422, "Update is not a fast forward");
    hub.patch(&at, json!({"sha": first, "force": true}))
        .await
        .is(200);
    hub.patch(&at, json!({"sha": second})).await.is(200);
    let gone = format!("{refs}/heads/none");
    hub.patch(&gone, json!({"sha": second}))
        .await
        .refused(422, "Reference does not exist");
    let found = hub.get(&format!("{repo}/git/matching-refs/heads/fe")).await;
    assert_eq!(found.json[0]["ref"], "refs/heads/feat/x");
    assert_eq!(found.json.as_array().unwrap().len(), 1);
    let branch = hub.get(&format!("{repo}/branches/feat%2Fx")).await;
    assert_eq!(branch.is(200).json["commit"]["sha"], second);
    hub.delete(&at).await.is(204);
    hub.delete(&at)
        .await
        .refused(422, "Reference does not exist");
    hub.delete(&format!("{refs}/heads/main"))
        .await
        .refused(422, "default branch");
    hub.get(&format!("{repo}/git/ref/heads/none"))
        .await
        .refused(404, "Not Found");
    hub.get(&format!("{repo}/branches/none"))
        .await
        .refused(404, "Branch not found");
    hub.finish();
}

#[tokio::test]
async fn many_files_in_one_commit_by_objects() {
    let hub = Hub::start().await;
    let repo = hub.repo("objects").await;
    let parent = hub.write(&repo, "main", "dir/old.txt", "old").await;
    let blob = hub
        .post(
            &format!("{repo}/git/blobs"),
            json!({"content": STANDARD.encode([0, 159, 146]), "encoding": "base64"}),
        )
        .await;
    let blob = blob.is(201).sha();
    let base = hub
        .get(&format!("{repo}/git/commits/{parent}"))
        .await
        .is(200)
        .json["tree"]["sha"]
        .clone();
    let rows = json!([
        {"path": "bin", "mode": "100755", "type": "blob", "sha": blob},
        {"path": "dir/new.txt", "mode": "100644", "type": "blob", "content": "new"},
        {"path": "dir/old.txt", "mode": "100644", "type": "blob", "sha": null},
    ]);
    let tree = hub
        .post(
            &format!("{repo}/git/trees"),
            json!({"base_tree": base, "tree": rows}),
        )
        .await;
    let tree = tree.is(201).sha();
    let missing = json!({"base_tree": base, "tree": [{"path": "none", "mode": "100644", "type": "blob", "sha": null}]});
    hub.post(&format!("{repo}/git/trees"), missing)
        .await
        .refused(422, "BadObjectState");
    let odd = json!({"tree": [{"path": "../x", "mode": "100644", "type": "blob", "content": ""}]});
    hub.post(&format!("{repo}/git/trees"), odd)
        .await
        .refused(422, "malformed path");
    let body = json!({"message": "all at once", "tree": tree, "parents": [parent]});
    let commit = hub
        .post(&format!("{repo}/git/commits"), body)
        .await
        .is(201)
        .clone();
    assert_eq!(commit.json["author"]["name"], "Alice Archer");
    assert_eq!(commit.json["message"], "all at once");
    hub.patch(
        &format!("{repo}/git/refs/heads/main"),
        json!({"sha": commit.sha()}),
    )
    .await
    .is(200);
    let whole = hub.get(&format!("{repo}/git/trees/main?recursive=1")).await;
    let paths: Vec<&str> = whole.json["tree"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["README.md", "bin", "dir", "dir/new.txt"]);
    assert_eq!(whole.json["tree"][1]["mode"], "100755");
    assert_eq!(
        hub.get(&format!("{repo}/git/blobs/{blob}")).await.json["size"],
        3
    );
    let shown = hub.get(&format!("{repo}/commits/main")).await;
    assert_eq!(shown.json["files"].as_array().unwrap().len(), 3);
    assert_eq!(shown.json["author"]["login"], "alice");
    hub.post(
        &format!("{repo}/git/commits"),
        json!({"message": "m", "tree": "0".repeat(40)}),
    )
    .await
    .refused(422, "Tree SHA does not exist");
    hub.post(
        &format!("{repo}/git/commits"),
        json!({"message": "m", "tree": tree, "parents": [blob]}),
    )
    .await
    .refused(422, "Parent SHA");
    hub.finish();
}

#[tokio::test]
async fn annotated_tags_take_two_steps() {
    let hub = Hub::start().await;
    let repo = hub.repo("tags").await;
    let tip = hub.tip(&repo, "main").await;
    let body = json!({"tag": "v1", "message": "First", "object": tip, "type": "commit"});
    let tag = hub
        .post(&format!("{repo}/git/tags"), body)
        .await
        .is(201)
        .clone();
    assert_eq!(tag.json["message"], "First");
    assert_eq!(hub.get(&format!("{repo}/tags")).await.json, json!([]));
    hub.post(
        &format!("{repo}/git/refs"),
        json!({"ref": "refs/tags/v1", "sha": tag.sha()}),
    )
    .await
    .is(201);
    hub.post(
        &format!("{repo}/git/refs"),
        json!({"ref": "refs/tags/light", "sha": tip}),
    )
    .await
    .is(201);
    let found = hub.get(&format!("{repo}/git/ref/tags/v1")).await;
    assert_eq!(found.json["object"]["type"], "tag");
    let all = hub.get(&format!("{repo}/tags")).await;
    assert_eq!(all.json[0]["name"], "v1");
    assert_eq!(all.json[0]["commit"]["sha"], tip);
    assert_eq!(
        hub.get(&format!("{repo}/git/tags/{}", tag.sha()))
            .await
            .json["object"]["sha"],
        tip
    );
    assert_eq!(hub.get(&format!("{repo}/commits/v1")).await.sha(), tip);
    hub.delete(&format!("{repo}/git/refs/tags/light"))
        .await
        .is(204);
    hub.get(&format!("{repo}/git/tags/{tip}")).await.is(404);
    hub.finish();
}

#[tokio::test]
async fn files_are_read_and_written() {
    let hub = Hub::start().await;
    let repo = hub.repo("files").await;
    let at = format!("{repo}/contents/a%20b/%23%C3%BC.txt");
    let put = |content: &str, sha: Option<&Value>| {
        let mut body = json!({"message": "m", "content": STANDARD.encode(content)});
        if let Some(sha) = sha {
            body["sha"] = sha.clone();
        }
        body
    };
    let made = hub.put(&at, put("one", None)).await.is(201).clone();
    let sha = made.json["content"]["sha"].clone();
    assert_eq!(made.json["content"]["path"], "a b/#ü.txt");
    hub.put(&at, put("two", None))
        .await
        .refused(422, "\"sha\" wasn't supplied");
    hub.put(&at, put("two", Some(&json!("0".repeat(40)))))
        .await
        .refused(409, "does not match");
    hub.put(&at, put("two", Some(&sha))).await.is(200);
    hub.put(&at, put("three", Some(&sha)))
        .await
        .refused(409, &format!("does not match {}", sha.as_str().unwrap()));
    let read = hub.get(&at).await;
    assert_eq!(read.json["content"], "dHdv\n");
    assert_eq!(
        hub.call("alice", Method::GET, &at, None, RAW).await.text,
        "two"
    );
    let rows = hub.get(&format!("{repo}/contents/")).await;
    assert_eq!(rows.json[0]["name"], "README.md");
    assert_eq!(rows.json[1]["type"], "dir");
    let object = &[("accept", "application/vnd.github.object+json")];
    let shown = hub
        .call(
            "alice",
            Method::GET,
            &format!("{repo}/contents/a%20b"),
            None,
            object,
        )
        .await;
    assert_eq!(shown.json["entries"][0]["name"], "#ü.txt");
    hub.get(&format!("{repo}/contents/none"))
        .await
        .refused(404, "Not Found");
    hub.get(&format!("{repo}/contents/README.md?ref=none"))
        .await
        .refused(404, "No commit found for the ref none");
    let other = json!({"message": "m", "content": "", "branch": "none"});
    hub.put(&format!("{repo}/contents/x"), other)
        .await
        .refused(404, "Branch none not found");
    let gone = json!({"message": "rm", "sha": read.json["sha"]});
    hub.call(
        "alice",
        Method::DELETE,
        &at,
        Some(json!({"message": "rm"})),
        &[],
    )
    .await
    .refused(422, "sha");
    let done = hub
        .call("alice", Method::DELETE, &at, Some(gone.clone()), &[])
        .await;
    assert_eq!(done.is(200).json["content"], Value::Null);
    hub.call("alice", Method::DELETE, &at, Some(gone), &[])
        .await
        .refused(404, "Not Found");
    hub.finish();
}

#[tokio::test]
async fn large_files_links_and_submodules_have_their_own_shapes() {
    let hub = Hub::start().await;
    let repo = hub.repo("shapes").await;
    let big = "x".repeat((1 << 20) + 1);
    hub.write(&repo, "main", "big.txt", &big).await;
    let shown = hub.get(&format!("{repo}/contents/big.txt")).await;
    assert_eq!(shown.json["encoding"], "none");
    assert_eq!(shown.json["content"], "");
    let raw = hub
        .call(
            "alice",
            Method::GET,
            &format!("{repo}/contents/big.txt"),
            None,
            RAW,
        )
        .await;
    assert_eq!(raw.text.len(), big.len());

    let parent = hub
        .write(
            &repo,
            "main",
            ".gitmodules",
            "[submodule \"m\"]\n\tpath = mod\n\turl = https://example.org/m.git\n",
        )
        .await;
    let base = hub.get(&format!("{repo}/git/commits/{parent}")).await.json["tree"]["sha"].clone();
    let rows = json!([
        {"path": "good", "mode": "120000", "type": "blob", "content": "README.md"},
        {"path": "dangling", "mode": "120000", "type": "blob", "content": "../nowhere"},
        {"path": "mod", "mode": "160000", "type": "commit", "sha": parent},
    ]);
    let tree = hub
        .post(
            &format!("{repo}/git/trees"),
            json!({"base_tree": base, "tree": rows}),
        )
        .await
        .sha();
    let commit = hub
        .post(
            &format!("{repo}/git/commits"),
            json!({"message": "m", "tree": tree, "parents": [parent]}),
        )
        .await
        .sha();
    hub.patch(
        &format!("{repo}/git/refs/heads/main"),
        json!({"sha": commit}),
    )
    .await
    .is(200);
    let good = hub.get(&format!("{repo}/contents/good")).await;
    assert_eq!(good.json["type"], "file");
    let own = hub.get(&format!("{repo}/git/blobs/{}", good.sha())).await;
    assert_eq!(own.json["content"], "UkVBRE1FLm1k\n");
    let dangling = hub.get(&format!("{repo}/contents/dangling")).await;
    assert_eq!(dangling.json["type"], "symlink");
    assert_eq!(dangling.json["target"], "../nowhere");
    let module = hub.get(&format!("{repo}/contents/mod")).await;
    assert_eq!(
        module.json["submodule_git_url"],
        "https://example.org/m.git"
    );
    let rows = hub.get(&format!("{repo}/contents")).await;
    let row = |name: &str| {
        rows.json
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(row("mod")["type"], "file");
    assert_eq!(row("good")["type"], "symlink");
    hub.finish();
}

#[tokio::test]
async fn an_empty_repository_says_so() {
    let hub = Hub::start().await;
    hub.post("/user/repos", json!({"name": "empty"}))
        .await
        .is(201);
    let repo = "/repos/alice/empty";
    hub.get(&format!("{repo}/commits"))
        .await
        .refused(409, "Git Repository is empty.");
    hub.get(&format!("{repo}/git/ref/heads/main"))
        .await
        .refused(409, "Git Repository is empty.");
    hub.get(&format!("{repo}/contents/"))
        .await
        .refused(404, "This repository is empty.");
    assert_eq!(hub.get(&format!("{repo}/branches")).await.json, json!([]));
    let blob = json!({"content": "x"});
    hub.post(&format!("{repo}/git/blobs"), blob)
        .await
        .refused(409, "Git Repository is empty.");
    let make = json!({"ref": "refs/heads/x", "sha": "1".repeat(40)});
    hub.post(&format!("{repo}/git/refs"), make)
        .await
        .refused(409, "Git Repository is empty.");
    let file = json!({"message": "first", "content": ""});
    hub.put(&format!("{repo}/contents/a"), file).await.is(201);
    hub.get(&format!("{repo}/commits")).await.is(200);
    hub.finish();
}

#[tokio::test]
async fn commits_are_listed_and_compared() {
    let hub = Hub::start().await;
    let repo = hub.repo("history").await;
    hub.branch(&repo, "a").await;
    hub.write(&repo, "main", "m.txt", "1").await;
    hub.write(&repo, "a", "x.txt", "1").await;
    hub.write(&repo, "a", "x.txt", "2").await;
    let log = hub.get(&format!("{repo}/commits?sha=a&path=x.txt")).await;
    assert_eq!(log.json.as_array().unwrap().len(), 2);
    assert_eq!(
        hub.get(&format!("{repo}/commits?sha=a&per_page=1"))
            .await
            .json
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let both = hub.get(&format!("{repo}/compare/main...a")).await;
    assert_eq!(both.json["status"], "diverged");
    assert_eq!(both.json["ahead_by"], 2);
    assert_eq!(both.json["behind_by"], 1);
    assert_eq!(both.json["files"][0]["filename"], "x.txt");
    assert!(
        both.json["files"][0]["patch"]
            .as_str()
            .unwrap()
            .starts_with("@@ ")
    );
    assert_eq!(
        hub.get(&format!("{repo}/compare/alice:main...alice:main"))
            .await
            .json["status"],
        "identical"
    );
    hub.get(&format!("{repo}/compare/main...none"))
        .await
        .is(404);
    hub.get(&format!("{repo}/commits/none"))
        .await
        .refused(422, "No commit found for SHA: none");
    let sha = [("accept", "application/vnd.github.sha")];
    let tip = hub
        .call(
            "alice",
            Method::GET,
            &format!("{repo}/commits/a"),
            None,
            &sha,
        )
        .await;
    assert_eq!(tip.text, hub.tip(&repo, "a").await);
    let diff = [("accept", "application/vnd.github.diff")];
    let text = hub
        .call(
            "alice",
            Method::GET,
            &format!("{repo}/compare/main...a"),
            None,
            &diff,
        )
        .await;
    assert!(text.text.starts_with("diff --git a/x.txt"));
    hub.finish();
}
