//! Pull requests: opening, finding, looking

use blue_forge::{
    ConflictKind, ForgeError,
    model::{
        ChangeKind, CreatePrOpts, MergeStrategy, Page, PrFilter, PrState, PrStateFilter,
        ReviewState,
    },
};
use blue_testkit::{Cx, Result, Skip};
use serde_json::json;

use crate::words::{ALL, merge, pull};

blue_testkit::on_every_forge![
    a_pull_request_is_opened_and_told,
    odd_titles_and_bodies_survive,
    a_draft_is_a_draft,
    an_empty_pull_request_is_refused,
    a_second_one_is_a_conflict,
    a_missing_head_is_told,
    a_missing_base_is_told,
    a_branch_into_itself_is_refused,
    an_empty_title_is_refused,
    a_missing_pull_request_is_not_found,
    lists_go_by_state,
    lists_go_by_base_though_the_server_ignores_it,
    lists_go_by_head_though_the_server_ignores_it,
    filtered_pages_are_whole,
    the_open_one_is_found,
    none_is_found_where_none_is,
    a_reused_branch_finds_the_open_one,
    a_branch_with_slashes_is_found,
    a_pull_request_comes_from_a_fork,
    a_reader_opens_one,
    changed_files_are_told,
    more_than_one_page_of_files_is_told,
    reviews_are_told,
    a_closed_one_is_closed,
    a_branch_that_is_gone_keeps_its_name,
    switched_off_pull_requests_are_not_found,
];

async fn a_pull_request_is_opened_and_told(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let base = cx.lab.head(&repo, "main").await?;
    let head = cx
        .lab
        .write_new(&repo, "topic", "main", &[("a.txt", b"a")])
        .await?;
    let opts = CreatePrOpts {
        title: "A title".to_owned(),
        body: Some("A body\n\nof lines".to_owned()),
        ..pull(&repo.id, "topic", "main")
    };
    let made = forge.create_pr(opts).await?;
    let told = forge.get_pr(&repo.id, made.number).await?;
    for pr in [&made, &told] {
        assert_eq!(pr.number, 1);
        assert_eq!(
            (pr.title.as_str(), pr.body.as_str()),
            ("A title", "A body\n\nof lines")
        );
        assert_eq!((pr.state, pr.draft), (PrState::Open, false));
        assert_eq!(
            (pr.head.branch.as_str(), &pr.head.sha),
            ("topic", &Some(head.clone()))
        );
        assert_eq!(
            (pr.base.branch.as_str(), &pr.base.sha),
            ("main", &Some(base.clone()))
        );
        assert_eq!(pr.head.repo.as_ref(), Some(&repo.id));
        assert_eq!(pr.author, repo.owner.login);
        assert!(
            pr.html_url.starts_with(cx.lab.server().url.as_str()),
            "{}",
            pr.html_url
        );
        assert!(pr.created.is_some());
        assert_eq!(pr.merge_sha, None);
    }
    assert!(!forge.pr_is_merged(&repo.id, made.number).await?);
    Ok(())
}

async fn odd_titles_and_bodies_survive(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a.txt", b"a")])
        .await?;
    let (title, body) = (
        "fix: \"quotes\" & <b>ünï</b> 日本 #1",
        "a\tb\n\n```sh\n$x \\n\n```\n🦀",
    );
    let opts = CreatePrOpts {
        title: title.to_owned(),
        body: Some(body.to_owned()),
        ..pull(&repo.id, "topic", "main")
    };
    let number = forge.create_pr(opts).await?.number;
    let told = forge.get_pr(&repo.id, number).await?;
    assert_eq!((told.title.as_str(), told.body.as_str()), (title, body));
    Ok(())
}

async fn a_draft_is_a_draft(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a.txt", b"a")])
        .await?;
    let opts = CreatePrOpts {
        draft: true,
        ..pull(&repo.id, "topic", "main")
    };
    let made = forge.create_pr(opts).await?;
    assert!(made.draft && made.title.ends_with("Take topic"), "{made:?}");
    assert!(forge.get_pr(&repo.id, made.number).await?.draft);
    let listed = forge
        .list_prs(&repo.id, &PrFilter::default(), ALL)
        .await?
        .items;
    assert!(listed[0].draft, "{listed:?}");
    Ok(())
}

async fn an_empty_pull_request_is_refused(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "same", "main").await?;
    cx.lab.branch(&repo, "behind", "main").await?;
    cx.lab.write(&repo, "main", &[("a.txt", b"a")]).await?;
    cx.lab.branch(&repo, "level", "main").await?;
    for head in ["same", "behind", "level"] {
        refused!(
            forge.create_pr(pull(&repo.id, head, "main")).await,
            ForgeError::Invalid { .. }
        );
    }
    let filter = PrFilter {
        state: PrStateFilter::All,
        ..PrFilter::default()
    };
    assert_eq!(forge.list_prs(&repo.id, &filter, ALL).await?.items, []);
    Ok(())
}

async fn a_second_one_is_a_conflict(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    refused!(
        forge.create_pr(pull(&repo.id, "topic", "main")).await,
        ForgeError::Conflict {
            kind: ConflictKind::Exists,
            ..
        }
    );
    Ok(())
}

async fn a_missing_head_is_told(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    refused!(
        forge.create_pr(pull(&repo.id, "no-such-head", "main")).await,
        ForgeError::NotFound { what, .. } if what.contains("no-such-head")
    );
    Ok(())
}

async fn a_missing_base_is_told(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a.txt", b"a")])
        .await?;
    refused!(
        forge.create_pr(pull(&repo.id, "topic", "no-such-base")).await,
        ForgeError::NotFound { what, .. } if what.contains("no-such-base")
    );
    Ok(())
}

async fn a_branch_into_itself_is_refused(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    refused!(
        forge.create_pr(pull(&repo.id, "main", "main")).await,
        ForgeError::Invalid { .. }
    );
    Ok(())
}

async fn an_empty_title_is_refused(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a.txt", b"a")])
        .await?;
    let opts = CreatePrOpts {
        title: String::new(),
        ..pull(&repo.id, "topic", "main")
    };
    refused!(forge.create_pr(opts).await, ForgeError::Invalid { .. });
    Ok(())
}

async fn a_missing_pull_request_is_not_found(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    refused!(
        forge.get_pr(&repo.id, 999).await,
        ForgeError::NotFound { .. }
    );
    refused!(
        forge.pr_files(&repo.id, 999).await,
        ForgeError::NotFound { .. }
    );
    refused!(
        forge.pr_reviews(&repo.id, 999).await,
        ForgeError::NotFound { .. }
    );
    refused!(
        forge.pr_is_merged(&repo.id, 999).await,
        ForgeError::NotFound { .. }
    );
    refused!(
        forge
            .merge_pr(&repo.id, 999, &merge(MergeStrategy::Merge))
            .await,
        ForgeError::NotFound { .. }
    );
    Ok(())
}

async fn lists_go_by_state(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let one = cx.lab.pr_with(&repo, "one", &[("1", b"1")]).await?;
    let two = cx.lab.pr_with(&repo, "two", &[("2", b"2")]).await?;
    cx.lab.close_pr(&repo, one).await?;
    let mut seen = Vec::new();
    for state in [
        PrStateFilter::Open,
        PrStateFilter::Closed,
        PrStateFilter::All,
    ] {
        let filter = PrFilter {
            state,
            ..PrFilter::default()
        };
        let part = forge.list_prs(&repo.id, &filter, ALL).await?;
        let mut numbers: Vec<u64> = part.items.iter().map(|pr| pr.number).collect();
        numbers.sort_unstable();
        seen.push(numbers);
    }
    assert_eq!(seen, [vec![two], vec![one], vec![one, two]]);
    Ok(())
}

async fn lists_go_by_base_though_the_server_ignores_it(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "dev", "main").await?;
    cx.lab.pr_with(&repo, "one", &[("1", b"1")]).await?;
    let two = {
        cx.lab
            .write_new(&repo, "two", "main", &[("2", b"2")])
            .await?;
        cx.lab.pr(&repo, "two", "dev", "Two").await?
    };
    let filter = PrFilter {
        base: Some("dev".to_owned()),
        ..PrFilter::default()
    };
    let listed = forge.list_prs(&repo.id, &filter, ALL).await?;
    let numbers: Vec<u64> = listed.items.iter().map(|pr| pr.number).collect();
    assert_eq!(numbers, [two]);
    let filter = PrFilter {
        base: Some("no-such-base".to_owned()),
        ..PrFilter::default()
    };
    assert_eq!(forge.list_prs(&repo.id, &filter, ALL).await?.items, []);
    Ok(())
}

async fn lists_go_by_head_though_the_server_ignores_it(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.pr_with(&repo, "one", &[("1", b"1")]).await?;
    let two = cx.lab.pr_with(&repo, "two", &[("2", b"2")]).await?;
    for head in ["two".to_owned(), format!("{}:two", repo.id.owner())] {
        let filter = PrFilter {
            head: Some(head),
            ..PrFilter::default()
        };
        let listed = forge.list_prs(&repo.id, &filter, ALL).await?;
        let numbers: Vec<u64> = listed.items.iter().map(|pr| pr.number).collect();
        assert_eq!(numbers, [two]);
    }
    Ok(())
}

async fn filtered_pages_are_whole(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.branch(&repo, "dev", "main").await?;
    let mut wanted = Vec::new();
    for number in 0..6 {
        let head = format!("t{number}");
        cx.lab
            .write_new(&repo, &head, "main", &[(&head, b"x")])
            .await?;
        let base = if number % 2 == 0 { "dev" } else { "main" };
        let number = cx.lab.pr(&repo, &head, base, &head).await?;
        if base == "dev" {
            wanted.push(number);
        }
    }
    let filter = PrFilter {
        base: Some("dev".to_owned()),
        ..PrFilter::default()
    };
    let (mut seen, mut next) = (Vec::new(), Some(1));
    while let Some(number) = next {
        assert!(number < 20, "the pages never end");
        let part = forge
            .list_prs(&repo.id, &filter, Page::new(number, 2))
            .await?;
        seen.extend(part.items.iter().map(|pr| pr.number));
        next = part.next_page;
    }
    seen.sort_unstable();
    assert_eq!(seen, wanted);
    Ok(())
}

async fn the_open_one_is_found(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab.pr_with(&repo, "one", &[("1", b"1")]).await?;
    let two = cx.lab.pr_with(&repo, "two", &[("2", b"2")]).await?;
    let found = forge.find_pr(&repo.id, "two", "main").await?;
    assert_eq!(found.map(|pr| pr.number), Some(two));
    Ok(())
}

async fn none_is_found_where_none_is(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let one = cx.lab.pr_with(&repo, "one", &[("1", b"1")]).await?;
    assert_eq!(forge.find_pr(&repo.id, "two", "main").await?, None);
    assert_eq!(forge.find_pr(&repo.id, "one", "dev").await?, None);
    cx.lab.close_pr(&repo, one).await?;
    assert_eq!(forge.find_pr(&repo.id, "one", "main").await?, None);
    Ok(())
}

async fn a_reused_branch_finds_the_open_one(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let old = cx.lab.pr_with(&repo, "topic", &[("1", b"1")]).await?;
    cx.lab.close_pr(&repo, old).await?;
    cx.lab.write(&repo, "topic", &[("2", b"2")]).await?;
    let new = cx.lab.pr(&repo, "topic", "main", "Again").await?;
    let found = forge.find_pr(&repo.id, "topic", "main").await?;
    assert_eq!(found.map(|pr| pr.number), Some(new));
    Ok(())
}

async fn a_branch_with_slashes_is_found(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    cx.lab
        .write_new(
            &repo,
            "fix/a b#1".replace(' ', "+").as_str(),
            "main",
            &[("1", b"1")],
        )
        .await?;
    let made = forge.create_pr(pull(&repo.id, "fix/a+b#1", "main")).await?;
    assert_eq!(made.head.branch, "fix/a+b#1");
    let found = forge.find_pr(&repo.id, "fix/a+b#1", "main").await?;
    assert_eq!(found.map(|pr| pr.number), Some(made.number));
    Ok(())
}

async fn a_pull_request_comes_from_a_fork(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let other = cx.lab.user("forker").await?;
    let fork = cx.lab.fork(&repo, &other).await?;
    cx.lab
        .write_new(&fork, "topic", "main", &[("a.txt", b"a")])
        .await?;
    let head = format!("{}:topic", other.login);
    let made = cx
        .forge(&other)
        .create_pr(pull(&repo.id, &head, "main"))
        .await?;
    assert_eq!(
        (made.head.branch.as_str(), made.head.repo.as_ref()),
        ("topic", Some(&fork.id))
    );
    let found = forge.find_pr(&repo.id, &head, "main").await?;
    assert_eq!(found.map(|pr| pr.number), Some(made.number));
    // A branch of that name in the repository itself is another thing.
    assert_eq!(forge.find_pr(&repo.id, "topic", "main").await?, None);
    Ok(())
}

async fn a_reader_opens_one(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a.txt", b"a")])
        .await?;
    let reader = cx.lab.user("reader").await?;
    cx.lab.collaborator(&repo, &reader, "read").await?;
    let made = cx
        .forge(&reader)
        .create_pr(pull(&repo.id, "topic", "main"))
        .await;
    if cx.backend.is_github() {
        // There a branch is offered only by those who may write to it.
        refused!(
            made,
            ForgeError::Invalid { .. } | ForgeError::Forbidden { .. }
        );
    } else {
        assert_eq!(made?.author, reader.login);
    }
    Ok(())
}

async fn changed_files_are_told(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let long = "line\n".repeat(50);
    cx.lab
        .write(
            &repo,
            "main",
            &[
                ("gone.txt", b"gone\n"),
                ("edit.txt", b"one\ntwo\n"),
                ("old/name.txt", long.as_bytes()),
            ],
        )
        .await?;
    cx.lab.branch(&repo, "topic", "main").await?;
    cx.lab
        .write(
            &repo,
            "topic",
            &[("edit.txt", b"one\n2\nthree\n"), ("new é.txt", b"new\n")],
        )
        .await?;
    cx.lab.remove(&repo, "topic", "gone.txt").await?;
    cx.lab
        .write(&repo, "topic", &[("new/name.txt", long.as_bytes())])
        .await?;
    cx.lab.remove(&repo, "topic", "old/name.txt").await?;
    let number = cx.lab.pr(&repo, "topic", "main", "Files").await?;
    let mut files = forge.pr_files(&repo.id, number).await?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let told: Vec<_> = files
        .iter()
        .map(|f| (f.path.as_str(), f.change, f.additions, f.deletions))
        .collect();
    assert_eq!(
        told,
        [
            ("edit.txt", ChangeKind::Modified, 2, 1),
            ("gone.txt", ChangeKind::Deleted, 0, 1),
            ("new é.txt", ChangeKind::Added, 1, 0),
            ("new/name.txt", ChangeKind::Renamed, 0, 0),
        ]
    );
    assert_eq!(files[3].previous_path.as_deref(), Some("old/name.txt"));
    Ok(())
}

async fn more_than_one_page_of_files_is_told(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let names: Vec<String> = (0..120).map(|n| format!("dir/{n:03}.txt")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|n| (n.as_str(), &b"x\n"[..])).collect();
    cx.lab.branch(&repo, "topic", "main").await?;
    cx.lab.create(&repo, "topic", &files).await?;
    let number = cx.lab.pr(&repo, "topic", "main", "Many").await?;
    let mut told: Vec<String> = forge
        .pr_files(&repo.id, number)
        .await?
        .into_iter()
        .map(|f| f.path)
        .collect();
    told.sort();
    assert_eq!(told, names);
    Ok(())
}

async fn reviews_are_told(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    let head = cx.lab.head(&repo, "topic").await?;
    assert_eq!(forge.pr_reviews(&repo.id, number).await?, []);
    let mut wanted = Vec::new();
    for (event, state) in [
        ("APPROVED", ReviewState::Approved),
        ("REQUEST_CHANGES", ReviewState::ChangesRequested),
        ("COMMENT", ReviewState::Commented),
    ] {
        let user = cx.lab.user("reviewer").await?;
        cx.lab.collaborator(&repo, &user, "write").await?;
        cx.lab.review(&repo, number, &user, event).await?;
        wanted.push((user.login, state));
    }
    let mut dismissed = cx.lab.user("dismissed").await?;
    cx.lab.collaborator(&repo, &dismissed, "write").await?;
    let id = cx.lab.review(&repo, number, &dismissed, "APPROVED").await?;
    cx.lab.dismiss_review(&repo, number, id).await?;
    wanted.push((std::mem::take(&mut dismissed.login), ReviewState::Dismissed));
    let told = forge.pr_reviews(&repo.id, number).await?;
    let mut seen: Vec<_> = told.iter().map(|r| (r.author.clone(), r.state)).collect();
    seen.sort_by(|a, b| a.0.cmp(&b.0));
    wanted.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(seen, wanted);
    assert!(
        told.iter()
            .all(|r| r.commit.as_ref() == Some(&head) && !r.stale),
        "{told:?}"
    );
    Ok(())
}

async fn a_closed_one_is_closed(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let number = cx.lab.pr_with(&repo, "topic", &[("a.txt", b"a")]).await?;
    cx.lab.close_pr(&repo, number).await?;
    assert_eq!(forge.get_pr(&repo.id, number).await?.state, PrState::Closed);
    assert!(!forge.pr_is_merged(&repo.id, number).await?);
    Ok(())
}

async fn a_branch_that_is_gone_keeps_its_name(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let number = cx.lab.pr_with(&repo, "topic/x", &[("a.txt", b"a")]).await?;
    cx.lab.close_pr(&repo, number).await?;
    cx.lab.delete_branch(&repo, "topic/x").await?;
    let told = forge.get_pr(&repo.id, number).await?;
    assert_eq!(
        (told.head.branch.as_str(), told.state),
        ("topic/x", PrState::Closed)
    );
    Ok(())
}

async fn switched_off_pull_requests_are_not_found(cx: Cx) -> Result<()> {
    if cx.backend.is_github() {
        return Err(Skip::new("GitHub has no such switch").into());
    }
    let (forge, repo) = cx.start().await?;
    cx.lab
        .write_new(&repo, "topic", "main", &[("a.txt", b"a")])
        .await?;
    cx.lab
        .edit_repo(&repo, &json!({"has_pull_requests": false}))
        .await?;
    refused!(
        forge.create_pr(pull(&repo.id, "topic", "main")).await,
        ForgeError::NotFound { .. } | ForgeError::Unsupported { .. }
    );
    refused!(
        forge.list_prs(&repo.id, &PrFilter::default(), ALL).await,
        ForgeError::NotFound { .. } | ForgeError::Unsupported { .. }
    );
    Ok(())
}
