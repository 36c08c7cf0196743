//! Making the `reqwest` clients: trust and proxies

use std::{net::SocketAddr, path::Path};

use reqwest::{Certificate, Client, ClientBuilder, NoProxy, Proxy};

use super::{HttpConfig, HttpError, ProxyConfig};
use crate::secret::Secret;

/// What no proxy is asked for: a token may go to the own machine unencrypted, so it must stay there
const OWN_MACHINE: &str = "localhost,.localhost,127.0.0.0/8,::1";

/// Whether a client can be made with these settings
pub(super) fn check(config: &HttpConfig) -> Result<(), HttpError> {
    match &config.ca_file {
        Some(_) => encrypted(config).map(|_| ()),
        // Without one there are only the proxies to be wrong, and trust is costly to load.
        None => proxies(&config.proxy).map(|_| ()),
    }
}

/// A client with the system's trust and the CA file's
pub(super) fn encrypted(config: &HttpConfig) -> Result<Client, HttpError> {
    encrypted_by(config, |builder| builder)
}

fn encrypted_by(
    config: &HttpConfig,
    adjust: impl FnOnce(ClientBuilder) -> ClientBuilder,
) -> Result<Client, HttpError> {
    // Fails if a provider is installed already; that is fine, because all of Blue installs this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let extra = match &config.ca_file {
        Some(path) => certificates(path)?,
        None => Vec::new(),
    };
    finish(adjust(base(config)?).tls_certs_merge(extra)).map_err(|error| match &config.ca_file {
        // A certificate that is PEM but no certificate is only found out here.
        Some(path) => HttpError::Setup {
            message: format!("with the CA file `{}`: {error}", path.display()),
        },
        None => HttpError::Setup { message: error },
    })
}

/// A client that finds `host` at these addresses and asks no name server
pub(super) fn pinned(
    config: &HttpConfig,
    host: &str,
    addresses: &[SocketAddr],
) -> Result<Client, HttpError> {
    encrypted_by(config, |builder| builder.resolve_to_addrs(host, addresses))
}

/// A client for `http://` alone, which needs no certificates: loading them costs milliseconds, and
/// fails on a machine that has none
pub(super) fn plain(config: &HttpConfig) -> Result<Client, HttpError> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    finish(base(config)?.tls_certs_only([])).map_err(|message| HttpError::Setup { message })
}

fn base(config: &HttpConfig) -> Result<ClientBuilder, HttpError> {
    // `no_proxy` first: otherwise the process environment is read.
    let mut builder = Client::builder()
        .user_agent(config.user_agent.clone())
        .connect_timeout(config.connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy();
    for proxy in proxies(&config.proxy)? {
        builder = builder.proxy(proxy);
    }
    Ok(builder)
}

fn finish(builder: ClientBuilder) -> Result<Client, String> {
    builder.build().map_err(|e| chain(&e))
}

fn proxies(config: &ProxyConfig) -> Result<Vec<Proxy>, HttpError> {
    let direct = match config.no_proxy.as_deref().map(str::trim) {
        Some(list) if !list.is_empty() => format!("{OWN_MACHINE},{list}"),
        _ => OWN_MACHINE.to_owned(),
    };
    let mut all = Vec::new();
    for (scheme, url) in [("http", &config.http), ("https", &config.https)] {
        let Some(url) = url.as_ref().filter(|u| !u.is_empty()) else {
            continue;
        };
        let url = proxy_url(scheme, url)?;
        let proxy = if scheme == "http" {
            Proxy::http(url)
        } else {
            Proxy::https(url)
        };
        let proxy = proxy.map_err(|_| bad_proxy(scheme))?;
        all.push(proxy.no_proxy(NoProxy::from_string(&direct)));
    }
    Ok(all)
}

/// Read `http://user:password@host:port` or, as curl does, just `host:port`
fn proxy_url(scheme: &str, text: &Secret) -> Result<url::Url, HttpError> {
    let text = text.expose();
    let full = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    url::Url::parse(&full)
        .ok()
        .filter(|u| matches!(u.scheme(), "http" | "https") && u.has_host())
        .ok_or_else(|| bad_proxy(scheme))
}

/// Does not show the value: a proxy's URL may hold a password
fn bad_proxy(scheme: &str) -> HttpError {
    HttpError::Setup {
        message: format!("the proxy for {scheme} is not an http:// or https:// URL"),
    }
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, HttpError> {
    let bad = |why: String| HttpError::Setup {
        message: format!("the CA file `{}` {why}", path.display()),
    };
    let pem = std::fs::read(path).map_err(|e| bad(format!("could not be read: {e}")))?;
    let found = Certificate::from_pem_bundle(&pem)
        .map_err(|e| bad(format!("is not a list of PEM certificates: {}", chain(&e))))?;
    if found.is_empty() {
        return Err(bad("holds no PEM certificate".to_owned()));
    }
    Ok(found)
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup_error(config: &HttpConfig) -> String {
        encrypted(config).unwrap_err().to_string()
    }

    #[test]
    fn a_bad_ca_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let with = |name: &str, text: Option<&str>| {
            let path = dir.path().join(name);
            if let Some(text) = text {
                std::fs::write(&path, text).unwrap();
            }
            setup_error(&HttpConfig {
                ca_file: Some(path),
                ..HttpConfig::default()
            })
        };
        assert!(with("gone.pem", None).contains("gone.pem` could not be read"));
        assert!(with("empty.pem", Some("")).contains("empty.pem` holds no PEM certificate"));
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(with("bad.pem", Some(broken)).contains("bad.pem"));
    }

    #[test]
    fn a_bad_proxy_is_refused_without_showing_it() {
        for bad in [
            "http://user:hunter2@",
            "socks5://u:hunter2@h",
            "::hunter2::",
        ] {
            let text = setup_error(&HttpConfig {
                proxy: ProxyConfig {
                    https: Some(Secret::new(bad)),
                    ..ProxyConfig::default()
                },
                ..HttpConfig::default()
            });
            assert!(text.contains("the proxy for https"), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
}
