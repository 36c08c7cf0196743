//! Nasty servers

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    extract::{Query, Request as In, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{any, get},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

use super::{Answer, Call, Paging, Rest, pages::Seen, status};
use crate::{
    ConflictKind, Endpoint, ForgeError,
    model::{Listing, Page},
};
use blue_base::{
    host::Host,
    http::{AuthScheme, Credential, Http, HttpConfig},
    secret::Secret,
};

/// Every request that came: method, path with query, whether it had a token
pub(super) type Log = Arc<Mutex<Vec<(String, String, bool)>>>;

pub(super) async fn serve(router: Router<Log>) -> (Url, Log) {
    let log = Log::default();
    let state = log.clone();
    let router = router
        .with_state(log.clone())
        .layer(axum::middleware::from_fn(
            move |request: In, next: axum::middleware::Next| {
                let log = state.clone();
                async move {
                    log.lock().unwrap().push((
                        request.method().to_string(),
                        request.uri().to_string(),
                        request.headers().contains_key(header::AUTHORIZATION),
                    ));
                    next.run(request).await
                }
            },
        ));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/api/v1/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (Url::parse(&url).unwrap(), log)
}

pub(super) fn rest(api: &Url) -> Rest {
    rest_with(api, HttpConfig::default())
}

fn rest_with(api: &Url, config: HttpConfig) -> Rest {
    rest_of(api, config, "s3cr3t-token")
}

fn rest_of(api: &Url, config: HttpConfig, token: &str) -> Rest {
    let host = Host::of_url(api).unwrap();
    let endpoint = Endpoint {
        host: host.clone(),
        api: api.clone(),
    };
    let credential = Credential {
        host,
        scheme: AuthScheme::Token,
        token: Secret::new(token),
    };
    let paging = Paging {
        size: "limit",
        always_links: false,
    };
    Rest::new(
        Arc::new(Http::new(config)),
        endpoint,
        Some(credential),
        paging,
    )
}

#[tokio::test]
async fn a_redirected_file_is_fetched_from_public_addresses_only() {
    let router = Router::new().route("/api/v1/own", get(|| async { "log" }));
    let (api, log) = serve(router).await;
    let rest = rest(&api);
    let to = |location: &str| {
        let mut answer = Answer::for_test(302, "");
        let location = location.parse().unwrap();
        answer.headers.insert(header::LOCATION, location);
        answer
    };
    for (location, why) in [
        ("https://127.0.0.1:1/log", "not on a public address"),
        ("https://10.0.0.1/log", "not on a public address"),
        ("https://169.254.169.254/latest", "not on a public address"),
        ("https://[::1]:1/log", "not on a public address"),
        ("https://localhost:1/log", "not on a public address"),
        ("http://1.1.1.1/log", "without encryption"),
        ("http://127.0.0.1:1/log", "without encryption"),
        ("ftp://1.1.1.1/log", "without encryption"),
        ("file:///etc/passwd", "no address"),
    ] {
        let error = rest
            .fetch_redirected_tail(&to(location), &api, 100, "log")
            .await
            .unwrap_err();
        assert!(error.to_string().contains(why), "{location}: {error}");
        assert!(!error.retryable(), "{location}");
    }
    assert!(log.lock().unwrap().is_empty());
    // The forge's own server may be on a private network, and is asked without the token too.
    let own = rest
        .fetch_redirected_tail(&to("/api/v1/own"), &api, 100, "log")
        .await
        .unwrap();
    assert_eq!(&own.body[..], b"log");
    assert!(!log.lock().unwrap()[0].2);
}

#[tokio::test]
async fn words_are_matched_before_a_short_token_in_them_is_masked() {
    let said = r#"{"message":"A pull request already exists for x"}"#;
    let router = Router::new()
        .route(
            "/api/v1/exists",
            get(move || async move { (StatusCode::UNPROCESSABLE_ENTITY, said) }),
        )
        .route(
            "/api/v1/empty",
            get(|| async {
                (
                    StatusCode::CONFLICT,
                    r#"{"message":"Git Repository is empty."}"#,
                )
            }),
        );
    let (api, _) = serve(router).await;
    let rest = rest_of(&api, HttpConfig::default(), "x");
    let answer = rest.get(&["exists"]).answer().await.unwrap();
    assert!(answer.says("already exists"));
    assert_eq!(
        answer.message(),
        "A pull request already e****ists for ****"
    );
    assert!(!answer.into_error().to_string().contains('x'));
    let rest = rest_of(&api, HttpConfig::default(), "e");
    let error = rest.get(&["empty"]).send().await.unwrap_err();
    assert!(
        matches!(
            &error,
            ForgeError::Conflict { kind: ConflictKind::EmptyRepository, message, .. }
                if !message.contains('e')
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_gateway_error_on_a_write_is_no_answer_and_on_a_read_is_an_error() {
    for status in [502, 503, 504_u16] {
        let fails = move || async move {
            let status = StatusCode::from_u16(status).unwrap();
            (status, "<html>Bad Gateway</html>")
        };
        let (api, log) = serve(Router::new().route("/api/v1/x", any(fails))).await;
        let rest = rest_with(
            &api,
            HttpConfig {
                retries: 0,
                ..HttpConfig::default()
            },
        );
        for call in [rest.post(&["x"]), rest.put(&["x"]), rest.delete(&["x"])] {
            let error = call.answer().await.unwrap_err();
            assert!(
                matches!(error, ForgeError::NoAnswer { write: true, .. }),
                "{error:?}"
            );
            assert!(!error.retryable());
            assert_eq!(error.status(), Some(status));
        }
        let error = rest.get(&["x"]).send().await.unwrap_err();
        assert!(error.retryable(), "{error:?}");
        assert_eq!(error.status(), Some(status));
        assert_eq!(log.lock().unwrap().len(), 4);
    }
}

#[test]
fn addresses_that_people_need_are_part_of_the_message() {
    let mut answer = Answer::for_test(
        403,
        r#"{"message":"Resource protected by organization SAML enforcement."}"#,
    );
    let sso = "required; url=https://github.com/orgs/acme/sso?authorization_request=AZ";
    answer.headers.insert("x-github-sso", sso.parse().unwrap());
    let expected = "Resource protected by organization SAML enforcement. (authorize the token at \
                    https://github.com/orgs/acme/sso?authorization_request=AZ)";
    assert_eq!(answer.clone().into_error().to_string(), expected);
    // Also where the repository is hidden from the token.
    answer.status = StatusCode::NOT_FOUND;
    let hidden = answer.clone().into_error();
    assert!(matches!(hidden, ForgeError::Forbidden { .. }), "{hidden:?}");
    let odd = "required; url=javascript:alert(1)";
    answer.headers.insert("x-github-sso", odd.parse().unwrap());
    let hidden = answer.into_error();
    assert!(matches!(hidden, ForgeError::NotFound { .. }), "{hidden:?}");

    let dmca = Answer::for_test(
        451,
        r#"{"message":"Repository access blocked","block":{"reason":"dmca","created_at":"x",
            "html_url":"https://github.com/github/dmca/blob/master/2024/01/2024-01-01-x.md"}}"#,
    );
    let expected = "Repository access blocked \
                    (dmca: https://github.com/github/dmca/blob/master/2024/01/2024-01-01-x.md)";
    assert_eq!(dmca.into_error().to_string(), expected);
}

fn nowhere() -> Rest {
    rest(&Url::parse("https://git.example.org/sub/api/v1/").unwrap())
}

#[test]
fn segments_are_encoded_once() {
    let rest = nowhere();
    let url = |call: Call<'_>| call.url().unwrap().to_string();
    assert_eq!(
        url(rest
            .get(&["repos", "a", "b", "branches"])
            .segment("feat/ü x#?%20+")),
        "https://git.example.org/sub/api/v1/repos/a/b/branches/feat%2F%C3%BC%20x%23%3F%2520%2B"
    );
    assert_eq!(
        url(rest
            .get(&["contents"])
            .path("d r/a%b.txt")
            .query("ref", "a b&c")),
        "https://git.example.org/sub/api/v1/contents/d%20r/a%25b.txt?ref=a+b%26c"
    );
    assert_eq!(
        url(rest.get(&["x"]).path("a\\b/...c")),
        "https://git.example.org/sub/api/v1/x/a%5Cb/...c"
    );
    for bad in ["", "..", "a/../b", "a//b", "a/", "."] {
        assert!(rest.get(&["contents"]).path(bad).url().is_err(), "{bad}");
    }
}

#[test]
fn words_of_every_kind_of_body() {
    let message = |body: &str| Answer::for_test(500, body).message();
    for (body, expected) in [
        ("", ""),
        ("404 page not found\n", "404 page not found"),
        ("<html><body>Bad gateway</body></html>", ""),
        ("null", ""),
        (r#"{"message":"a\nb\u0007","url":"u"}"#, "a b"),
        (
            r#"{"message":"not found","errors":["run 9: gone","x"]}"#,
            "not found: run 9: gone: x",
        ),
        (r#"{"message":"m","errors":null}"#, "m"),
        (r#"{"message":"","errors":[{"message":"inner"}]}"#, "inner"),
        (
            r#"{"message":"Validation Failed","errors":[{"resource":"Label","field":"name","code":"missing"}]}"#,
            "Validation Failed: Label name missing",
        ),
        (
            r#"{"Style":"merge","StdOut":"CONFLICT in a","Err":{}}"#,
            "CONFLICT in a",
        ),
        (r#"{"error":"e"}"#, "e"),
    ] {
        assert_eq!(message(body), expected, "{body}");
    }
    assert_eq!(Answer::for_test(502, "").message_or_reason(), "bad gateway");
}

#[test]
fn each_status_becomes_its_error() {
    let error = |status: u16, message: &str| {
        let body = json!({ "message": message }).to_string();
        status::error_of(&Answer::for_test(status, &body))
    };
    let no_token = error(401, "m");
    assert!(matches!(
        no_token,
        ForgeError::Unauthorized { sent: false, .. }
    ));
    assert_eq!(no_token.to_string(), "git.example.org wants a token: m");
    assert!(matches!(error(403, "m"), ForgeError::Forbidden { message, .. } if message == "m"));
    assert!(matches!(error(404, "m"), ForgeError::NotFound { what, .. } if what == "it"));
    let mut gone = Answer::for_test(404, "");
    gone.what = "repository `a/b`".to_owned();
    let said = status::error_of(&gone).to_string();
    let unseen = "repository `a/b` (asked without a token) not found on git.example.org";
    assert_eq!(said, unseen);
    gone.secret = Some(Secret::new("t"));
    let said = status::error_of(&gone).to_string();
    assert_eq!(said, "repository `a/b` not found on git.example.org");
    assert!(matches!(
        error(409, "m"),
        ForgeError::Conflict {
            kind: ConflictKind::Other,
            ..
        }
    ));
    assert!(matches!(error(413, "m"), ForgeError::Invalid { .. }));
    assert!(matches!(error(422, "m"), ForgeError::Invalid { .. }));
    assert!(matches!(error(423, "m"), ForgeError::Archived { .. }));
    assert!(matches!(
        error(503, ""),
        ForgeError::Unexpected { status: 503, message, .. } if message == "service unavailable"
    ));
}

#[test]
fn a_token_that_the_server_repeats_is_hidden() {
    let mut answer = Answer::for_test(
        401,
        r#"{"message":"access token does not exist [sha: s3cr3t-token]"}"#,
    );
    answer.secret = Some(Secret::new("s3cr3t-token"));
    assert_eq!(answer.message(), "access token does not exist [sha: ****]");
}

#[test]
fn lists_with_nulls() {
    let list = |body: &str| Answer::for_test(200, body).list::<u32>();
    assert_eq!(list("null").unwrap(), Vec::<u32>::new());
    assert_eq!(list("[1,null,2]").unwrap(), [1, 2]);
    assert!(list("").is_err());
}

#[test]
fn links() {
    let seen = |value: &str| {
        let mut seen = Seen::default();
        seen.read_link(value);
        (seen.linked, seen.next, seen.last)
    };
    assert_eq!(
        seen(
            r#"<http://evil.example/x?limit=9&page=2>; rel="next",<http://evil.example/x?limit=9&page=7>; rel="last""#
        ),
        (true, Some(2), Some(7))
    );
    assert_eq!(seen("</x?page=3&a=%3C>; rel=next"), (true, Some(3), None));
    assert_eq!(
        seen(r#"<http://h/x?page=1>; rel="first""#),
        (true, None, None)
    );
    assert_eq!(seen("nonsense"), (false, None, None));
    assert_eq!(
        seen(r#"<http://h/x?page=-1>; rel="next""#),
        (false, None, None)
    );
}

/// A list of numbers: how many, the server's own cap, and what it tells
#[derive(Clone, Copy)]
struct Numbers {
    count: usize,
    cap: usize,
    skip_every: usize,
    link: bool,
    total: bool,
}

impl Numbers {
    fn answer(self, query: &HashMap<String, String>) -> Response {
        let number = |key: &str| query.get(key).and_then(|v| v.parse::<usize>().ok());
        let (page, asked) = (number("page").unwrap_or(1), number("limit").unwrap_or(30));
        let limit = asked.min(self.cap);
        let rows: Vec<usize> = (0..self.count)
            .skip((page - 1) * limit)
            .take(limit)
            .filter(|n| self.skip_every == 0 || n % self.skip_every != 0)
            .collect();
        let mut headers = HeaderMap::new();
        let last = self.count.div_ceil(limit);
        if self.link && last > 1 {
            let next = if page < last {
                format!(
                    "<http://elsewhere.example/x?page={}>; rel=\"next\",",
                    page + 1
                )
            } else {
                String::new()
            };
            let link = format!("{next}<http://elsewhere.example/x?page={last}>; rel=\"last\"");
            headers.insert(header::LINK, link.parse().unwrap());
        }
        if self.total {
            headers.insert("x-total-count", self.count.into());
        }
        (headers, axum::Json(rows)).into_response()
    }
}

async fn numbers(list: Numbers) -> (Rest, Log) {
    let route =
        get(move |Query(query): Query<HashMap<String, String>>| async move { list.answer(&query) });
    let (api, log) = serve(Router::new().route("/api/v1/list", route)).await;
    (rest(&api), log)
}

#[tokio::test]
async fn whole_lists_however_the_server_counts() {
    for (link, total) in [(true, true), (true, false), (false, true), (false, false)] {
        for (count, cap) in [(0, 50), (1, 50), (50, 50), (51, 50), (230, 50), (230, 20)] {
            let list = Numbers {
                count,
                cap,
                skip_every: 0,
                link,
                total,
            };
            let (rest, _) = numbers(list).await;
            let all: Vec<usize> = rest.get(&["list"]).all(50).await.unwrap();
            let expected: Vec<usize> = (0..count).collect();
            assert_eq!(
                all, expected,
                "{count} by {cap}, link {link}, total {total}"
            );
        }
    }
}

#[tokio::test]
async fn a_short_page_is_not_the_last() {
    let list = Numbers {
        count: 120,
        cap: 50,
        skip_every: 7,
        link: true,
        total: true,
    };
    let (rest, log) = numbers(list).await;
    let page = rest
        .get(&["list"])
        .page::<usize>(Page::first(50), 50)
        .await
        .unwrap();
    assert!(page.items.len() < 50);
    assert_eq!((page.next_page, page.total), (Some(2), Some(120)));
    let all: Vec<usize> = rest.get(&["list"]).all(50).await.unwrap();
    assert_eq!(all.len(), 120 - 120_usize.div_ceil(7));
    let end = rest
        .get(&["list"])
        .page::<usize>(Page::new(3, 50), 50)
        .await
        .unwrap();
    assert_eq!(end.next_page, None);
    assert!(
        log.lock()
            .unwrap()
            .iter()
            .all(|(_, uri, _)| uri.starts_with("/api/v1/list?"))
    );
}

#[tokio::test]
async fn a_larger_page_than_the_server_gives_is_made_smaller() {
    let list = Numbers {
        count: 120,
        cap: 50,
        skip_every: 0,
        link: false,
        total: true,
    };
    let (rest, _) = numbers(list).await;
    let page = rest
        .get(&["list"])
        .page::<usize>(Page::first(1000), 50)
        .await
        .unwrap();
    assert_eq!((page.items.len(), page.next_page), (50, Some(2)));
}

#[tokio::test]
async fn after_the_last_number_there_is_no_page() {
    // A server that gives the same page whatever it is asked for
    let rows = get(|| async { ([("x-total-count", u64::MAX)], axum::Json([1, 2, 3])) });
    let (api, _) = serve(Router::new().route("/api/v1/list", rows)).await;
    let rest = rest(&api);
    for (number, next) in [(u32::MAX - 1, Some(u32::MAX)), (u32::MAX, None)] {
        let call = rest.get(&["list"]);
        let page = call.page::<usize>(Page::new(number, 3), 3).await.unwrap();
        assert_eq!(page.next_page, next);
    }
    let cut = Listing::of_all(vec![1, 2, 3], Page::new(u32::MAX, u32::MAX));
    assert_eq!((cut.items.len(), cut.next_page), (0, None));
}

#[tokio::test]
async fn a_write_is_never_redirected() {
    let moved = || async {
        (
            StatusCode::MOVED_PERMANENTLY,
            [(header::LOCATION, "/api/v1/repos/alice/new1/branches")],
        )
    };
    let router = Router::new()
        .route("/api/v1/repos/alice/old/branches", any(moved))
        .route("/api/v1/repos/alice/new1/branches", get(|| async { "[]" }));
    let (api, log) = serve(router).await;
    let rest = rest(&api);
    let segments = ["repos", "alice", "old", "branches"];
    for call in [
        rest.post(&segments).json(&json!({})),
        rest.put(&segments),
        rest.patch(&segments),
        rest.delete(&segments),
    ] {
        let error = call.send().await.unwrap_err();
        assert_eq!(error.to_string(), "`alice/old` has moved to `alice/new1`");
    }
    assert_eq!(log.lock().unwrap().len(), 4);
    // A read goes along, token and all: it is the same server.
    let rows: Vec<Value> = rest.get(&segments).send().await.unwrap().list().unwrap();
    assert!(rows.is_empty());
    assert!(log.lock().unwrap().iter().all(|(_, _, token)| *token));
}

#[tokio::test]
async fn a_redirect_to_another_place_is_refused_and_gets_no_token() {
    let (other, other_log) = serve(Router::new().fallback(|| async { "[]" })).await;
    let target = other.to_string();
    let router = Router::new()
        .route(
            "/api/v1/elsewhere",
            get(move || async move { (StatusCode::FOUND, [(header::LOCATION, target)]) }),
        )
        .route(
            "/api/v1/login",
            get(|| async { (StatusCode::SEE_OTHER, [(header::LOCATION, "/user/login")]) }),
        )
        .route(
            "/api/v1/circle",
            get(|| async { (StatusCode::FOUND, [(header::LOCATION, "/api/v1/circle")]) }),
        );
    let (api, _) = serve(router).await;
    let rest = rest(&api);
    for path in ["elsewhere", "login", "circle"] {
        let error = rest.get(&[path]).send().await.unwrap_err();
        assert!(
            matches!(error, ForgeError::Unexpected { .. }),
            "{path}: {error:?}"
        );
    }
    assert!(other_log.lock().unwrap().is_empty());
    // A file that a forge keeps elsewhere is read without the token.
    let answer = rest
        .get(&["elsewhere"])
        .keep_redirect()
        .answer()
        .await
        .unwrap();
    let refused = rest.fetch_redirected_tail(&answer, &api, 100, "file").await;
    assert!(
        matches!(refused, Err(ForgeError::Unexpected { .. })),
        "{refused:?}"
    );
    assert!(other_log.lock().unwrap().is_empty());
    let open = rest_with(
        &api,
        HttpConfig {
            private_hosts: vec![Host::of_url(&other).unwrap()],
            ..HttpConfig::default()
        },
    );
    open.fetch_redirected_tail(&answer, &api, 100, "file")
        .await
        .unwrap();
    assert_eq!(other_log.lock().unwrap().len(), 1);
    assert!(!other_log.lock().unwrap()[0].2);
}

/// Who is told to go on elsewhere would go there with a token
#[tokio::test]
async fn a_write_that_is_sent_elsewhere_is_not_called_moved() {
    let (other, other_log) = serve(Router::new().fallback(|| async { "{}" })).await;
    let other = other.origin().ascii_serialization();
    for (location, shown) in [
        (
            format!("{other}/api/v1/repos/acme/inventory"),
            other.as_str(),
        ),
        ("file:///etc/passwd".to_owned(), "file:"),
        ("/user/login".to_owned(), "/user/login"),
    ] {
        for status in [301, 302, 307, 308] {
            let status = StatusCode::from_u16(status).unwrap();
            let to = location.clone();
            let away = move || async move { (status, [(header::LOCATION, to)]) };
            let (api, _) = serve(Router::new().fallback(away)).await;
            let segments = ["repos", "acme", "inventory", "contents"];
            let error = rest(&api).post(&segments).send().await.unwrap_err();
            let ForgeError::Unexpected { message, .. } = &error else {
                panic!("{error:?}");
            };
            assert!(message.contains(&format!("`{shown}`")), "{message}");
        }
    }
    assert!(other_log.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_name_that_fits_into_no_address_is_not_asked_for() {
    let (api, log) = serve(Router::new().fallback(|| async { "{}" })).await;
    let name = "x".repeat(200_000);
    let error = rest(&api).get(&["repos", &name]).send().await.unwrap_err();
    assert!(matches!(error, ForgeError::Invalid { .. }), "{error:?}");
    assert!(log.lock().unwrap().is_empty());
}

#[tokio::test]
async fn text_and_empty_answers_are_errors_with_words() {
    let router = Router::new()
        .route(
            "/api/v1/text",
            get(|| async { (StatusCode::FORBIDDEN, "go away") }),
        )
        .route(
            "/api/v1/none",
            get(|| async { StatusCode::METHOD_NOT_ALLOWED }),
        )
        .route("/api/v1/html", get(|| async { "<html>" }))
        .route(
            "/api/v1/big",
            get(|State(_): State<Log>| async { "x".repeat(5_000) }),
        );
    let (api, _) = serve(router).await;
    let rest = rest(&api);
    let error = rest.get(&["text"]).send().await.unwrap_err();
    assert_eq!(error.to_string(), "go away");
    let error = rest.get(&["none"]).send().await.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("answered 405: method not allowed"),
        "{error}"
    );
    let answer = rest.get(&["html"]).send().await.unwrap();
    assert!(matches!(
        answer.list::<Value>(),
        Err(ForgeError::Decode { .. })
    ));
    let error = rest.get(&["big"]).max_body(1_000).send().await.unwrap_err();
    assert!(matches!(error, ForgeError::TooLarge { limit: 1_000, .. }));
    let error = rest
        .get(&["gone"])
        .what("thing `x`")
        .send()
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("thing `x` not found on 127.0.0.1:"),
        "{error}"
    );
}
