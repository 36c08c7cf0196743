use super::*;
use crate::blob::{ObjectFormat, blob_id};

const TIP: &str = "GET /repos/o/r/git/ref/heads/main";
const BRANCH: &str = "GET /repos/o/r/branches/main";
const MOVE: &str = "PATCH /repos/o/r/git/refs/heads/main";
const TREES: &str = "POST /repos/o/r/git/trees";
const COMMITS: &str = "POST /repos/o/r/git/commits";
/// Another tree
const E: &str = "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";

fn id(content: &[u8]) -> Sha {
    blob_id(content, ObjectFormat::Sha1)
}

/// `main` at A with tree B: `a.txt`, executable `run.sh`, link `ln`, directory `d` with `x.txt`
async fn world() -> Fake {
    let fake = Fake::start().await;
    let entry = |path: &str, mode: &str, kind: &str, sha: &str| json!({"path": path, "mode": mode, "type": kind, "sha": sha, "size": 1});
    let tip = json!({"sha": A, "commit": {"message": "m", "tree": {"sha": B}}});
    fake.json(BRANCH, &json!({"name": "main", "commit": tip.clone()}));
    fake.json("GET /repos/o/r/commits/HEAD", &tip);
    fake.json(
        &format!("GET /repos/o/r/git/trees/{B}"),
        &json!({"sha": B, "truncated": false, "tree": [
            entry("a.txt", "100644", "blob", id(b"old").as_str()),
            entry("run.sh", "100755", "blob", id(b"run").as_str()),
            entry("ln", "120000", "blob", id(b"a.txt").as_str()),
            entry("sub", "160000", "commit", D),
            entry("d", "040000", "tree", C),
        ]}),
    );
    fake.json(
        &format!("GET /repos/o/r/git/trees/{C}"),
        &json!({"sha": C, "truncated": false, "tree": [entry("x.txt", "100644", "blob", id(b"x").as_str())]}),
    );
    fake.on(TREES, [json_reply(201, &json!({"sha": C, "tree": []}))]);
    fake.on(
        COMMITS,
        [json_reply(201, &json!({"sha": D, "html_url": "h"}))],
    );
    fake.on(
        MOVE,
        [json_reply(200, &git_ref("refs/heads/main", "commit", D))],
    );
    fake
}

fn write(path: &str, content: &[u8]) -> FileChange {
    FileChange::Write {
        path: path.to_owned(),
        content: content.to_vec(),
        expect: Expect::Any,
    }
}

fn opts(changes: Vec<FileChange>) -> CommitOpts {
    CommitOpts {
        branch: "main".to_owned(),
        base: None,
        message: "m".to_owned(),
        changes,
        expected_head: None,
    }
}

async fn commit(fake: &Fake, opts: &CommitOpts) -> Result<CommitOutcome> {
    github(fake).commit_files(&repo(), opts).await
}

fn writes(fake: &Fake) -> usize {
    fake.calls()
        .iter()
        .filter(|c| !c.starts_with("GET"))
        .count()
}

#[tokio::test]
async fn many_changes_are_one_commit_and_modes_are_kept() {
    let fake = world().await;
    fake.on(
        "POST /repos/o/r/git/blobs",
        [json_reply(201, &json!({"sha": A}))],
    );
    let changes = vec![
        write("run.sh", b"new"),
        write("d/new.bin", &[0, 255]),
        FileChange::Delete {
            path: "a.txt".to_owned(),
            expect: Expect::Blob(id(b"old")),
        },
        FileChange::Rename {
            from: "d/x.txt".to_owned(),
            to: "e/y.txt".to_owned(),
            content: None,
            expect: Expect::Any,
        },
    ];
    let done = commit(&fake, &opts(changes)).await.unwrap();
    assert_eq!(
        (done.sha, done.unchanged, done.branch_created),
        (sha(D), false, false)
    );
    let written: Vec<_> = done
        .files
        .iter()
        .map(|f| (f.path.as_str(), &f.sha))
        .collect();
    assert_eq!(
        written,
        [
            ("run.sh", &id(b"new")),
            ("d/new.bin", &id(&[0, 255])),
            ("e/y.txt", &id(b"x")),
        ]
    );
    assert_eq!(
        fake.sent(TREES),
        json!({"base_tree": B, "tree": [
            {"path": "run.sh", "mode": "100755", "type": "blob", "content": "new"},
            {"path": "d/new.bin", "mode": "100644", "type": "blob", "sha": A},
            {"path": "a.txt", "mode": "100644", "type": "blob", "sha": null},
            {"path": "d/x.txt", "mode": "100644", "type": "blob", "sha": null},
            {"path": "e/y.txt", "mode": "100644", "type": "blob", "sha": id(b"x").as_str()},
        ]})
    );
    assert_eq!(
        fake.sent(COMMITS),
        json!({"message": "m", "tree": C, "parents": [A]})
    );
    assert_eq!(fake.sent(MOVE), json!({"sha": D, "force": false}));
}

#[tokio::test]
async fn a_write_that_changes_nothing_makes_no_commit() {
    let fake = world().await;
    let done = commit(&fake, &opts(vec![write("a.txt", b"old")]))
        .await
        .unwrap();
    assert!(done.unchanged);
    assert_eq!(done.sha, sha(A));
    assert!(
        done.html_url.ends_with(&format!("/o/r/commit/{A}")),
        "{}",
        done.html_url
    );
    assert_eq!(writes(&fake), 0);
}

#[tokio::test]
async fn what_the_writer_did_not_see_is_a_conflict_with_what_is_there() {
    let expecting = |path: &str, expect: Expect| FileChange::Write {
        path: path.to_owned(),
        content: b"new".to_vec(),
        expect,
    };
    for (change, present) in [
        (expecting("a.txt", Expect::Blob(sha(D))), Some(id(b"old"))),
        (expecting("a.txt", Expect::Absent), Some(id(b"old"))),
        (expecting("gone.txt", Expect::Blob(sha(D))), None),
    ] {
        let fake = world().await;
        let error = commit(&fake, &opts(vec![change])).await.unwrap_err();
        let ForgeError::Conflict {
            kind: ConflictKind::StaleFile { current, .. },
            ..
        } = error
        else {
            panic!("{error:?}");
        };
        assert_eq!(current, present);
        assert_eq!(writes(&fake), 0);
    }
}

#[tokio::test]
async fn a_branch_that_moved_is_a_conflict() {
    let fake = world().await;
    let mut wanted = opts(vec![write("a.txt", b"new")]);
    wanted.expected_head = Some(sha(D));
    let error = commit(&fake, &wanted).await.unwrap_err();
    let moved = |error: ForgeError| match error {
        ForgeError::Conflict {
            kind: ConflictKind::HeadMoved { current },
            ..
        } => current,
        other => panic!("{other:?}"),
    };
    assert_eq!(moved(error), Some(sha(A)));
    assert_eq!(writes(&fake), 0);

    // Another writer was faster between the look and the move.
    wanted.expected_head = Some(sha(A));
    fake.on(MOVE, [message(422, "Update is not a fast forward")]);
    let tip = |id: &str| json_reply(200, &git_ref("refs/heads/main", "commit", id));
    fake.on(TIP, [tip(C)]);
    let error = commit(&fake, &wanted).await.unwrap_err();
    assert_eq!(moved(error), Some(sha(C)));
}

#[tokio::test]
async fn a_submodule_can_be_deleted() {
    let fake = world().await;
    let gone = FileChange::Delete {
        path: "sub".to_owned(),
        expect: Expect::Blob(sha(D)),
    };
    commit(&fake, &opts(vec![gone])).await.unwrap();
    let row = json!({"path": "sub", "mode": "160000", "type": "commit", "sha": null});
    assert_eq!(fake.sent(TREES)["tree"], json!([row]));
}

/// As often as `commit` was sent
fn times(fake: &Fake, call: &str) -> usize {
    fake.calls().iter().filter(|seen| *seen == call).count()
}

#[tokio::test]
async fn a_commit_that_came_too_late_is_built_again_where_its_files_are_the_same() {
    let tip = |id: &str| json_reply(200, &git_ref("refs/heads/main", "commit", id));
    let late = || message(422, "Update is not a fast forward");
    let theirs = |fake: &Fake, blob: &Sha| {
        let branch = |id: &str, tree: &str| {
            let commit = json!({"sha": id, "commit": {"message": "m", "tree": {"sha": tree}}});
            json_reply(200, &json!({"name": "main", "commit": commit}))
        };
        fake.on(BRANCH, [branch(A, B), branch(C, E)]);
        fake.on(TIP, [tip(C)]);
        let entries = json!({"tree": [
            {"path": "a.txt", "mode": "100644", "type": "blob", "sha": blob.as_str(), "size": 3},
            {"path": "theirs.txt", "mode": "100644", "type": "blob", "sha": D, "size": 3},
        ]});
        fake.json(&format!("GET /repos/o/r/git/trees/{E}"), &entries);
    };
    let fake = world().await;
    theirs(&fake, &id(b"old"));
    let moved = json_reply(200, &git_ref("refs/heads/main", "commit", D));
    fake.on(MOVE, [late(), moved]);
    let wanted = opts(vec![write("a.txt", b"new")]);
    let done = commit(&fake, &wanted).await.unwrap();
    assert_eq!((done.sha, done.branch_created), (sha(D), false));
    let parents: Vec<_> = fake
        .seen()
        .into_iter()
        .filter(|s| s.call == COMMITS)
        .collect();
    let parents: Vec<_> = parents.iter().map(|s| &s.body["parents"][0]).collect();
    assert_eq!(parents, [A, C]);

    // The file that is to be written is another by now.
    let fake = world().await;
    theirs(&fake, &sha(D));
    fake.on(MOVE, [late()]);
    let error = commit(&fake, &wanted).await.unwrap_err();
    assert!(error.to_string().contains("has moved"), "{error}");
    assert_eq!(times(&fake, MOVE), 1);

    // Another writer wins every race.
    let fake = world().await;
    theirs(&fake, &id(b"old"));
    fake.on(MOVE, [late()]);
    let error = commit(&fake, &wanted).await.unwrap_err();
    assert!(error.to_string().contains("has moved"), "{error}");
    assert_eq!(times(&fake, MOVE), 4);
}

#[tokio::test]
async fn a_protected_branch_speaks_in_its_own_words() {
    let fake = world().await;
    let words = "Repository rule violations found Changes must be made through a pull request.";
    fake.on(MOVE, [message(422, words)]);
    let error = commit(&fake, &opts(vec![write("a.txt", b"new")]))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ForgeError::Forbidden { message, .. } if message == words),
        "{error}"
    );
}

#[tokio::test]
async fn a_branch_is_made_from_its_base() {
    let fake = world().await;
    fake.on(
        "GET /repos/o/r/branches/new%2Fone",
        [message(404, "Branch not found")],
    );
    fake.on(
        "POST /repos/o/r/git/refs",
        [json_reply(201, &git_ref("refs/heads/new/one", "commit", D))],
    );
    let mut wanted = opts(vec![write("a.txt", b"new")]);
    wanted.branch = "new/one".to_owned();
    wanted.base = Some("main".to_owned());
    let done = commit(&fake, &wanted).await.unwrap();
    assert!(done.branch_created);
    assert_eq!(
        fake.sent("POST /repos/o/r/git/refs"),
        json!({"ref": "refs/heads/new/one", "sha": D})
    );

    wanted.base = None;
    let full = json!({"name": "r", "owner": {"login": "o"}, "size": 9, "default_branch": "main"});
    fake.json("GET /repos/o/r", &full);
    let error = commit(&fake, &wanted).await.unwrap_err();
    assert!(matches!(error, ForgeError::NotFound { .. }), "{error}");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_before_anything_is_written() {
    let rename = |from: &str, to: &str| FileChange::Rename {
        from: from.to_owned(),
        to: to.to_owned(),
        content: None,
        expect: Expect::Any,
    };
    for changes in [
        vec![],
        vec![write("../x", b"")],
        vec![write("/x", b"")],
        vec![write("a//b", b"")],
        vec![write(".git/config", b"")],
        vec![write("a.txt", b"1"), write("a.txt", b"2")],
        vec![write("n", b"1"), write("n/q", b"2")],
        vec![rename("a.txt", "n/q"), write("n", b"2")],
        vec![write("d", b"a directory")],
        vec![write("sub", b"a submodule")],
        vec![write("a.txt/below", b"a file above")],
        vec![rename("d", "e")],
    ] {
        let fake = world().await;
        let error = commit(&fake, &opts(changes.clone())).await.unwrap_err();
        assert!(
            matches!(error, ForgeError::Invalid { .. }),
            "{changes:?} {error}"
        );
        assert_eq!(writes(&fake), 0);
    }
    let fake = world().await;
    let error = commit(&fake, &opts(vec![rename("nope", "e")]))
        .await
        .unwrap_err();
    assert!(matches!(error, ForgeError::NotFound { .. }), "{error}");
    let error = commit(&fake, &opts(vec![rename("a.txt", "run.sh")]))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            ForgeError::Conflict {
                kind: ConflictKind::Exists,
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn the_first_commit_is_one_commit_too() {
    let put = "PUT /repos/o/r/contents/a.txt";
    let new = json!({"name": "r", "owner": {"login": "o"}, "size": 0});
    let empty = async || {
        let fake = world().await;
        fake.on(BRANCH, [message(404, "Branch not found")]);
        fake.json("GET /repos/o/r", &new);
        let none = message(409, "Git Repository is empty.");
        fake.on("GET /repos/o/r/commits", [none]);
        fake
    };
    let fake = empty().await;
    fake.on(
        put,
        [json_reply(
            201,
            &json!({"content": {"sha": B}, "commit": {"sha": B, "html_url": "h"}}),
        )],
    );
    let done = commit(&fake, &opts(vec![write("a.txt", b"one")]))
        .await
        .unwrap();
    assert_eq!((done.sha, done.branch_created), (sha(B), true));
    assert_eq!(
        fake.sent(put),
        json!({"message": "m", "content": "b25l", "branch": "main"})
    );

    let at_first = json_reply(200, &git_ref("refs/heads/main", "commit", B));
    fake.on(TIP, [at_first]);
    let two = opts(vec![write("a.txt", b"one"), write("b.txt", b"two")]);
    let done = commit(&fake, &two).await.unwrap();
    assert_eq!(done.sha, sha(D));
    assert_eq!(
        fake.sent(COMMITS),
        json!({"message": "m", "tree": C, "parents": []})
    );
    assert_eq!(fake.sent(MOVE), json!({"sha": D, "force": true}));

    // The commit of another writer is never overwritten.
    let fake = empty().await;
    let other = json_reply(200, &git_ref("refs/heads/main", "commit", C));
    fake.on(TIP, [other]);
    fake.on(put, [json_reply(201, &json!({"commit": {"sha": B}}))]);
    assert!(matches!(
        commit(&fake, &two).await,
        Err(ForgeError::Conflict { .. })
    ));
    assert!(!fake.calls().contains(&MOVE.to_owned()));
}

#[tokio::test]
async fn a_lost_answer_is_looked_up() {
    let fake = world().await;
    let tip = |id: &str| json_reply(200, &git_ref("refs/heads/main", "commit", id));
    // More than is said to come: the connection breaks in the middle of the answer.
    fake.on(MOVE, [reply(200, "{").with("content-length", "100")]);
    fake.on(TIP, [tip(D)]);
    let done = commit(&fake, &opts(vec![write("a.txt", b"new")]))
        .await
        .unwrap();
    assert_eq!(done.sha, sha(D));

    let mut wanted = opts(vec![write("a.txt", b"new")]);
    wanted.branch = "new".to_owned();
    wanted.base = Some("HEAD".to_owned());
    fake.on("GET /repos/o/r/branches/new", [message(404, "no")]);
    let lost = reply(201, "{").with("content-length", "100");
    fake.on("POST /repos/o/r/git/refs", [lost]);
    let now = json_reply(200, &git_ref("refs/heads/new", "commit", D));
    fake.on("GET /repos/o/r/git/ref/heads/new", [now]);
    let done = commit(&fake, &wanted).await.unwrap();
    assert_eq!((done.sha, done.branch_created), (sha(D), true));
}

#[tokio::test]
async fn a_branch_that_was_not_listed_is_not_looked_up() {
    const NEW: &str = "GET /repos/o/r/branches/new";
    const REFS: &str = "POST /repos/o/r/git/refs";
    let fake = world().await;
    fake.json(
        "GET /repos/o/r",
        &json!({"name": "r", "owner": {"login": "o"}, "default_branch": "main"}),
    )
    .json(
        "GET /repos/o/r/branches",
        &json!([{"name": "main", "commit": {"sha": A}}]),
    )
    .json("GET /repos/o/r/pulls", &json!([]))
    .json("GET /repos/o/r/rules/branches/main", &json!([]))
    .on(
        "GET /repos/o/r/branches/main/protection",
        [message(404, "Branch not protected")],
    );
    let made = json_reply(201, &git_ref("refs/heads/new", "commit", D));
    fake.on(REFS, [made]);
    let mut wanted = opts(vec![write("a.txt", b"new")]);
    wanted.branch = "new".to_owned();
    wanted.base = Some("HEAD".to_owned());
    let forge = github(&fake);
    forge.overview(&repo(), None).await.unwrap();
    let done = forge.commit_files(&repo(), &wanted).await.unwrap();
    assert!(done.branch_created);
    assert!(!fake.calls().contains(&NEW.to_owned()));
    // It is known from now on, and so is what it was made on.
    assert_eq!(forge.parents_of(&sha(D)), Some(vec![sha(A)]));
    let tip = json!({"sha": D, "commit": {"tree": {"sha": B}}});
    fake.json(NEW, &json!({"name": "new", "commit": tip}));
    let moved = json_reply(200, &git_ref("refs/heads/new", "commit", D));
    fake.on("PATCH /repos/o/r/git/refs/heads/new", [moved]);
    let done = forge.commit_files(&repo(), &wanted).await.unwrap();
    assert!(!done.branch_created);

    // Another writer created the branch first: the commit goes on top of it.
    let forge = github(&fake);
    forge.overview(&repo(), None).await.unwrap();
    fake.on(REFS, [message(422, "Reference already exists")]);
    let tip = json_reply(200, &git_ref("refs/heads/new", "commit", D));
    fake.on("GET /repos/o/r/git/ref/heads/new", [tip]);
    let done = forge.commit_files(&repo(), &wanted).await.unwrap();
    assert!(!done.branch_created);
    let last = fake.seen().pop().unwrap();
    assert_eq!(last.call, "PATCH /repos/o/r/git/refs/heads/new");
    assert_eq!(last.body["force"], false);
}

/// What is written to a link would become where it points to
#[tokio::test]
async fn a_link_is_moved_and_deleted_but_not_written() {
    let moved = |content: Option<&[u8]>| FileChange::Rename {
        from: "ln".to_owned(),
        to: "other".to_owned(),
        content: content.map(<[u8]>::to_vec),
        expect: Expect::Any,
    };
    for change in [write("ln", b"elsewhere"), moved(Some(b"elsewhere"))] {
        let fake = world().await;
        let error = commit(&fake, &opts(vec![change])).await.unwrap_err();
        let told = error.to_string();
        assert!(matches!(error, ForgeError::Invalid { .. }), "{told}");
        assert!(told.contains("`ln` is a symlink"), "{told}");
    }
    let fake = world().await;
    commit(&fake, &opts(vec![moved(None)])).await.unwrap();
    assert_eq!(fake.sent(TREES)["tree"][1]["mode"], "120000");
}
