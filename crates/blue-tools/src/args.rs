//! Arguments that many tools share

use blue_core::forge::{model::Host, open::Ask};
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
    /// All of these at once
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

    pub(crate) fn ask(&self) -> Result<Ask, ToolError> {
        let (host, owner, name) = match &self.whole {
            None => (
                self.host.as_deref(),
                self.owner.as_deref(),
                self.name.as_deref(),
            ),
            Some(whole) => {
                let parts: Vec<&str> = whole.split('/').collect();
                match parts[..] {
                    [owner, name] => (None, Some(owner), Some(name)),
                    [host, owner, name] => (Some(host), Some(owner), Some(name)),
                    _ => {
                        return Err(ToolError::new(
                            ErrorCode::Usage,
                            format!("`{whole}` is not a repository"),
                        )
                        .with_hint("write `owner/name`, or `host/owner/name`"));
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
            remote: None,
        })
    }
}
