//! Commits, history, comparison

use blue_forge::{
    ForgeError,
    model::{ChangeKind, Page},
};
use blue_testkit::{Cx, Result};

use crate::words::{ALL, nowhere};

blue_testkit::on_every_forge![
    names_resolve_to_commits,
    unknown_names_do_not_resolve,
    a_commit_is_told,
    an_unknown_commit_is_not_found,
    history_is_newest_first,
    history_goes_by_branch,
    history_goes_by_path,
    history_comes_in_pages,
    history_of_nowhere_is_not_found,
    a_comparison_counts_both_ways,
    a_comparison_tells_commits_and_files,
    a_comparison_of_equals_is_empty,
    a_comparison_with_nowhere_is_not_found,
    odd_branches_are_compared,
];

async fn names_resolve_to_commits(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let sha = cx.lab.head(&repo, "main").await?;
    cx.lab.tag(&repo, "light", "main", "").await?;
    cx.lab.tag(&repo, "heavy/1", "main", "annotated").await?;
    cx.lab.branch(&repo, "feature/x", "main").await?;
    let full = sha.as_str().to_owned();
    let loud = full.to_uppercase();
    for name in [
        "main",
        "feature/x",
        "light",
        "heavy/1",
        sha.short(),
        &full,
        &loud,
    ] {
        assert_eq!(forge.resolve(&repo.id, name).await?, sha, "{name}");
    }
    Ok(())
}

async fn unknown_names_do_not_resolve(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    for name in ["no-such", "no/such", nowhere().as_str(), "deadbee"] {
        refused!(
            forge.resolve(&repo.id, name).await,
            ForgeError::NotFound { what, .. } if what.contains(name)
        );
    }
    Ok(())
}

async fn a_commit_is_told(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let first = cx.lab.head(&repo, "main").await?;
    let sha = cx.lab.write(&repo, "main", &[("a.txt", b"a")]).await?;
    for rev in ["main", sha.as_str(), sha.short()] {
        let told = forge.get_commit(&repo.id, rev).await?;
        assert_eq!(
            (&told.sha, told.parents.as_slice()),
            (&sha, &[first.clone()][..])
        );
        assert_eq!(told.message.trim_end(), "set-up");
        assert!(told.author.starts_with(&repo.owner.login), "{told:?}");
        assert!(told.date.is_some());
        assert!(told.html_url.ends_with(sha.as_str()), "{}", told.html_url);
    }
    Ok(())
}

async fn an_unknown_commit_is_not_found(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    refused!(
        forge.get_commit(&repo.id, nowhere().as_str()).await,
        ForgeError::NotFound { .. }
    );
    Ok(())
}

async fn history_is_newest_first(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let first = cx.lab.head(&repo, "main").await?;
    let one = cx.lab.write(&repo, "main", &[("a.txt", b"1")]).await?;
    let two = cx.lab.write(&repo, "main", &[("a.txt", b"2")]).await?;
    let history = forge.list_commits(&repo.id, None, None, ALL).await?;
    let shas: Vec<_> = history.items.into_iter().map(|c| c.sha).collect();
    assert_eq!(shas, [two, one, first]);
    assert_eq!(history.next_page, None);
    Ok(())
}

async fn history_goes_by_branch(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let topic = cx
        .lab
        .write_new(&repo, "topic", "main", &[("t.txt", b"t")])
        .await?;
    cx.lab.write(&repo, "main", &[("m.txt", b"m")]).await?;
    let history = forge
        .list_commits(&repo.id, Some("topic"), None, ALL)
        .await?;
    assert_eq!(history.items.len(), 2);
    assert_eq!(history.items[0].sha, topic);
    Ok(())
}

async fn history_goes_by_path(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let a = cx
        .lab
        .write(&repo, "main", &[("dir/a b.txt", b"1")])
        .await?;
    cx.lab.write(&repo, "main", &[("c.txt", b"2")]).await?;
    let path = Some("dir/a b.txt");
    let history = forge
        .list_commits(&repo.id, Some("main"), path, ALL)
        .await?;
    let shas: Vec<_> = history.items.into_iter().map(|c| c.sha).collect();
    assert_eq!(shas, [a]);
    Ok(())
}

async fn history_comes_in_pages(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    for number in 0..4 {
        cx.lab
            .write(&repo, "main", &[("a.txt", format!("{number}").as_bytes())])
            .await?;
    }
    let (mut seen, mut next) = (Vec::new(), Some(1));
    while let Some(number) = next {
        let part = forge
            .list_commits(&repo.id, None, None, Page::new(number, 2))
            .await?;
        assert!(part.items.len() <= 2 && number < 10);
        seen.extend(part.items.into_iter().map(|c| c.sha));
        next = part.next_page;
    }
    assert_eq!(seen.len(), 5);
    assert_eq!(seen[0], cx.lab.head(&repo, "main").await?);
    Ok(())
}

async fn history_of_nowhere_is_not_found(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    refused!(
        forge
            .list_commits(&repo.id, Some("no-such"), None, ALL)
            .await,
        ForgeError::NotFound { .. }
    );
    Ok(())
}

async fn a_comparison_counts_both_ways(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    cx.lab.write(&repo, "topic", &[("1.txt", b"1")]).await?;
    cx.lab.write(&repo, "topic", &[("2.txt", b"2")]).await?;
    cx.lab.write(&repo, "main", &[("3.txt", b"3")]).await?;
    let there = forge.compare(&repo.id, "main", "topic").await?;
    assert_eq!((there.ahead, there.behind), (2, 1));
    let back = forge.compare(&repo.id, "topic", "main").await?;
    assert_eq!((back.ahead, back.behind), (1, 2));
    Ok(())
}

async fn a_comparison_tells_commits_and_files(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    let one = cx.lab.write(&repo, "topic", &[("1.txt", b"1\n")]).await?;
    let two = cx
        .lab
        .write(&repo, "topic", &[("README.md", b"changed\n")])
        .await?;
    cx.lab.write(&repo, "main", &[("theirs.txt", b"3")]).await?;
    let told = forge.compare(&repo.id, "main", "topic").await?;
    let shas: Vec<_> = told.commits.iter().map(|c| c.sha.clone()).collect();
    assert_eq!(shas, [one, two]);
    let mut files: Vec<_> = told
        .files
        .iter()
        .map(|f| (f.path.as_str(), f.change))
        .collect();
    files.sort_by_key(|f| f.0);
    assert_eq!(
        files,
        [
            ("1.txt", ChangeKind::Added),
            ("README.md", ChangeKind::Modified)
        ]
    );
    Ok(())
}

async fn a_comparison_of_equals_is_empty(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "same", "main").await?;
    let told = forge.compare(&repo.id, "main", "same").await?;
    assert_eq!((told.ahead, told.behind), (0, 0));
    assert!(told.commits.is_empty() && told.files.is_empty(), "{told:?}");
    Ok(())
}

async fn a_comparison_with_nowhere_is_not_found(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    for (base, head) in [("main", "no-such"), ("no-such", "main")] {
        refused!(
            forge.compare(&repo.id, base, head).await,
            ForgeError::NotFound { what, .. } if what.contains("no-such")
        );
    }
    Ok(())
}

async fn odd_branches_are_compared(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    for odd in [
        "feature/deep/er",
        "hash#tag",
        "per%cent",
        "ünï日本",
        "a+b&c",
    ] {
        cx.lab
            .write_new(&repo, odd, "main", &[("a.txt", b"a")])
            .await?;
        let told = forge.compare(&repo.id, "main", odd).await?;
        assert_eq!((told.ahead, told.behind), (1, 0), "{odd}");
        let told = forge.compare(&repo.id, odd, "main").await?;
        assert_eq!((told.ahead, told.behind), (0, 1), "{odd}");
    }
    Ok(())
}
