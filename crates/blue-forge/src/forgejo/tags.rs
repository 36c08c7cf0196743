//! Tags

use serde::{Deserialize, Serialize};

use super::{
    Forgejo,
    branches::{good_name, plausible_ref},
    wire,
};
use crate::{
    ConflictKind, ForgeError, Result,
    model::{Listing, Page, RepoId, Sha, Tag, TagOpts},
    rest::Answer,
};
use blue_base::text::clean_line;

#[derive(Debug, Deserialize)]
struct WireTag {
    name: String,
    /// The tag object when annotated, else the commit
    #[serde(default, deserialize_with = "wire::or_default")]
    id: String,
    commit: Option<wire::CommitRef>,
    #[serde(default, deserialize_with = "wire::or_default")]
    message: String,
}

#[derive(Debug, Serialize)]
struct NewTag<'a> {
    tag_name: &'a str,
    target: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl Forgejo {
    pub(super) async fn tag_page(&self, repo: &RepoId, page: Page) -> Result<Listing<Tag>> {
        let listing = self
            .repo_get(repo, &["tags"])
            .what(format!("repository `{repo}`"))
            .page::<WireTag>(page, self.cap().await)
            .await?;
        let rows = listing.items.into_iter();
        Ok(Listing {
            items: rows
                .map(|row| self.tag_of(repo, row))
                .collect::<Result<_>>()?,
            next_page: listing.next_page,
            total: listing.total,
        })
    }

    pub(super) async fn tag_if_any(&self, repo: &RepoId, name: &str) -> Result<Option<Tag>> {
        if !plausible_ref(name) {
            return Ok(None);
        }
        let call = self.repo_get(repo, &["tags"]).path(name);
        let answer = call.answer().await?;
        match answer.status.as_u16() {
            404 | 409 => Ok(None),
            _ => self.tag_of(repo, answer.ok()?.json()?).map(Some),
        }
    }

    pub(super) async fn read_tag(&self, repo: &RepoId, name: &str) -> Result<Tag> {
        match self.tag_if_any(repo, name).await? {
            Some(tag) => Ok(tag),
            None => Err(self
                .missing(repo, format!("tag `{name}` of `{repo}`"))
                .await),
        }
    }

    pub(super) async fn make_tag(&self, repo: &RepoId, opts: &TagOpts) -> Result<Tag> {
        // The server answers 500, whose words only site admins get to see, or drops a dash.
        if !good_name(&opts.name) {
            return Err(ForgeError::Invalid {
                message: format!("`{}` is not a tag name", clean_line(&opts.name)),
                status: None,
            });
        }
        let mut answer = self.send_tag(repo, opts, &in_full(&opts.target)).await?;
        // No such branch or commit, by version: look what else it may be.
        if matches!(answer.status.as_u16(), 404 | 500) {
            let target = self.resolve_rev(repo, &opts.target).await?;
            answer = self.send_tag(repo, opts, target.as_str()).await?;
        }
        let message = answer.message();
        match answer.status.as_u16() {
            200..300 => self.tag_of(repo, answer.json()?),
            409 => Err(ForgeError::Conflict {
                kind: ConflictKind::Exists,
                message: answer.message_or_reason(),
                status: Some(answer.status.as_u16()),
            }),
            500 if answer.says("name is not valid") => Err(ForgeError::Invalid {
                message,
                status: Some(answer.status.as_u16()),
            }),
            // Words of git about a name in the way, which only site admins get to see.
            403 | 500
                if answer.says("; cannot create")
                    || self.has_tag_above(repo, &opts.name).await? =>
            {
                Err(ForgeError::Conflict {
                    kind: ConflictKind::NameClash,
                    message: answer.message_or_reason(),
                    status: Some(answer.status.as_u16()),
                })
            }
            422 if answer.says("protected") => Err(ForgeError::Forbidden {
                host: self.rest.host().clone(),
                message,
                status: Some(answer.status.as_u16()),
            }),
            500 => {
                let mirror = self.mirror_refusal(repo).await;
                Err(mirror.unwrap_or_else(|| answer.into_error()).answered(500))
            }
            _ => self.explain(repo, Err(answer.into_error())).await,
        }
    }

    /// Whether a tag is where this one would need a folder
    async fn has_tag_above(&self, repo: &RepoId, name: &str) -> Result<bool> {
        for (end, _) in name.match_indices('/') {
            if self.tag_if_any(repo, &name[..end]).await?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn send_tag(&self, repo: &RepoId, opts: &TagOpts, target: &str) -> Result<Answer> {
        let message = opts.message.as_deref().filter(|m| !m.trim().is_empty());
        let message = message.map(without_comments);
        let body = NewTag {
            tag_name: &opts.name,
            target,
            message: message.as_deref(),
        };
        self.repo_post(repo, &["tags"])
            .what(format!("repository `{repo}`"))
            .json(&body)
            .answer()
            .await
    }

    fn tag_of(&self, repo: &RepoId, row: WireTag) -> Result<Tag> {
        let commit = row
            .commit
            .map_or_else(|| row.id.clone(), |c| c.sha().to_owned());
        let annotated = !row.id.is_empty() && row.id != commit;
        Ok(Tag {
            html_url: self.web(&format!("{repo}/src/tag/{}", super::encoded(&row.name))),
            commit_sha: wire::sha(self.rest.host(), &commit)?,
            // Of a lightweight tag it is the commit's.
            message: (annotated && !row.message.is_empty()).then_some(row.message),
            annotated,
            name: row.name,
        })
    }
}

/// The servers leave out lines that start like a comment of git, which is a heading in Markdown;
/// behind a space it is one, too
fn without_comments(message: &str) -> String {
    let lines = message.split('\n').map(|line| match line {
        heading if heading.starts_with('#') => format!(" {heading}"),
        line => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A branch in full, since the servers would take a tag of the same name before it
fn in_full(target: &str) -> String {
    match Sha::parse(target) {
        Ok(id) => id.to_string(),
        Err(_) if target == "HEAD" || target.starts_with("refs/") => target.to_owned(),
        Err(_) => format!("refs/heads/{target}"),
    }
}
