//! Cookies that bind an authorization, or a session of the connections page, to one browser
//!
//! Where the public URL is https, cookies are `Secure` and have the prefix `__Host-`: no other
//! host, and no page without the broker's own connection, can set them. An http public URL is
//! always a loopback address. Safari before macOS 26 and plain HTTP clients drop `Secure` cookies
//! there, so they have neither.

use axum::http::{HeaderMap, HeaderValue, header};

use crate::{app::App, config::PublicUrl, store::Authorization, token::TokenHash};

/// Seconds that an authorization may take, before the user's decision and again after it
pub(crate) const MINUTES_TEN: u32 = 600;

/// Suffix of the secret once the page was answered
///
/// The value must change then, or a browser that goes back shows the cached page without a request.
/// A second press of the button still sends the old value.
const ANSWERED: &str = ".answered";

/// Returns the whole name of a cookie, with the prefix that fits the public URL
pub(crate) fn cookie_name(public_url: &PublicUrl, name: &str) -> String {
    let prefix = if public_url.is_https() {
        "__Host-"
    } else {
        "blue-"
    };
    format!("{prefix}{name}")
}

/// Finds a cookie by its whole name
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).iter();
    all.filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(found, value)| (found == name).then_some(value))
}

/// A cookie that scripts, frames and posts from other sites cannot use
///
/// `Lax`, because the forge sends browsers back from another site.
pub(crate) fn set_cookie(
    public_url: &PublicUrl,
    name: &str,
    value: &str,
    seconds: u32,
) -> HeaderValue {
    let name = cookie_name(public_url, name);
    let secure = if public_url.is_https() {
        " Secure;"
    } else {
        ""
    };
    let text = format!("{name}={value}; Path=/;{secure} HttpOnly; SameSite=Lax; Max-Age={seconds}");
    let mut value = HeaderValue::try_from(text).expect("names and values of ours are plain ASCII");
    value.set_sensitive(true);
    value
}

/// Name of the cookie of one authorization, so that two tabs do not interfere
fn name(id: &str) -> String {
    format!("tx-{id}")
}

/// Bind a new authorization to the browser
pub(crate) fn bind(app: &App, id: &str, secret: &str) -> HeaderValue {
    set_cookie(&app.config.public_url, &name(id), secret, MINUTES_TEN)
}

/// The secret with which this browser asks about `authorization`; None if it is another browser
pub(super) fn bound<'a>(
    app: &App,
    headers: &'a HeaderMap,
    authorization: &Authorization,
) -> Option<&'a str> {
    let name = cookie_name(&app.config.public_url, &name(&authorization.id));
    let value = cookie(headers, &name)?;
    let secret = value.strip_suffix(ANSWERED).unwrap_or(value);
    let same = TokenHash::of(secret).matches(&authorization.browser);
    same.then_some(secret)
}

/// The cookie of [`bind`] with a changed value, for the response to the user's decision
pub(super) fn rebind(app: &App, id: &str, secret: &str) -> HeaderValue {
    let value = format!("{secret}{ANSWERED}");
    set_cookie(&app.config.public_url, &name(id), &value, MINUTES_TEN)
}

/// Whether a post comes from one of our own pages, as far as the browser says
///
/// Every browser sends `Origin` with a post, and it must be ours. `null` is rejected: our pages
/// with forms let their origin be known. Another port of this machine is `same-site` and has all
/// the cookies, so that is not enough. `Sec-Fetch-Site` does not come over plain HTTP, and may be
/// absent. A client that sends neither is not a browser: no foreign page can make it send this
/// request, and it still needs the cookie and the form token.
pub(crate) fn is_own_page(app: &App, headers: &HeaderMap) -> bool {
    let only = |name: &str, wanted: &str| {
        let mut all = headers.get_all(name).iter();
        all.all(|value| value.as_bytes() == wanted.as_bytes())
    };
    let is_browser = headers.contains_key("sec-fetch-site");
    (headers.contains_key(header::ORIGIN) || !is_browser)
        && only("origin", app.config.public_url.origin())
        && only("sec-fetch-site", "same-origin")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        let pair = |value: &&'static str| (header::COOKIE, HeaderValue::from_static(value));
        values.iter().map(pair).collect()
    }

    #[test]
    fn cookies_are_found_wherever_they_are() {
        let all = headers(&["a=1; __Host-tx-b=2", "c=x=y"]);
        assert_eq!(cookie(&all, "a"), Some("1"));
        assert_eq!(cookie(&all, "__Host-tx-b"), Some("2"));
        assert_eq!(cookie(&all, "c"), Some("x=y"));
        for absent in ["b", "__host-tx-b", "tx-b", ""] {
            assert_eq!(cookie(&all, absent), None, "{absent}");
        }
        assert_eq!(cookie(&headers(&["", ";;=;a", "=b"]), "a"), None);
    }

    #[test]
    fn a_cookie_is_bound_to_the_host_on_https_and_plain_on_http() {
        for (url, expected) in [
            (
                "https://broker.example.org",
                "__Host-a=b; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=60",
            ),
            (
                "https://localhost:8443",
                "__Host-a=b; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=60",
            ),
            (
                "http://127.0.0.1:8080",
                "blue-a=b; Path=/; HttpOnly; SameSite=Lax; Max-Age=60",
            ),
            (
                "http://[::1]:8080",
                "blue-a=b; Path=/; HttpOnly; SameSite=Lax; Max-Age=60",
            ),
        ] {
            let line = set_cookie(&PublicUrl::parse(url).unwrap(), "a", "b", 60);
            assert_eq!(line.to_str().unwrap(), expected, "{url}");
            assert!(line.is_sensitive());
        }
    }
}
