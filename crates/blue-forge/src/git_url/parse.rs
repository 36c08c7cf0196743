use percent_encoding::percent_decode_str;

use super::{GitUrl, GitUrlError, HostedUrl, Scheme};
use crate::model::RepoId;
use blue_base::{host::Host, text::clean_line};

/// Longest URL that is looked at
const MAX_LEN: usize = 4096;

impl GitUrl {
    /// Read what `git remote get-url` prints, by the rules git itself has
    pub fn parse(text: &str) -> Result<Self, GitUrlError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(GitUrlError::Empty);
        }
        if text.starts_with('-') {
            return Err(GitUrlError::OptionLike { part: "git URL" });
        }
        if text.len() > MAX_LEN {
            return Err(GitUrlError::Characters);
        }
        if let Some((scheme, rest)) = split_scheme(text) {
            return match Scheme::parse(scheme)? {
                None => Ok(Self::Local),
                Some(_) if rest.contains('\\') => Err(GitUrlError::Backslash),
                Some(scheme) => with_scheme(scheme, rest).map(Self::Hosted),
            };
        }
        if let Some(helper) = transport_helper(text) {
            let helper = helper.to_owned();
            return Err(GitUrlError::TransportHelper { helper });
        }
        if is_drive(text) {
            return Ok(Self::Local);
        }
        match split_scp(text) {
            None => Ok(Self::Local),
            Some((authority, _)) if authority.contains('\\') => Err(GitUrlError::Backslash),
            Some((authority, path)) => short_form(authority, path).map(Self::Hosted),
        }
    }
}

impl Scheme {
    /// `None` is this machine
    fn parse(text: &str) -> Result<Option<Self>, GitUrlError> {
        Ok(Some(match text.to_ascii_lowercase().as_str() {
            "https" => Self::Https,
            "http" => Self::Http,
            "ssh" | "git+ssh" | "ssh+git" => Self::Ssh,
            "git" => Self::Git,
            "file" => return Ok(None),
            scheme => {
                return Err(GitUrlError::UnknownScheme {
                    scheme: scheme.to_owned(),
                });
            }
        }))
    }
}

fn split_scheme(text: &str) -> Option<(&str, &str)> {
    text.split_once("://")
        .filter(|(scheme, _)| is_scheme(scheme))
}

/// `ext` of `ext::sh -c …`
fn transport_helper(text: &str) -> Option<&str> {
    text.split_once("::")
        .map(|(helper, _)| helper)
        .filter(|helper| is_scheme(helper))
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'))
}

/// `C:\x`, `C:/x` or `\\server\share`
fn is_drive(text: &str) -> bool {
    match text.as_bytes() {
        [b'\\', ..] => true,
        [letter, b':', b'/' | b'\\', ..] => letter.is_ascii_alphabetic(),
        _ => false,
    }
}

/// `user@host:path`, where a colon before the first slash makes the difference to a path
fn split_scp(text: &str) -> Option<(&str, &str)> {
    let bracket = text
        .find('[')
        .filter(|at| *at == 0 || text.as_bytes()[at - 1] == b'@')
        .and_then(|_| text.find(']'));
    let from = bracket.unwrap_or(0);
    let colon = from + text[from..].find(':')?;
    if text[..colon].contains('/') {
        return None;
    }
    Some((&text[..colon], &text[colon + 1..]))
}

fn with_scheme(scheme: Scheme, rest: &str) -> Result<HostedUrl, GitUrlError> {
    if matches!(scheme, Scheme::Https | Scheme::Http) && rest.contains(['?', '#']) {
        return Err(GitUrlError::Query);
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, place) = split_user(authority);
    let user = user.map(decode).transpose()?;
    // Decoded after the split, so that an encoded `@` or `/` cannot name another host.
    let place = decode(place)?;
    let segments = path.split('/').map(decode).collect::<Result<_, _>>()?;
    hosted(scheme, user, &place, segments)
}

/// `git@host:owner/repo`, where git decodes nothing
fn short_form(authority: &str, path: &str) -> Result<HostedUrl, GitUrlError> {
    // A slash was forgotten: no host has these names.
    if matches!(authority, "https" | "http" | "file") {
        return Err(GitUrlError::BadHost);
    }
    // `[git@host:2222]:path` is git's own way to write a port in this form.
    let inner = authority
        .strip_prefix('[')
        .and_then(|a| a.strip_suffix(']'))
        .filter(|a| a.contains('@') || a.matches(':').count() == 1);
    let (user, place) = split_user(inner.unwrap_or(authority));
    let segments = path.split('/').map(str::to_owned).collect();
    hosted(Scheme::Ssh, user.map(str::to_owned), place, segments)
}

/// User without password, and the rest
fn split_user(authority: &str) -> (Option<&str>, &str) {
    match authority.rsplit_once('@') {
        Some((user, place)) => (user.split(':').next().filter(|u| !u.is_empty()), place),
        None => (None, authority),
    }
}

fn decode(text: &str) -> Result<String, GitUrlError> {
    percent_decode_str(text)
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| GitUrlError::Characters)
}

fn hosted(
    scheme: Scheme,
    user: Option<String>,
    place: &str,
    mut segments: Vec<String>,
) -> Result<HostedUrl, GitUrlError> {
    if user.as_ref().is_some_and(|u| u.starts_with('-')) {
        return Err(GitUrlError::OptionLike {
            part: "user of the git URL",
        });
    }
    let odd = |text: &str| text.chars().any(is_odd);
    if user.as_deref().is_some_and(odd) || odd(place) {
        return Err(GitUrlError::Characters);
    }
    let (name, port) = split_port(place)?;
    let name = host_name(name)?;
    segments.retain(|s| !s.is_empty());
    let (sub_path, repo) = repository(&name, &segments)?;
    let port = port.filter(|p| scheme.default_port() != *p);
    let (name, port) = match (scheme, name.as_str()) {
        // These stand beside the real host for people whose network allows only port 443.
        (Scheme::Ssh, "ssh.github.com") | (_, "www.github.com") => ("github.com", None),
        (Scheme::Ssh, "altssh.gitlab.com") => ("gitlab.com", None),
        (Scheme::Ssh, "altssh.bitbucket.org") => ("bitbucket.org", None),
        (_, name) => (name, port),
    };
    Ok(HostedUrl {
        scheme,
        user,
        name: Host::parse(name).map_err(|_| GitUrlError::BadHost)?,
        port,
        sub_path,
        repo,
    })
}

impl Scheme {
    fn default_port(self) -> u16 {
        match self {
            Self::Https => 443,
            Self::Http => 80,
            Self::Ssh => 22,
            Self::Git => 9418,
        }
    }
}

fn split_port(place: &str) -> Result<(&str, Option<u16>), GitUrlError> {
    let after = place.rfind(']').unwrap_or(0);
    let Some(colon) = place[after..].find(':').map(|i| after + i) else {
        return Ok((place, None));
    };
    let (name, port) = (&place[..colon], &place[colon + 1..]);
    if port.is_empty() {
        return Ok((name, None));
    }
    if !port.bytes().all(|b| b.is_ascii_digit()) {
        return Err(GitUrlError::BadPort);
    }
    match port.parse::<u16>() {
        Ok(port) if port > 0 => Ok((name, Some(port))),
        _ => Err(GitUrlError::BadPort),
    }
}

fn host_name(text: &str) -> Result<Host, GitUrlError> {
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.starts_with('-') {
        return Err(GitUrlError::OptionLike {
            part: "host of the git URL",
        });
    }
    // The host parser would decode once more, which git does not.
    if text.contains('%') {
        return Err(GitUrlError::BadHost);
    }
    let name = Host::parse(text).map_err(|_| GitUrlError::BadHost)?;
    // It maps look-alikes, also of a dot: no label of a name is empty.
    if name.as_str().split('.').any(str::is_empty) {
        return Err(GitUrlError::BadHost);
    }
    if name.as_str().starts_with('-') {
        return Err(GitUrlError::OptionLike {
            part: "host of the git URL",
        });
    }
    if name.port().is_some() {
        return Err(GitUrlError::BadHost);
    }
    Ok(name)
}

fn repository(host: &Host, segments: &[String]) -> Result<(Option<String>, RepoId), GitUrlError> {
    let path = || shown(&segments.join("/"));
    let (sub, owner, repo) = match segments {
        [owner, repo] => (None, owner, repo),
        [sub, owner, repo] if !at_root(host) => (Some(sub), owner, repo),
        [] | [_] => return Err(GitUrlError::NotRepository { path: path() }),
        _ => return Err(GitUrlError::NestedGroups { path: path() }),
    };
    let repo = repo.strip_suffix(".git").unwrap_or(repo);
    // No forge allows a name with this ending, and a second reading of the URL would strip it from the name.
    if repo.strip_suffix(".git").is_some() {
        return Err(GitUrlError::NotRepository { path: path() });
    }
    let parts = [sub.map_or("x", String::as_str), owner, repo];
    if parts.iter().any(|part| part.starts_with('-')) {
        return Err(GitUrlError::OptionLike {
            part: "path of the git URL",
        });
    }
    // An `@` here is a password that was cut at the wrong place.
    if parts
        .iter()
        .any(|p| p.contains('@') || p.chars().any(is_odd))
    {
        return Err(GitUrlError::NotRepository { path: path() });
    }
    let bad = |_| GitUrlError::NotRepository { path: path() };
    if let Some(sub) = sub {
        RepoId::parse(sub, repo).map_err(bad)?;
    }
    let id = RepoId::parse(owner, repo).map_err(bad)?;
    Ok((sub.cloned(), id))
}

/// Hosts whose repositories are never below a folder
fn at_root(host: &Host) -> bool {
    let name = host.as_str();
    matches!(
        name,
        "github.com" | "www.github.com" | "ssh.github.com" | "codeberg.org"
    ) || name.ends_with(".ghe.com")
}

/// A path for an error message: without what may be a password
fn shown(path: &str) -> String {
    let path = path.rsplit_once('@').map_or(path, |(_, rest)| rest);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    clean_line(path).chars().take(200).collect()
}

fn is_odd(c: char) -> bool {
    c.is_control() || c.is_whitespace() || (!c.is_ascii() && clean_line(&c.to_string()).is_empty())
}
