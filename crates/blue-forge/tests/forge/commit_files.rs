//! Writing files: one commit, all or nothing

use blue_forge::{
    ForgeError,
    model::{CommitOpts, EntryKind, Expect, FileChange},
};
use blue_testkit::{Cx, Import, Repo, Result};

use crate::words::{WHOLE, commit, delete, rename, write, write_if};

blue_testkit::on_every_forge![
    a_file_is_created,
    a_file_is_updated,
    a_file_is_deleted,
    delete_file_deletes_what_was_seen,
    a_file_is_renamed,
    a_file_is_renamed_with_new_content,
    many_changes_are_one_commit,
    nothing_changed_makes_no_commit,
    a_branch_is_made_on_the_way,
    a_missing_branch_without_a_base_is_not_found,
    a_base_does_not_move_an_existing_branch,
    a_directory_is_not_deleted,
    a_missing_file_is_not_deleted,
    a_missing_file_is_not_renamed,
    a_path_cannot_climb_out,
    the_git_folder_is_not_written,
    no_changes_are_refused,
    one_path_twice_is_refused,
    odd_paths_are_written,
    a_leading_dash_is_written_or_invalid,
    odd_branches_are_written,
    bytes_survive,
    five_megabytes_are_written,
    an_executable_stays_executable,
    the_first_commit_of_a_repository,
    the_message_is_kept,
    a_reader_writes_nothing,
];

async fn a_file_is_created(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let opts = commit("main", vec![write("docs/new.txt", "new\n")]);
    let done = forge.commit_files(&repo.id, &opts).await?;
    assert!(!done.branch_created && !done.unchanged, "{done:?}");
    assert_eq!(cx.lab.head(&repo, "main").await?, done.sha);
    assert_eq!(cx.lab.raw(&repo, "main", "docs/new.txt").await?, b"new\n");
    let blob = cx.lab.blob(&repo, "main", "docs/new.txt").await?;
    assert_eq!(done.files.len(), 1);
    assert_eq!(
        (done.files[0].path.as_str(), Some(&done.files[0].sha)),
        ("docs/new.txt", blob.as_ref())
    );
    assert!(
        done.html_url.contains(done.sha.as_str()),
        "{}",
        done.html_url
    );
    Ok(())
}

async fn a_file_is_updated(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let seen = forge.read_file(&repo.id, "README.md", None, WHOLE).await?;
    let known = write_if("README.md", "known\n", Expect::Blob(seen.sha));
    forge
        .commit_files(&repo.id, &commit("main", vec![known]))
        .await?;
    assert_eq!(cx.lab.raw(&repo, "main", "README.md").await?, b"known\n");
    let blind = write("README.md", "blind\n");
    forge
        .commit_files(&repo.id, &commit("main", vec![blind]))
        .await?;
    assert_eq!(cx.lab.raw(&repo, "main", "README.md").await?, b"blind\n");
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, 3);
    Ok(())
}

async fn a_file_is_deleted(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab
        .create(&repo, "main", &[("a.txt", b"a"), ("b.txt", b"b")])
        .await?;
    forge
        .commit_files(&repo.id, &commit("main", vec![delete("a.txt")]))
        .await?;
    assert_eq!(cx.lab.blob(&repo, "main", "a.txt").await?, None);
    assert_eq!(cx.lab.raw(&repo, "main", "b.txt").await?, b"b");
    Ok(())
}

async fn delete_file_deletes_what_was_seen(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let seen = forge.read_file(&repo.id, "README.md", None, WHOLE).await?;
    let done = forge
        .delete_file(&repo.id, "main", "README.md", &seen.sha, "Gone")
        .await?;
    assert_eq!(cx.lab.head(&repo, "main").await?, done.sha);
    assert_eq!(cx.lab.blob(&repo, "main", "README.md").await?, None);
    Ok(())
}

async fn a_file_is_renamed(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let bytes: Vec<u8> = (0..=255).collect();
    cx.lab.create(&repo, "main", &[("old.bin", &bytes)]).await?;
    let opts = commit("main", vec![rename("old.bin", "dir/new.bin", None)]);
    forge.commit_files(&repo.id, &opts).await?;
    assert_eq!(cx.lab.blob(&repo, "main", "old.bin").await?, None);
    assert_eq!(cx.lab.raw(&repo, "main", "dir/new.bin").await?, bytes);
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, 3);
    Ok(())
}

async fn a_file_is_renamed_with_new_content(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.create(&repo, "main", &[("old.txt", b"old")]).await?;
    let opts = commit("main", vec![rename("old.txt", "new.txt", Some(b"new"))]);
    forge.commit_files(&repo.id, &opts).await?;
    assert_eq!(cx.lab.blob(&repo, "main", "old.txt").await?, None);
    assert_eq!(cx.lab.raw(&repo, "main", "new.txt").await?, b"new");
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, 3);
    Ok(())
}

async fn many_changes_are_one_commit(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab
        .create(
            &repo,
            "main",
            &[("edit.txt", b"1"), ("gone.txt", b"2"), ("move.txt", b"3")],
        )
        .await?;
    let changes = vec![
        write("edit.txt", "changed"),
        delete("gone.txt"),
        rename("move.txt", "moved.txt", None),
        write("new/file.txt", "new"),
    ];
    let done = forge
        .commit_files(&repo.id, &commit("main", changes))
        .await?;
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, 3);
    assert_eq!(cx.lab.raw(&repo, "main", "edit.txt").await?, b"changed");
    assert_eq!(cx.lab.raw(&repo, "main", "moved.txt").await?, b"3");
    assert_eq!(cx.lab.raw(&repo, "main", "new/file.txt").await?, b"new");
    for gone in ["gone.txt", "move.txt"] {
        assert_eq!(cx.lab.blob(&repo, "main", gone).await?, None);
    }
    let mut written: Vec<&str> = done.files.iter().map(|f| f.path.as_str()).collect();
    written.sort_unstable();
    assert_eq!(written, ["edit.txt", "moved.txt", "new/file.txt"]);
    Ok(())
}

async fn nothing_changed_makes_no_commit(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let before = cx
        .lab
        .create(&repo, "main", &[("a.txt", b"a"), ("b.txt", b"b")])
        .await?;
    let opts = commit("main", vec![write("a.txt", "a"), write("b.txt", "b")]);
    let done = forge.commit_files(&repo.id, &opts).await?;
    assert!(done.unchanged, "{done:?}");
    assert_eq!(done.sha, before);
    assert_eq!(cx.lab.head(&repo, "main").await?, before);
    Ok(())
}

async fn a_branch_is_made_on_the_way(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let main = cx.lab.head(&repo, "main").await?;
    let opts = CommitOpts {
        base: Some("main".to_owned()),
        ..commit("feature/new", vec![write("a.txt", "a")])
    };
    let done = forge.commit_files(&repo.id, &opts).await?;
    assert!(done.branch_created, "{done:?}");
    assert_eq!(cx.lab.head(&repo, "feature/new").await?, done.sha);
    let made = forge.get_commit(&repo.id, done.sha.as_str()).await?;
    assert_eq!(made.parents, std::slice::from_ref(&main));
    assert_eq!(cx.lab.head(&repo, "main").await?, main);
    Ok(())
}

async fn a_missing_branch_without_a_base_is_not_found(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let opts = commit("no-such-branch", vec![write("a.txt", "a")]);
    refused!(
        forge.commit_files(&repo.id, &opts).await,
        ForgeError::NotFound { what, .. } if what.contains("no-such-branch")
    );
    let opts = CommitOpts {
        base: Some("no-such-base".to_owned()),
        ..commit("new", vec![write("a.txt", "a")])
    };
    refused!(
        forge.commit_files(&repo.id, &opts).await,
        ForgeError::NotFound { what, .. } if what.contains("no-such-base")
    );
    assert_eq!(forge.all_branches(&repo.id).await?.len(), 1);
    Ok(())
}

async fn a_base_does_not_move_an_existing_branch(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let topic = cx
        .lab
        .write_new(&repo, "topic", "main", &[("t.txt", b"t")])
        .await?;
    let opts = CommitOpts {
        base: Some("main".to_owned()),
        ..commit("topic", vec![write("a.txt", "a")])
    };
    let done = forge.commit_files(&repo.id, &opts).await?;
    assert!(!done.branch_created, "{done:?}");
    assert_eq!(
        forge.get_commit(&repo.id, done.sha.as_str()).await?.parents,
        [topic]
    );
    assert_eq!(cx.lab.raw(&repo, "topic", "t.txt").await?, b"t");
    Ok(())
}

async fn a_directory_is_not_deleted(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let before = cx.lab.create(&repo, "main", &[("dir/a.txt", b"a")]).await?;
    refused!(
        forge
            .commit_files(&repo.id, &commit("main", vec![delete("dir")]))
            .await,
        ForgeError::Invalid { .. }
    );
    assert_eq!(cx.lab.head(&repo, "main").await?, before);
    Ok(())
}

async fn a_missing_file_is_not_deleted(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let before = cx.lab.head(&repo, "main").await?;
    refused!(
        forge.commit_files(&repo.id, &commit("main", vec![delete("no.txt")])).await,
        ForgeError::NotFound { what, .. } if what.contains("no.txt")
    );
    assert_eq!(cx.lab.head(&repo, "main").await?, before);
    Ok(())
}

async fn a_missing_file_is_not_renamed(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let opts = commit("main", vec![rename("no.txt", "new.txt", None)]);
    refused!(
        forge.commit_files(&repo.id, &opts).await,
        ForgeError::NotFound { what, .. } if what.contains("no.txt")
    );
    Ok(())
}

async fn a_path_cannot_climb_out(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let before = cx.lab.head(&repo, "main").await?;
    for path in ["../x", "a/../x", "/abs", "a//b", "", "./x", "dir/"] {
        refused!(
            forge
                .commit_files(&repo.id, &commit("main", vec![write(path, "x")]))
                .await,
            ForgeError::Invalid { .. }
        );
    }
    assert_eq!(cx.lab.head(&repo, "main").await?, before);
    Ok(())
}

async fn the_git_folder_is_not_written(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    for path in [".git/config", "sub/.git/hooks/x"] {
        refused!(
            forge
                .commit_files(&repo.id, &commit("main", vec![write(path, "x")]))
                .await,
            ForgeError::Invalid { .. }
        );
    }
    Ok(())
}

async fn no_changes_are_refused(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let before = cx.lab.head(&repo, "main").await?;
    refused!(
        forge
            .commit_files(&repo.id, &commit("main", Vec::new()))
            .await,
        ForgeError::Invalid { .. }
    );
    assert_eq!(cx.lab.head(&repo, "main").await?, before);
    Ok(())
}

async fn one_path_twice_is_refused(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let opts = commit("main", vec![write("a.txt", "1"), write("a.txt", "2")]);
    refused!(
        forge.commit_files(&repo.id, &opts).await,
        ForgeError::Invalid { .. }
    );
    Ok(())
}

async fn odd_paths_are_written(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let odd = [
        "a space.txt",
        "hash#1.txt",
        "per%2Fcent.txt",
        "que?stion&amp.txt",
        "plus+;.txt",
        "quote'\".txt",
        "ünïcødé/日本 語.txt",
        "dir/-dash",
    ];
    let changes = odd.iter().map(|p| write(p, p)).collect();
    forge
        .commit_files(&repo.id, &commit("main", changes))
        .await?;
    for path in odd {
        assert_eq!(
            cx.lab.raw(&repo, "main", path).await?,
            path.as_bytes(),
            "{path}"
        );
        // A single file takes another road on some forges.
        let opts = commit("main", vec![write(path, "again")]);
        forge.commit_files(&repo.id, &opts).await?;
        assert_eq!(cx.lab.raw(&repo, "main", path).await?, b"again", "{path}");
    }
    let changes = odd.iter().map(|p| delete(p)).collect();
    forge
        .commit_files(&repo.id, &commit("main", changes))
        .await?;
    assert_eq!(forge.list_dir(&repo.id, "", None).await?.len(), 1);
    Ok(())
}

async fn a_leading_dash_is_written_or_invalid(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let before = cx.lab.head(&repo, "main").await?;
    let opts = commit("main", vec![write("-dash", "x")]);
    match forge.commit_files(&repo.id, &opts).await {
        Ok(_) => assert_eq!(cx.lab.raw(&repo, "main", "-dash").await?, b"x"),
        // Gitea takes the name for an option of git and answers 500.
        Err(ForgeError::Invalid { .. }) => assert_eq!(cx.lab.head(&repo, "main").await?, before),
        Err(other) => panic!("{other:?}"),
    }
    Ok(())
}

async fn odd_branches_are_written(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    for branch in ["feature/a#b", "per%cent", "ünï/日本", "a+b&c"] {
        let opts = CommitOpts {
            base: Some("main".to_owned()),
            ..commit(branch, vec![write("a.txt", branch)])
        };
        let done = forge.commit_files(&repo.id, &opts).await?;
        assert!(done.branch_created);
        let file = forge
            .read_file(&repo.id, "a.txt", Some(branch), WHOLE)
            .await?;
        assert_eq!(
            (file.content.as_slice(), file.commit),
            (branch.as_bytes(), Some(done.sha))
        );
    }
    Ok(())
}

async fn bytes_survive(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let bytes: Vec<u8> = (0..=255).rev().cycle().take(3000).collect();
    let opts = commit("main", vec![write("all.bin", &bytes), write("empty", "")]);
    forge.commit_files(&repo.id, &opts).await?;
    assert_eq!(cx.lab.raw(&repo, "main", "all.bin").await?, bytes);
    assert_eq!(cx.lab.raw(&repo, "main", "empty").await?, b"");
    Ok(())
}

async fn five_megabytes_are_written(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let bytes = vec![b'x'; 5 << 20];
    forge
        .commit_files(&repo.id, &commit("main", vec![write("big", &bytes)]))
        .await?;
    assert!(
        cx.lab.raw(&repo, "main", "big").await? == bytes,
        "the bytes differ"
    );
    Ok(())
}

async fn an_executable_stays_executable(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let mut import = Import::new();
    import.commit_modes("main", "first", &[("100755", "run.sh", b"#!/bin/sh\n")]);
    let repo = cx.lab.repo_from(&owner, &import).await?;
    let forge = cx.forge(&owner);
    let opts = commit("main", vec![write("run.sh", "#!/bin/sh\nexit 1\n")]);
    forge.commit_files(&repo.id, &opts).await?;
    assert_eq!(mode(&cx, &repo, "run.sh").await?.as_deref(), Some("100755"));
    for (from, to, content) in [
        ("run.sh", "bin/run.sh", None),
        ("bin/run.sh", "start", Some(&b"#!/bin/sh\nexit 2\n"[..])),
    ] {
        let opts = commit("main", vec![rename(from, to, content)]);
        forge.commit_files(&repo.id, &opts).await?;
        assert_eq!(mode(&cx, &repo, to).await?.as_deref(), Some("100755"));
        assert_eq!(mode(&cx, &repo, from).await?, None, "{from}");
    }
    let text = cx.lab.raw(&repo, "main", "start").await?;
    assert_eq!(text, b"#!/bin/sh\nexit 2\n");
    Ok(())
}

/// The mode of a file on `main`, as git has it
async fn mode(cx: &Cx, repo: &Repo, path: &str) -> Result<Option<String>> {
    let mut url = cx.lab.url(&repo.path(&["git", "trees", "main"]))?;
    url.set_query(Some("recursive=true"));
    let tree = cx.lab.get_url(&repo.owner, url).await?;
    let entry = tree["tree"]
        .as_array()
        .and_then(|list| list.iter().find(|e| e["path"] == path));
    Ok(entry.and_then(|e| Some(e["mode"].as_str()?.to_owned())))
}

async fn the_first_commit_of_a_repository(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let repo = cx.lab.empty_repo(&owner).await?;
    let forge = cx.forge(&owner);
    let opts = commit("main", vec![write("a.txt", "a"), write("b/c.txt", "c")]);
    let done = forge.commit_files(&repo.id, &opts).await?;
    assert_eq!(cx.lab.head(&repo, "main").await?, done.sha);
    assert_eq!(cx.lab.raw(&repo, "main", "b/c.txt").await?, b"c");
    let told = forge.repository(&repo.id).await?;
    assert_eq!(told.default_branch, "main");
    let file = forge.read_file(&repo.id, "a.txt", None, WHOLE).await?;
    assert_eq!(
        (file.content.as_slice(), file.kind),
        (&b"a"[..], EntryKind::File)
    );
    Ok(())
}

async fn the_message_is_kept(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let message = "feat: ünï \"quotes\" 日本\n\nA body\nof lines";
    let opts = CommitOpts {
        message: message.to_owned(),
        ..commit("main", vec![write("a.txt", "a")])
    };
    let done = forge.commit_files(&repo.id, &opts).await?;
    let told = forge.get_commit(&repo.id, done.sha.as_str()).await?;
    assert_eq!(told.message.trim_end(), message);
    Ok(())
}

async fn a_reader_writes_nothing(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let reader = cx.lab.user("reader").await?;
    cx.lab.collaborator(&repo, &reader, "read").await?;
    let changes = vec![FileChange::Write {
        path: "a.txt".to_owned(),
        content: b"a".to_vec(),
        expect: Expect::Any,
    }];
    refused!(
        cx.forge(&reader).commit_files(&repo.id, &commit("main", changes)).await,
        ForgeError::Forbidden { message, .. } if !message.is_empty()
    );
    assert_eq!(cx.lab.blob(&repo, "main", "a.txt").await?, None);
    Ok(())
}
