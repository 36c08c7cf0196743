//! What kind of answer the caller asks for

use http::{HeaderMap, header};

/// A media type of GitHub's own
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Media {
    #[default]
    Json,
    /// The bytes of a file, or a message unformatted
    Raw,
    /// A directory as one object
    Object,
    Diff,
    Patch,
    /// Nothing but a commit id
    Sha,
}

impl Media {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        headers
            .get_all(header::ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .find_map(Self::parse)
            .unwrap_or_default()
    }

    /// `application/vnd.github.v3.raw+json`, with or without the version, the suffix and parameters
    fn parse(text: &str) -> Option<Self> {
        let kind = text.split(';').next()?.trim();
        let rest = kind.strip_prefix("application/vnd.github.")?;
        let rest = rest.strip_suffix("+json").unwrap_or(rest);
        let rest = rest.strip_prefix("v3").unwrap_or(rest);
        match rest.trim_start_matches('.') {
            "raw" => Some(Self::Raw),
            "object" => Some(Self::Object),
            "diff" => Some(Self::Diff),
            "patch" => Some(Self::Patch),
            "sha" => Some(Self::Sha),
            _ => None,
        }
    }

    /// As `X-GitHub-Media-Type` names it
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Json => "github.v3; format=json",
            Self::Raw => "github.v3; param=raw; format=json",
            Self::Object => "github.v3; param=object; format=json",
            Self::Diff => "github.v3; param=diff",
            Self::Patch => "github.v3; param=patch",
            Self::Sha => "github.v3; param=sha",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_headers() {
        for (accept, media) in [
            ("application/vnd.github+json", Media::Json),
            ("application/vnd.github.v3+json", Media::Json),
            ("application/vnd.github.raw+json", Media::Raw),
            ("application/vnd.github.v3.raw", Media::Raw),
            (
                "application/json, application/vnd.github.v3.diff",
                Media::Diff,
            ),
            ("application/vnd.github.object+json; q=1", Media::Object),
            ("*/*", Media::Json),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            assert_eq!(Media::of(&headers), media, "{accept}");
        }
    }
}
