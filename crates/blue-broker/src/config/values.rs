//! Values that are valid by construction

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use blue_base::secret::Secret;
use sqlx::postgres::PgConnectOptions;
use url::{Host, Url};

use super::{MetadataHosts, Network};

const NEEDS_TLS: &str = "must begin with https:// unless it is this machine";

/// Where the broker is reached: the issuer, in one spelling
#[derive(Clone, PartialEq, Eq)]
pub struct PublicUrl {
    origin: String,
    url: Url,
}

impl fmt::Debug for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)
    }
}

impl PublicUrl {
    /// Read `https://broker.example.org`; port 0 stands for the port that is listened on
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = web_url(text)?;
        let mut faults = Vec::new();
        if url.scheme() != "https" && !is_loopback(&url) {
            faults.push(NEEDS_TLS);
        }
        if url.path() != "/" {
            faults.push("must have no path");
        }
        if faults.is_empty() {
            return Ok(Self::of(url));
        }
        Err(faults.join("; "))
    }

    fn of(url: Url) -> Self {
        let origin = url.as_str().trim_end_matches('/').to_owned();
        Self { origin, url }
    }

    /// Replaces port 0 by the port that was bound
    pub(crate) fn with_port(self, port: u16) -> Self {
        if self.url.port() != Some(0) {
            return self;
        }
        let mut url = self.url;
        url.set_port(Some(port))
            .expect("a URL with a host can have a port");
        Self::of(url)
    }

    /// The issuer, and the origin of every page; no slash at its end
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The public URL of a path of the broker
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// The resource that access tokens are valid for (RFC 8707)
    pub fn resource(&self) -> String {
        self.at("/mcp")
    }

    /// Host and port, as a `Host` header has them
    pub fn authority(&self) -> &str {
        self.origin
            .split_once("://")
            .map_or("", |(_, authority)| authority)
    }

    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.url)
    }

    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether a URL leads to the broker itself, by whatever name of this machine
    pub(crate) fn leads_here(&self, url: &Url) -> bool {
        let same_port = url.port_or_known_default() == self.url.port_or_known_default();
        url.origin() == self.url.origin() || (same_port && self.is_loopback() && is_loopback(url))
    }
}

/// Where the forge is; it may lie below a path
#[derive(Clone, PartialEq, Eq)]
pub struct ForgeUrl(Url);

impl fmt::Debug for ForgeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

impl ForgeUrl {
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut url = web_url(text)?;
        if url.scheme() != "https" && !is_loopback(&url) {
            return Err(NEEDS_TLS.to_owned());
        }
        let path = format!("{}/", url.path().trim_end_matches('/'));
        url.set_path(&path);
        Ok(Self(url))
    }

    /// A URL that ends with a slash
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// The address of a path at the forge, given without a leading slash
    pub fn at(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}{path}", self.0.path()));
        url
    }

    /// Host and port, for people
    pub fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        match self.0.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }
}

fn web_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|_| "not an absolute URL".to_owned())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("not an http:// or https:// URL".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must hold no user and no password".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must have no `?` and no `#`".to_owned());
    }
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// Where rows are kept
#[derive(Clone, PartialEq, Eq)]
pub enum Database {
    Sqlite(PathBuf),
    /// The address, which may hold a password
    Postgres(Secret),
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(_) => f.write_str("postgres"),
        }
    }
}

/// What may stand behind the `?` of an address
const POSTGRES_OPTIONS: &[&str] = &[
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

impl Database {
    pub(super) fn parse(text: &str, base: &Path) -> Result<Self, String> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            let url = Url::parse(text).map_err(|_| "not a postgres:// URL".to_owned())?;
            // The driver ignores options that it does not know; with a misspelled `sslmode` nothing
            // would be encrypted.
            let known =
                |name: &str| POSTGRES_OPTIONS.contains(&name) || name.starts_with("options[");
            let mut options = url.query_pairs();
            if let Some((name, _)) = options.find(|(name, _)| !known(name)) {
                return Err(format!("`{name}` is not an option of postgres://"));
            }
            return match text.parse::<PgConnectOptions>() {
                Ok(_) => Ok(Self::Postgres(Secret::new(text))),
                // The driver's message repeats a mode, but no password.
                Err(error) => Err(error.to_string().replace("error with configuration: ", "")),
            };
        }
        match text.strip_prefix("sqlite:") {
            Some(path) if !path.trim_start_matches("//").is_empty() => {
                let path = path.strip_prefix("//").unwrap_or(path);
                Ok(Self::Sqlite(base.join(path)))
            }
            _ => Err("must begin with sqlite: or postgres://".to_owned()),
        }
    }
}

/// Scopes of the forge, from a fixed list: a forge takes an unknown name for full access
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeScopes(Vec<String>);

const AREAS: &[&str] = &[
    "notification",
    "package",
    "organization",
    "issue",
    "repository",
    "user",
    "misc",
    "admin",
    "activitypub",
];

impl ForgeScopes {
    pub fn parse(text: &str) -> Result<Self, String> {
        let words = words(text);
        if words.is_empty() {
            return Err("without a scope the forge gives full access".to_owned());
        }
        let unknown = words.iter().filter(|word| !is_scope(word));
        let mut faults: Vec<String> = unknown
            .map(|word| {
                format!("`{word}` is not a scope, and the forge would give full access for it")
            })
            .collect();
        if !words.iter().any(|w| w == "read:user" || w == "write:user") {
            faults.push("`read:user` must be there, to know who signed in".to_owned());
        }
        if faults.is_empty() {
            return Ok(Self(words));
        }
        Err(faults.join("; "))
    }

    /// The names, separated by spaces
    pub fn joined(&self) -> String {
        self.0.join(" ")
    }

    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Areas that the scopes do not reach
    pub fn outside(&self) -> impl Iterator<Item = &'static str> {
        let inside = |area: &str| self.0.iter().any(|scope| scope.ends_with(area));
        AREAS.iter().copied().filter(move |area| !inside(area))
    }
}

fn is_scope(word: &str) -> bool {
    let area = word
        .strip_prefix("read:")
        .or_else(|| word.strip_prefix("write:"));
    word == "public-only" || area.is_some_and(|area| AREAS.contains(&area))
}

/// Words separated by spaces or commas, each once
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split([' ', ',', '\n', '\t']).filter(|w| !w.is_empty()) {
        if !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    words
}

pub(super) fn word(text: &str) -> Result<String, String> {
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err("must be a line of text".to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn listen(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let mut ports = ["localhost:", ":", ""].iter();
    let port = ports.find_map(|before| text.strip_prefix(before));
    match port.unwrap_or(text).parse::<u16>() {
        Ok(port) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        Err(_) => Err("an address is like `127.0.0.1:8080`, `[::1]:8080` or `8080`".to_owned()),
    }
}

/// `90s`, `15m`, `1h`, `30d`
pub(super) fn duration(text: &str, min: Duration, max: Duration) -> Result<Duration, String> {
    let bad = || "a time is like `90s`, `15m`, `1h` or `30d`".to_owned();
    let unit = text.chars().next_back().ok_or_else(bad)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86400,
        _ => return Err(bad()),
    };
    let digits = &text[..text.len() - 1];
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    let number: u64 = digits.parse().map_err(|_| bad())?;
    let time = Duration::from_secs(number.saturating_mul(seconds));
    if time < min || time > max {
        return Err(format!("must be from {} to {}", shown(min), shown(max)));
    }
    Ok(time)
}

/// Formats a duration as [`duration`] reads it
fn shown(time: Duration) -> String {
    let seconds = time.as_secs();
    let units = [(86400, 'd'), (3600, 'h'), (60, 'm')];
    let unit = units.iter().find(|(unit, _)| seconds.is_multiple_of(*unit));
    let (unit, name) = unit.unwrap_or(&(1, 's'));
    format!("{}{name}", seconds / unit)
}

pub(super) fn on_off(text: &str) -> Result<bool, String> {
    match text.to_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        _ => Err("must be `on` or `off`".to_owned()),
    }
}

/// Schemes that a browser or a system gives no meaning of its own
pub(super) fn schemes(text: &str) -> Result<Vec<String>, String> {
    const TAKEN: &[&str] = &[
        "http",
        "https",
        "javascript",
        "data",
        "file",
        "blob",
        "about",
        "vbscript",
        "ws",
        "wss",
        "ftp",
        "mailto",
        "tel",
        "chrome",
        "view-source",
        "filesystem",
        "intent",
    ];
    let found = list(text);
    for scheme in &found {
        let plain = scheme.starts_with(|c: char| c.is_ascii_lowercase())
            && scheme
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "+.-".contains(c));
        if !plain || TAKEN.contains(&scheme.as_str()) {
            return Err(format!("`{scheme}` cannot be a private scheme"));
        }
    }
    Ok(found)
}

pub(super) fn metadata_hosts(text: &str) -> Result<MetadataHosts, String> {
    match text {
        "any" => Ok(MetadataHosts::Any),
        "none" => Ok(MetadataHosts::None),
        _ => {
            let hosts = list(text);
            let plain = |host: &String| matches!(Host::parse(host), Ok(Host::Domain(_)));
            match hosts.iter().find(|host| !plain(host)) {
                Some(host) => Err(format!("`{host}` is not the name of a host")),
                None => Ok(MetadataHosts::Only(hosts)),
            }
        }
    }
}

pub(super) fn origins(text: &str) -> Result<Vec<String>, String> {
    let found = list(text);
    for origin in &found {
        let same = Url::parse(origin)
            .is_ok_and(|url| url.has_host() && url.origin().ascii_serialization() == *origin);
        if !same {
            return Err(format!(
                "`{origin}` is not an origin like `https://example.org`"
            ));
        }
    }
    Ok(found)
}

/// Addresses and networks
pub(super) fn networks(text: &str) -> Result<Vec<Network>, String> {
    let found = list(text);
    found.iter().map(|one| Network::parse(one)).collect()
}

/// A list, or `none`
fn list(text: &str) -> Vec<String> {
    if text == "none" {
        return Vec::new();
    }
    words(text)
}
