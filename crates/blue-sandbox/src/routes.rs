//! The one list of doors

use axum::{
    Router,
    extract::Request,
    http::Uri,
    middleware::{Next, from_fn, from_fn_with_state},
    response::Response,
};

use crate::{
    app::App,
    disk, faults, git_http, gitea, github,
    guard::{self, OwnNames},
    oauth, web,
};

/// Everything the sandbox answers
pub(crate) fn all(app: &App, own: OwnNames) -> Router {
    let router = Router::new()
        .merge(gitea::routes())
        .merge(github::routes())
        .merge(oauth::routes())
        .merge(git_http::routes())
        .merge(web::routes())
        .merge(faults::routes())
        .fallback(web::not_found);
    let router = router.layer(from_fn_with_state(app.clone(), disk::layer));
    let doors = faults::wrap(router, app).with_state(app.clone());
    // A layer of the doors themselves would run only after a route was chosen.
    Router::new()
        .fallback_service(doors)
        .layer(from_fn(single_slashes))
        .layer(from_fn_with_state(own, guard::layer))
}

/// Read `//api/v1/x` as `/api/v1/x`, as Gitea does: clients join paths to URLs that end in a slash
async fn single_slashes(mut request: Request, next: Next) -> Response {
    if let Some(uri) = without_double_slashes(request.uri()) {
        *request.uri_mut() = uri;
    }
    next.run(request).await
}

fn without_double_slashes(uri: &Uri) -> Option<Uri> {
    if !uri.path().contains("//") {
        return None;
    }
    let mut path = String::with_capacity(uri.path().len());
    for c in uri.path().chars() {
        if c != '/' || !path.ends_with('/') {
            path.push(c);
        }
    }
    if let Some(query) = uri.query() {
        path.push('?');
        path.push_str(query);
    }
    path.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_slashes_are_one() {
        let clean = |text: &str| {
            let uri: Uri = text.parse().unwrap();
            without_double_slashes(&uri).map(|uri| uri.to_string())
        };
        assert_eq!(clean("/api/v1/version?a=//b"), None);
        assert_eq!(clean("//api//v1/x?a=//b").unwrap(), "/api/v1/x?a=//b");
    }
}
