//! Who is calling, and how much of them the credential lets in

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderMap, header::AUTHORIZATION};
use percent_encoding::percent_decode_str;
use ring::digest;

use crate::{
    app::App,
    hex, oauth,
    store::users::{self, User},
};

/// Someone whose credential was good
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) user: User,
    pub(crate) how: How,
    /// `None` is no limit
    pub(crate) scopes: Option<Scopes>,
}

/// What kind of credential it was
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Password,
    Token,
    OAuth,
}

/// A credential was given and is not good
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused;

/// The scopes of a token, as the forge writes them
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scopes(Vec<String>);

impl Scopes {
    pub(crate) fn parse(text: &str) -> Self {
        Self(
            text.split([',', ' '])
                .filter(|scope| !scope.is_empty())
                .map(str::to_owned)
                .collect(),
        )
    }

    /// Whether this is allowed; `write:x` allows `read:x`, and `repo` of GitHub both of them
    pub(crate) fn allow(&self, wanted: &str) -> bool {
        if wanted.ends_with(":repository") && self.0.iter().any(|held| held == "repo") {
            return true;
        }
        let write = wanted
            .strip_prefix("read:")
            .map(|area| format!("write:{area}"));
        self.0
            .iter()
            .any(|held| held == "all" || held == wanted || Some(held) == write.as_ref())
    }

    /// Whether files of workflows may be written on the GitHub API: a classic token with `repo`
    /// alone may not
    pub(crate) fn allow_workflows(&self) -> bool {
        self.0
            .iter()
            .any(|held| matches!(held.as_str(), "all" | "write:repository" | "workflow"))
    }

    pub(crate) fn text(&self) -> String {
        self.0.join(",")
    }
}

/// Scopes a personal token can have
pub(crate) const AREAS: &[&str] = &[
    "activitypub",
    "admin",
    "issue",
    "misc",
    "notification",
    "organization",
    "package",
    "repository",
    "user",
];

/// Scopes of GitHub that a token of the sandbox can have as well
pub(crate) fn known_github_scope(scope: &str) -> bool {
    matches!(scope, "repo" | "workflow")
}

pub(crate) fn known_scope(scope: &str) -> bool {
    matches!(scope, "all" | "public-only")
        || scope
            .split_once(':')
            .is_some_and(|(verb, area)| matches!(verb, "read" | "write") && AREAS.contains(&area))
}

/// Find the caller in the header or, as Gitea does, in the query
///
/// `Ok(None)` is an anonymous caller. An invalid credential is refused even where anonymous callers may read.
pub(crate) fn authenticate(
    app: &App,
    headers: &HeaderMap,
    query: Option<&str>,
) -> Result<Option<Caller>, Refused> {
    // The query goes before the header: so it is in Gitea.
    let from_query = query.unwrap_or_default().split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        matches!(name, "token" | "access_token").then_some(value)
    });
    match from_query {
        Some(value) if !value.is_empty() => {
            let value = percent_decode_str(value).decode_utf8_lossy();
            bearer(app, &value).map(Some).ok_or(Refused)
        }
        _ => from_header(app, headers),
    }
}

fn from_header(app: &App, headers: &HeaderMap) -> Result<Option<Caller>, Refused> {
    let Some(header) = headers.get(AUTHORIZATION) else {
        return Ok(None);
    };
    let header = header.to_str().map_err(|_| Refused)?;
    let (scheme, value) = header.split_once(' ').unwrap_or((header, ""));
    let value = value.trim();
    match scheme.to_ascii_lowercase().as_str() {
        _ if value.is_empty() => Ok(None),
        "token" | "bearer" => bearer(app, value).map(Some).ok_or(Refused),
        // As in Gitea, a Basic header that does not parse makes the caller anonymous; it is not refused.
        "basic" if name_and_password(value).is_none() => Ok(None),
        "basic" => basic(app, value).map(Some).ok_or(Refused),
        _ => Ok(None),
    }
}

fn name_and_password(encoded: &str) -> Option<(String, String)> {
    let decoded = BASE64_STANDARD.decode(encoded).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    let (name, password) = text.split_once(':')?;
    Some((name.to_owned(), password.to_owned()))
}

/// A personal token, or an access token of the OAuth provider, sent as such
pub(crate) fn bearer(app: &App, token: &str) -> Option<Caller> {
    personal(app, token).or_else(|| {
        let granted = oauth::authenticate(app, token)?;
        let user = user_by_id(app, granted.user_id)?;
        let scopes = granted.scopes.as_deref().map(Scopes::parse);
        Some(Caller {
            user,
            how: How::OAuth,
            scopes,
        })
    })
}

/// Name and password, or a token: as the password, or as the name without one
///
/// An OAuth token that comes this way has no scope limit: that is what Gitea 1.26.0 does.
pub(crate) fn basic(app: &App, encoded: &str) -> Option<Caller> {
    let (name, password) = name_and_password(encoded)?;
    let token = match password.as_str() {
        "" | "x-oauth-basic" => &name,
        _ => &password,
    };
    if let Some(caller) = bearer(app, token) {
        let scopes = caller.scopes.filter(|_| caller.how != How::OAuth);
        return Some(Caller { scopes, ..caller });
    }
    by_password(app, &name, &password)
}

/// Sign in by login or mail address
pub(crate) fn by_password(app: &App, name: &str, password: &str) -> Option<Caller> {
    let user = app
        .store
        .read(|c| match users::by_login(c, name)? {
            Some(user) => Ok::<_, rusqlite::Error>(Some(user)),
            None => users::by_email(c, name),
        })
        .ok()??;
    let good = !user.is_org
        && !password.is_empty()
        && user.is_active
        && hash_password(&user.salt, password) == user.password_hash;
    good.then_some(Caller {
        user,
        how: How::Password,
        scopes: None,
    })
}

fn personal(app: &App, token: &str) -> Option<Caller> {
    let found = app
        .store
        .read(|c| match users::token_by_hash(c, &hash_token(token))? {
            Some(token) => {
                Ok::<_, rusqlite::Error>(users::by_id(c, token.user_id)?.map(|user| (user, token)))
            }
            None => Ok(None),
        });
    let (user, token) = found.ok()??;
    let scopes = Some(Scopes::parse(&token.scopes));
    user.is_active.then_some(Caller {
        user,
        how: How::Token,
        scopes,
    })
}

fn user_by_id(app: &App, id: i64) -> Option<User> {
    app.store
        .read(|c| users::by_id(c, id))
        .ok()?
        .filter(|user| user.is_active)
}

/// The store keeps this instead of the token
pub(crate) fn hash_token(token: &str) -> String {
    hex::encode(digest::digest(&digest::SHA256, token.as_bytes()).as_ref())
}

/// The store keeps this instead of the password
///
/// One round only: these are passwords of a sandbox, printed when it starts.
pub(crate) fn hash_password(salt: &str, password: &str) -> String {
    hex::encode(digest::digest(&digest::SHA256, format!("{salt}:{password}").as_bytes()).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_allows_read_and_all_allows_everything() {
        let scopes = Scopes::parse("write:repository,read:user");
        assert!(scopes.allow("read:repository"));
        assert!(scopes.allow("write:repository"));
        assert!(!scopes.allow("write:user"));
        assert!(!scopes.allow("read:admin"));
        assert!(Scopes::parse("all").allow("write:admin"));
        assert_eq!(scopes.text(), "write:repository,read:user");
        assert!(scopes.allow_workflows());
        let classic = Scopes::parse("repo");
        assert!(classic.allow("write:repository") && classic.allow("read:repository"));
        assert!(!classic.allow_workflows() && !classic.allow("read:user"));
        assert!(Scopes::parse("repo,workflow").allow_workflows());
    }
}
