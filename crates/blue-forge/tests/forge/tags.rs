//! Tags

use std::collections::BTreeSet;

use blue_forge::{
    ConflictKind, ForgeError,
    model::{Page, TagOpts},
};
use blue_testkit::{Cx, Result};

use crate::words::{ALL, nowhere};

blue_testkit::on_every_forge![
    a_light_tag_is_made,
    an_annotated_tag_is_made,
    a_tag_stands_at_a_commit,
    an_existing_tag_is_a_conflict,
    a_tag_on_nowhere_is_not_found,
    a_bad_tag_name_is_invalid,
    a_name_in_the_way_is_a_conflict,
    a_missing_tag_is_not_found,
    tags_are_listed,
    tags_come_in_pages,
    odd_tag_names_work,
    a_reader_makes_no_tag,
];

fn tag(name: &str, target: &str, message: Option<&str>) -> TagOpts {
    TagOpts {
        name: name.to_owned(),
        target: target.to_owned(),
        message: message.map(str::to_owned),
    }
}

async fn a_light_tag_is_made(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let head = cx.lab.head(&repo, "main").await?;
    let made = forge
        .create_tag(&repo.id, &tag("v1.0", "main", None))
        .await?;
    let told = forge.get_tag(&repo.id, "v1.0").await?;
    for tag in [made, told] {
        assert_eq!((tag.name.as_str(), &tag.commit_sha), ("v1.0", &head));
        assert!(!tag.annotated && tag.message.is_none(), "{tag:?}");
    }
    Ok(())
}

async fn an_annotated_tag_is_made(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let head = cx.lab.head(&repo, "main").await?;
    let message = "Version ünï\n\n## Added\n\n- notes";
    let made = forge
        .create_tag(&repo.id, &tag("v1.0", "main", Some(message)))
        .await?;
    let told = forge.get_tag(&repo.id, "v1.0").await?;
    for tag in [made, told] {
        assert_eq!((tag.name.as_str(), &tag.commit_sha), ("v1.0", &head));
        assert!(tag.annotated, "{tag:?}");
        // A heading must not look like a comment to git.
        let told = tag.message.unwrap_or_default().replace("\n #", "\n#");
        assert_eq!(told.trim_end(), message);
    }
    Ok(())
}

async fn a_tag_stands_at_a_commit(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let first = cx.lab.head(&repo, "main").await?;
    cx.lab.write(&repo, "main", &[("a.txt", b"a")]).await?;
    let made = forge
        .create_tag(&repo.id, &tag("old", first.as_str(), None))
        .await?;
    assert_eq!(made.commit_sha, first);
    assert_eq!(forge.resolve(&repo.id, "old").await?, first);
    Ok(())
}

async fn an_existing_tag_is_a_conflict(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let first = cx.lab.head(&repo, "main").await?;
    cx.lab.tag(&repo, "v1", "main", "").await?;
    cx.lab.write(&repo, "main", &[("a.txt", b"a")]).await?;
    for message in [None, Some("annotated")] {
        refused!(
            forge
                .create_tag(&repo.id, &tag("v1", "main", message))
                .await,
            ForgeError::Conflict {
                kind: ConflictKind::Exists,
                ..
            }
        );
    }
    assert_eq!(forge.get_tag(&repo.id, "v1").await?.commit_sha, first);
    Ok(())
}

async fn a_tag_on_nowhere_is_not_found(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    for target in ["no-such", nowhere().as_str()] {
        refused!(
            forge.create_tag(&repo.id, &tag("v1", target, None)).await,
            ForgeError::NotFound { what, .. } if what.contains(target)
        );
    }
    assert_eq!(forge.list_tags(&repo.id, ALL).await?.items, []);
    Ok(())
}

async fn a_bad_tag_name_is_invalid(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    for bad in [
        "a..b",
        "with space",
        "",
        "a~b",
        "end.lock",
        "-dash",
        "--dashes",
        "@",
    ] {
        refused!(
            forge.create_tag(&repo.id, &tag(bad, "main", None)).await,
            ForgeError::Invalid { .. }
        );
    }
    Ok(())
}

async fn a_name_in_the_way_is_a_conflict(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let writer = cx.lab.user("writer").await?;
    cx.lab.collaborator(&repo, &writer, "write").await?;
    cx.lab.tag(&repo, "v1", "main", "").await?;
    // Some servers tell the reason only to their administrator.
    for forge in [forge, cx.forge(&writer)] {
        for message in [None, Some("annotated")] {
            refused!(
                forge
                    .create_tag(&repo.id, &tag("v1/a", "main", message))
                    .await,
                ForgeError::Conflict {
                    kind: ConflictKind::NameClash,
                    ..
                }
            );
        }
    }
    Ok(())
}

async fn a_missing_tag_is_not_found(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    refused!(
        forge.get_tag(&repo.id, "no/such").await,
        ForgeError::NotFound { what, .. } if what.contains("no/such")
    );
    // A branch is no tag.
    refused!(
        forge.get_tag(&repo.id, "main").await,
        ForgeError::NotFound { .. }
    );
    Ok(())
}

async fn tags_are_listed(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    let head = cx.lab.head(&repo, "main").await?;
    cx.lab.tag(&repo, "light", "main", "").await?;
    cx.lab.tag(&repo, "heavy", "main", "annotated").await?;
    let tags = forge.list_tags(&repo.id, ALL).await?.items;
    let names: BTreeSet<&str> = tags.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["heavy", "light"]));
    assert!(tags.iter().all(|t| t.commit_sha == head), "{tags:?}");
    Ok(())
}

async fn tags_come_in_pages(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    for number in 0..5 {
        cx.lab.tag(&repo, &format!("v{number}"), "main", "").await?;
    }
    let (mut seen, mut next) = (Vec::new(), Some(1));
    while let Some(number) = next {
        let part = forge.list_tags(&repo.id, Page::new(number, 2)).await?;
        assert!(part.items.len() <= 2 && number < 10);
        seen.extend(part.items.into_iter().map(|t| t.name));
        next = part.next_page;
    }
    seen.sort();
    assert_eq!(seen, ["v0", "v1", "v2", "v3", "v4"]);
    Ok(())
}

async fn odd_tag_names_work(cx: Cx) -> Result<()> {
    let (forge, repo) = cx.start().await?;
    for name in ["release/1.0", "hash#1", "per%cent", "ünï-日本", "a+b&c"] {
        let made = forge
            .create_tag(&repo.id, &tag(name, "main", Some("m")))
            .await?;
        assert_eq!(made.name, name);
        let told = forge.get_tag(&repo.id, name).await?;
        assert_eq!((told.name.as_str(), told.annotated), (name, true));
        assert_eq!(forge.resolve(&repo.id, name).await?, made.commit_sha);
    }
    Ok(())
}

async fn a_reader_makes_no_tag(cx: Cx) -> Result<()> {
    let (_, repo) = cx.start().await?;
    let reader = cx.lab.user("reader").await?;
    cx.lab.collaborator(&repo, &reader, "read").await?;
    refused!(
        cx.forge(&reader)
            .create_tag(&repo.id, &tag("v1", "main", None))
            .await,
        ForgeError::Forbidden { .. }
    );
    Ok(())
}
