//! What a token is for: this broker's `/mcp` and nothing else (RFC 8707)

use crate::{app::App, config::PublicUrl};

/// The resource in the one spelling that is stored; `None` means `invalid_target`
///
/// Nothing asked for means ours. Some clients add a slash at the end.
pub(crate) fn accept(app: &App, given: Option<&str>) -> Option<String> {
    ours(&app.config.public_url, given)
}

fn ours(public_url: &PublicUrl, given: Option<&str>) -> Option<String> {
    let ours = public_url.resource();
    match given {
        None => Some(ours),
        Some(text) => (text.strip_suffix('/').unwrap_or(text) == ours).then_some(ours),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ours_with_or_without_one_slash() {
        let url = PublicUrl::parse("https://broker.example.org").unwrap();
        let resource = Some("https://broker.example.org/mcp".to_owned());
        assert_eq!(ours(&url, None), resource);
        for good in [
            "https://broker.example.org/mcp",
            "https://broker.example.org/mcp/",
        ] {
            assert_eq!(ours(&url, Some(good)), resource, "{good}");
        }
        for bad in [
            "",
            "/",
            "https://broker.example.org",
            "https://broker.example.org/",
            "https://broker.example.org/mcp//",
            "https://broker.example.org/mcp?x=1",
            "https://broker.example.org/mcp#x",
            "https://broker.example.org/MCP",
            "https://broker.example.org.evil.example/mcp",
            "https://broker.example.org@evil.example/mcp",
            "http://broker.example.org/mcp",
        ] {
            assert_eq!(ours(&url, Some(bad)), None, "{bad}");
        }
    }
}
