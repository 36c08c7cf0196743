//! Branches

use std::collections::BTreeSet;

use blue_forge::{
    ConflictKind, ForgeError,
    model::{Branch, Page},
};
use blue_testkit::{Cx, Import, Result};
use serde_json::json;

use crate::words::{ALL, nowhere};

blue_testkit::on_every_forge![
    branches_are_listed,
    a_branch_is_told_with_its_commit,
    a_missing_branch_is_not_found,
    a_branch_starts_at_a_branch,
    a_branch_starts_at_a_commit,
    a_branch_starts_at_a_tag,
    an_existing_branch_is_a_conflict,
    a_branch_in_the_way_is_a_name_clash,
    a_branch_from_nowhere_is_not_found,
    a_bad_branch_name_is_invalid,
    a_branch_is_deleted,
    the_default_branch_is_not_deleted,
    a_protected_branch_is_not_deleted,
    a_missing_branch_is_not_deleted,
    a_reader_makes_no_branch,
    a_reader_deletes_no_branch,
    odd_branch_names_work,
    a_thousand_branches_are_all_listed,
    pages_of_branches_are_whole_and_disjoint,
    a_page_past_the_end_is_empty,
    a_limit_above_the_forges_own_loses_nothing,
    protected_branches_are_marked,
];

fn names(branches: &[Branch]) -> Vec<&str> {
    let mut names: Vec<&str> = branches.iter().map(|b| b.name.as_str()).collect();
    names.sort_unstable();
    names
}

async fn branches_are_listed(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    let page = forge.list_branches(&repo.id, ALL).await?;
    assert_eq!(names(&page.items), ["main", "topic"]);
    assert_eq!(page.next_page, None);
    assert_eq!(
        names(&forge.all_branches(&repo.id).await?),
        ["main", "topic"]
    );
    Ok(())
}

async fn a_branch_is_told_with_its_commit(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let sha = cx.lab.write(&repo, "main", &[("a.txt", b"a")]).await?;
    let branch = forge.get_branch(&repo.id, "main").await?;
    assert_eq!(
        (branch.name.as_str(), branch.sha, branch.protected),
        ("main", sha, false)
    );
    Ok(())
}

async fn a_missing_branch_is_not_found(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let what = refused!(
        forge.get_branch(&repo.id, "no/such").await,
        ForgeError::NotFound { what, .. } => what
    );
    assert!(what.contains("no/such"), "{what}");
    Ok(())
}

async fn a_branch_starts_at_a_branch(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let sha = cx
        .lab
        .write_new(&repo, "dev", "main", &[("a.txt", b"a")])
        .await?;
    let branch = forge.create_branch(&repo.id, "topic", "dev").await?;
    assert_eq!((branch.name.as_str(), &branch.sha), ("topic", &sha));
    assert_eq!(cx.lab.head(&repo, "topic").await?, sha);
    Ok(())
}

async fn a_branch_starts_at_a_commit(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let first = cx.lab.head(&repo, "main").await?;
    cx.lab.write(&repo, "main", &[("a.txt", b"a")]).await?;
    let branch = forge.create_branch(&repo.id, "old", first.as_str()).await?;
    assert_eq!(branch.sha, first);
    assert_eq!(cx.lab.head(&repo, "old").await?, first);
    Ok(())
}

async fn a_branch_starts_at_a_tag(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let first = cx.lab.head(&repo, "main").await?;
    cx.lab.tag(&repo, "v1.0", "main", "annotated").await?;
    cx.lab.write(&repo, "main", &[("a.txt", b"a")]).await?;
    let branch = forge.create_branch(&repo.id, "fix", "v1.0").await?;
    assert_eq!(branch.sha, first);
    Ok(())
}

async fn an_existing_branch_is_a_conflict(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let topic = cx.lab.branch(&repo, "topic", "main").await?;
    cx.lab.write(&repo, "main", &[("a.txt", b"a")]).await?;
    refused!(
        forge.create_branch(&repo.id, "topic", "main").await,
        ForgeError::Conflict {
            kind: ConflictKind::Exists,
            ..
        }
    );
    assert_eq!(cx.lab.head(&repo, "topic").await?, topic);
    Ok(())
}

async fn a_branch_in_the_way_is_a_name_clash(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    refused!(
        forge.create_branch(&repo.id, "topic/one", "main").await,
        ForgeError::Conflict {
            kind: ConflictKind::NameClash,
            ..
        }
    );
    Ok(())
}

async fn a_branch_from_nowhere_is_not_found(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    refused!(
        forge.create_branch(&repo.id, "topic", "no-such-branch").await,
        ForgeError::NotFound { what, .. } if what.contains("no-such-branch")
    );
    refused!(
        forge
            .create_branch(&repo.id, "topic", nowhere().as_str())
            .await,
        ForgeError::NotFound { .. }
    );
    refused!(cx.lab.head(&repo, "topic").await, _);
    Ok(())
}

async fn a_bad_branch_name_is_invalid(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    for bad in [
        "a..b",
        "with space",
        "end.lock",
        "/lead",
        "tail/",
        "a~b",
        "",
        "a//b",
    ] {
        refused!(
            forge.create_branch(&repo.id, bad, "main").await,
            ForgeError::Invalid { .. }
        );
    }
    assert_eq!(forge.all_branches(&repo.id).await?.len(), 1);
    Ok(())
}

async fn a_branch_is_deleted(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "feature/one", "main").await?;
    forge.delete_branch(&repo.id, "feature/one").await?;
    refused!(
        forge.get_branch(&repo.id, "feature/one").await,
        ForgeError::NotFound { .. }
    );
    Ok(())
}

async fn the_default_branch_is_not_deleted(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    refused!(
        forge.delete_branch(&repo.id, "main").await,
        ForgeError::Forbidden { .. }
    );
    cx.lab.head(&repo, "main").await?;
    Ok(())
}

async fn a_protected_branch_is_not_deleted(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "release", "main").await?;
    cx.lab.protect(&repo, "release", json!({})).await?;
    refused!(
        forge.delete_branch(&repo.id, "release").await,
        ForgeError::Forbidden { .. }
    );
    cx.lab.head(&repo, "release").await?;
    Ok(())
}

async fn a_missing_branch_is_not_deleted(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    refused!(
        forge.delete_branch(&repo.id, "no-such-branch").await,
        ForgeError::NotFound { .. }
    );
    Ok(())
}

async fn a_reader_makes_no_branch(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let reader = cx.lab.user("reader").await?;
    cx.lab.collaborator(&repo, &reader, "read").await?;
    refused!(
        cx.forge(&reader).create_branch(&repo.id, "topic", "main").await,
        ForgeError::Forbidden { message, .. } if !message.is_empty()
    );
    Ok(())
}

async fn a_reader_deletes_no_branch(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    let reader = cx.lab.user("reader").await?;
    cx.lab.collaborator(&repo, &reader, "read").await?;
    refused!(
        cx.forge(&reader).delete_branch(&repo.id, "topic").await,
        ForgeError::Forbidden { .. }
    );
    cx.lab.head(&repo, "topic").await?;
    Ok(())
}

async fn odd_branch_names_work(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let odd = [
        "feature/deep/er",
        "hash#tag",
        "per%cent",
        "per%2Fcent",
        "plus+and&amp",
        "ünïcødé-日本",
        "quote'double\"",
        "semi;comma,eq=",
        "at@sign",
        "paren(s)",
    ];
    for name in odd {
        let made = forge.create_branch(&repo.id, name, "main").await?;
        assert_eq!(made.name, name);
        let told = forge.get_branch(&repo.id, name).await?;
        assert_eq!((told.name.as_str(), &told.sha), (name, &made.sha));
        assert_eq!(forge.resolve(&repo.id, name).await?, made.sha);
        let file = forge
            .read_file(&repo.id, "README.md", Some(name), 1000)
            .await?;
        assert_eq!(file.commit, Some(made.sha));
    }
    let mut all: Vec<&str> = odd.to_vec();
    all.push("main");
    all.sort_unstable();
    assert_eq!(names(&forge.all_branches(&repo.id).await?), all);
    for name in odd {
        forge.delete_branch(&repo.id, name).await?;
    }
    assert_eq!(names(&forge.all_branches(&repo.id).await?), ["main"]);
    Ok(())
}

async fn a_thousand_branches_are_all_listed(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let mut import = Import::new();
    import
        .commit("main", "first", &[("a.txt", b"a")])
        .branches("many", 1000);
    let repo = cx.lab.repo_from(&owner, &import).await?;
    let branches = cx.forge(&owner).all_branches(&repo.id).await?;
    assert_eq!(branches.len(), 1001);
    let different: BTreeSet<&str> = branches.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(different.len(), 1001);
    Ok(())
}

async fn pages_of_branches_are_whole_and_disjoint(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    for number in 0..6 {
        cx.lab.branch(&repo, &format!("b{number}"), "main").await?;
    }
    let mut seen = Vec::new();
    let mut page = Page::first(3);
    loop {
        let part = forge.list_branches(&repo.id, page).await?;
        assert!(part.items.len() <= 3);
        if let Some(total) = part.total {
            assert_eq!(total, 7);
        }
        seen.extend(part.items);
        let Some(next) = part.next_page else { break };
        assert_eq!(next, page.number + 1);
        page = Page::new(next, 3);
    }
    assert_eq!(names(&seen), ["b0", "b1", "b2", "b3", "b4", "b5", "main"]);
    Ok(())
}

async fn a_page_past_the_end_is_empty(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let part = forge.list_branches(&repo.id, Page::new(40, 10)).await?;
    assert_eq!((part.items.len(), part.next_page), (0, None));
    Ok(())
}

async fn a_limit_above_the_forges_own_loses_nothing(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let mut import = Import::new();
    import
        .commit("main", "first", &[("a.txt", b"a")])
        .branches("many", 119);
    let repo = cx.lab.repo_from(&owner, &import).await?;
    let forge = cx.forge(&owner);
    let mut seen = BTreeSet::new();
    let mut next = Some(1);
    while let Some(number) = next {
        let part = forge
            .list_branches(&repo.id, Page::new(number, 5000))
            .await?;
        next = part.next_page;
        seen.extend(part.items.into_iter().map(|b| b.name));
    }
    assert_eq!(seen.len(), 120);
    Ok(())
}

async fn protected_branches_are_marked(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "release/1", "main").await?;
    cx.lab.protect(&repo, "release/*", json!({})).await?;
    let branches = forge.all_branches(&repo.id).await?;
    let marked: Vec<(&str, bool)> = branches
        .iter()
        .map(|b| (b.name.as_str(), b.protected))
        .collect();
    assert!(marked.contains(&("release/1", true)), "{marked:?}");
    assert!(marked.contains(&("main", false)), "{marked:?}");
    Ok(())
}
