//! `blue forge status`

use std::{collections::BTreeSet, time::Duration};

use blue_forge::{
    Flavor, ForgeError,
    detect::{DetectedType, Detection},
    model::{Identity, Permissions, Rate},
    open::{Ask, Survey, TokenFound},
    token::TokenSource,
};
use blue_tools::{ErrorCode, ToolError};
use serde::Serialize;

use super::detect::{found_by, shown};
use crate::{
    commands::{Cx, Stop},
    render::{Cell, Page, Report, Style},
};

/// Show the forge, who you are there, and what your token may do
///
/// Each part is requested on its own, so that one failure does not hide the rest. The exit code is
/// 1 if any part failed, and 64 if a setting is to blame.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Git remote to use when there are several
    #[arg(long, value_name = "NAME")]
    remote: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  blue forge status
  blue -C ../other forge status --json";

/// Timeout of each part; short, because a user waits at the terminal
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Debug, Serialize)]
struct Status {
    #[serde(flatten)]
    found: Detection,
    /// As the server prints it
    version: Option<String>,
    user: Option<User>,
    token: Option<Token>,
    /// What the user may do in the repository with this token
    permissions: Option<Permissions>,
    rate: Option<Rate>,
    problems: Vec<Problem>,
    /// What was noticed on the way
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct User {
    login: String,
    admin: bool,
}

#[derive(Debug, Serialize)]
struct Token {
    source: TokenSource,
    /// Where the forge tells them
    scopes: Option<Vec<String>>,
    /// What a token of this forge needs for all tools, in the forge's own names
    needs: &'static str,
}

/// The scopes that the tools need, as README.md lists them
fn needed_scopes(kind: DetectedType) -> &'static str {
    match kind {
        DetectedType::GitHub => {
            "repo, and workflow for files of workflows; fine-grained: Contents, Pull requests, \
             Workflows and Commit statuses (write), Actions and Administration (read)"
        }
        _ => "write:repository, read:user, read:issue",
    }
}

/// A part that could not be had
#[derive(Debug, Serialize)]
struct Problem {
    part: &'static str,
    #[serde(skip)]
    kind: ErrorCode,
    code: &'static str,
    message: String,
    hint: Option<String>,
}

pub(crate) async fn run(cx: &Cx, args: Args) -> Result<(), Stop> {
    let ask = Ask {
        remote: args.remote,
        ..Ask::default()
    };
    let mut settings = cx.env.forges()?;
    settings.http.timeout = PATIENCE;
    let forges = super::forges_with(cx, settings);
    let survey = super::ask(cx, Box::pin(forges.survey(&ask))).await??;
    cx.screen.notes(&survey.notices).map_err(Stop::Output)?;
    let status = super::ask(cx, Box::pin(Status::ask(survey))).await?;
    cx.screen.show(&status).map_err(Stop::Output)?;
    let codes = || status.problems.iter().map(|problem| problem.kind);
    // A setting that is wrong outdoes what follows from it.
    match codes()
        .find(|code| *code == ErrorCode::Config)
        .or(codes().next())
    {
        Some(code) => Err(Stop::Reported(code)),
        None => Ok(()),
    }
}

impl Status {
    async fn ask(mut survey: Survey) -> Self {
        let notes = std::mem::take(&mut survey.notices);
        let forge = survey.forge();
        let everybody = survey.anonymous();
        let mut problems = Vec::new();
        let found_token = std::mem::replace(&mut survey.token, Ok(TokenFound::default()));
        let token = keep(&mut problems, "token", found_token).unwrap_or_default();
        let who = match token.credential {
            Some(_) => Some(forge.whoami().await),
            None => None,
        };
        // A token that is refused hides what everybody may see.
        let refused = matches!(who, Some(Err(ForgeError::Unauthorized { .. })));
        let forge = if refused { everybody } else { forge };
        let repository = async {
            match survey.found.repo_id() {
                Some(repo) => Some(forge.repository(&repo).await),
                None => None,
            }
        };
        let (about, repo) = tokio::join!(forge.about(), repository);
        let about = match about {
            Ok(about) => Some(about),
            Err(error) => match survey.probe_failure().await {
                // Then all that fails has this cause.
                Some(failure) => keep(&mut problems, "version", Err(failure)),
                None => keep(&mut problems, "version", Err(error)),
            },
        };
        let who = who.and_then(|who| keep(&mut problems, "user", who));
        let repo = repo.and_then(|repo| keep(&mut problems, "repository", repo));
        let kind = about.as_ref().map(|about| about.flavor);
        let reach = who
            .as_ref()
            .filter(|_| kind != Some(Flavor::GitHub))
            .map(|who| (who.may_read(), who.may_write()));
        let (user, scopes, rate) = match who {
            Some(Identity {
                login,
                admin,
                scopes,
                rate,
            }) => (Some(User { login, admin }), scopes, rate),
            None => (None, None, None),
        };
        let mut found = survey.found;
        // The server itself knows best: `FORGEJO_URL` may well name a Gitea.
        if let Some(about) = &about {
            found.kind = about.flavor.into();
        }
        let needs = needed_scopes(found.kind);
        Self {
            found,
            version: about.and_then(|about| about.version),
            user,
            token: token.source.map(|source| Token {
                source,
                scopes,
                needs,
            }),
            permissions: repo
                .and_then(|repo| repo.permissions)
                .map(|may| within(may, reach)),
            rate,
            problems,
            notes,
        }
    }

    /// Its name is known also when it could not be read
    fn repository(&self) -> Cell {
        let Some(repo) = self.found.repo_id() else {
            return Cell::new("none here", Style::Dim);
        };
        match self
            .problems
            .iter()
            .find(|problem| problem.part == "repository")
        {
            Some(problem) => Cell::new(&format!("{repo}: {}", problem.message), Style::Bad),
            None => repo.to_string().into(),
        }
    }

    fn failed(&self, part: &str) -> Option<Cell> {
        let problem = self.problems.iter().find(|problem| problem.part == part)?;
        Some(Cell::new(&problem.message, Style::Bad))
    }
}

/// Returns the rights of a user in a repository as far as the scopes of the token reach
fn within(may: Permissions, reach: Option<(Option<bool>, Option<bool>)>) -> Permissions {
    let (reads, writes) = reach.unwrap_or_default();
    let (reads, writes) = (reads != Some(false), writes != Some(false));
    Permissions {
        admin: may.admin && writes,
        push: may.push && writes,
        pull: may.pull && reads,
    }
}

/// The value, or a line among the problems
fn keep<T, E: Into<ToolError>>(
    problems: &mut Vec<Problem>,
    part: &'static str,
    result: Result<T, E>,
) -> Option<T> {
    result
        .map_err(|error| {
            let error = error.into();
            problems.push(Problem {
                part,
                kind: error.code,
                code: error.code.as_str(),
                message: error.chain().join(": "),
                // That is this very page.
                hint: error
                    .hint
                    .filter(|hint| !hint.contains("`blue forge status`")),
            });
        })
        .ok()
}

impl Report for Status {
    fn page(&self, page: &mut Page) {
        let or = |part: &str, value: Option<Cell>, none: &str| {
            let none = || Cell::new(none, Style::Dim);
            self.failed(part).or(value).unwrap_or_else(none)
        };
        let text = |value: Option<String>| value.map(Cell::from);
        let host = self.found.host.as_ref().map(ToString::to_string);
        let token = self.token.as_ref();
        page.fields(&[
            ("Forge", Cell::new(self.found.kind.as_str(), Style::Bold)),
            ("Found by", found_by(&self.found)),
            ("Host", or("host", text(host), "")),
            (
                "API",
                or("host", text(self.found.api_url.as_ref().map(shown)), ""),
            ),
            (
                "Version",
                or("version", text(self.version.clone()), "not reported"),
            ),
            ("Repository", self.repository()),
            (
                "User",
                or("user", self.user.as_ref().map(User::cell), "not signed in"),
            ),
            (
                "Token from",
                or("token", text(token.map(|t| t.source.to_string())), "none"),
            ),
            (
                "Scopes",
                or(
                    "",
                    token.and_then(|t| t.scopes.as_ref()).map(|s| scopes(s)),
                    "not reported",
                ),
            ),
            (
                "Needed",
                or(
                    "",
                    token.map(|t| Cell::new(t.needs, Style::Dim)),
                    "no token",
                ),
            ),
            ("May", or("", self.permissions.map(may), "not reported")),
            (
                "Requests left",
                or("", self.rate.as_ref().map(left), "no limit reported"),
            ),
        ]);
        let hints: BTreeSet<&String> = self
            .problems
            .iter()
            .filter_map(|p| p.hint.as_ref())
            .collect();
        for hint in hints {
            page.blank().line(&format!("hint: {hint}"), Style::Plain);
        }
    }
}

impl User {
    fn cell(&self) -> Cell {
        let admin = if self.admin {
            " (admin of the forge)"
        } else {
            ""
        };
        Cell::new(&format!("{}{admin}", self.login), Style::Good)
    }
}

fn scopes(scopes: &[String]) -> Cell {
    if scopes.is_empty() {
        return Cell::new("none", Style::Plain);
    }
    scopes.join(", ").into()
}

fn may(permissions: Permissions) -> Cell {
    let Permissions { admin, push, pull } = permissions;
    let words = [(pull, "read"), (push, "write"), (admin, "administer")];
    let words: Vec<_> = words
        .iter()
        .filter(|(may, _)| *may)
        .map(|(_, word)| *word)
        .collect();
    if words.is_empty() {
        return Cell::new("nothing", Style::Warn);
    }
    words.join(", ").into()
}

fn left(rate: &Rate) -> Cell {
    let reset = rate
        .reset
        .map(|reset| format!(", more at {reset}"))
        .unwrap_or_default();
    let style = if rate.remaining == 0 {
        Style::Bad
    } else {
        Style::Plain
    };
    Cell::new(
        &format!("{} of {}{reset}", rate.remaining, rate.limit),
        style,
    )
}
