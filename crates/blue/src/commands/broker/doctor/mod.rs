//! `blue broker doctor`

mod application;
mod own;
mod version;

use blue_base::{
    clock::{Clock as _, SystemClock},
    http::{Http, Method, Request, Response},
};
use blue_broker::config::Config;
use blue_tools::{ErrorCode, ToolError};
use serde::Serialize;
use std::time::Duration;
use url::Url;

use crate::{
    commands::{Cx, Stop},
    render::{Cell, Page, Report, Style},
};

const PATIENCE: Duration = Duration::from_secs(10);

/// Check everything the broker stands on, and say what to do about what is wrong
///
/// Looks at the forge and its version, the OAuth application, the clocks, TLS, the public URL as
/// clients reach it, the database, the key file and those of secrets. Nothing is changed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

const EXAMPLES: &str = "\
Examples:
  blue broker doctor --config broker.toml
  blue broker doctor --config broker.toml --json";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    Warning,
    Failed,
}

/// One thing that was looked at
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    state: State,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Ok,
            found: found.into(),
            advice: None,
        }
    }

    fn warning(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Warning,
            found: found.into(),
            advice: Some(advice.into()),
        }
    }

    fn failed(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            state: State::Failed,
            ..Self::warning(name, found, advice)
        }
    }
}

#[derive(Debug, Serialize)]
struct Checks {
    ok: bool,
    checks: Vec<Check>,
}

pub(super) async fn run(cx: &Cx, config: &Config, _: Args) -> Result<(), Stop> {
    let http = Http::new(cx.env.http()?);
    let mut checks = Vec::new();
    if forge(&http, config, &mut checks).await {
        application::check(&http, config, &mut checks).await;
    }
    checks.push(Check::ok(
        "Scopes",
        format!(
            "{}; whether the forge keeps to them is seen at each sign-in",
            config.forge_scopes.joined()
        ),
    ));
    checks.push(public_url(&http, config).await);
    let (database, needed) = own::database(config).await;
    checks.push(database);
    checks.extend(own::database_tls(config));
    checks.push(own::key_file(config, &needed));
    checks.extend(own::secrets(config));
    let ok = checks.iter().all(|check| check.state != State::Failed);
    cx.screen
        .show(&Checks { ok, checks })
        .map_err(Stop::Output)?;
    if ok {
        Ok(())
    } else {
        Err(Stop::Reported(ErrorCode::Config))
    }
}

async fn get(http: &Http, url: Url) -> Result<Response, String> {
    let mut request = Request::new(Method::GET, url);
    request.timeout = Some(PATIENCE);
    request.max_body = Some(256 * 1024);
    send(http, request).await
}

async fn send(http: &Http, request: Request) -> Result<Response, String> {
    http.send(request)
        .await
        .map_err(|error| ToolError::from(error).chain().join(": "))
}

/// Whether an answer is a good one, in JSON, with this member
fn says(answer: &Response, member: &str) -> bool {
    let said: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    answer.status.is_success() && said.get(member).is_some()
}

/// Version, OAuth, TLS and clock, all from two answers; false if the forge is not there
async fn forge(http: &Http, config: &Config, checks: &mut Vec<Check>) -> bool {
    const RUNS: &str = "see that `forge_url` is right and the forge runs";
    let answer = match get(http, config.forge.at("api/v1/version")).await {
        Ok(answer) => answer,
        Err(why) if why.contains("certificate") => {
            let advice = "give the forge a certificate for this name, with its whole chain; where \
                          an authority of your own signed it, name its file by `BLUE_CA_FILE`, for \
                          the broker too";
            checks.push(Check::failed("TLS", why, advice));
            return false;
        }
        Err(why) => {
            checks.push(Check::failed("Forge", why, RUNS));
            return false;
        }
    };
    checks.push(if config.forge.url().scheme() == "https" {
        Check::ok("TLS", "the forge's certificate is good")
    } else {
        Check::warning(
            "TLS",
            "the forge is reached over plain http",
            "fine on one machine; anywhere else use https",
        )
    });
    checks.push(clock(&answer));
    if answer.status.is_server_error() {
        let found = format!("it answers with status {}", answer.status.as_u16());
        checks.push(Check::failed("Forge", found, RUNS));
        return false;
    }
    let said: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    match said["version"].as_str() {
        Some(text) => checks.push(version::check(text)),
        None => checks.push(Check::warning(
            "Forge",
            format!(
                "it does not tell its version (status {})",
                answer.status.as_u16()
            ),
            "see by hand that it is Gitea 1.27 or Forgejo 15.0.2 or newer",
        )),
    }
    let discovery = get(http, config.forge.at(".well-known/openid-configuration")).await;
    checks.push(match discovery {
        Ok(answer) if says(&answer, "token_endpoint") => {
            Check::ok("OAuth", "the forge has it enabled")
        }
        Ok(answer) if answer.status.is_success() => Check::failed(
            "OAuth",
            "what answers there is no forge: it has pages where the OpenID configuration should be",
            "correct `forge_url`: it is the address of the forge itself",
        ),
        Ok(answer) => Check::failed(
            "OAuth",
            format!(
                "no OpenID configuration (status {})",
                answer.status.as_u16()
            ),
            "see that `forge_url` is the address of the forge itself, and that `[oauth2]` of its \
             app.ini is enabled",
        ),
        Err(why) => Check::failed("OAuth", why, "see that the forge runs"),
    });
    true
}

fn clock(answer: &Response) -> Check {
    let date = answer.headers.get("date").and_then(|d| d.to_str().ok());
    let parser = jiff::fmt::rfc2822::DateTimeParser::new();
    let theirs = date.and_then(|date| parser.parse_timestamp(date).ok());
    let Some(theirs) = theirs else {
        return Check::warning(
            "Clock",
            "the forge tells no time",
            "keep both clocks right by NTP",
        );
    };
    let apart = SystemClock.now().as_second() - theirs.as_second();
    if apart.abs() > 30 {
        return Check::failed(
            "Clock",
            format!("{} seconds apart from the forge's", apart.abs()),
            "set both by NTP: tokens end by the clock",
        );
    }
    Check::ok("Clock", "right, by the forge's")
}

/// Ask as clients do, from outside in
async fn public_url(http: &Http, config: &Config) -> Check {
    const NAME: &str = "Public URL";
    const PATH: &str = "/.well-known/oauth-authorization-server";
    let text = config.public_url.at(PATH);
    let Ok(url) = Url::parse(&text) else {
        return Check::failed(NAME, text, "correct `public_url`");
    };
    let answer = match get(http, url).await {
        Ok(answer) => answer,
        // Clients will not trust what this machine does not.
        Err(why) if why.contains("certificate") => {
            let hint = "give the proxy a certificate for this name, with its whole chain";
            return Check::failed(NAME, why, hint);
        }
        Err(why) => {
            let hint = "start the broker, and see that the proxy in front leads to it";
            return Check::warning(NAME, why, hint);
        }
    };
    let said: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    match said["issuer"].as_str() {
        Some(issuer) if issuer == config.public_url.origin() => {
            Check::ok(NAME, format!("{issuer} answers"))
        }
        Some(issuer) => Check::failed(
            NAME,
            format!("the broker that answers there calls itself {issuer}"),
            "give both the same `public_url`",
        ),
        None => Check::failed(
            NAME,
            format!(
                "what answers {text} is not the broker (status {})",
                answer.status.as_u16()
            ),
            "let the proxy pass every path below the public URL on, unchanged",
        ),
    }
}

impl Report for Checks {
    fn page(&self, page: &mut Page) {
        let row = |check: &Check| {
            let (word, style) = match check.state {
                State::Ok => ("ok", Style::Good),
                State::Warning => ("look", Style::Warn),
                State::Failed => ("wrong", Style::Bad),
            };
            vec![
                Cell::new(check.name, Style::Bold),
                Cell::new(word, style),
                Cell::from(&check.found),
            ]
        };
        page.table(
            &["Check", "State", "Found"],
            self.checks.iter().map(row).collect(),
        );
        for check in &self.checks {
            if let Some(advice) = &check.advice {
                page.line(&format!("{}: {advice}", check.name), Style::Plain);
            }
        }
    }
}
