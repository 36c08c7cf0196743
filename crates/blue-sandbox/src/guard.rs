//! Refuses requests that a foreign web page makes a browser send
//!
//! The sandbox listens on loopback, where every page that the user visits can reach it. A browser
//! says where a request comes from (`Sec-Fetch-Site`, `Origin`), and a name that an attacker points
//! at this machine (DNS rebinding) stands in `Host`. Programs such as curl, git and API clients send
//! none of that and pass. One layer in front of API, git and pages, so that no route can forget it.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use url::Url;

/// Endings of names that no public DNS server can hand out (RFC 6761, RFC 6762, RFC 8375, ICANN)
const PRIVATE_ENDINGS: &[&str] = &[".internal", ".lan", ".local", ".test", ".home.arpa"];

/// The names that a request may have in its `Host` header
#[derive(Debug, Clone)]
pub(crate) struct OwnNames {
    /// The URL that links start with; a proxy in front may change `Host`, but not `Origin`
    root: Option<Url>,
    /// Other machines can connect, by names that only they know
    public: bool,
}

impl OwnNames {
    pub(crate) fn new(root_url: &str, listen: SocketAddr) -> Self {
        Self {
            root: Url::parse(root_url).ok(),
            public: !listen.ip().is_loopback(),
        }
    }

    /// Whether a page of this name can only be the sandbox's own
    ///
    /// An address is safe, as DNS is not asked for it. So is `localhost`. On a public listener names
    /// of the local network are accepted too, since no site on the internet can have one.
    fn accept(&self, name: &str) -> bool {
        let name = name.trim_end_matches('.').to_lowercase();
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let is_local = name == "localhost" || name.ends_with(".localhost");
        let is_private =
            || !name.contains('.') || PRIVATE_ENDINGS.iter().any(|end| name.ends_with(end));
        is_address
            || is_local
            || self.root_host().as_deref() == Some(name.as_str())
            || self.public && !name.is_empty() && is_private()
    }

    fn root_host(&self) -> Option<String> {
        self.root.as_ref()?.host_str().map(str::to_lowercase)
    }
}

/// Refuses a request with a foreign `Host`, and one that a page of another origin makes
pub(crate) async fn layer(State(own): State<OwnNames>, request: Request, next: Next) -> Response {
    match check(&own, &request) {
        Ok(()) => next.run(request).await,
        Err((status, message)) => (status, message).into_response(),
    }
}

type Refusal = (StatusCode, &'static str);

fn check(own: &OwnNames, request: &Request) -> Result<(), Refusal> {
    let headers = request.headers();
    let host = host_of(request).map_err(|()| FOREIGN_HOST)?;
    if host.as_ref().is_some_and(|host| !own.accept(host.host())) {
        return Err(FOREIGN_HOST);
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match text("sec-fetch-site") {
        Some("same-origin" | "none") => Ok(()),
        // A link or an OAuth redirect shows a page of the sandbox in place of the other one.
        Some(_) if is_navigation(request.method(), headers) => Ok(()),
        Some(_) => Err(CROSS_SITE),
        // Browsers leave it out on plain HTTP to another machine, and old ones always.
        None if own.is_foreign(headers, host.as_ref()) => Err(CROSS_ORIGIN),
        None => Ok(()),
    }
}

const FOREIGN_HOST: Refusal = (
    StatusCode::MISDIRECTED_REQUEST,
    "the Host header does not name this sandbox\n",
);
const CROSS_SITE: Refusal = (
    StatusCode::FORBIDDEN,
    "cross-origin request detected from Sec-Fetch-Site header\n",
);
const CROSS_ORIGIN: Refusal = (
    StatusCode::FORBIDDEN,
    "cross-origin request detected, and/or browser is out of date: \
     Sec-Fetch-Site is missing, and Origin does not match Host\n",
);

/// Returns the host that the request is for; none in HTTP/1.0, which no browser speaks
fn host_of(request: &Request) -> Result<Option<Authority>, ()> {
    if let Some(authority) = request.uri().authority() {
        return Ok(Some(authority.clone()));
    }
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let Some(host) = hosts.next() else {
        return Ok(None);
    };
    let parsed = Authority::try_from(host.as_bytes()).map_err(drop)?;
    match hosts.next() {
        Some(_) => Err(()),
        None => Ok(Some(parsed)),
    }
}

/// Whether the browser shows the answer in a tab of its own, not to the page that asked
fn is_navigation(method: &Method, headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|sent| sent == value);
    matches!(*method, Method::GET | Method::HEAD)
        && is("sec-fetch-mode", "navigate")
        && is("sec-fetch-dest", "document")
}

impl OwnNames {
    fn is_foreign(&self, headers: &HeaderMap, host: Option<&Authority>) -> bool {
        let Some(origin) = headers.get(header::ORIGIN) else {
            return false;
        };
        let origin = origin.to_str().ok().and_then(|text| Url::parse(text).ok());
        let own_root = |url: &Url| {
            self.root
                .as_ref()
                .is_some_and(|r| r.origin() == url.origin())
        };
        if origin.as_ref().is_some_and(own_root) {
            return false;
        }
        let own = host.map(|host| (host.host().to_lowercase(), host.port_u16()));
        let theirs = origin.and_then(|url| Some((url.host_str()?.to_lowercase(), url.port())));
        own.is_none() || theirs != own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(listen: &str) -> OwnNames {
        OwnNames::new("http://forge.example.org:3000", listen.parse().unwrap())
    }

    #[test]
    fn a_name_that_dns_can_hand_out_is_foreign() {
        let (local, public) = (names("127.0.0.1:3000"), names("0.0.0.0:3000"));
        for name in [
            "127.0.0.1",
            "[::1]",
            "10.1.2.3",
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "forge.example.org",
        ] {
            assert!(local.accept(name) && public.accept(name), "{name}");
        }
        for name in ["sandbox", "box.lan", "host.docker.internal", "forge.test"] {
            assert!(!local.accept(name) && public.accept(name), "{name}");
        }
        for name in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "example.org",
            "",
        ] {
            assert!(!local.accept(name) && !public.accept(name), "{name}");
        }
    }

    fn verdict(method: Method, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().method(method).uri("/api/v1/user/repos");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(axum::body::Body::empty()).unwrap();
        match check(&names("127.0.0.1:3000"), &request) {
            Ok(()) => 200,
            Err((status, _)) => status.as_u16(),
        }
    }

    #[test]
    fn a_request_of_another_site_is_refused() {
        let host = ("host", "localhost:3000");
        let navigates = [
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        for (method, headers, status) in [
            (Method::POST, vec![], 200),
            (Method::POST, vec![host], 200),
            (
                Method::POST,
                vec![host, ("sec-fetch-site", "same-origin")],
                200,
            ),
            (Method::GET, vec![host, ("sec-fetch-site", "none")], 200),
            (
                Method::POST,
                vec![host, ("sec-fetch-site", "cross-site")],
                403,
            ),
            (
                Method::POST,
                vec![host, ("sec-fetch-site", "same-site")],
                403,
            ),
            (
                Method::GET,
                vec![host, ("sec-fetch-site", "cross-site")],
                403,
            ),
            (
                Method::POST,
                vec![host, ("origin", "http://localhost:3000")],
                200,
            ),
            (
                Method::POST,
                vec![host, ("origin", "http://localhost:8080")],
                403,
            ),
            (
                Method::POST,
                vec![host, ("origin", "http://forge.example.org:3000")],
                200,
            ),
            (
                Method::POST,
                vec![host, ("origin", "https://forge.example.org:3000")],
                403,
            ),
            (Method::POST, vec![host, ("origin", "null")], 403),
            (Method::POST, vec![("origin", "http://localhost:3000")], 403),
            (Method::POST, vec![("host", "evil.example")], 421),
            (Method::POST, vec![("host", "")], 421),
            (Method::POST, vec![host, ("host", "evil.example")], 421),
        ] {
            assert_eq!(verdict(method, &headers), status, "{headers:?}");
        }
        for (method, status) in [(Method::GET, 200), (Method::POST, 403)] {
            let mut headers = vec![host, ("sec-fetch-site", "cross-site")];
            headers.extend(navigates);
            assert_eq!(verdict(method, &headers), status);
        }
        let framed = [
            host,
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "iframe"),
        ];
        assert_eq!(verdict(Method::GET, &framed), 403);
    }
}
