//! Concurrent writes to one file or branch: exactly one wins

use blue_forge::{
    ConflictKind, ForgeError,
    model::{CommitOpts, Expect},
};
use blue_testkit::{Cx, Result};

use crate::words::{WHOLE, commit, nowhere, rename, write, write_if};

blue_testkit::on_every_forge![
    a_stale_blob_is_a_conflict,
    a_stale_delete_is_a_conflict,
    an_expected_absence_is_kept,
    an_expected_blob_of_a_missing_file_is_a_conflict,
    one_stale_file_stops_them_all,
    an_expected_head_that_holds_writes,
    an_expected_head_that_moved_is_a_conflict,
    one_of_two_writers_of_a_file_wins,
    writers_of_a_pinned_head_take_turns,
    writers_of_unlike_files_do_not_disturb_each_other,
    a_rename_onto_a_file_is_a_conflict,
    a_file_cannot_be_a_directory,
];

async fn a_stale_blob_is_a_conflict(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let seen = forge.read_file(&repo.id, "README.md", None, WHOLE).await?;
    cx.lab
        .write(&repo, "main", &[("README.md", b"theirs\n")])
        .await?;
    let now = cx.lab.blob(&repo, "main", "README.md").await?;
    let opts = commit(
        "main",
        vec![write_if("README.md", "mine\n", Expect::Blob(seen.sha))],
    );
    let (path, current) = refused!(
        forge.commit_files(&repo.id, &opts).await,
        ForgeError::Conflict { kind: ConflictKind::StaleFile { path, current }, .. }
            => (path, current)
    );
    assert_eq!((path.as_str(), current), ("README.md", now));
    assert_eq!(cx.lab.raw(&repo, "main", "README.md").await?, b"theirs\n");
    Ok(())
}

async fn a_stale_delete_is_a_conflict(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let seen = forge.read_file(&repo.id, "README.md", None, WHOLE).await?;
    cx.lab
        .write(&repo, "main", &[("README.md", b"theirs\n")])
        .await?;
    refused!(
        forge
            .delete_file(&repo.id, "main", "README.md", &seen.sha, "Gone")
            .await,
        ForgeError::Conflict {
            kind: ConflictKind::StaleFile { .. },
            ..
        }
    );
    assert_eq!(cx.lab.raw(&repo, "main", "README.md").await?, b"theirs\n");
    Ok(())
}

async fn an_expected_absence_is_kept(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let before = cx.lab.raw(&repo, "main", "README.md").await?;
    let opts = commit("main", vec![write_if("README.md", "mine", Expect::Absent)]);
    refused!(
        forge.commit_files(&repo.id, &opts).await,
        ForgeError::Conflict {
            kind: ConflictKind::Exists | ConflictKind::StaleFile { .. },
            ..
        }
    );
    assert_eq!(cx.lab.raw(&repo, "main", "README.md").await?, before);
    let opts = commit("main", vec![write_if("new.txt", "mine", Expect::Absent)]);
    forge.commit_files(&repo.id, &opts).await?;
    assert_eq!(cx.lab.raw(&repo, "main", "new.txt").await?, b"mine");
    Ok(())
}

async fn an_expected_blob_of_a_missing_file_is_a_conflict(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let opts = commit(
        "main",
        vec![write_if("new.txt", "mine", Expect::Blob(nowhere()))],
    );
    refused!(
        forge.commit_files(&repo.id, &opts).await,
        ForgeError::Conflict {
            kind: ConflictKind::StaleFile { current: None, .. },
            ..
        }
    );
    Ok(())
}

async fn one_stale_file_stops_them_all(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let before = cx.lab.head(&repo, "main").await?;
    let changes = vec![
        write("good.txt", "good"),
        write_if("README.md", "stale", Expect::Blob(nowhere())),
    ];
    refused!(
        forge.commit_files(&repo.id, &commit("main", changes)).await,
        ForgeError::Conflict {
            kind: ConflictKind::StaleFile { .. },
            ..
        }
    );
    assert_eq!(cx.lab.head(&repo, "main").await?, before);
    assert_eq!(cx.lab.blob(&repo, "main", "good.txt").await?, None);
    Ok(())
}

async fn an_expected_head_that_holds_writes(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let opts = CommitOpts {
        expected_head: Some(cx.lab.head(&repo, "main").await?),
        ..commit("main", vec![write("a.txt", "a")])
    };
    let done = forge.commit_files(&repo.id, &opts).await?;
    assert_eq!(cx.lab.head(&repo, "main").await?, done.sha);
    Ok(())
}

async fn an_expected_head_that_moved_is_a_conflict(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let seen = cx.lab.head(&repo, "main").await?;
    let now = cx.lab.write(&repo, "main", &[("theirs.txt", b"t")]).await?;
    let opts = CommitOpts {
        expected_head: Some(seen),
        ..commit("main", vec![write("a.txt", "a")])
    };
    let current = refused!(
        forge.commit_files(&repo.id, &opts).await,
        ForgeError::Conflict { kind: ConflictKind::HeadMoved { current }, .. } => current
    );
    assert_eq!(current, Some(now.clone()));
    assert_eq!(cx.lab.head(&repo, "main").await?, now);
    Ok(())
}

async fn one_of_two_writers_of_a_file_wins(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let other = cx.forge(&repo.owner);
    for round in 0..3 {
        let seen = forge.read_file(&repo.id, "README.md", None, WHOLE).await?;
        let opts = |who: &str| {
            let change = write_if(
                "README.md",
                format!("{who} {round}"),
                Expect::Blob(seen.sha.clone()),
            );
            commit("main", vec![change])
        };
        let (mine, theirs) = (opts("mine"), opts("theirs"));
        let (mine, theirs) = tokio::join!(
            forge.commit_files(&repo.id, &mine),
            other.commit_files(&repo.id, &theirs)
        );
        let (won, lost) = match (mine, theirs) {
            (Ok(_), Err(lost)) => ("mine", lost),
            (Err(lost), Ok(_)) => ("theirs", lost),
            both => panic!("exactly one should win: {both:?}"),
        };
        assert!(matches!(lost, ForgeError::Conflict { .. }), "{lost:?}");
        let content = cx.lab.raw(&repo, "main", "README.md").await?;
        assert_eq!(String::from_utf8_lossy(&content), format!("{won} {round}"));
    }
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, 4);
    Ok(())
}

async fn writers_of_a_pinned_head_take_turns(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let head = cx.lab.head(&repo, "main").await?;
    let forges: Vec<_> = (0..4).map(|_| cx.forge(&repo.owner)).collect();
    let opts = |n: usize| CommitOpts {
        expected_head: Some(head.clone()),
        ..commit("main", vec![write(&format!("{n}.txt"), "x")])
    };
    let opts = [opts(0), opts(1), opts(2), opts(3)];
    let (a, b, c, d) = tokio::join!(
        forges[0].commit_files(&repo.id, &opts[0]),
        forges[1].commit_files(&repo.id, &opts[1]),
        forges[2].commit_files(&repo.id, &opts[2]),
        forges[3].commit_files(&repo.id, &opts[3]),
    );
    let mut won = 0;
    for outcome in [a, b, c, d] {
        match outcome {
            Ok(_) => won += 1,
            Err(ForgeError::Conflict {
                kind: ConflictKind::HeadMoved { current: Some(_) },
                ..
            }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(won, 1);
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, 2);
    Ok(())
}

async fn writers_of_unlike_files_do_not_disturb_each_other(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let other = cx.forge(&repo.owner);
    let opts: Vec<_> = (0..6)
        .map(|n| commit("main", vec![write(&format!("{n}.txt"), "x")]))
        .collect();
    let writes = opts.iter().enumerate().map(|(n, opts)| {
        let forge = if n % 2 == 0 { &forge } else { &other };
        forge.commit_files(&repo.id, opts)
    });
    for outcome in futures_util::future::join_all(writes).await {
        outcome?;
    }
    assert_eq!(cx.lab.count_commits(&repo, "main").await?, 7);
    for n in 0..6 {
        let path = format!("{n}.txt");
        assert!(cx.lab.blob(&repo, "main", &path).await?.is_some(), "{path}");
    }
    Ok(())
}

async fn a_rename_onto_a_file_is_a_conflict(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let before = cx
        .lab
        .create(&repo, "main", &[("a.txt", b"a"), ("b.txt", b"b")])
        .await?;
    let opts = commit("main", vec![rename("a.txt", "b.txt", None)]);
    refused!(
        forge.commit_files(&repo.id, &opts).await,
        ForgeError::Conflict {
            kind: ConflictKind::Exists,
            ..
        }
    );
    assert_eq!(cx.lab.head(&repo, "main").await?, before);
    Ok(())
}

async fn a_file_cannot_be_a_directory(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let before = cx.lab.create(&repo, "main", &[("dir/a.txt", b"a")]).await?;
    for path in ["dir", "README.md/below.txt"] {
        let refusal = forge
            .commit_files(&repo.id, &commit("main", vec![write(path, "x")]))
            .await;
        refused!(
            refusal,
            ForgeError::Invalid { .. } | ForgeError::Conflict { .. }
        );
    }
    for (one, other) in [("n", "n/q"), ("n/q", "n")] {
        let changes = vec![write(one, "1"), write(other, "2")];
        let refusal = forge.commit_files(&repo.id, &commit("main", changes)).await;
        let said = refused!(refusal, ForgeError::Invalid { message, .. } => message);
        assert_eq!(said, "`n` cannot be both a file and the directory of `n/q`");
    }
    assert_eq!(cx.lab.head(&repo, "main").await?, before);
    Ok(())
}
