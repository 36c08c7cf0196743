//! Client authentication at the endpoints that clients call directly

use axum::http::{HeaderMap, header};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use blue_base::secret::Secret;

use super::{
    cimd::MetadataError,
    clients::{self, ClientError},
    error::OAuthError,
    form::{self, Params},
};
use crate::{app::App, store::Client, token::TokenHash};

/// Credentials that a client presented
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    id: String,
    secret: Option<Secret>,
}

/// The client, if it authenticated
///
/// A secret is accepted by either method: clients do not always keep to what they registered.
pub(crate) async fn client(
    app: &App,
    headers: &HeaderMap,
    params: &Params,
) -> Result<Client, OAuthError> {
    let shown = shown(headers, params)?;
    let found = clients::find(app, &shown.id).await.map_err(not_found)?;
    let client = found.ok_or_else(unknown)?;
    let good = match (&client.secret, &shown.secret) {
        (None, None) => true,
        (Some(hash), Some(secret)) => {
            let given = app.store.keyed(&TokenHash::of(secret.expose()))?;
            hash.matches(&given)
        }
        // A public client has no secret; one that presents a secret means another client.
        (None, Some(_)) | (Some(_), None) => false,
    };
    if good {
        Ok(client)
    } else {
        Err(OAuthError::invalid_client(
            "the client did not show who it is",
        ))
    }
}

fn unknown() -> OAuthError {
    OAuthError::invalid_client("the client is not known")
}

fn not_found(error: ClientError) -> OAuthError {
    let error = match error {
        ClientError::Store(error) => return error.into(),
        ClientError::Metadata(error) => error,
    };
    tracing::info!(%error, "a client's document was not taken");
    match error {
        // If told that it is unknown, the client would register again.
        MetadataError::Busy | MetadataError::Unreachable | MetadataError::NotServed(_) => {
            OAuthError::unavailable("the client's document could not be read")
        }
        _ => unknown(),
    }
}

fn shown(headers: &HeaderMap, params: &Params) -> Result<Shown, OAuthError> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let posted = params.get("client_id");
    let secret = params.get("client_secret");
    let (first, second) = (given.next(), given.next());
    let Some(value) = first else {
        let id = posted.ok_or_else(|| OAuthError::invalid_client("`client_id` is missing"))?;
        return Ok(Shown {
            id: id.to_owned(),
            secret: secret.map(Secret::new),
        });
    };
    if second.is_some() || secret.is_some() {
        return Err(OAuthError::invalid_request(
            "the client shows who it is in more than one way",
        ));
    }
    let basic = value.to_str().ok().and_then(basic);
    let basic = basic.ok_or_else(|| {
        OAuthError::invalid_client("`Authorization` is not `Basic` with an id and a secret")
    })?;
    if posted.is_some_and(|id| id != basic.id) {
        return Err(OAuthError::invalid_request(
            "`client_id` is not the client of `Authorization`",
        ));
    }
    Ok(basic)
}

/// Id and secret, each form-encoded before they were put together (RFC 6749, 2.3.1)
fn basic(value: &str) -> Option<Shown> {
    let (scheme, rest) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let plain = STANDARD.decode(rest.trim()).ok()?;
    let colon = plain.iter().position(|byte| *byte == b':')?;
    let id = form::decode(&plain[..colon]).ok()?;
    let secret = form::decode(&plain[colon + 1..]).ok()?;
    (!id.is_empty()).then(|| Shown {
        id,
        // Some public clients send an empty secret.
        secret: (!secret.is_empty()).then(|| Secret::new(secret)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(authorization: &[&str], body: &str) -> Result<Shown, OAuthError> {
        let mut headers = HeaderMap::new();
        for value in authorization {
            headers.append(header::AUTHORIZATION, value.parse().unwrap());
        }
        let kind = "application/x-www-form-urlencoded".parse().unwrap();
        headers.insert(header::CONTENT_TYPE, kind);
        shown(&headers, &Params::form(&headers, body.as_bytes()).unwrap())
    }

    fn basic_of(text: &str) -> String {
        format!("Basic {}", STANDARD.encode(text))
    }

    fn is(id: &str, secret: Option<&str>) -> Shown {
        Shown {
            id: id.to_owned(),
            secret: secret.map(Secret::new),
        }
    }

    #[test]
    fn a_client_shows_itself_in_the_body_or_the_header() {
        assert_eq!(read(&[], "client_id=a"), Ok(is("a", None)));
        assert_eq!(
            read(&[], "client_id=a&client_secret=b"),
            Ok(is("a", Some("b")))
        );
        assert_eq!(read(&[&basic_of("a:b")], ""), Ok(is("a", Some("b"))));
        assert_eq!(
            read(&[&basic_of("a%3Ab:c%25d")], "client_id=a%3Ab"),
            Ok(is("a:b", Some("c%d")))
        );
        assert_eq!(read(&[&basic_of("a:")], "client_id=a"), Ok(is("a", None)));
    }

    #[test]
    fn two_ways_at_once_and_nonsense_are_refused() {
        for (headers, body) in [
            (vec![basic_of("a:b")], "client_secret=b"),
            (vec![basic_of("a:b")], "client_id=other"),
            (vec![basic_of("a:b"), basic_of("a:b")], ""),
            (vec!["Bearer x".to_owned()], "client_id=a"),
            (vec!["Basic !!".to_owned()], "client_id=a"),
            (vec![basic_of("ab")], ""),
            (vec![basic_of(":b")], ""),
            (vec![], ""),
            (vec![], "client_secret=b"),
        ] {
            let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
            assert!(read(&headers, body).is_err(), "{headers:?} {body}");
        }
    }
}
