use base64::{Engine, engine::general_purpose::STANDARD};

use super::*;
use crate::blob::{ObjectFormat, blob_id};

fn file(content: &[u8]) -> Value {
    // As GitHub does, in lines.
    let mut text = STANDARD.encode(content);
    text.insert(2, '\n');
    json!({
        "type": "file", "encoding": "base64", "size": content.len(), "name": "a b.txt",
        "path": "d/a b.txt", "content": text, "sha": blob_id(content, ObjectFormat::Sha1).as_str(),
        "html_url": "h",
    })
}

const CONTENT: &str = "GET /repos/o/r/contents/d/a%20b.txt";
const FOLDER: &str = "GET /repos/o/r/contents/d";

/// The folder of the file, which is no link
fn folder() -> Value {
    let row = json!({"type": "file", "name": "a b.txt", "path": "d/a b.txt", "sha": B, "size": 5});
    json!({"type": "dir", "path": "d", "sha": C, "entries": [row]})
}

#[tokio::test]
async fn a_branch_is_resolved_first_and_read_by_its_commit() {
    let fake = Fake::start().await;
    fake.json(
        "GET /repos/o/r/git/ref/heads/a/b",
        &git_ref("refs/heads/a/b", "commit", B),
    );
    fake.json(&format!("{CONTENT}?ref={B}"), &file(b"hello"));
    fake.json(&format!("{FOLDER}?ref={B}"), &folder());
    let found = github(&fake)
        .read_file(&repo(), "d/a b.txt", Some("a/b"), 100)
        .await
        .unwrap();
    assert_eq!(
        (found.content.as_slice(), found.commit),
        (&b"hello"[..], Some(sha(B)))
    );
    let call = format!("{CONTENT}?ref={B}");
    let seen = fake.seen();
    let read = seen.iter().find(|s| s.call == call).unwrap();
    assert_eq!(read.headers["accept"], "application/vnd.github.object+json");
}

#[tokio::test]
async fn names_resolve_to_branch_then_tag_and_nonsense_is_not_found() {
    let fake = Fake::start().await;
    fake.on(
        "GET /repos/o/r/git/ref/heads/v1",
        [message(404, "Not Found")],
    );
    fake.on("GET /repos/o/r/commits/v1", [reply(200, C)]);
    fake.on(
        "GET /repos/o/r/git/ref/heads/nope",
        [message(404, "Not Found")],
    );
    fake.on(
        "GET /repos/o/r/commits/nope",
        [message(422, "No commit found for SHA: nope")],
    );
    fake.on(
        "GET /repos/o/r/commits/HEAD",
        [message(409, "Git Repository is empty.")],
    );
    let forge = github(&fake);
    assert_eq!(forge.resolve(&repo(), "v1").await.unwrap(), sha(C));
    for rev in ["nope", "HEAD"] {
        let error = forge.resolve(&repo(), rev).await.unwrap_err();
        assert!(matches!(error, ForgeError::NotFound { .. }), "{error}");
    }
    assert_eq!(
        fake.seen()[1].headers["accept"],
        "application/vnd.github.sha"
    );
}

#[tokio::test]
async fn a_file_over_a_megabyte_is_read_raw() {
    let fake = Fake::start().await;
    let bytes = vec![7; 2_000_000];
    let mut found = file(&bytes);
    found["encoding"] = json!("none");
    found["content"] = json!("");
    fake.on(
        CONTENT,
        [json_reply(200, &found), reply(200, bytes.clone())],
    );
    fake.json(FOLDER, &folder());
    let forge = github(&fake);
    let read = forge
        .read_file(&repo(), "d/a b.txt", None, 3_000_000)
        .await
        .unwrap();
    assert!(read.content == bytes);
    let raw = |seen: &fake::Seen| seen.headers["accept"] == "application/vnd.github.raw+json";
    assert!(fake.seen().iter().any(raw));

    let fake = Fake::start().await;
    fake.json(CONTENT, &found).json(FOLDER, &folder());
    let error = github(&fake)
        .read_file(&repo(), "d/a b.txt", None, 1000)
        .await
        .unwrap_err();
    assert!(
        matches!(error, ForgeError::TooLarge { limit: 1000, .. }),
        "{error}"
    );
    assert!(!fake.seen().iter().any(raw), "the bytes are not asked for");
}

#[tokio::test]
async fn empty_files_links_and_submodules() {
    let fake = Fake::start().await;
    let mut empty = file(b"xx");
    empty["content"] = json!("");
    empty["size"] = json!(0);
    empty["sha"] = json!(blob_id(b"", ObjectFormat::Sha1).as_str());
    let link =
        json!({"type": "symlink", "target": "../x", "size": 4, "path": "d/a b.txt", "sha": B});
    let module = json!({"type": "submodule", "submodule_git_url": "git://h/x.git", "size": 0, "path": "d/a b.txt", "sha": B});
    let dir = json!({"type": "dir", "size": 0, "path": "d/a b.txt", "sha": B, "entries": []});
    fake.on(
        CONTENT,
        [&empty, &link, &module, &dir].map(|v| json_reply(200, v)),
    );
    fake.json(FOLDER, &folder());
    let forge = github(&fake);
    let read = async || forge.read_file(&repo(), "d/a b.txt", None, 100).await;
    assert!(read().await.unwrap().content.is_empty());
    let link = read().await.unwrap();
    assert_eq!(
        (link.kind, link.target.as_deref()),
        (EntryKind::Symlink, Some("../x"))
    );
    let refused = read().await.unwrap_err();
    assert!(matches!(refused, ForgeError::Invalid { .. }), "{refused:?}");
    assert!(matches!(read().await, Err(ForgeError::Invalid { .. })));
}

#[tokio::test]
async fn a_link_that_was_followed_is_still_a_link() {
    let fake = Fake::start().await;
    // The answer is all about the file that the link points at.
    fake.json(CONTENT, &file(b"bytes of the target"));
    let row =
        json!({"type": "symlink", "name": "a b.txt", "path": "d/a b.txt", "sha": B, "size": 10});
    let dir = json!({"type": "dir", "path": "d", "sha": C, "entries": [row]});
    fake.json("GET /repos/o/r/contents/d", &dir);
    fake.on(
        &format!("GET /repos/o/r/git/blobs/{B}"),
        [reply(200, "target.txt")],
    );
    let found = github(&fake)
        .read_file(&repo(), "d/a b.txt", None, 100)
        .await
        .unwrap();
    assert_eq!(
        (found.kind, found.target.as_deref(), found.sha),
        (EntryKind::Symlink, Some("target.txt"), sha(B))
    );
}

#[tokio::test]
async fn a_directory_of_a_thousand_is_read_as_a_tree() {
    let fake = Fake::start().await;
    let row = |i: usize| json!({"type": "file", "name": i.to_string(), "path": format!("d/{i}"), "sha": C, "size": 1, "git_url": "https://h/git/blobs/x"});
    let mut entries: Vec<Value> = (0..3).map(row).collect();
    entries[1]["git_url"] = json!("https://h/git/trees/x");
    entries[2]["type"] = json!("dir");
    let dir = |entries: &[Value]| json!({"type": "dir", "path": "d", "sha": B, "entries": entries});
    let many: Vec<Value> = (0..1000).map(row).collect();
    fake.on(
        "GET /repos/o/r/contents/d",
        [
            json_reply(200, &dir(&entries)),
            json_reply(200, &dir(&many)),
        ],
    );
    let tree: Vec<Value> = (0..1500)
        .map(|i| json!({"path": i.to_string(), "mode": "100644", "type": "blob", "sha": C, "size": 1}))
        .collect();
    fake.json(
        &format!("GET /repos/o/r/git/trees/{B}"),
        &json!({"sha": B, "truncated": false, "tree": tree}),
    );
    let forge = github(&fake);
    let kinds: Vec<EntryKind> = forge
        .list_dir(&repo(), "d", None)
        .await
        .unwrap()
        .iter()
        .map(|e| e.kind)
        .collect();
    assert_eq!(
        kinds,
        [EntryKind::File, EntryKind::Submodule, EntryKind::Dir]
    );
    let all = forge.list_dir(&repo(), "/d/", None).await.unwrap();
    assert_eq!(all.len(), 1500);
    assert_eq!((all[7].name.as_str(), all[7].path.as_str()), ("7", "d/7"));
}

#[tokio::test]
async fn a_renamed_branch_is_not_the_branch() {
    let fake = Fake::start().await;
    let to = format!("http://{}/api/v3/repos/o/r/branches/main", fake.addr);
    fake.on(
        "GET /repos/o/r/branches/master",
        [message(301, "Moved").with("location", &to)],
    );
    fake.json(
        "GET /repos/o/r/branches/main",
        &json!({"name": "main", "commit": {"sha": A}}),
    );
    let error = github(&fake)
        .get_branch(&repo(), "master")
        .await
        .unwrap_err();
    assert!(matches!(error, ForgeError::NotFound { .. }), "{error}");
}

#[tokio::test]
async fn a_wrong_answer_names_the_field() {
    let fake = Fake::start().await;
    fake.json(
        "GET /repos/o/r/branches/main",
        &json!({"name": "main", "commit": {"sha": "short"}}),
    );
    let error = github(&fake).get_branch(&repo(), "main").await.unwrap_err();
    let ForgeError::Decode { source, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(source.path(), "commit.sha");
}

#[tokio::test]
async fn what_is_missing_is_the_thing_or_all_of_the_repository() {
    let asked = "GET /repos/o/r";
    let read = async |fake: &Fake| {
        let pr = "GET /repos/o/r/pulls/7";
        fake.on(pr, [message(404, "Not Found")]);
        github(fake)
            .get_pr(&repo(), 7)
            .await
            .unwrap_err()
            .to_string()
    };
    let fake = Fake::start().await;
    fake.on(asked, [message(404, "Not Found")]);
    let said = read(&fake).await;
    assert!(said.starts_with("repository `o/r` "), "{said}");
    let found = json!({"name": "r", "owner": {"login": "o"}, "default_branch": "main", "size": 1});
    let fake = Fake::start().await;
    fake.json(asked, &found);
    let said = read(&fake).await;
    assert!(said.starts_with("pull request #7 of `o/r` not "), "{said}");
    // Known to be there, it is not asked for.
    let fake = Fake::start().await;
    fake.json(asked, &found);
    fake.on("GET /repos/o/r/pulls/7", [message(404, "Not Found")]);
    let forge = github(&fake);
    forge.repository(&repo()).await.unwrap();
    forge.get_pr(&repo(), 7).await.unwrap_err();
    assert_eq!(fake.calls().len(), 2, "{:?}", fake.calls());
}

#[tokio::test]
async fn a_path_in_a_directory_that_cannot_be_listed_is_not_taken_for_a_file() {
    let entry = |path: &str, mode: &str, id: &str| json!({"path": path, "mode": mode, "type": "blob", "sha": id, "size": 1});
    let root = "GET /repos/o/r/git/trees/HEAD";
    let mut target = file(b"the target");
    target["path"] = "link".into();
    let read = async |listing: Reply| {
        let fake = Fake::start().await;
        fake.json("GET /repos/o/r/contents/link", &target);
        fake.on(&format!("GET /repos/o/r/git/blobs/{C}"), [reply(200, "a")]);
        fake.on(root, [listing]);
        github(&fake).read_file(&repo(), "link", None, 100).await
    };
    let cut = |rows: Value| json_reply(200, &json!({"sha": A, "tree": rows, "truncated": true}));
    // Listed all the same.
    let link = read(cut(json!([entry("link", "120000", C)])))
        .await
        .unwrap();
    assert_eq!((link.kind, link.sha), (EntryKind::Symlink, sha(C)));
    let plain = read(cut(json!([entry("link", "100644", B)])))
        .await
        .unwrap();
    assert_eq!(plain.kind, EntryKind::File);
    // It may be one of those that are not listed.
    let error = read(cut(json!([entry("a", "100644", B)])))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the root directory has more entries than GitHub lists, so that `link` may be a symlink"
    );
    let error = read(message(500, "boom")).await.unwrap_err();
    assert!(
        matches!(error, ForgeError::Unexpected { status: 500, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_truncated_root_directory_has_a_name() {
    let fake = Fake::start().await;
    fake.json(
        "GET /repos/o/r/git/trees/HEAD",
        &json!({"sha": A, "tree": [], "truncated": true}),
    );
    let error = github(&fake).list_dir(&repo(), "", None).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the root directory has more entries than GitHub lists"
    );
}
