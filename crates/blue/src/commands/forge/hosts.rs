//! `blue forge hosts`

use std::path::PathBuf;

use blue_base::host::Host;
use blue_forge::{
    ForgeType,
    detect::DetectedType,
    token::{HostEntry, HostsFile, ServerUrl, TokenRef, Vars},
};
use serde::Serialize;

use crate::{
    commands::{Cx, Stop},
    render::{Cell, Page, Report, Style},
};

/// List the configured hosts and where their tokens come from
///
/// Hosts come from `hosts.yaml` and from variables. No token is shown, and no host is contacted.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

const EXAMPLES: &str = "\
Examples:
  blue forge hosts
  blue forge hosts --json

An entry of hosts.yaml (every line is optional; one token line at most):
  git.example.org:
    type: forgejo                # or gitea, github
    api_url: https://git.example.org/api/v1
    token_env: EXAMPLE_TOKEN     # name of a variable
    token_file: ~/.secrets/example
    token_command: pass show example
    ca_file: ~/example-ca.pem
    ssh_host: ssh.example.org    # where ssh remotes name another host";

#[derive(Debug, Serialize)]
struct Hosts {
    file: PathBuf,
    hosts: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    host: Host,
    #[serde(rename = "type")]
    kind: Option<&'static str>,
    api_url: Option<String>,
    /// Where its token comes from
    token: Option<String>,
    ca_file: Option<PathBuf>,
    /// The host in its ssh remotes, where that is another
    #[serde(skip_serializing_if = "Option::is_none")]
    ssh_host: Option<Host>,
    /// Since when tokens from variables may go there
    trusted: Option<String>,
    /// `hosts.yaml`, or the variable that names the host
    named_by: &'static str,
}

pub(crate) fn run(cx: &Cx, _: Args) -> Result<(), Stop> {
    let settings = cx.env.forges()?;
    let file = HostsFile::new(&settings.home, None).path().to_owned();
    let mut hosts: Vec<Row> = settings
        .vars
        .servers()?
        .iter()
        .map(|server| Row::of_server(server, &settings.vars))
        .collect();
    hosts.extend(super::forges(cx)?.hosts()?.into_iter().map(Row::of_entry));
    cx.screen.show(&Hosts { file, hosts }).map_err(Stop::Output)
}

impl Row {
    fn of_server(server: &ServerUrl, vars: &Vars) -> Self {
        let token = vars.token_for(server);
        Self {
            host: server.host.clone(),
            // Gitea or Forgejo: known only after a request to the server.
            kind: (server.family == ForgeType::GitHub).then_some("github"),
            api_url: server.api.as_ref().map(ToString::to_string),
            token: token.map(|name| format!("variable {name}")),
            ca_file: None,
            ssh_host: None,
            trusted: None,
            named_by: server.variable,
        }
    }

    fn of_entry(entry: HostEntry) -> Self {
        Self {
            host: entry.host,
            kind: entry.kind.map(DetectedType::as_str),
            api_url: entry.api_url.map(String::from),
            token: entry.token.map(|token| match token {
                TokenRef::Variable(name) => format!("variable {name}"),
                TokenRef::File(path) => format!("file {}", path.display()),
                // Its words may hold a secret.
                TokenRef::Command(_) => "command".to_owned(),
            }),
            ca_file: entry.ca_file,
            ssh_host: entry.ssh_host,
            trusted: entry.trusted.map(|since| since.to_string()),
            named_by: "hosts.yaml",
        }
    }

    fn cells(&self) -> Vec<Cell> {
        let text = |text: Option<&str>| Cell::from(text.unwrap_or("-"));
        vec![
            Cell::new(self.host.as_str(), Style::Bold),
            text(self.kind),
            text(self.token.as_deref()),
            text(self.trusted.as_deref()),
            self.named_by.into(),
        ]
    }
}

impl Report for Hosts {
    fn page(&self, page: &mut Page) {
        if self.hosts.is_empty() {
            page.line("No host is known yet.", Style::Plain);
        } else {
            let rows: Vec<_> = self.hosts.iter().map(Row::cells).collect();
            page.table(
                &["Host", "Type", "Token", "Trusted since", "Named by"],
                rows,
            );
        }
        page.blank()
            .fields(&[("File", self.file.display().to_string().into())]);
    }
}
