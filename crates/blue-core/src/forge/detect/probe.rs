use std::time::Duration;

use url::Url;

use super::DetectedType;
use crate::{
    forge::model::Host,
    http::{Http, Method, Request, Response},
};

/// For the whole probe of one address
const PATIENCE: Duration = Duration::from_secs(3);
const MAX_BODY: u64 = 64 * 1024;
const MAX_REDIRECTS: usize = 3;

/// What Gitea and Forgejo say where only signed-in people may look
const SIGN_IN: &str = "Only signed in user is allowed to call APIs";

/// Ask a host, without any token, whether it speaks Gitea's API
///
/// Gives where its pages begin: for this very machine that may be plain HTTP.
pub(super) async fn probe(http: &Http, host: &Host, base: &Url) -> Option<(DetectedType, Url)> {
    if let Some(kind) = probe_at(http, base).await {
        return Some((kind, base.clone()));
    }
    if base.scheme() == "https" && host.is_loopback() {
        let mut plain = base.clone();
        plain.set_scheme("http").ok()?;
        let kind = probe_at(http, &plain).await?;
        return Some((kind, plain));
    }
    None
}

async fn probe_at(http: &Http, base: &Url) -> Option<DetectedType> {
    let gitea = base.join("api/v1/version").ok()?;
    let forgejo = base.join("api/forgejo/v1/version").ok()?;
    // Only Forgejo has the second route; each has its own time, so that one cannot hide the other.
    let (gitea, forgejo) = tokio::join!(
        tokio::time::timeout(PATIENCE, answers(http, gitea)),
        tokio::time::timeout(PATIENCE, answers(http, forgejo)),
    );
    let (gitea, forgejo) = (gitea.ok().flatten(), forgejo.ok().flatten());
    match (gitea?, forgejo) {
        (Answer::Version(version), _) if version.contains("+gitea-") => Some(DetectedType::Forgejo),
        (_, Some(_)) => Some(DetectedType::Forgejo),
        (_, None) => Some(DetectedType::Gitea),
    }
}

enum Answer {
    Version(String),
    SignIn,
}

#[derive(serde::Deserialize)]
struct Body {
    version: Option<String>,
    message: Option<String>,
}

async fn answers(http: &Http, url: Url) -> Option<Answer> {
    let response = get(http, url).await?;
    let body: Body = serde_json::from_slice(&response.body).ok()?;
    match response.status.as_u16() {
        200 => body.version.map(Answer::Version),
        401 | 403 => body
            .message
            .filter(|m| m.contains(SIGN_IN))
            .map(|_| Answer::SignIn),
        _ => None,
    }
}

/// A GET that follows redirects on the same host only, and never from HTTPS to HTTP
async fn get(http: &Http, mut url: Url) -> Option<Response> {
    for _ in 0..=MAX_REDIRECTS {
        let mut request = Request::new(Method::GET, url.clone());
        request.timeout = Some(PATIENCE);
        request.max_body = Some(MAX_BODY);
        let response = http.send(request).await.ok()?;
        if !response.status.is_redirection() {
            return Some(response);
        }
        let to = response.headers.get("location")?.to_str().ok()?;
        let to = url.join(to).ok()?;
        let downgrade = url.scheme() == "https" && to.scheme() != "https";
        let web = matches!(to.scheme(), "https" | "http");
        if downgrade || !web || Host::of_url(&to) != Host::of_url(&url) {
            return None;
        }
        url = to;
    }
    None
}
