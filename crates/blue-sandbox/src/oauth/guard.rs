//! Keep other sites from posting forms in a user's name

use http::{HeaderMap, StatusCode, header};
use url::Url;

use super::{fields::Fields, session::Session};
use crate::{app::App, config::Flavor};

/// Why a form is refused: status and words
pub(super) type Refusal = (StatusCode, &'static str);

/// Check a posted form, the way the flavour does it
///
/// Gitea 1.26 and Forgejo 15 look at what the browser says about where the request comes from, and lets a
/// client pass that says nothing; Forgejo 11 wants a token that was in the form.
pub(super) fn check(
    app: &App,
    headers: &HeaderMap,
    session: Option<&Session>,
    fields: &Fields,
) -> Result<(), Refusal> {
    match app.flavor {
        Flavor::Gitea | Flavor::Forgejo15 => same_origin(headers),
        Flavor::Forgejo | Flavor::Forgejo7 => {
            let sent = match headers
                .get("x-csrf-token")
                .and_then(|value| value.to_str().ok())
            {
                Some(sent) => sent,
                None => fields.get("_csrf"),
            };
            match session {
                Some(session) if !sent.is_empty() && sent == session.data.csrf => Ok(()),
                _ => Err((StatusCode::BAD_REQUEST, "Invalid CSRF token.\n")),
            }
        }
    }
}

fn same_origin(headers: &HeaderMap) -> Result<(), Refusal> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match text("sec-fetch-site") {
        Some("same-origin" | "none") => return Ok(()),
        Some(site) if !site.is_empty() => {
            let words = "cross-origin request detected from Sec-Fetch-Site header\n";
            return Err((StatusCode::FORBIDDEN, words));
        }
        _ => {}
    }
    let Some(origin) = text("origin") else {
        return Ok(());
    };
    let host = Url::parse(origin).ok().and_then(|url| {
        let host = url.host_str()?.to_owned();
        Some(
            url.port()
                .map_or(host.clone(), |port| format!("{host}:{port}")),
        )
    });
    if host.as_deref() == text(header::HOST.as_str()) {
        return Ok(());
    }
    let words = "cross-origin request detected, and/or browser is out of date: \
                 Sec-Fetch-Site is missing, and Origin does not match Host\n";
    Err((StatusCode::FORBIDDEN, words))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn other_sites_are_refused() {
        for (pairs, good) in [
            (&[][..], true),
            (&[("sec-fetch-site", "same-origin")], true),
            (&[("sec-fetch-site", "none")], true),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("host", "a:1"), ("origin", "http://a:1")], true),
            (&[("host", "a:1"), ("origin", "http://b:1")], false),
            (&[("host", "a:1"), ("origin", "null")], false),
        ] {
            assert_eq!(same_origin(&headers(pairs)).is_ok(), good, "{pairs:?}");
        }
    }
}
