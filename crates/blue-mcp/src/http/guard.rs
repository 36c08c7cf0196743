//! Who may come in over HTTP

use axum::{body::Body, response::Response};
use blue_base::secret::{Secret, constant_time_eq};
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header, request::Parts, uri::Authority};

/// What is asked of a request before it is read
#[derive(Debug, Clone)]
pub struct Guard {
    names: Names,
    bearer: Option<Secret>,
}

/// Which names the server may be called by
#[derive(Debug, Clone, Copy)]
enum Names {
    /// This machine's own: a page from elsewhere that made its name point here is not let in
    Loopback,
    /// Any: a bearer token is required, so the name adds nothing
    Any,
    /// Not checked: the server in front, such as the broker, has checked the request
    Seen,
}

/// Why a request is not let in
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Hosts,
    Host,
    Origin,
    NoToken,
    WrongToken,
}

impl Guard {
    /// For this machine alone
    pub fn loopback(bearer: Option<Secret>) -> Self {
        let names = Names::Loopback;
        Self { names, bearer }
    }

    /// For everybody who has the token
    pub fn public(bearer: Secret) -> Self {
        Self {
            names: Names::Any,
            bearer: Some(bearer),
        }
    }

    /// For requests that the server in front, such as the broker, has authenticated
    pub fn seen() -> Self {
        Self {
            names: Names::Seen,
            bearer: None,
        }
    }

    pub(super) fn check(&self, parts: &Parts) -> Result<(), Refusal> {
        if let Names::Seen = self.names {
            return Ok(());
        }
        let all = |name| parts.headers.get_all(name).iter().count();
        if all(header::HOST) > 1 {
            return Err(Refusal::Hosts);
        }
        let host = host(parts);
        if let Names::Loopback = self.names
            && !host.as_deref().is_some_and(is_loopback)
        {
            return Err(Refusal::Host);
        }
        if let Some(origin) = parts.headers.get(header::ORIGIN) {
            let origin = origin.to_str().ok().and_then(origin_host);
            let known = all(header::ORIGIN) == 1
                && match (self.names, origin) {
                    (_, None) => false,
                    (Names::Loopback, Some(origin)) => is_loopback(&origin),
                    (Names::Any | Names::Seen, origin) => origin == host,
                };
            if !known {
                return Err(Refusal::Origin);
            }
        }
        match (&self.bearer, token(&parts.headers)) {
            (None, _) => Ok(()),
            (Some(_), None) => Err(Refusal::NoToken),
            (Some(secret), Some(sent))
                if constant_time_eq(secret.expose(), sent) && all(header::AUTHORIZATION) == 1 =>
            {
                Ok(())
            }
            (Some(_), Some(_)) => Err(Refusal::WrongToken),
        }
    }
}

/// The name that the client called, without its port; none if it called two
fn host(parts: &Parts) -> Option<String> {
    let header = match parts.headers.get(header::HOST) {
        Some(host) => Some(name(&host.to_str().ok()?.parse().ok()?)?),
        None => None,
    };
    // A request may name it in its first line, too, and that is the one that counts.
    let line = match parts.uri.authority() {
        Some(authority) => Some(name(authority)?),
        None => None,
    };
    match (line, header) {
        (Some(line), Some(header)) if line != header => None,
        (line, header) => line.or(header),
    }
}

fn name(authority: &Authority) -> Option<String> {
    let user = authority.as_str().contains('@');
    (!user).then(|| authority.host().to_lowercase())
}

fn origin_host(origin: &str) -> Option<String> {
    let uri: Uri = origin.parse().ok()?;
    let web = matches!(uri.scheme_str(), Some("http" | "https"));
    name(uri.authority().filter(|_| web)?)
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']);
    host == "localhost"
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl From<Refusal> for Response {
    fn from(refusal: Refusal) -> Self {
        let (status, text, challenge) = match refusal {
            Refusal::Hosts => (StatusCode::BAD_REQUEST, "`Host` may come only once", None),
            Refusal::Host => (
                StatusCode::FORBIDDEN,
                "this server does not go by the name in `Host`",
                None,
            ),
            Refusal::Origin => (
                StatusCode::FORBIDDEN,
                "pages of this `Origin` may not call this server",
                None,
            ),
            Refusal::NoToken => (
                StatusCode::UNAUTHORIZED,
                "a bearer token is needed",
                Some("Bearer"),
            ),
            Refusal::WrongToken => (
                StatusCode::UNAUTHORIZED,
                "the bearer token is not the right one",
                Some("Bearer error=\"invalid_token\""),
            ),
        };
        let mut response = Self::new(Body::from(format!("{text}\n")));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("text/plain; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, kind);
        if let Some(challenge) = challenge {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static(challenge),
            );
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(guard: &Guard, headers: &[(&str, &str)]) -> Result<(), Refusal> {
        let mut request = http::Request::builder().uri("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        guard.check(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn a_local_server_is_called_by_local_names() {
        let guard = Guard::loopback(None);
        let host = |host| checked(&guard, &[("host", host)]);
        for good in [
            "localhost",
            "localhost:80",
            "127.0.0.1:1",
            "[::1]:8",
            "LOCALHOST:8",
        ] {
            assert_eq!(host(good), Ok(()), "{good}");
        }
        for bad in [
            "example.org",
            "localhost.example.org",
            "10.0.0.1",
            "",
            "a b",
            "127.0.0.1.nip.io",
            "evil.org@localhost",
        ] {
            assert_eq!(host(bad), Err(Refusal::Host), "{bad}");
        }
        assert_eq!(checked(&guard, &[]), Err(Refusal::Host));

        let line = |uri: &str, host: Option<&str>| {
            let mut request = http::Request::builder().uri(uri);
            if let Some(host) = host {
                request = request.header("host", host);
            }
            guard.check(&request.body(()).unwrap().into_parts().0)
        };
        assert_eq!(line("http://localhost:3/mcp", None), Ok(()));
        assert_eq!(line("http://localhost:3/mcp", Some("localhost:3")), Ok(()));
        for (uri, host) in [
            ("http://evil.org/mcp", Some("localhost")),
            ("http://localhost/mcp", Some("evil.org")),
            ("http://evil.org/mcp", None),
        ] {
            assert_eq!(line(uri, host), Err(Refusal::Host), "{uri} {host:?}");
        }
    }

    #[test]
    fn pages_from_elsewhere_are_not_let_in() {
        let guard = Guard::loopback(None);
        let origin = |origin| checked(&guard, &[("host", "localhost:3"), ("origin", origin)]);
        for good in [
            "http://localhost:6274",
            "http://127.0.0.1",
            "https://[::1]:1",
        ] {
            assert_eq!(origin(good), Ok(()), "{good}");
        }
        for bad in [
            "https://example.org",
            "null",
            "",
            "file://localhost",
            "localhost",
            "http://localhost.evil.org",
            "http://evil.org@localhost",
        ] {
            assert_eq!(origin(bad), Err(Refusal::Origin), "{bad}");
        }
        let public = Guard::public(Secret::new("s"));
        let origin = |origin| {
            let headers = [
                ("host", "a.org:3"),
                ("origin", origin),
                ("authorization", "Bearer s"),
            ];
            checked(&public, &headers)
        };
        assert_eq!(origin("https://a.org"), Ok(()));
        assert_eq!(origin("https://b.org"), Err(Refusal::Origin));
    }

    #[test]
    fn what_comes_twice_is_not_chosen_from() {
        let guard = Guard::loopback(Some(Secret::new("right")));
        let with = |more: &[(&str, &str)]| {
            let usual = [
                ("host", "localhost"),
                ("origin", "http://localhost"),
                ("authorization", "Bearer right"),
            ];
            checked(&guard, &[&usual[..], more].concat())
        };
        assert_eq!(with(&[]), Ok(()));
        assert_eq!(with(&[("host", "evil.com")]), Err(Refusal::Hosts));
        assert_eq!(with(&[("host", "localhost")]), Err(Refusal::Hosts));
        assert_eq!(with(&[("origin", "http://evil.com")]), Err(Refusal::Origin));
        assert_eq!(
            with(&[("authorization", "Bearer wrong")]),
            Err(Refusal::WrongToken)
        );
    }

    #[test]
    fn a_token_is_asked_for() {
        let guard = Guard::public(Secret::new("right"));
        let sent = |value| checked(&guard, &[("host", "a.org"), ("authorization", value)]);
        assert_eq!(checked(&guard, &[("host", "a.org")]), Err(Refusal::NoToken));
        assert_eq!(sent("Bearer right"), Ok(()));
        assert_eq!(sent("bearer right"), Ok(()));
        assert_eq!(sent("Bearer wrong"), Err(Refusal::WrongToken));
        assert_eq!(sent("Bearer right!"), Err(Refusal::WrongToken));
        assert_eq!(sent("Bearer "), Err(Refusal::WrongToken));
        assert_eq!(sent("Basic right"), Err(Refusal::NoToken));
        assert_eq!(sent("right"), Err(Refusal::NoToken));
    }
}
