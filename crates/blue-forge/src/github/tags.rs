//! Tags

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{
    GitHub, PAGE_LIMIT,
    branches::{check_ref_name, is_ref_name},
    wire,
};
use crate::{
    ForgeError, Result,
    model::{Listing, Page, RepoId, Sha, Tag, TagOpts},
};

/// A tag may point at a tag; more of them than this is a joke
const DEEPEST: usize = 8;

#[derive(Debug, Deserialize)]
struct WireTag {
    name: String,
    commit: wire::Pointer,
}

#[derive(Debug, Deserialize)]
struct Annotation {
    message: String,
    object: wire::Object,
}

#[derive(Debug, Serialize)]
struct NewTag<'a> {
    tag: &'a str,
    message: &'a str,
    object: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
}

impl GitHub {
    pub(super) async fn tag_page(&self, repo: &RepoId, page: Page) -> Result<Listing<Tag>> {
        let rows = self
            .get(repo, &["tags"])
            .page::<WireTag>(page, PAGE_LIMIT)
            .await?;
        let annotated = if rows.items.is_empty() {
            HashSet::new()
        } else {
            self.annotated_tags(repo).await?
        };
        let tag = |row: WireTag| Tag {
            annotated: annotated.contains(&row.name),
            commit_sha: row.commit.sha.0,
            message: None,
            html_url: self.tag_url(repo, &row.name),
            name: row.name,
        };
        Ok(Listing {
            items: rows.items.into_iter().map(tag).collect(),
            next_page: rows.next_page,
            total: rows.total,
        })
    }

    /// The list of tags does not tell; the list of refs does, but not the commits
    async fn annotated_tags(&self, repo: &RepoId) -> Result<HashSet<String>> {
        let refs: Vec<wire::Ref> = self
            .get(repo, &["git", "matching-refs", "tags"])
            .send()
            .await?
            .list()?;
        Ok(refs
            .into_iter()
            .filter(|r| r.object.kind == "tag")
            .filter_map(|r| r.name.strip_prefix("refs/tags/").map(str::to_owned))
            .collect())
    }

    pub(super) async fn read_tag(&self, repo: &RepoId, name: &str) -> Result<Tag> {
        let what = format!("tag `{name}` of `{repo}`");
        if !is_ref_name(name) {
            return Err(self.not_found(what).answered(None));
        }
        let answer = self
            .get(repo, &["git", "ref", "tags"])
            .path(name)
            .what(&what)
            .answer()
            .await?;
        if super::says_empty(&answer) {
            return Err(self.not_found(what).answered(409));
        }
        let mut object = answer.ok()?.json::<wire::Ref>()?.object;
        let mut message = None;
        for _ in 0..DEEPEST {
            if object.kind != "tag" {
                break;
            }
            let found: Annotation = self
                .get(repo, &["git", "tags", object.sha.0.as_str()])
                .what(&what)
                .send()
                .await?
                .json()?;
            message.get_or_insert(found.message);
            object = found.object;
        }
        Ok(Tag {
            name: name.to_owned(),
            commit_sha: object.sha.0,
            annotated: message.is_some(),
            message: message.map(|m| m.trim_end().to_owned()),
            html_url: self.tag_url(repo, name),
        })
    }

    pub(super) async fn make_tag(&self, repo: &RepoId, opts: &TagOpts) -> Result<Tag> {
        check_ref_name(&opts.name, "tag")?;
        let commit = self.resolve_rev(repo, &opts.target).await?;
        let message = opts.message.as_deref().filter(|m| !m.trim().is_empty());
        let target = match message {
            Some(message) => self.annotate(repo, &opts.name, message, &commit).await?,
            None => commit.clone(),
        };
        self.make_ref(repo, "tags", &opts.name, &target).await?;
        Ok(Tag {
            name: opts.name.clone(),
            commit_sha: commit,
            annotated: message.is_some(),
            message: message.map(str::to_owned),
            html_url: self.tag_url(repo, &opts.name),
        })
    }

    async fn annotate(
        &self,
        repo: &RepoId,
        name: &str,
        message: &str,
        commit: &Sha,
    ) -> Result<Sha> {
        let body = NewTag {
            tag: name,
            message,
            object: commit.as_str(),
            kind: "commit",
        };
        let answer = self
            .post(repo, &["git", "tags"])
            .json(&body)
            .answer()
            .await?;
        match self.written(repo, answer).await {
            Ok(answer) => Ok(answer.json::<wire::Pointer>()?.sha.0),
            Err(ForgeError::NotFound { .. }) => {
                Err(self.not_found(format!("commit `{commit}` of `{repo}`")))
            }
            Err(error) => Err(error),
        }
    }

    fn tag_url(&self, repo: &RepoId, name: &str) -> String {
        let shown: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
        let shown = shown.replace('+', "%20").replace("%2F", "/");
        self.web_url(repo, &format!("releases/tag/{shown}"))
    }
}
