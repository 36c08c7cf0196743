//! Parameters of queries and forms, parsed strictly
//!
//! A parameter that comes twice is ambiguous (RFC 6749, 3.1): two parsers could use two different
//! values. One without a value counts as absent.

use axum::http::{HeaderMap, Uri, header};

/// Maximum number of parameters; more than any client sends
const MOST: usize = 64;

/// Why parameters could not be parsed
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormError {
    #[error("the body must be `application/x-www-form-urlencoded`")]
    ContentType,
    #[error("a parameter is not properly encoded")]
    Encoding,
    #[error("there are too many parameters")]
    TooMany,
    #[error("the parameter `{0}` comes more than once")]
    Twice(String),
}

/// Parameters by name, each at most once
#[derive(Clone, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl std::fmt::Debug for Params {
    // Values may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

impl Params {
    /// The parameters of a URL
    pub(crate) fn query(uri: &Uri) -> Result<Self, FormError> {
        Self::parse(uri.query().unwrap_or_default().as_bytes())
    }

    /// The parameters of a form that was posted
    pub(crate) fn form(headers: &HeaderMap, body: &[u8]) -> Result<Self, FormError> {
        let mut kinds = headers.get_all(header::CONTENT_TYPE).iter();
        let (Some(kind), None) = (kinds.next(), kinds.next()) else {
            return Err(FormError::ContentType);
        };
        let kind = kind.to_str().unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(FormError::ContentType);
        }
        Self::parse(body)
    }

    /// Parses the parameters of a URL, leaving out those that come more than once; their names are
    /// returned too, so that the client can be told
    pub(crate) fn query_once(uri: &Uri) -> Result<(Self, Vec<String>), FormError> {
        let mut all = parts(uri.query().unwrap_or_default().as_bytes())?;
        let twice: Vec<String> = repeated(&all).map(str::to_owned).collect();
        all.retain(|(name, _)| !twice.contains(name));
        Ok((Self(all), twice))
    }

    fn parse(text: &[u8]) -> Result<Self, FormError> {
        let all = parts(text)?;
        if let Some(name) = repeated(&all).next() {
            return Err(FormError::Twice(shown(name)));
        }
        Ok(Self(all))
    }

    /// The value of a parameter; an empty one counts as absent
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(other, _)| other == name)?;
        (!value.is_empty()).then_some(value)
    }
}

/// All parameters, repeated ones included
fn parts(text: &[u8]) -> Result<Vec<(String, String)>, FormError> {
    let mut all = Vec::new();
    for part in text.split(|byte| *byte == b'&') {
        if part.is_empty() {
            continue;
        }
        if all.len() == MOST {
            return Err(FormError::TooMany);
        }
        let at = part.iter().position(|byte| *byte == b'=');
        let (name, value) = part.split_at(at.unwrap_or(part.len()));
        let value = value.get(1..).unwrap_or_default();
        all.push((decode(name)?, decode(value)?));
    }
    Ok(all)
}

/// Names that occur again
fn repeated(all: &[(String, String)]) -> impl Iterator<Item = &str> {
    all.iter()
        .enumerate()
        .filter(move |(at, (name, _))| all[..*at].iter().any(|(other, _)| other == name))
        .map(|(_, (name, _))| name.as_str())
}

/// Undo percent-encoding; invalid UTF-8 and NUL are refused
pub(super) fn decode(text: &[u8]) -> Result<String, FormError> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            b'%' => {
                let [high, low, after @ ..] = rest else {
                    return Err(FormError::Encoding);
                };
                rest = after;
                out.push(hex(*high)? << 4 | hex(*low)?);
            }
            b'+' => out.push(b' '),
            byte => out.push(*byte),
        }
    }
    // PostgreSQL has no text with a NUL in it.
    if out.contains(&0) {
        return Err(FormError::Encoding);
    }
    String::from_utf8(out).map_err(|_| FormError::Encoding)
}

fn hex(digit: u8) -> Result<u8, FormError> {
    let value = char::from(digit).to_digit(16).ok_or(FormError::Encoding)?;
    u8::try_from(value).map_err(|_| FormError::Encoding)
}

/// The name of a parameter, shortened and without special characters
fn shown(name: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || "_-.".contains(*c);
    name.chars().filter(plain).take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Params, FormError> {
        Params::parse(text.as_bytes())
    }

    #[test]
    fn values_are_decoded() {
        let params = parse("a=1&b=x%20y+z&c=%C3%A9&d=a=b&e=&f&&g=%2B").unwrap();
        assert_eq!(params.get("a"), Some("1"));
        assert_eq!(params.get("b"), Some("x y z"));
        assert_eq!(params.get("c"), Some("é"));
        assert_eq!(params.get("d"), Some("a=b"));
        assert_eq!((params.get("e"), params.get("f")), (None, None));
        assert_eq!(params.get("g"), Some("+"));
        assert_eq!(params.get("h"), None);
    }

    #[test]
    fn a_parameter_comes_once_however_it_is_written() {
        for text in ["a=1&a=1", "a=1&b=2&%61=3", "a&a", "a=&a=1"] {
            assert_eq!(
                parse(text).unwrap_err(),
                FormError::Twice("a".to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_comes_more_than_once_is_left_out_and_named() {
        let uri = "/x?a=1&b=2&c=3&a=4&%61=5&b=".parse().unwrap();
        let (params, twice) = Params::query_once(&uri).unwrap();
        assert_eq!(params.get("c"), Some("3"));
        assert_eq!((params.get("a"), params.get("b")), (None, None));
        assert_eq!(twice, ["a", "a", "b"]);
        let (_, twice) = Params::query_once(&"/x?a=1".parse().unwrap()).unwrap();
        assert!(twice.is_empty());
        assert!(Params::query_once(&"/x?a=%zz".parse().unwrap()).is_err());
    }

    #[test]
    fn what_is_badly_encoded_is_refused() {
        for text in [
            "a=%", "a=%2", "a=%zz", "a=%+1", "%=1", "a=%ff", "a=%00", "a=%C3",
        ] {
            assert_eq!(parse(text).unwrap_err(), FormError::Encoding, "{text}");
        }
        assert_eq!(Params::parse(b"a=\xff").unwrap_err(), FormError::Encoding);
        let many: Vec<_> = (0..65).map(|n| format!("p{n}=1")).collect();
        assert_eq!(parse(&many.join("&")).unwrap_err(), FormError::TooMany);
    }

    #[test]
    fn a_form_says_that_it_is_one() {
        let form = |kind: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, kind.parse().unwrap());
            Params::form(&headers, b"a=1").map(|params| params.get("a").is_some())
        };
        assert_eq!(form("application/x-www-form-urlencoded"), Ok(true));
        assert_eq!(
            form("Application/X-WWW-Form-Urlencoded; charset=UTF-8"),
            Ok(true)
        );
        for kind in [
            "application/json",
            "text/plain",
            "application/x-www-form-urlencodedx",
            "multipart/form-data",
        ] {
            assert_eq!(form(kind), Err(FormError::ContentType), "{kind}");
        }
        let none = Params::form(&HeaderMap::new(), b"a=1").unwrap_err();
        assert_eq!(none, FormError::ContentType);
    }

    #[test]
    fn debug_shows_names_only() {
        let shown = format!("{:?}", parse("code=hunter2").unwrap());
        assert_eq!(shown, r#"["code"]"#);
    }
}
