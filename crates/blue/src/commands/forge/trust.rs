//! `blue forge trust`

use blue_base::host::Host;
use blue_forge::git_url::GitUrl;
use blue_tools::ToolError;
use serde::Serialize;

use crate::{
    commands::{Cx, Stop},
    render::{Page, Report, Style},
};

/// Allow the tokens of this machine to be sent to one more host
///
/// A token in a variable goes only to the host that `FORGEJO_URL`, `GITEA_URL` or
/// `GITHUB_SERVER_URL` names, or else to the first host it was used with. This adds a host, in
/// `hosts.yaml`. To take it back, delete its `trusted` line there.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Host, with its port if it is not the default one
    host: String,
}

const EXAMPLES: &str = "\
Examples:
  blue forge trust git.example.org
  blue forge trust git.example.org:3000";

#[derive(Debug, Serialize)]
struct Answer {
    host: Host,
    trusted: bool,
    /// False if it was trusted already
    changed: bool,
}

pub(crate) async fn run(cx: &Cx, args: Args) -> Result<(), Stop> {
    let host = named(&args.host)?;
    let changed = super::forges(cx)?.trust(&host).await?;
    let answer = Answer {
        host,
        trusted: true,
        changed,
    };
    cx.screen.show(&answer).map_err(Stop::Output)
}

/// People also paste the address of a page or a repository
fn named(text: &str) -> Result<Host, ToolError> {
    if let Some((_, rest)) = text.split_once("://") {
        if let Ok(GitUrl::Hosted(url)) = GitUrl::parse(text) {
            return Ok(url.host());
        }
        let host = rest.split('/').next().unwrap_or_default();
        return Ok(Host::parse(host)?);
    }
    Ok(Host::parse(text)?)
}

impl Report for Answer {
    fn page(&self, page: &mut Page) {
        let already = if self.changed { "" } else { " already" };
        let text = format!("Tokens from variables may{already} go to {}", self.host);
        page.line(&text, Style::Plain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_addresses() {
        for (text, host) in [
            ("git.example.org", "git.example.org"),
            ("Git.Example.org:3000", "git.example.org:3000"),
            ("https://git.example.org/", "git.example.org"),
            (
                "https://git.example.org:3000/alice/demo.git",
                "git.example.org:3000",
            ),
            ("http://[::1]:3000", "[::1]:3000"),
        ] {
            assert_eq!(named(text).unwrap().as_str(), host, "{text}");
        }
        for text in ["", "a b", "https://", "a/b", "user@host"] {
            assert!(named(text).is_err(), "{text}");
        }
    }
}
