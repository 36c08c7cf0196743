use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;
use url::Url;

use super::{
    Binding, Confirmed, HostEntry, HostsError, HostsFile, TokenError, TokenRef, TokenSource, Vars,
    hosts_file::Grant,
};
use crate::{ForgeType, detect::DetectedType};
use blue_base::{
    git::Git,
    host::Host,
    http::{AuthScheme, Credential},
    secret::Secret,
    yaml::{self, ReadError},
};

const COMMAND_PATIENCE: Duration = Duration::from_secs(30);

/// For whom a token is wanted
#[derive(Debug, Clone)]
pub(crate) struct Want {
    pub(crate) host: Host,
    pub(crate) kind: DetectedType,
    pub(crate) family: ForgeType,
    /// Where the token will be sent
    pub(crate) api: Url,
    /// Where git's helpers know a password for
    pub(crate) web: Url,
    pub(crate) username: Option<String>,
    pub(crate) confirmed: Confirmed,
    /// What names the host, for a note to the user
    pub(crate) named_by: &'static str,
    /// Nothing says which forge it is: it gets no token, wherever that comes from
    pub(crate) guess: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Resolved {
    pub(crate) credential: Option<Credential>,
    pub(crate) source: Option<TokenSource>,
    /// To be said once
    pub(crate) notice: Option<String>,
}

/// What tokens are looked for in
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) vars: &'a Vars,
    pub(crate) hosts: &'a HostsFile,
    pub(crate) git: Option<&'a Git>,
    pub(crate) dir: &'a Path,
    pub(crate) now: Timestamp,
}

/// Find the token for a host: variables, then `hosts.yaml`, then git's helpers
pub(crate) async fn resolve(places: Places<'_>, want: &Want) -> Result<Resolved, TokenError> {
    let mut refused = None;
    let mut withheld = None;
    for variable in Vars::token_names(want.family) {
        let Some((token, source)) = from_variable(places.vars, variable)? else {
            continue;
        };
        if want.guess {
            return Err(TokenError::Guess {
                variable: variable.to_owned(),
                host: want.host.clone(),
            });
        }
        match permit(places, want, variable).await? {
            Permit::Go(notice) => {
                return Ok(Resolved {
                    notice,
                    ..want.resolved(token, source)?
                });
            }
            Permit::Withheld(notice) => {
                withheld.get_or_insert(notice);
            }
            Permit::Refused(error) => {
                refused.get_or_insert(error);
            }
        }
    }
    let hosts = places.hosts.load()?;
    let entry = hosts.get(&want.host);
    if let Some(entry) = entry
        && let Some(token) = &entry.token
    {
        if want.guess {
            return Ok(Resolved::without(format!(
                "{} did not say which forge it is, so it gets no token; if it is one, give it a \
                 `type:` in `{}`",
                want.host,
                places.hosts.path().display()
            )));
        }
        let (token, source) = from_entry(places, entry, token).await?;
        return want.resolved(token, source);
    }
    // Some helpers give what they have to any host that is asked for.
    let may_ask_git = want.confirmed >= Confirmed::Host && !want.guess;
    if !may_ask_git && !want.guess && refused.is_none() && places.git.is_some() {
        return Ok(Resolved::without(format!(
            "git's helpers are not asked for a token for {0}, which only {1} names; if it may have \
             one: `blue forge trust {0}`",
            want.host, want.named_by
        )));
    }
    if let Some(git) = places.git.filter(|_| may_ask_git) {
        // A helper that cannot be run is no reason to fail: most repositories can be read without.
        let found = git
            .credential(places.dir, &want.web, want.username.as_deref())
            .await;
        if let Ok(Some(found)) = found {
            return want.resolved(found.password, TokenSource::GitCredential);
        }
    }
    if withheld.is_some() {
        return Ok(Resolved {
            notice: withheld,
            ..Resolved::default()
        });
    }
    refused.map_or_else(|| Ok(Resolved::default()), Err)
}

impl Resolved {
    /// No token, and why
    fn without(notice: String) -> Self {
        Self {
            notice: Some(notice),
            ..Self::default()
        }
    }
}

impl Want {
    fn resolved(&self, token: Secret, source: TokenSource) -> Result<Resolved, TokenError> {
        // No header could carry it.
        if !token.expose().bytes().all(|b| (b' '..=b'~').contains(&b)) {
            return Err(TokenError::Unfit { source_of: source });
        }
        let host = Host::of_url(&self.api).unwrap_or_else(|| self.host.clone());
        let scheme = match self.family {
            ForgeType::GitHub => AuthScheme::Bearer,
            ForgeType::Forgejo => AuthScheme::Token,
        };
        Ok(Resolved {
            credential: Some(Credential {
                host,
                scheme,
                token,
            }),
            source: Some(source),
            notice: None,
        })
    }
}

enum Permit {
    Go(Option<String>),
    /// Not sent, for this reason; what can be read without a token is
    Withheld(String),
    Refused(TokenError),
}

async fn permit(places: Places<'_>, want: &Want, variable: &str) -> Result<Permit, TokenError> {
    let refused = |bound, by| {
        Permit::Refused(TokenError::Refused {
            variable: variable.to_owned(),
            host: want.host.clone(),
            bound,
            by,
        })
    };
    if let Some(server) = places.vars.server_of(variable)? {
        if server.host == want.host {
            return Ok(Permit::Go(None));
        }
        let by = Binding::Variable(server.variable.to_owned());
        return Ok(refused(vec![server.host], by));
    }
    let (hosts, asked, now) = (places.hosts.clone(), want.clone(), places.now);
    // The lock on the file may have to wait.
    let grant = tokio::task::spawn_blocking(move || {
        let may_be_first = asked.confirmed == Confirmed::HostAndType;
        hosts.grant(&asked.host, asked.kind, asked.family, may_be_first, now)
    })
    .await
    .expect("the closure does not panic");
    let natural = want.family == ForgeType::GitHub && want.host.as_str() == "github.com";
    match grant {
        Ok(Grant::Trusted) => Ok(Permit::Go(None)),
        // The token of GitHub belongs to github.com, also where that cannot be recorded.
        Ok(Grant::First) | Err(HostsError::Write { .. }) if natural => Ok(Permit::Go(None)),
        Ok(Grant::First) => Ok(Permit::Go(Some(format!(
            "the token in `{variable}` now belongs to {}, its first host, and goes to no other (`{}`)",
            want.host,
            places.hosts.path().display()
        )))),
        Ok(Grant::Refused(bound)) => Ok(refused(bound, Binding::Trust)),
        // A folder that cannot be written to does not fail a read, but the token is not sent: the
        // next host would count as its first one again.
        Err(HostsError::Write { path, source }) => Ok(Permit::Withheld(format!(
            "the token in `{variable}` is not sent to {}: which host it belongs to cannot be recorded \
             in `{}` ({source}); name the host in `FORGEJO_URL`, `GITEA_URL` or `GITHUB_SERVER_URL`",
            want.host,
            path.display()
        ))),
        Err(e) => Err(e.into()),
    }
}

fn from_variable(vars: &Vars, variable: &str) -> Result<Option<(Secret, TokenSource)>, TokenError> {
    if let Some(value) = vars.get(variable) {
        let source = TokenSource::Variable(variable.to_owned());
        return Ok(Some((Secret::new(value), source)));
    }
    let variable = format!("{variable}_FILE");
    let Some(path) = vars.get(&variable).map(PathBuf::from) else {
        return Ok(None);
    };
    let token = read_token(&path, || format!("`{variable}`"))?;
    Ok(Some((token, TokenSource::VariableFile { variable, path })))
}

async fn from_entry(
    places: Places<'_>,
    entry: &HostEntry,
    token: &TokenRef,
) -> Result<(Secret, TokenSource), TokenError> {
    let host = &entry.host;
    match token {
        TokenRef::Variable(variable) => {
            let value = places.vars.get(variable).ok_or_else(|| TokenError::Unset {
                host: host.clone(),
                variable: variable.clone(),
            })?;
            let source = TokenSource::HostsVariable(variable.clone());
            Ok((Secret::new(value), source))
        }
        TokenRef::File(path) => {
            let token = read_token(path, || host.to_string())?;
            Ok((token, TokenSource::HostsFile(path.clone())))
        }
        TokenRef::Command(words) => {
            let token = run(host, words).await?;
            Ok((token, TokenSource::HostsCommand))
        }
    }
}

fn read_token(path: &Path, of: impl Fn() -> String) -> Result<Secret, TokenError> {
    let unreadable = |source| TokenError::File {
        of: of(),
        path: path.to_owned(),
        source,
    };
    let text = match yaml::read_small(path) {
        Ok(Some(text)) => text,
        Ok(None) => return Err(unreadable(std::io::Error::other("there is no such file"))),
        Err(ReadError::Io(source)) => return Err(unreadable(source)),
        Err(e) => return Err(unreadable(std::io::Error::other(e.to_string()))),
    };
    let token = Secret::new(text);
    if token.is_empty() {
        return Err(TokenError::EmptyFile {
            of: of(),
            path: path.to_owned(),
        });
    }
    Ok(token)
}

async fn run(host: &Host, words: &[String]) -> Result<Secret, TokenError> {
    let failed = |message: String| TokenError::Command {
        host: host.clone(),
        message,
    };
    let (program, args) = words.split_first().ok_or_else(|| failed(String::new()))?;
    let out = blue_base::git::run_program(program, args, COMMAND_PATIENCE)
        .await
        .map_err(|e| failed(e.to_string()))?;
    // Only its first line: some password programs print notes below.
    let token = Secret::new(out.lines().next().unwrap_or_default());
    if token.is_empty() {
        return Err(failed("it printed nothing".to_owned()));
    }
    Ok(token)
}
