//! `/user/login` and `/user/logout`

use axum::{
    body::Bytes,
    extract::{RawQuery, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::{
    Failure,
    fields::Fields,
    guard,
    pages::{self, LoginView},
    see_other,
    session::{Session, cookie, set_cookie},
    text,
};
use crate::{
    app::App,
    auth,
    web::layout::{Viewer, Width, page, send},
};

/// What stays as it is in a query
const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Remembers across the form where to go after signing in
const REDIRECT: &str = "redirect_to";

/// Redirects a visitor without a login to the sign-in form, which leads back to `here`
pub(super) fn first(app: &App, here: &str) -> Response {
    let encoded = utf8_percent_encode(here, QUERY).to_string();
    if app.is_forgejo() {
        let mut response = see_other("/user/login");
        response
            .headers_mut()
            .append(header::SET_COOKIE, set_cookie(REDIRECT, &encoded));
        return response;
    }
    see_other(&format!("/user/login?redirect_to={encoded}"))
}

pub(super) async fn form(
    State(app): State<App>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    app.blocking(move |app| {
        let wanted = Fields::from_query(query.as_deref())
            .get(REDIRECT)
            .to_owned();
        let session = Session::find(app, &headers);
        if session
            .as_ref()
            .is_some_and(|session| session.user.is_some())
        {
            return see_other(local(&wanted).unwrap_or("/"));
        }
        let mut response = match show(app, session, None, "", &wanted) {
            Ok(response) => response,
            Err(failure) => return failure.into_response(),
        };
        if let Some(wanted) = local(&wanted) {
            let encoded = utf8_percent_encode(wanted, QUERY).to_string();
            response
                .headers_mut()
                .append(header::SET_COOKIE, set_cookie(REDIRECT, &encoded));
        }
        response
    })
    .await
}

pub(super) async fn submit(
    State(app): State<App>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    app.blocking(move |app| {
        let fields = Fields::from_form(&body);
        let session = Session::find(app, &headers);
        if let Err((status, words)) = guard::check(app, &headers, session.as_ref(), &fields) {
            return text(status, words);
        }
        let query = Fields::from_query(query.as_deref());
        let kept = cookie(&headers, REDIRECT)
            .map(|value| percent_decode_str(&value).decode_utf8_lossy().into_owned());
        let wanted = [
            query.get(REDIRECT),
            fields.get(REDIRECT),
            kept.as_deref().unwrap_or(""),
        ]
        .into_iter()
        .find_map(local)
        .unwrap_or("/")
        .to_owned();
        let name = fields.get("user_name");
        let Some(caller) = auth::by_password(app, name, fields.get("password")) else {
            let words = "Username or password is incorrect.";
            let wanted = if wanted == "/" { "" } else { &wanted };
            return show(app, session, Some(words), name, wanted)
                .unwrap_or_else(Failure::into_response);
        };
        match enter(app, session, &caller.user, &wanted) {
            Ok(response) => response,
            Err(failure) => failure.into_response(),
        }
    })
    .await
}

pub(super) async fn leave(State(app): State<App>, headers: HeaderMap, body: Bytes) -> Response {
    app.blocking(move |app| {
        let session = Session::find(app, &headers);
        let fields = Fields::from_form(&body);
        if let Err((status, words)) = guard::check(app, &headers, session.as_ref(), &fields) {
            return text(status, words);
        }
        match session.map(|session| session.end(app)) {
            Some(Err(error)) => Failure::from(error).into_response(),
            _ => see_other("/"),
        }
    })
    .await
}

/// Begin a new visit, so that a cookie known before signing in is worth nothing after it
fn enter(
    app: &App,
    before: Option<Session>,
    user: &crate::store::users::User,
    wanted: &str,
) -> Result<Response, Failure> {
    if let Some(before) = before {
        before.end(app)?;
    }
    let (_, cookie) = Session::begin(app, Some(user))?;
    let mut response = see_other(wanted);
    response.headers_mut().append(header::SET_COOKIE, cookie);
    response
        .headers_mut()
        .append(header::SET_COOKIE, set_cookie(REDIRECT, ""));
    Ok(response)
}

fn show(
    app: &App,
    session: Option<Session>,
    error: Option<&str>,
    name: &str,
    redirect_to: &str,
) -> Result<Response, Failure> {
    let (session, cookie) = if let Some(session) = session {
        (session, None)
    } else {
        let (session, cookie) = Session::begin(app, None)?;
        (session, Some(cookie))
    };
    let csrf = app.is_forgejo().then_some(session.data.csrf.as_str());
    let view = LoginView {
        error,
        name,
        redirect_to: local(redirect_to).unwrap_or(""),
        csrf,
    };
    let markup = page(
        "Sign in",
        &Viewer::default(),
        Width::Narrow,
        &pages::login(&view),
    );
    let mut response = send(StatusCode::OK, markup);
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// An address on this very forge, or nothing
fn local(address: &str) -> Option<&str> {
    let rest = address.strip_prefix('/')?;
    let plain = !rest.starts_with(['/', '\\']) && !address.contains(char::is_control);
    plain.then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_forge_are_followed() {
        assert_eq!(local("/a?b=c"), Some("/a?b=c"));
        for bad in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a\r\nb",
        ] {
            assert_eq!(local(bad), None, "{bad:?}");
        }
    }
}
