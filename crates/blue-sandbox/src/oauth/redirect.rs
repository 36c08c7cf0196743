//! Which redirect URIs an application may be sent back to

use url::{Host, Url};

/// Tell whether `uri` is one of `registered`, by Gitea's rule
///
/// Letter case and one trailing slash do not count, in the path either. For a public client a
/// plain-http IPv4 loopback address matches with any port, when it was registered without one.
pub(crate) fn is_registered(registered: &[String], confidential: bool, uri: &str) -> bool {
    if contains(registered, uri) {
        return true;
    }
    if confidential {
        return false;
    }
    let Ok(mut parsed) = Url::parse(uri) else {
        return false;
    };
    // An IPv6 loopback loses its brackets on the way in Gitea, so it never matches there.
    let loopback = matches!(parsed.host(), Some(Host::Ipv4(ip)) if ip.is_loopback());
    if parsed.scheme() != "http" || !loopback || parsed.port().is_none() {
        return false;
    }
    parsed.set_port(None).is_ok() && contains(registered, parsed.as_str())
}

/// Add query parameters to a redirect URI, keeping what it has; in the order of their names
pub(crate) fn with_query(uri: &str, pairs: &[(&str, &str)]) -> Option<String> {
    let mut parsed = Url::parse(uri).ok()?;
    let mut all: Vec<(String, String)> = parsed
        .query_pairs()
        .filter(|(name, _)| pairs.iter().all(|(new, _)| new != name))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    all.extend(
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    parsed.query_pairs_mut().clear().extend_pairs(all);
    Some(parsed.into())
}

fn contains(registered: &[String], uri: &str) -> bool {
    let folded = fold(uri);
    registered.iter().any(|one| fold(one) == folded)
}

fn fold(uri: &str) -> String {
    let lower = uri.to_lowercase();
    lower.strip_suffix('/').unwrap_or(&lower).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_as_gitea_does() {
        let web = vec!["https://app.example/cb".to_owned()];
        let loopback = vec![
            "http://127.0.0.1/loop".to_owned(),
            "http://[::1]/loop".to_owned(),
        ];
        let table: &[(&[String], bool, &str, bool)] = &[
            (&web, true, "https://app.example/cb", true),
            (&web, true, "https://APP.example/CB/", true),
            (&web, true, "https://app.example/cb?x=1", false),
            (&web, true, "https://app.example/cb/sub", false),
            (&web, true, "http://app.example/cb", false),
            (&web, true, "", false),
            (&loopback, false, "http://127.0.0.1:4567/loop", true),
            (&loopback, true, "http://127.0.0.1:4567/loop", false),
            (&loopback, false, "http://[::1]:4567/loop", false),
            (&loopback, false, "http://localhost:4567/loop", false),
            (&loopback, false, "https://127.0.0.1:4567/loop", false),
        ];
        for (registered, confidential, uri, expected) in table {
            assert_eq!(
                is_registered(registered, *confidential, uri),
                *expected,
                "{uri}"
            );
        }
        let with_port = vec!["http://127.0.0.1:1234/loop".to_owned()];
        assert!(!is_registered(
            &with_port,
            false,
            "http://127.0.0.1:4567/loop"
        ));
    }

    #[test]
    fn query_is_added_and_encoded() {
        assert_eq!(
            with_query(
                "https://a.example/cb?keep=1",
                &[("code", "x y"), ("state", "&é")]
            )
            .unwrap(),
            "https://a.example/cb?code=x+y&keep=1&state=%26%C3%A9"
        );
        assert_eq!(with_query("not a uri", &[]), None);
    }
}
