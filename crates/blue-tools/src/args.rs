//! Arguments that many tools share

use blue_base::host::Host;
use blue_forge::{git_url::GitUrl, model::Page, open::Ask};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{ErrorCode, ToolError};

// No doc comment: clap would show it as the help of the command that takes these.
#[derive(Debug, Clone, Default, clap::Args, Deserialize, JsonSchema)]
#[command(next_help_heading = "Repository")]
pub struct RepoArgs {
    /// Owner of the repository [default: from the git remote]
    #[arg(long)]
    pub owner: Option<String>,
    /// Name of the repository [default: from the git remote]
    #[arg(long)]
    pub name: Option<String>,
    /// Host of the forge [default: from the git remote]
    #[arg(long)]
    #[schemars(skip)]
    pub host: Option<String>,
    /// All three at once, or the URL of the repository
    #[arg(
        short = 'R',
        long = "repo",
        value_name = "[HOST/]OWNER/NAME",
        conflicts_with_all = ["owner", "name", "host"]
    )]
    #[serde(skip)]
    #[schemars(skip)]
    pub whole: Option<String>,
}

impl RepoArgs {
    /// Argument that the schema does not list: models need it seldom, and it costs in every tool
    pub const UNLISTED: &'static [&'static str] = &["host"];

    /// Owner and name, for code and tests
    pub fn of(owner: &str, name: &str) -> Self {
        Self {
            owner: Some(owner.to_owned()),
            name: Some(name.to_owned()),
            ..Self::default()
        }
    }

    /// Whether the repository is to be found
    pub(crate) fn is_left_out(&self) -> bool {
        let Self {
            owner,
            name,
            host,
            whole,
        } = self;
        [owner, name, host, whole].iter().all(|part| part.is_none())
    }

    /// Takes the repository from a URL that names it, unless another one is named already
    pub(crate) fn name_whole(&mut self, whole: String, url: &str) -> Result<(), ToolError> {
        let named = Self {
            whole: Some(whole),
            ..Self::default()
        };
        if !self.is_left_out() {
            let (own, other) = (self.ask()?, named.ask()?);
            let same = |own: &Option<String>, other: &Option<String>| {
                own.is_none()
                    || own.as_deref().map(str::to_lowercase)
                        == other.as_deref().map(str::to_lowercase)
            };
            let same_host = own.host.is_none() || own.host == other.host;
            if !same_host || !same(&own.owner, &other.owner) || !same(&own.name, &other.name) {
                let message = format!("`{url}` belongs to another repository than the one named");
                return Err(ToolError::new(ErrorCode::Usage, message)
                    .with_hint("leave the repository out: the URL names it"));
            }
        }
        *self = named;
        Ok(())
    }

    pub(crate) fn ask(&self) -> Result<Ask, ToolError> {
        let (host, owner, name) = match &self.whole {
            None => (
                self.host.as_deref(),
                self.owner.as_deref(),
                self.name.as_deref(),
            ),
            Some(whole) => {
                // `host:3000/owner/name` is no URL, though git would read a path into it.
                if (whole.contains("://") || whole.contains('@'))
                    && let GitUrl::Hosted(url) = GitUrl::parse(whole)?
                {
                    return Ok(Ask {
                        host: Some(url.host()),
                        owner: Some(url.owner().to_owned()),
                        name: Some(url.repo().to_owned()),
                        base: url.written_base(),
                        remote: None,
                    });
                }
                let parts: Vec<&str> = whole.split('/').collect();
                match parts[..] {
                    [owner, name] => (None, Some(owner), Some(name)),
                    [host, owner, name] => (Some(host), Some(owner), Some(name)),
                    _ => {
                        return Err(ToolError::new(
                            ErrorCode::Usage,
                            format!("`{whole}` is not a repository"),
                        )
                        .with_hint("write `owner/name`, `host/owner/name` or its URL"));
                    }
                }
            }
        };
        // An empty text is how some models leave an argument out.
        let given = |text: Option<&str>| text.filter(|t| !t.is_empty()).map(str::to_owned);
        let host = match host.filter(|h| !h.is_empty()) {
            Some(host) => Some(Host::parse(host)?),
            None => None,
        };
        Ok(Ask {
            host,
            owner: given(owner),
            name: given(name),
            base: None,
            remote: None,
        })
    }
}

/// Seconds that one call waits at most
pub(crate) const LONGEST_WAIT: u32 = 300;

/// Most rows in one answer; no forge gives more in one page
const MOST_ROWS: u32 = 100;

/// `--page` on the command line
pub(crate) fn page(typed: &str) -> Result<u32, String> {
    match typed.parse() {
        Ok(0) => Err("pages are counted from 1".to_owned()),
        Ok(page) => Ok(page),
        Err(error) => Err(error.to_string()),
    }
}

/// `--wait` on the command line
pub(crate) fn wait<T: From<u32>>(typed: &str) -> Result<T, String> {
    match typed.parse::<u32>() {
        Ok(seconds) if seconds <= LONGEST_WAIT => Ok(seconds.into()),
        Ok(_) => Err(format!("it must be at most {LONGEST_WAIT}")),
        Err(error) => Err(error.to_string()),
    }
}

/// `--limit` on the command line
pub(crate) fn limit(typed: &str) -> Result<u32, String> {
    match typed.parse() {
        Ok(rows) if (1..=MOST_ROWS).contains(&rows) => Ok(rows),
        Ok(_) => Err(format!("it must be from 1 to {MOST_ROWS}")),
        Err(error) => Err(error.to_string()),
    }
}

/// The part of a list that was asked for: `page` from 1, `limit` 30 unless said
pub(crate) fn part(page: Option<u32>, limit: Option<u32>) -> Result<Page, ToolError> {
    let page = page.unwrap_or(1);
    let limit = limit.unwrap_or(30);
    if page == 0 {
        return Err(ToolError::new(
            ErrorCode::Invalid,
            "`page` is counted from 1, so it cannot be 0",
        ));
    }
    if !(1..=MOST_ROWS).contains(&limit) {
        return Err(ToolError::new(
            ErrorCode::Invalid,
            format!("`limit` must be from 1 to {MOST_ROWS}, not {limit}"),
        )
        .with_hint("ask for the rest with `page`"));
    }
    Ok(Page::new(page, limit))
}
