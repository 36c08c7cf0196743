use std::{fmt, time::Duration};

use url::Url;

use super::DetectedType;
use blue_base::{
    host::Host,
    http::{Http, HttpError, Method, Request, Response},
};

/// For the whole probe of one address
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
const MAX_BODY: u64 = 64 * 1024;
const MAX_REDIRECTS: usize = 3;

/// What Gitea and Forgejo say where only signed-in people may look
const SIGN_IN: &str = "Only signed in user is allowed to call APIs";

/// Headers that only GitHub's servers send
const GITHUB_HEADERS: &[&str] = &[
    "x-github-request-id",
    "x-github-enterprise-version",
    "x-github-media-type",
];

/// Why a host is taken for no forge, and what was tried
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeFailure {
    pub host: Host,
    /// Something answered, but not as a forge does
    pub answered: bool,
    /// Address and outcome of each request
    pub tried: Vec<String>,
}

impl fmt::Display for ProbeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tried = self.tried.join(", ");
        if self.answered {
            write!(f, "{} is not a forge (tried {tried})", self.host)
        } else {
            write!(f, "could not reach {} (tried {tried})", self.host)
        }
    }
}

/// Ask a host, without any token, whether it speaks Gitea's API or that of GitHub Enterprise
///
/// `bases` are where its pages may begin, in the order they are tried; gives the one that answered.
pub(super) async fn probe(
    http: &Http,
    host: &Host,
    bases: &[Url],
) -> Result<(DetectedType, Url), ProbeFailure> {
    let mut failure = ProbeFailure {
        host: host.clone(),
        answered: false,
        tried: Vec::new(),
    };
    for base in bases {
        match probe_at(http, base).await {
            Ok(kind) => return Ok((kind, base.clone())),
            Err((answered, tried)) => {
                failure.answered |= answered;
                failure.tried.extend(tried);
            }
        }
    }
    Err(failure)
}

/// Where to look for a host: this very machine may serve plain HTTP
///
/// Where nothing says the scheme, plain HTTP comes first there, since that is what is served on
/// loopback mostly, and a client that tries TLS on it is refused only after several tries.
pub(super) fn bases(host: &Host, base: &Url, scheme_known: bool) -> Vec<Url> {
    let mut plain = base.clone();
    let may_be_plain = host.is_loopback() && base.scheme() == "https";
    if !may_be_plain || plain.set_scheme("http").is_err() {
        return vec![base.clone()];
    }
    if scheme_known {
        vec![base.clone(), plain]
    } else {
        vec![plain, base.clone()]
    }
}

/// Which forge answers at `base`; else whether anything did, and what was tried
async fn probe_at(http: &Http, base: &Url) -> Result<DetectedType, (bool, Vec<String>)> {
    let paths = ["api/v1/version", "api/forgejo/v1/version", "api/v3/meta"];
    let ask = async |path: &str| {
        let Ok(url) = base.join(path) else {
            return Answer::Silent("no address".to_owned());
        };
        // Each has its own time, so that one cannot hide the other.
        tokio::time::timeout(PROBE_TIMEOUT, answer(http, url))
            .await
            .unwrap_or_else(|_| Answer::Silent("no answer in time".to_owned()))
    };
    let (gitea, forgejo, github) = tokio::join!(ask(paths[0]), ask(paths[1]), ask(paths[2]));
    match (&gitea, &forgejo, &github) {
        (Answer::Version(version), ..) if version.contains("+gitea-") => {
            return Ok(DetectedType::Forgejo);
        }
        // Only Forgejo has the second route.
        (Answer::Version(_) | Answer::SignIn, Answer::Version(_) | Answer::SignIn, _) => {
            return Ok(DetectedType::Forgejo);
        }
        (Answer::Version(_) | Answer::SignIn, ..) => return Ok(DetectedType::Gitea),
        (.., Answer::GitHub) => return Ok(DetectedType::GitHub),
        _ => {}
    }
    let answers = [gitea, forgejo, github];
    let answered = answers.iter().any(|a| !matches!(a, Answer::Silent(_)));
    let tried = paths.iter().zip(&answers);
    let tried = tried.map(|(path, answer)| format!("{base}{path}: {answer}"));
    Err((answered, tried.collect()))
}

enum Answer {
    Version(String),
    SignIn,
    GitHub,
    /// Of something that is no forge
    Other(String),
    /// No answer, and why
    Silent(String),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Version(_) | Self::SignIn | Self::GitHub => "answered",
            Self::Other(text) | Self::Silent(text) => text,
        })
    }
}

#[derive(serde::Deserialize)]
struct Body {
    version: Option<String>,
    message: Option<String>,
    /// Of GitHub's `meta`
    verifiable_password_authentication: Option<bool>,
}

async fn answer(http: &Http, url: Url) -> Answer {
    let response = match get(http, url).await {
        Ok(response) => response,
        Err(answer) => return answer,
    };
    let status = response.status.as_u16();
    let body: Option<Body> = serde_json::from_slice(&response.body).ok();
    let is_github = GITHUB_HEADERS
        .iter()
        .any(|name| response.headers.contains_key(*name));
    let body = body.as_ref();
    match status {
        200 | 401 | 403 if is_github => Answer::GitHub,
        200 if body.is_some_and(|b| b.verifiable_password_authentication.is_some()) => {
            Answer::GitHub
        }
        200 => match body.and_then(|b| b.version.clone()) {
            Some(version) => Answer::Version(version),
            None => Answer::Other("200, but not of a forge".to_owned()),
        },
        401 | 403
            if body
                .and_then(|b| b.message.as_deref())
                .is_some_and(|m| m.contains(SIGN_IN)) =>
        {
            Answer::SignIn
        }
        status => Answer::Other(status.to_string()),
    }
}

/// A GET that follows redirects on the same host only, and never from HTTPS to HTTP
async fn get(http: &Http, mut url: Url) -> Result<Response, Answer> {
    let elsewhere = |status| Answer::Other(format!("{status}, a redirect elsewhere"));
    for _ in 0..=MAX_REDIRECTS {
        let mut request = Request::new(Method::GET, url.clone());
        request.timeout = Some(PROBE_TIMEOUT);
        request.max_body = Some(MAX_BODY);
        let response = http.send(request).await.map_err(|error| match error {
            HttpError::TooLarge { .. } => Answer::Other("a large page".to_owned()),
            HttpError::RateLimited { .. } => Answer::Other("a rate limit".to_owned()),
            _ => Answer::Silent("no answer".to_owned()),
        })?;
        if !response.status.is_redirection() {
            return Ok(response);
        }
        let status = response.status.as_u16();
        let to = response.headers.get("location");
        let to = to.and_then(|to| url.join(to.to_str().ok()?).ok());
        let Some(to) = to else {
            return Err(elsewhere(status));
        };
        let downgrade = url.scheme() == "https" && to.scheme() != "https";
        let web = matches!(to.scheme(), "https" | "http");
        if downgrade || !web || Host::of_url(&to) != Host::of_url(&url) {
            return Err(elsewhere(status));
        }
        url = to;
    }
    Err(Answer::Other("too many redirects".to_owned()))
}
