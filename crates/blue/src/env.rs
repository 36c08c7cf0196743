//! The only reader of the environment, and the one list of variables
//!
//! [`ALL`] documents what Blue looks at; help pages and `docs/configuration.md` are made from it.
//! The environment is read once, into an [`Env`] that is passed down.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use blue_base::{
    host::Host,
    http::{Http, HttpConfig, ProxyConfig},
    secret::Secret,
};
use blue_forge::{allow::Allow, open::Settings};
use blue_tools::{ErrorCode, ToolError};

/// A variable that Blue looks at
#[derive(Debug, Clone, Copy)]
pub(crate) struct Var {
    pub(crate) name: &'static str,
    pub(crate) group: Group,
    pub(crate) what: &'static str,
    /// What holds when it is not set; empty if there is nothing to say
    pub(crate) default: &'static str,
    /// Commands that look at it (`forge` means all below it); empty for every command
    pub(crate) commands: &'static [&'static str],
}

impl Var {
    /// Whether this is another form of a listed variable (`…_TOKEN_FILE`, lower case)
    ///
    /// Help pages leave those out.
    pub(crate) fn is_twin(&self) -> bool {
        self.name.ends_with("_TOKEN_FILE") || self.name.to_uppercase() != self.name
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Tokens,
    Hosts,
    Files,
    Network,
    Broker,
    Output,
}

impl Group {
    pub(crate) const ALL: &'static [Self] = &[
        Self::Tokens,
        Self::Hosts,
        Self::Files,
        Self::Network,
        Self::Broker,
        Self::Output,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Tokens => "tokens (each also from a file: NAME_FILE)",
            Self::Hosts => "which forge",
            Self::Files => "files and programs",
            Self::Network => "network (lower-case names too)",
            Self::Broker => "the broker (each also as a flag or in its file)",
            Self::Output => "output",
        }
    }
}

/// Stands for every tool in [`Var::commands`]
const TOOLS: &str = "tools";
const FORGE: &[&str] = &["forge", TOOLS];

const fn token(name: &'static str, what: &'static str) -> Var {
    Var {
        name,
        group: Group::Tokens,
        what,
        default: "",
        commands: &["forge status", TOOLS],
    }
}

const fn host(name: &'static str, what: &'static str, default: &'static str) -> Var {
    Var {
        name,
        group: Group::Hosts,
        what,
        default,
        commands: &["forge status", "forge detect", "forge hosts", TOOLS],
    }
}

const fn network(name: &'static str, what: &'static str) -> Var {
    Var {
        name,
        group: Group::Network,
        what,
        default: "",
        commands: &["forge status", "forge detect", "broker", TOOLS],
    }
}

/// A setting of the broker, which has the one list of them
const fn broker(name: &'static str) -> Var {
    let setting = blue_broker::config::setting(name);
    Var {
        name,
        group: Group::Broker,
        what: setting.what,
        default: setting.default,
        commands: &["broker"],
    }
}

const fn output(name: &'static str, what: &'static str) -> Var {
    Var {
        name,
        group: Group::Output,
        what,
        default: "",
        commands: &[],
    }
}

const BLUE_HOME: Var = Var {
    name: "BLUE_HOME",
    group: Group::Files,
    what: "Folder for Blue's own files, such as `hosts.yaml`",
    default: "`~/.blue`",
    commands: FORGE,
};
const HOME: Var = Var {
    name: "HOME",
    group: Group::Files,
    what: "The user's home folder, for `~`",
    default: "",
    commands: FORGE,
};
const PATH: Var = Var {
    name: "PATH",
    group: Group::Files,
    what: "Where `git` and `ssh` are found",
    default: "",
    commands: &[],
};
const BLUE_GIT_CREDENTIALS: Var = Var {
    name: "BLUE_GIT_CREDENTIALS",
    group: Group::Tokens,
    what: "`off`: do not ask `git credential fill` for a token",
    default: "`on`",
    commands: &["forge status", TOOLS],
};
const BLUE_ALLOW: Var = Var {
    name: "BLUE_ALLOW",
    group: Group::Hosts,
    what: "Owners that Blue may touch: `alice,acme/*`, also `host/owner`; must not be empty",
    default: "everything the token can reach",
    commands: &["forge status", TOOLS],
};
const BLUE_CA_FILE: Var = network(
    "BLUE_CA_FILE",
    "PEM file with certificates to trust in addition to the system's",
);
const BLUE_PRIVATE_HOSTS: Var = network(
    "BLUE_PRIVATE_HOSTS",
    "Hosts on private networks that a forge may redirect to, such as the storage of its job logs; \
     separated by commas",
);
const NO_COLOR: Var = output("NO_COLOR", "Any value: no colour, no links");
const CLICOLOR: Var = output("CLICOLOR", "`0`: no colour, no links");
const CLICOLOR_FORCE: Var = output(
    "CLICOLOR_FORCE",
    "Anything but `0`: colour even if the output is not a terminal",
);
const TERM: Var = output("TERM", "`dumb`: no colour, no links, no spinner");
const BLUE_LOG: Var = output(
    "BLUE_LOG",
    "What to log: `info`, `debug`, `blue_forge=trace,warn`; wins over `-v`",
);

/// Every variable there is, in the order people see them
pub(crate) const ALL: &[Var] = &[
    token("GITHUB_TOKEN", "Token for GitHub"),
    token("GITHUB_TOKEN_FILE", "File that holds the token for GitHub"),
    token("GH_TOKEN", "Token for GitHub; `GITHUB_TOKEN` wins"),
    token("GH_TOKEN_FILE", "File that holds it"),
    token("FORGEJO_TOKEN", "Token for Forgejo or Gitea"),
    token("FORGEJO_TOKEN_FILE", "File that holds it"),
    token(
        "GITEA_TOKEN",
        "Token for Forgejo or Gitea; `FORGEJO_TOKEN` wins",
    ),
    token("GITEA_TOKEN_FILE", "File that holds it"),
    BLUE_GIT_CREDENTIALS,
    host(
        "FORGEJO_URL",
        "The Forgejo or Gitea that the token is for, and that is used outside of a clone",
        "the first host that the token is used with",
    ),
    host("GITEA_URL", "The same; `FORGEJO_URL` wins", ""),
    host(
        "GITHUB_SERVER_URL",
        "The GitHub that the token is for, such as GitHub Enterprise",
        "the first host that the token is used with",
    ),
    host(
        "GITHUB_API_URL",
        "Address of the API of `GITHUB_SERVER_URL`",
        "derived from `GITHUB_SERVER_URL`",
    ),
    BLUE_ALLOW,
    BLUE_HOME,
    HOME,
    PATH,
    BLUE_CA_FILE,
    BLUE_PRIVATE_HOSTS,
    network("HTTPS_PROXY", "Proxy for https; `https_proxy` wins"),
    network("https_proxy", "Proxy for https"),
    network("HTTP_PROXY", "Proxy for http; `http_proxy` wins"),
    network("http_proxy", "Proxy for http"),
    network("NO_PROXY", "Hosts reached without a proxy; `no_proxy` wins"),
    network("no_proxy", "Hosts reached without a proxy"),
    broker("BLUE_BROKER_PUBLIC_URL"),
    broker("BLUE_BROKER_FORGE_URL"),
    broker("BLUE_BROKER_FORGE_NAME"),
    broker("BLUE_BROKER_CLIENT_ID"),
    broker("BLUE_BROKER_CLIENT_SECRET"),
    broker("BLUE_BROKER_CLIENT_SECRET_FILE"),
    broker("BLUE_BROKER_LISTEN"),
    broker("BLUE_BROKER_DATA"),
    broker("BLUE_BROKER_DB"),
    broker("BLUE_BROKER_DB_FILE"),
    broker("BLUE_BROKER_KEY_FILE"),
    broker("BLUE_BROKER_FORGE_SCOPES"),
    broker("BLUE_BROKER_ACCESS_TTL"),
    broker("BLUE_BROKER_REFRESH_TTL"),
    broker("BLUE_BROKER_AUDIT_TTL"),
    broker("BLUE_BROKER_REGISTRATION"),
    broker("BLUE_BROKER_PRIVATE_SCHEMES"),
    broker("BLUE_BROKER_METADATA_HOSTS"),
    broker("BLUE_BROKER_ORIGINS"),
    broker("BLUE_BROKER_TRUSTED_PROXIES"),
    BLUE_LOG,
    NO_COLOR,
    CLICOLOR,
    CLICOLOR_FORCE,
    TERM,
];

/// The environment as it was at the start
#[derive(Clone, Default)]
pub(crate) struct Env {
    values: BTreeMap<String, OsString>,
    cwd: PathBuf,
}

impl fmt::Debug for Env {
    // Half of the values are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env").finish_non_exhaustive()
    }
}

impl Env {
    /// Read the environment of the process
    pub(crate) fn read() -> Self {
        let values = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .collect();
        Self {
            values,
            // A folder that was deleted under us: relative paths then fail where they are used.
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
        }
    }

    /// Work in another folder, as `-C` asks
    pub(crate) fn enter(&mut self, dir: &Path) -> Result<(), ToolError> {
        let dir = self.cwd.join(dir);
        if !dir.is_dir() {
            let message = format!("`{}` is not a folder", dir.display());
            return Err(ToolError::new(ErrorCode::Usage, message));
        }
        self.cwd = dir;
        Ok(())
    }

    /// The folder that the command works in
    pub(crate) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Check what every command relies on
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        let broken: Vec<_> = ALL
            .iter()
            .filter(|var| {
                self.values
                    .get(var.name)
                    .is_some_and(|v| v.to_str().is_none())
            })
            .map(|var| format!("{}: not valid UTF-8", var.name))
            .collect();
        if broken.is_empty() {
            return Ok(());
        }
        Err(ToolError::new(ErrorCode::Config, broken.join("; ")))
    }

    /// A variable by name; an empty one counts as not set
    fn lookup(&self, name: &str) -> Option<String> {
        let value = self.values.get(name)?.to_str()?;
        (!value.trim().is_empty()).then(|| value.to_owned())
    }

    /// Folder of Blue's own files
    fn blue_home(&self) -> Option<PathBuf> {
        self.path(&BLUE_HOME)
            .or_else(|| Some(self.path(&HOME)?.join(".blue")))
    }

    /// Name and value of every variable that is meant for the broker, known to it or not
    pub(crate) fn broker(&self) -> Vec<(String, String)> {
        let own = self.values.iter();
        let own_name = |name: &str| {
            name.strip_prefix("BLUE_")
                .is_some_and(|n| n.starts_with("BROKER_"))
        };
        own.filter(|(name, _)| own_name(name))
            .map(|(name, value)| (name.clone(), value.to_string_lossy().into_owned()))
            .collect()
    }

    /// Default folder of the broker's data
    pub(crate) fn broker_home(&self) -> Option<PathBuf> {
        Some(self.blue_home()?.join("broker"))
    }

    /// File with the token that clients of `blue mcp --http` send
    pub(crate) fn mcp_token_file(&self) -> Option<PathBuf> {
        Some(self.blue_home()?.join("mcp-token"))
    }

    /// How a person calls this very program: by name if that finds it, else by its path
    pub(crate) fn program(&self) -> String {
        let Ok(program) = std::env::current_exe() else {
            return "blue".to_owned();
        };
        let path = self.values.get(PATH.name).cloned().unwrap_or_default();
        let first = std::env::split_paths(&path)
            .map(|folder| folder.join("blue"))
            .find(|file| file.is_file());
        let same = |file: PathBuf| file.canonicalize().ok() == program.canonicalize().ok();
        if first.is_some_and(same) {
            return "blue".to_owned();
        }
        program.display().to_string()
    }

    /// Where this very program is, for others to start it
    #[expect(
        clippy::unused_self,
        reason = "the process is asked here and nowhere else"
    )]
    pub(crate) fn program_file(&self) -> String {
        std::env::current_exe()
            .map_or_else(|_| "blue".to_owned(), |file| file.display().to_string())
    }

    /// How to reach forges
    pub(crate) fn http(&self) -> Result<HttpConfig, ToolError> {
        let proxy = |lower: &str, upper: &str| {
            let value = self.lookup(lower).or_else(|| self.lookup(upper));
            value.map(|v| v.trim().to_owned())
        };
        // Detection would take a client that cannot be made for a host that does not answer.
        let ca_file = self.path(&BLUE_CA_FILE);
        if let Some(file) = ca_file.as_ref().filter(|file| !file.is_file()) {
            let message = format!("{}: `{}` is not a file", BLUE_CA_FILE.name, file.display());
            return Err(ToolError::new(ErrorCode::Config, message));
        }
        let config = HttpConfig {
            ca_file,
            proxy: ProxyConfig {
                http: proxy("http_proxy", "HTTP_PROXY").map(Secret::new),
                https: proxy("https_proxy", "HTTPS_PROXY").map(Secret::new),
                no_proxy: proxy("no_proxy", "NO_PROXY"),
            },
            private_hosts: self.private_hosts()?,
            ..HttpConfig::default()
        };
        Http::check(&config).map_err(|error| {
            let error = ToolError::from(error);
            ToolError::new(ErrorCode::Config, error.chain().join(": ")).with_hint(
                "`BLUE_CA_FILE`, `HTTP_PROXY` and `HTTPS_PROXY` say how forges are reached",
            )
        })?;
        Ok(config)
    }

    /// The hosts that a redirect of a forge may lead to although they are private
    fn private_hosts(&self) -> Result<Vec<Host>, ToolError> {
        let list = self.lookup(BLUE_PRIVATE_HOSTS.name).unwrap_or_default();
        list.split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
            .map(|entry| {
                Host::parse(entry).map_err(|error| {
                    let message = format!("{}: {error}", BLUE_PRIVATE_HOSTS.name);
                    ToolError::new(ErrorCode::Config, message)
                        .with_hint("write hosts like `logs.example.org` or `10.0.0.5:9000`")
                })
            })
            .collect()
    }

    /// What finding and opening forges depends on
    pub(crate) fn forges(&self) -> Result<Settings, ToolError> {
        let home = self.blue_home().ok_or_else(|| {
            ToolError::new(ErrorCode::Config, "there is no folder for `hosts.yaml`")
                .with_hint("set `BLUE_HOME` or `HOME`")
        })?;
        let texts = self.values.iter();
        Ok(Settings {
            home,
            vars: texts
                .filter_map(|(name, value)| Some((name, value.to_str()?)))
                .collect(),
            http: self.http()?,
            cache: true,
            git_credentials: self.git_credentials()?,
            ssh_aliases: true,
            allow: self.allow()?,
        })
    }

    /// The owners and repositories that may be touched
    pub(crate) fn allow(&self) -> Result<Allow, ToolError> {
        // Empty is not the same as not set here: a mistake must not open everything.
        let Some(list) = self.values.get(BLUE_ALLOW.name) else {
            return Ok(Allow::everything());
        };
        Allow::parse(list.to_str().unwrap_or_default()).map_err(|error| {
            let error = ToolError::from(error);
            let mut named = ToolError::new(
                ErrorCode::Config,
                format!("{}: {}", BLUE_ALLOW.name, error.message),
            );
            named.hint = error.hint;
            named
        })
    }

    /// Whether git may be asked for a token
    fn git_credentials(&self) -> Result<bool, ToolError> {
        let value = self.lookup(BLUE_GIT_CREDENTIALS.name).unwrap_or_default();
        match value.trim().to_lowercase().as_str() {
            "" | "on" | "1" | "true" | "yes" => Ok(true),
            "off" | "0" | "false" | "no" => Ok(false),
            _ => Err(ToolError::new(
                ErrorCode::Config,
                format!(
                    "{}: `{value}` is neither `on` nor `off`",
                    BLUE_GIT_CREDENTIALS.name
                ),
            )),
        }
    }

    /// What to log, if anything was asked for
    pub(crate) fn log(&self) -> Option<String> {
        self.lookup(BLUE_LOG.name)
    }

    /// Whether to colour what goes to a stream that is (not) a terminal
    pub(crate) fn colour(&self, terminal: bool) -> bool {
        if self.lookup(NO_COLOR.name).is_some() {
            return false;
        }
        if self.lookup(CLICOLOR_FORCE.name).is_some_and(|v| v != "0") {
            return true;
        }
        let is = |var: &Var, value: &str| self.lookup(var.name).is_some_and(|v| v == value);
        terminal && !is(&TERM, "dumb") && !is(&CLICOLOR, "0")
    }

    /// Whether a terminal can take back what it shows
    pub(crate) fn moves(&self) -> bool {
        self.lookup(TERM.name).is_none_or(|term| term != "dumb")
    }

    fn path(&self, var: &Var) -> Option<PathBuf> {
        let value = self.values.get(var.name).filter(|v| !v.is_empty())?;
        Some(self.cwd.join(value))
    }

    #[cfg(test)]
    pub(crate) fn of(values: &[(&str, &str)]) -> Self {
        Self {
            values: values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), OsString::from(value)))
                .collect(),
            cwd: PathBuf::from("/project"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    const INTRO: &str = "\
# Configuration

Generated from `crates/blue/src/env.rs`; after a change there run `BLUE_UPDATE=1 cargo test -p blue`.

Blue needs no configuration to look around. To write to a forge it needs a token;
[security.md](security.md) says where tokens are looked for, and to which hosts they may be sent.

An empty variable counts as unset, except for `BLUE_ALLOW`, which must not be empty. A file named by a
`…_FILE` variable may end with a line break. An invalid setting ends the program with exit code 64.
";

    const FILES: &str = "
## Files

| file | what |
|---|---|
| `.blue/config.yaml` in a repository | `forge:` with `type`, `host`, `owner`, `repo`: what Blue detected from the remote, written at the first use and after the remote changes. The remote names host, owner and repository; the file gives the type of that host (`type: none`: no forge), or chooses between several remotes. If git tracks the file and it names another repository than the remote, reads follow the remote and writes are refused until the repository is named. Without a remote it serves reads only. As long as git does not track it, its line is in the clone's exclude file; other keys are kept. `--read-only` writes nothing there |
| `$BLUE_HOME/hosts.yaml` | per host: type, API address, where its token comes from (variable, file or command), CA file, the host of its ssh remotes if that is another (`ssh_host`), and whether tokens from variables may be sent there; `blue forge hosts --help` shows an entry |
";

    fn configuration_page() -> String {
        let mut page = INTRO.to_owned();
        for group in Group::ALL {
            let _ = write!(
                page,
                "\n## Variables: {}\n\n| variable | what it does | default | used by |\n|---|---|---|---|\n",
                group.title()
            );
            for var in ALL.iter().filter(|var| var.group == *group) {
                let shown = |command: &&str| match *command {
                    TOOLS => "the tools, `blue mcp`".to_owned(),
                    command => format!("`blue {command}`"),
                };
                let commands: Vec<_> = var.commands.iter().map(shown).collect();
                let commands = if commands.is_empty() {
                    "every command".to_owned()
                } else {
                    commands.join(", ")
                };
                let _ = writeln!(
                    page,
                    "| `{}` | {} | {} | {commands} |",
                    var.name, var.what, var.default
                );
            }
        }
        page + FILES
    }

    #[test]
    fn the_configuration_page_is_fresh() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        let page = configuration_page();
        if Env::read().lookup("BLUE_UPDATE").is_some() {
            std::fs::write(path, &page).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            page == written,
            "docs/configuration.md is stale: run `BLUE_UPDATE=1 cargo test -p blue`"
        );
    }

    #[test]
    fn a_variable_is_listed_once_and_described() {
        for (at, var) in ALL.iter().enumerate() {
            assert!(
                ALL[..at].iter().all(|other| other.name != var.name),
                "{}",
                var.name
            );
            assert!(
                !var.what.is_empty() && !var.what.ends_with('.'),
                "{}",
                var.name
            );
        }
    }

    #[test]
    fn every_setting_of_the_broker_is_listed() {
        let listed = |name: &str| ALL.iter().any(|var| var.name == name);
        for setting in blue_broker::config::SETTINGS {
            assert!(listed(setting.var), "{}", setting.var);
        }
    }

    #[test]
    fn blue_home_is_in_the_home_of_the_user() {
        let home = |values: &[(&str, &str)]| Env::of(values).blue_home();
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(home(&[]), None);
        assert_eq!(home(&[("HOME", "/h")]), path("/h/.blue"));
        assert_eq!(
            home(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")]),
            path("/h/.blue")
        );
        assert_eq!(home(&[("HOME", "/h"), ("BLUE_HOME", "/b")]), path("/b"));
        assert_eq!(home(&[("BLUE_HOME", "b")]), path("/project/b"));
    }

    #[test]
    fn colour_is_for_terminals_that_want_it() {
        let colour = |values: &[(&str, &str)], terminal| Env::of(values).colour(terminal);
        assert!(colour(&[], true));
        assert!(!colour(&[], false));
        assert!(!colour(&[("TERM", "dumb")], true));
        assert!(!colour(&[("CLICOLOR", "0")], true));
        assert!(colour(&[("CLICOLOR", "1")], true));
        assert!(colour(&[("CLICOLOR", "0"), ("CLICOLOR_FORCE", "1")], true));
        assert!(!colour(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], true));
        assert!(colour(&[("NO_COLOR", "")], true), "empty counts as not set");
        assert!(colour(&[("CLICOLOR_FORCE", "1")], false));
        assert!(!colour(&[("CLICOLOR_FORCE", "0")], false));
    }

    #[test]
    fn lower_case_proxies_win() {
        let env = Env::of(&[("HTTPS_PROXY", "http://up"), ("https_proxy", "http://low")]);
        let proxy = env.http().unwrap().proxy;
        assert_eq!(proxy.https, Some(Secret::new("http://low")));
        assert_eq!(proxy.http, None);
    }

    #[test]
    fn an_empty_list_of_owners_opens_nothing() {
        let allow = |values: &[(&str, &str)]| Env::of(values).allow();
        assert!(!allow(&[]).unwrap().is_limited());
        assert!(allow(&[("BLUE_ALLOW", "alice")]).unwrap().is_limited());
        for list in ["", " ,", "https://git.example.org/alice"] {
            let error = allow(&[("BLUE_ALLOW", list)]).unwrap_err();
            assert_eq!(error.code, ErrorCode::Config, "{list}");
            assert!(error.message.starts_with("BLUE_ALLOW: "), "{error:?}");
        }
    }

    #[test]
    fn git_credentials_are_on_or_off() {
        let asked = |value| Env::of(&[("BLUE_GIT_CREDENTIALS", value)]).git_credentials();
        assert!(asked("").unwrap() && asked("on").unwrap());
        assert!(!asked("off").unwrap() && !asked("0").unwrap());
        assert_eq!(asked("maybe").unwrap_err().code, ErrorCode::Config);
    }

    #[test]
    fn debug_shows_no_value() {
        let env = Env::of(&[("GITHUB_TOKEN", "hunter2")]);
        assert!(!format!("{env:?}").contains("hunter2"));
    }
}
