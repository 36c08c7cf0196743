//! The resource that tokens are valid for (RFC 8707): the broker's own and no other

use crate::app::App;

/// The resource in our spelling, if the requested one is ours; an absent one counts as ours
pub(crate) fn accept(app: &App, given: Option<&str>) -> Option<String> {
    let public = &app.config.public_url;
    given
        .is_none_or(|given| is_ours(public.origin(), given))
        .then(|| public.resource())
}

/// Whether it is ours but for letter case of scheme and host, the scheme's own port, and one slash
/// at the end; some clients name the server as a whole
fn is_ours(origin: &str, given: &str) -> bool {
    let bare = given.strip_suffix('/').unwrap_or(given);
    let Some((scheme, rest)) = bare.split_once("://") else {
        return false;
    };
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let scheme = scheme.to_ascii_lowercase();
    let port = if scheme == "https" { ":443" } else { ":80" };
    let asked = format!("{scheme}://{}", authority.to_ascii_lowercase());
    let same = asked == origin || asked.strip_suffix(port) == Some(origin);
    same && matches!(path, "" | "/mcp")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_one_place_in_few_spellings() {
        let origin = "https://broker.example.org";
        for good in [
            "https://broker.example.org/mcp",
            "https://broker.example.org/mcp/",
            "https://broker.example.org",
            "https://broker.example.org/",
            "HTTPS://Broker.Example.ORG/mcp",
            "https://broker.example.org:443/mcp",
        ] {
            assert!(is_ours(origin, good), "{good}");
        }
        for bad in [
            "",
            "/mcp",
            "https://broker.example.org/mcp//",
            "https://broker.example.org//",
            "https://broker.example.org/x/../mcp",
            "https://broker.example.org/MCP",
            "https://broker.example.org/mcp?a=b",
            "https://broker.example.org/mcp#a",
            "https:\\\\broker.example.org\\mcp",
            "https://broker.example.org/m\tcp",
            "https://user@broker.example.org/mcp",
            "https://broker.example.org:80/mcp",
            "https://broker.example.org.evil.example/mcp",
            "http://broker.example.org/mcp",
        ] {
            assert!(!is_ours(origin, bad), "{bad}");
        }
        assert!(is_ours(
            "http://127.0.0.1:4741",
            "http://127.0.0.1:4741/mcp"
        ));
        assert!(!is_ours("http://127.0.0.1:4741", "http://127.1:4741/mcp"));
    }
}
