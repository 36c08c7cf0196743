//! Reading files and directories

use blue_forge::{ForgeError, model::EntryKind};
use blue_testkit::{Cx, Import, Repo, Result};

use crate::words::{WHOLE, nowhere};

blue_testkit::on_every_forge![
    a_text_file_is_read,
    a_binary_file_is_read,
    an_empty_file_is_read,
    five_megabytes_are_read,
    a_file_above_the_limit_is_refused,
    a_missing_file_is_not_found,
    a_missing_ref_is_never_the_default_branch,
    a_file_is_read_at_a_branch_a_tag_and_a_commit,
    a_short_commit_id_is_enough,
    odd_paths_are_read,
    a_symlink_is_told,
    a_submodule_is_told,
    a_leading_dash_is_read,
    an_executable_is_a_file,
    the_root_is_listed,
    a_directory_is_listed,
    three_hundred_files_are_all_listed,
    a_directory_is_no_file,
    a_file_is_no_directory,
    a_missing_directory_is_not_found,
    a_path_cannot_climb_out,
];

/// A history that only git can make
async fn special(cx: &Cx) -> Result<Repo> {
    let owner = cx.lab.user("owner").await?;
    let mut import = Import::new();
    import.commit_modes(
        "main",
        "special",
        &[
            ("100644", "dir/file.txt", b"text\n"),
            ("100755", "run.sh", b"#!/bin/sh\n"),
            ("100644", "-dash", b"dash"),
            ("120000", "link", b"dir/file.txt"),
            ("120000", "loose", b"no/such.txt"),
            ("160000", "sub", b"0123456789012345678901234567890123456789"),
            (
                "100644",
                ".gitmodules",
                b"[submodule \"sub\"]\n\tpath = sub\n\turl = ../sub.git\n",
            ),
        ],
    );
    cx.lab.repo_from(&owner, &import).await
}

async fn a_text_file_is_read(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let text = "zeile eins\nünïcode 日本\r\nno newline at the end";
    let commit = cx
        .lab
        .write(&repo, "main", &[("docs/a.txt", text.as_bytes())])
        .await?;
    let file = forge.read_file(&repo.id, "docs/a.txt", None, WHOLE).await?;
    assert_eq!(String::from_utf8_lossy(&file.content), text);
    assert_eq!(
        (file.path.as_str(), file.kind),
        ("docs/a.txt", EntryKind::File)
    );
    assert_eq!(file.size, text.len() as u64);
    assert_eq!(
        Some(file.sha),
        cx.lab.blob(&repo, "main", "docs/a.txt").await?
    );
    assert!(file.html_url.contains("docs/a.txt"), "{}", file.html_url);
    let rev = Some(commit.as_str());
    let file = forge.read_file(&repo.id, "docs/a.txt", rev, WHOLE).await?;
    assert_eq!(file.commit, Some(commit));
    Ok(())
}

async fn a_binary_file_is_read(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let bytes: Vec<u8> = (0..=255).cycle().take(5000).collect();
    cx.lab.write(&repo, "main", &[("all.bin", &bytes)]).await?;
    let file = forge.read_file(&repo.id, "all.bin", None, WHOLE).await?;
    assert_eq!(file.content, bytes);
    Ok(())
}

async fn an_empty_file_is_read(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.write(&repo, "main", &[("empty", b"")]).await?;
    let file = forge.read_file(&repo.id, "empty", None, WHOLE).await?;
    assert_eq!((file.size, file.content.len()), (0, 0));
    assert_eq!(
        file.sha.as_str(),
        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    );
    Ok(())
}

async fn five_megabytes_are_read(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let bytes: Vec<u8> = (0..5_u32 << 20)
        .map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    cx.lab.write(&repo, "main", &[("big.bin", &bytes)]).await?;
    let file = forge.read_file(&repo.id, "big.bin", None, WHOLE).await?;
    assert_eq!(file.size, 5 << 20);
    assert!(file.content == bytes, "the bytes differ");
    Ok(())
}

async fn a_file_above_the_limit_is_refused(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab
        .write(&repo, "main", &[("a.txt", &[b'a'; 2000])])
        .await?;
    refused!(
        forge.read_file(&repo.id, "a.txt", None, 1999).await,
        ForgeError::TooLarge { limit: 1999, .. }
    );
    assert_eq!(
        forge.read_file(&repo.id, "a.txt", None, 2000).await?.size,
        2000
    );
    Ok(())
}

async fn a_missing_file_is_not_found(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let what = refused!(
        forge.read_file(&repo.id, "no/such.txt", None, WHOLE).await,
        ForgeError::NotFound { what, .. } => what
    );
    assert!(what.contains("no/such.txt"), "{what}");
    Ok(())
}

async fn a_missing_ref_is_never_the_default_branch(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    for rev in ["no-such-branch", nowhere().as_str(), "deadbee"] {
        refused!(
            forge
                .read_file(&repo.id, "README.md", Some(rev), WHOLE)
                .await,
            ForgeError::NotFound { what, .. } if what.contains(rev) && !what.contains("README")
        );
        refused!(
            forge.list_dir(&repo.id, "", Some(rev)).await,
            ForgeError::NotFound { what, .. } if what.contains(rev)
        );
    }
    let head = cx.lab.head(&repo, "main").await?;
    for rev in ["main", head.as_str()] {
        refused!(
            forge.read_file(&repo.id, "no/such", Some(rev), WHOLE).await,
            ForgeError::NotFound { what, .. } if what.contains(&format!("`no/such` at `{rev}`"))
        );
        refused!(
            forge.list_dir(&repo.id, "no/such", Some(rev)).await,
            ForgeError::NotFound { what, .. } if what.contains(&format!("`no/such` at `{rev}`"))
        );
    }
    Ok(())
}

async fn a_file_is_read_at_a_branch_a_tag_and_a_commit(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let one = cx.lab.write(&repo, "main", &[("a.txt", b"one")]).await?;
    cx.lab.tag(&repo, "v1", "main", "").await?;
    cx.lab
        .tag(&repo, "v1-annotated", "main", "signed off")
        .await?;
    let two = cx.lab.write(&repo, "main", &[("a.txt", b"two")]).await?;
    cx.lab
        .write_new(&repo, "feature/x", "main", &[("a.txt", b"three")])
        .await?;
    for (rev, wanted) in [
        ("v1", "one"),
        ("v1-annotated", "one"),
        (one.as_str(), "one"),
        (two.as_str(), "two"),
        ("main", "two"),
        ("feature/x", "three"),
    ] {
        let file = forge.read_file(&repo.id, "a.txt", Some(rev), WHOLE).await?;
        assert_eq!(String::from_utf8_lossy(&file.content), wanted, "at {rev}");
    }
    let tagged = forge
        .read_file(&repo.id, "a.txt", Some("v1-annotated"), WHOLE)
        .await?;
    assert_eq!(tagged.commit, Some(one));
    Ok(())
}

async fn a_short_commit_id_is_enough(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let one = cx.lab.write(&repo, "main", &[("a.txt", b"one")]).await?;
    cx.lab.write(&repo, "main", &[("a.txt", b"two")]).await?;
    let file = forge
        .read_file(&repo.id, "a.txt", Some(one.short()), WHOLE)
        .await?;
    assert_eq!(
        (file.content.as_slice(), file.commit),
        (&b"one"[..], Some(one))
    );
    Ok(())
}

async fn odd_paths_are_read(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let odd = [
        "a space.txt",
        "hash#1.txt",
        "per%cent.txt",
        "per%20cent.txt",
        "que?stion.txt",
        "plus+sign.txt",
        "amp&eq=.txt",
        "semi;colon.txt",
        "quote'and\".txt",
        "ünïcødé/日本 語.txt",
        "dir with space/sub#dir/file%.txt",
        "[brackets]{}.txt",
        "tilde~at@.txt",
    ];
    let files: Vec<(&str, &[u8])> = odd.iter().map(|p| (*p, p.as_bytes())).collect();
    cx.lab.create(&repo, "main", &files).await?;
    for path in odd {
        let file = forge.read_file(&repo.id, path, Some("main"), WHOLE).await?;
        assert_eq!(file.path, path);
        assert_eq!(String::from_utf8_lossy(&file.content), path);
    }
    let entries = forge
        .list_dir(&repo.id, "dir with space/sub#dir", None)
        .await?;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].path, "dir with space/sub#dir/file%.txt");
    assert_eq!(entries[0].name, "file%.txt");
    Ok(())
}

async fn a_symlink_is_told(cx: Cx) -> Result<()> {
    let repo = special(&cx).await?;
    let forge = cx.forge(&repo.owner);
    let file = forge.read_file(&repo.id, "link", None, WHOLE).await?;
    assert_eq!(file.kind, EntryKind::Symlink);
    assert_eq!(file.target.as_deref(), Some("dir/file.txt"));
    let file = forge.read_file(&repo.id, "loose", None, WHOLE).await?;
    assert_eq!(file.kind, EntryKind::Symlink);
    assert_eq!(file.target.as_deref(), Some("no/such.txt"));
    Ok(())
}

async fn a_submodule_is_told(cx: Cx) -> Result<()> {
    let repo = special(&cx).await?;
    let forge = cx.forge(&repo.owner);
    let entries = forge.list_dir(&repo.id, "", None).await?;
    let sub = entries
        .iter()
        .find(|e| e.name == "sub")
        .expect("it is listed");
    assert_eq!(sub.kind, EntryKind::Submodule);
    assert_eq!(sub.sha.as_str(), "0123456789012345678901234567890123456789");
    refused!(
        forge.read_file(&repo.id, "sub", None, WHOLE).await,
        ForgeError::Invalid { message, .. } if message.contains("submodule")
    );
    Ok(())
}

async fn a_leading_dash_is_read(cx: Cx) -> Result<()> {
    let repo = special(&cx).await?;
    let file = cx
        .forge(&repo.owner)
        .read_file(&repo.id, "-dash", None, WHOLE)
        .await?;
    assert_eq!(file.content, b"dash");
    Ok(())
}

async fn an_executable_is_a_file(cx: Cx) -> Result<()> {
    let repo = special(&cx).await?;
    let file = cx
        .forge(&repo.owner)
        .read_file(&repo.id, "run.sh", None, WHOLE)
        .await?;
    assert_eq!(
        (file.kind, file.content.as_slice()),
        (EntryKind::File, &b"#!/bin/sh\n"[..])
    );
    Ok(())
}

async fn the_root_is_listed(cx: Cx) -> Result<()> {
    let repo = special(&cx).await?;
    let forge = cx.forge(&repo.owner);
    for root in ["", "/"] {
        let mut entries = forge.list_dir(&repo.id, root, None).await?;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let told: Vec<_> = entries.iter().map(|e| (e.path.as_str(), e.kind)).collect();
        assert_eq!(
            told,
            [
                ("-dash", EntryKind::File),
                (".gitmodules", EntryKind::File),
                ("dir", EntryKind::Dir),
                ("link", EntryKind::Symlink),
                ("loose", EntryKind::Symlink),
                ("run.sh", EntryKind::File),
                ("sub", EntryKind::Submodule),
            ]
        );
    }
    Ok(())
}

async fn a_directory_is_listed(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab
        .create(
            &repo,
            "main",
            &[("src/a.rs", b"aaa"), ("src/deep/b.rs", b"b")],
        )
        .await?;
    for path in ["src", "src/"] {
        let mut entries = forge.list_dir(&repo.id, path, Some("main")).await?;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let told: Vec<_> = entries
            .iter()
            .map(|e| (e.path.as_str(), e.kind, e.size))
            .collect();
        assert_eq!(
            told,
            [
                ("src/a.rs", EntryKind::File, 3),
                ("src/deep", EntryKind::Dir, 0)
            ]
        );
    }
    Ok(())
}

async fn three_hundred_files_are_all_listed(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let names: Vec<String> = (0..300).map(|n| format!("many/file-{n:03}.txt")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|n| (n.as_str(), n.as_bytes())).collect();
    let mut import = Import::new();
    import.commit("main", "many", &files);
    let repo = cx.lab.repo_from(&owner, &import).await?;
    let entries = cx.forge(&owner).list_dir(&repo.id, "many", None).await?;
    let mut paths: Vec<String> = entries.into_iter().map(|e| e.path).collect();
    paths.sort();
    assert_eq!(paths, names);
    Ok(())
}

async fn a_directory_is_no_file(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.create(&repo, "main", &[("src/a.rs", b"a")]).await?;
    refused!(
        forge.read_file(&repo.id, "src", None, WHOLE).await,
        ForgeError::Invalid { .. }
    );
    Ok(())
}

async fn a_file_is_no_directory(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    refused!(
        forge.list_dir(&repo.id, "README.md", None).await,
        ForgeError::Invalid { .. }
    );
    Ok(())
}

async fn a_missing_directory_is_not_found(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    refused!(
        forge.list_dir(&repo.id, "no/such/dir", None).await,
        ForgeError::NotFound { .. }
    );
    Ok(())
}

async fn a_path_cannot_climb_out(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    for path in ["../x", "a/../../x", "./README.md", "a//b", "a/./b"] {
        refused!(
            forge.read_file(&repo.id, path, None, WHOLE).await,
            ForgeError::Invalid { .. }
        );
        refused!(
            forge.list_dir(&repo.id, path, None).await,
            ForgeError::Invalid { .. }
        );
    }
    Ok(())
}
