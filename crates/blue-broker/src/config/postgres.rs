//! How a PostgreSQL is reached: encrypted and verified, unless its URL says otherwise
//!
//! libpq's default, `prefer`, encrypts where the server offers it and verifies nothing, so a
//! machine in the middle could read and change every row. For a database on another machine an
//! absent `sslmode` therefore means `verify-full`; by socket or loopback there is no network in
//! between.

use std::net::IpAddr;

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use url::Url;

use super::Database;

/// Names that a URL may give the mode by
const SSLMODE: &[&str] = &["sslmode", "ssl-mode"];

/// The options of a URL, with the `sslmode` that applies where it names none
///
/// `PGSSLMODE` is ignored for another machine: it is a default meant for other programs.
pub(crate) fn postgres_options(url: &str) -> Result<PgConnectOptions, sqlx::Error> {
    let options: PgConnectOptions = url.parse()?;
    let is_named = Url::parse(url)
        .is_ok_and(|url| url.query_pairs().any(|(name, _)| SSLMODE.contains(&&*name)));
    if is_named || is_local(&options) {
        return Ok(options);
    }
    Ok(options.ssl_mode(PgSslMode::VerifyFull))
}

/// Whether the database is on this machine: a socket, or a loopback address or name
fn is_local(options: &PgConnectOptions) -> bool {
    let host = options.get_host();
    if options.get_socket().is_some() || host.starts_with('/') {
        return true;
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(ip) => ip.to_canonical().is_loopback(),
        Err(_) => bare == "localhost" || bare.ends_with(".localhost"),
    }
}

impl Database {
    /// The `sslmode` of a database on another machine, where it is weaker than `verify-full`
    pub fn weak_sslmode(&self) -> Option<&'static str> {
        let Self::Postgres(url) = self else {
            return None;
        };
        let options = postgres_options(url.expose()).ok()?;
        if is_local(&options) {
            return None;
        }
        match options.get_ssl_mode() {
            PgSslMode::VerifyFull => None,
            PgSslMode::VerifyCa => Some("verify-ca"),
            PgSslMode::Require => Some("require"),
            PgSslMode::Prefer => Some("prefer"),
            PgSslMode::Allow => Some("allow"),
            PgSslMode::Disable => Some("disable"),
        }
    }
}

#[cfg(test)]
mod tests {
    use blue_base::secret::Secret;

    use super::*;

    fn weak(url: &str) -> Option<&'static str> {
        Database::Postgres(Secret::new(url)).weak_sslmode()
    }

    #[test]
    fn a_database_on_another_machine_is_verified_unless_its_url_says_otherwise() {
        for url in [
            "postgres://blue:x@db.example.org/blue",
            "postgresql://192.0.2.7:5433/blue?application_name=x",
            "postgres://[2001:db8::7]/blue",
            "postgres:///blue?host=db.example.org",
            "postgres://localhost/blue?hostaddr=192.0.2.7",
            "postgres://localhost.example.org/blue",
            "postgres://db.example.org/blue?sslmode=verify-full",
        ] {
            let options = postgres_options(url).unwrap();
            let mode = options.get_ssl_mode();
            assert!(matches!(mode, PgSslMode::VerifyFull), "{url} {mode:?}");
            assert_eq!(weak(url), None, "{url}");
        }
    }

    #[test]
    fn a_weaker_mode_in_the_url_is_obeyed_and_told() {
        for mode in ["disable", "allow", "prefer", "require", "verify-ca"] {
            for name in SSLMODE {
                let url = format!("postgres://db.example.org/blue?{name}={mode}");
                assert_eq!(weak(&url), Some(mode), "{url}");
                let found = postgres_options(&url).unwrap();
                assert!(!matches!(found.get_ssl_mode(), PgSslMode::VerifyFull));
            }
        }
    }

    #[test]
    fn a_database_on_this_machine_needs_no_certificate() {
        for url in [
            "postgres://127.0.0.1/blue",
            "postgres://[::1]:5433/blue",
            "postgres://localhost/blue",
            "postgres://%2Frun%2Fpostgresql/blue",
            "postgres:///blue?host=/run/postgresql",
            "postgres://127.0.0.1/blue?sslmode=disable",
        ] {
            let mode = postgres_options(url).unwrap().get_ssl_mode();
            assert!(!matches!(mode, PgSslMode::VerifyFull), "{url}");
            assert_eq!(weak(url), None, "{url}");
        }
    }
}
