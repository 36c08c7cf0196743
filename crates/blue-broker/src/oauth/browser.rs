//! What ties an authorization, or a visit, to one browser
//!
//! Cookies are `__Host-` ones: no other host, and no page without the broker's own connection, can
//! set them. A browser takes them over plain HTTP too when the host is its own machine.

use axum::http::{HeaderMap, HeaderValue, header};

use crate::{app::App, store::Authorization, token::TokenHash};

/// Seconds that an authorization may take, before the answer and again after it
pub(crate) const MINUTES_TEN: u32 = 600;

/// Follows the secret once the page was answered
///
/// The value must change then, or a browser that goes back shows the old page without asking us;
/// and a second press of the button still brings the old one.
const ANSWERED: &str = ".answered";

/// A cookie by its name
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).iter();
    all.filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(found, value)| (found == name).then_some(value))
}

/// A cookie that scripts, frames and other sites' posts do not have
///
/// `Lax`, because the forge sends people back from another site.
pub(crate) fn set_cookie(name: &str, value: &str, seconds: u32) -> HeaderValue {
    let text = format!("{name}={value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={seconds}");
    let mut value = HeaderValue::try_from(text).expect("names and values of ours are plain ASCII");
    value.set_sensitive(true);
    value
}

/// One cookie for each authorization, so that two tabs do not end each other
fn name(id: &str) -> String {
    format!("__Host-tx-{id}")
}

/// Tie a new authorization to the browser
pub(crate) fn bind(id: &str, secret: &str) -> HeaderValue {
    set_cookie(&name(id), secret, MINUTES_TEN)
}

/// The secret with which this browser asks about `authorization`; None if it is another browser
pub(super) fn bound<'a>(headers: &'a HeaderMap, authorization: &Authorization) -> Option<&'a str> {
    let value = cookie(headers, &name(&authorization.id))?;
    let secret = value.strip_suffix(ANSWERED).unwrap_or(value);
    let same = TokenHash::of(secret).matches(&authorization.browser);
    same.then_some(secret)
}

/// The same tie with a changed value, for the answer to a decision
pub(super) fn rebind(id: &str, secret: &str) -> HeaderValue {
    set_cookie(&name(id), &format!("{secret}{ANSWERED}"), MINUTES_TEN)
}

/// Whether a post comes from a page of ours, as far as the browser says
///
/// Every browser sends `Origin` with a post, and it must be ours; `null` is nobody of ours, for
/// pages with forms let their origin be known. Another port of this machine is `same-site` and has
/// all the cookies, so that is not enough. `Sec-Fetch-Site` does not come over plain HTTP, and may
/// be absent. What sends neither is no browser: nobody can lead it here from another page, and it
/// still needs the cookie and the form token.
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
    fn a_cookie_is_bound_to_the_host() {
        let line = set_cookie("__Host-a", "b", 60);
        assert_eq!(
            line.to_str().unwrap(),
            "__Host-a=b; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=60"
        );
        assert!(line.is_sensitive());
    }
}
