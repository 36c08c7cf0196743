//! The one list of settings; flags, variables and the keys of the file are made from it

/// A setting of the broker
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Key in the configuration file
    pub key: &'static str,
    /// Environment variable
    pub var: &'static str,
    pub what: &'static str,
    /// Default as the documentation describes it
    pub default: &'static str,
    /// Default as a value; empty if there is none
    pub(super) value: &'static str,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// A path; a relative one is below the folder that it was written in
    Path,
    /// No flag, because every user of the machine can see the arguments of a process
    Secret,
}

impl Setting {
    /// `--public-url`
    pub fn flag(&self) -> String {
        format!("--{}", self.key.replace('_', "-"))
    }
}

const fn text(
    key: &'static str,
    var: &'static str,
    what: &'static str,
    default: &'static str,
    value: &'static str,
) -> Setting {
    Setting {
        key,
        var,
        what,
        default,
        value,
        kind: Kind::Text,
    }
}

const fn path(
    key: &'static str,
    var: &'static str,
    what: &'static str,
    default: &'static str,
) -> Setting {
    Setting {
        kind: Kind::Path,
        ..text(key, var, what, default, "")
    }
}

const fn secret(
    key: &'static str,
    var: &'static str,
    what: &'static str,
    default: &'static str,
) -> Setting {
    Setting {
        kind: Kind::Secret,
        ..text(key, var, what, default, "")
    }
}

/// Every setting there is, in the order people see them
pub const SETTINGS: &[Setting] = &[
    text(
        "public_url",
        "BLUE_BROKER_PUBLIC_URL",
        "Address that clients and browsers use; https, or http on this machine",
        "required",
        "",
    ),
    text(
        "forge_url",
        "BLUE_BROKER_FORGE_URL",
        "The Forgejo or Gitea that people sign in with",
        "required",
        "",
    ),
    text(
        "forge_name",
        "BLUE_BROKER_FORGE_NAME",
        "What the forge is called on pages",
        "its host",
        "",
    ),
    text(
        "client_id",
        "BLUE_BROKER_CLIENT_ID",
        "Id of the OAuth application at the forge, whose redirect URI is `<public URL>/oauth/callback`",
        "required",
        "",
    ),
    secret(
        "client_secret",
        "BLUE_BROKER_CLIENT_SECRET",
        "Secret of that application",
        "required, this or the file",
    ),
    path(
        "client_secret_file",
        "BLUE_BROKER_CLIENT_SECRET_FILE",
        "File that holds the secret of that application",
        "",
    ),
    text(
        "listen",
        "BLUE_BROKER_LISTEN",
        "Address and port to listen on",
        "`127.0.0.1:8080`",
        "127.0.0.1:8080",
    ),
    path(
        "data",
        "BLUE_BROKER_DATA",
        "Folder of the broker's own files",
        "`$BLUE_HOME/broker`",
    ),
    secret(
        "db",
        "BLUE_BROKER_DB",
        "Database: `sqlite:FILE` or `postgres://…`, which on another machine means `sslmode=verify-full` unless it names a mode",
        "`broker.db` in the folder of the data",
    ),
    path(
        "db_file",
        "BLUE_BROKER_DB_FILE",
        "File that holds the address of the database",
        "",
    ),
    path(
        "key_file",
        "BLUE_BROKER_KEY_FILE",
        "File with the master keys",
        "`keys` in the folder of the data, made at the first start",
    ),
    text(
        "forge_scopes",
        "BLUE_BROKER_FORGE_SCOPES",
        "What is asked of the forge for each person, by the forge's own names",
        "`read:user write:repository`",
        "read:user write:repository",
    ),
    text(
        "access_ttl",
        "BLUE_BROKER_ACCESS_TTL",
        "How long an access token lives, 10s to 1d",
        "`1h`",
        "1h",
    ),
    text(
        "refresh_ttl",
        "BLUE_BROKER_REFRESH_TTL",
        "How long a refresh token lives when it is not used, 1h to 366d",
        "`30d`",
        "30d",
    ),
    text(
        "audit_ttl",
        "BLUE_BROKER_AUDIT_TTL",
        "How long audit events are kept in the database, 1d to 3650d",
        "`90d`",
        "90d",
    ),
    text(
        "registration",
        "BLUE_BROKER_REGISTRATION",
        "`off`: clients may not register themselves",
        "`on`",
        "on",
    ),
    text(
        "private_schemes",
        "BLUE_BROKER_PRIVATE_SCHEMES",
        "Schemes of redirect URIs to allow besides https and loopback http",
        "`cursor`",
        "cursor",
    ),
    text(
        "metadata_hosts",
        "BLUE_BROKER_METADATA_HOSTS",
        "Hosts whose client metadata documents are fetched: `any`, `none` or a list",
        "`any`",
        "any",
    ),
    text(
        "origins",
        "BLUE_BROKER_ORIGINS",
        "Origins of web pages that may call `/mcp`, besides the broker's own",
        "none",
        "none",
    ),
    text(
        "trusted_proxies",
        "BLUE_BROKER_TRUSTED_PROXIES",
        "Proxies whose `X-Forwarded-For` says who asks, for limits and logs: addresses or networks",
        "none",
        "none",
    ),
];

/// A setting by the name of its variable; for constants, where a wrong name must not compile
#[must_use]
pub const fn setting(var: &str) -> &'static Setting {
    let mut at = 0;
    while at < SETTINGS.len() {
        if same(SETTINGS[at].var.as_bytes(), var.as_bytes()) {
            return &SETTINGS[at];
        }
        at += 1;
    }
    panic!("there is no such setting");
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_named_after_its_key() {
        for setting in SETTINGS {
            let var = format!("BLUE_BROKER_{}", setting.key.to_uppercase());
            assert_eq!(setting.var, var);
            assert!(!setting.what.is_empty() && !setting.what.ends_with('.'));
        }
    }

    #[test]
    fn a_secret_can_come_from_a_file() {
        for setting in SETTINGS.iter().filter(|s| s.kind == Kind::Secret) {
            let twin = format!("{}_file", setting.key);
            assert!(SETTINGS.iter().any(|s| s.key == twin), "{twin}");
        }
    }
}
