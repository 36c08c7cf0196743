//! `blue forge detect`

use blue_forge::{
    detect::{DetectedType, Detection, FoundBy},
    git_url::GitUrlError,
};
use blue_tools::ToolError;
use serde::Serialize;

use crate::{
    commands::{Cx, Stop},
    render::{Cell, Page, Report, Style},
};

/// Detect which forge a repository or a URL belongs to
///
/// Checks known hosts, then the name of the host, and asks the host itself, without a token. A host
/// that answers as no forge, or does not answer, is an error with what was tried.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Git URL [default: the remote of the working directory]
    url: Option<String>,
    /// Git remote to use when there are several
    #[arg(long, value_name = "NAME", conflicts_with = "url")]
    remote: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  blue forge detect
  blue forge detect git@codeberg.org:forgejo/forgejo.git
  blue forge detect https://git.example.org/alice/demo --json";

pub(crate) async fn run(cx: &Cx, args: Args) -> Result<(), Stop> {
    let forges = super::forges(cx)?;
    let (found, notes) = if let Some(url) = &args.url {
        // A path is a repository of this machine; a mere word that is no folder here is a mistake.
        let word = !url.starts_with('.') && !url.contains(['/', '\\', ':']);
        if word && !cx.env.cwd().join(url).exists() {
            let path = blue_base::text::clean_line(url);
            return Err(GitUrlError::NotRepository { path }.into());
        }
        let found = super::ask(cx, Box::pin(forges.detect_url(url))).await??;
        (found, Vec::new())
    } else {
        let here = Box::pin(forges.detect_here(args.remote.as_deref()));
        let here = super::ask(cx, here).await??;
        (here.found, here.notices)
    };
    let mut answer = Found { found, notes };
    match answer.found.failure.take() {
        // Its name or the settings say what it is; that it is down now is no reason to doubt it.
        Some(failure) if !answer.found.guess && !failure.answered => {
            answer.notes.push(failure.to_string());
        }
        Some(failure) => {
            let error = ToolError::from(failure).with_notes(answer.notes);
            return Err(error.into());
        }
        None => {}
    }
    cx.screen.notes(&answer.notes).map_err(Stop::Output)?;
    cx.screen.show(&answer).map_err(Stop::Output)
}

/// What was found, and what was noticed on the way
#[derive(Debug, Serialize)]
struct Found {
    #[serde(flatten)]
    found: Detection,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Report for Found {
    fn page(&self, page: &mut Page) {
        let found = &self.found;
        if found.kind == DetectedType::None {
            page.line(
                "no forge: this is not a repository on a server",
                Style::Plain,
            );
            return;
        }
        let text = |value: Option<String>| Cell::from(value.unwrap_or_default());
        page.fields(&[
            ("Type", Cell::new(found.kind.as_str(), Style::Bold)),
            ("Found by", found_by(found)),
            ("Host", text(found.host.as_ref().map(ToString::to_string))),
            (
                "Repository",
                text(found.repo_id().map(|repo| repo.to_string())),
            ),
            ("API", text(found.api_url.as_ref().map(shown))),
        ]);
    }
}

/// An address as people write it
pub(super) fn shown(url: &impl AsRef<str>) -> String {
    url.as_ref().trim_end_matches('/').to_owned()
}

/// How a forge was found, in words
pub(super) fn found_by(detection: &Detection) -> Cell {
    match detection.found_by {
        Some(FoundBy::KnownHost) => "a host that Blue knows".into(),
        Some(FoundBy::Name) => "the name of the host".into(),
        Some(FoundBy::Probe) => "asking the host".into(),
        Some(FoundBy::Config) => "configuration".into(),
        Some(FoundBy::Fallback) => Cell::new("nothing: this is a guess", Style::Warn),
        None => "".into(),
    }
}
