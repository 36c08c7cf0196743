//! The tools behind the broker: each caller works with their own forge token, and on that forge only

mod running;

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use ::http::Request;
use async_trait::async_trait;
use axum::{body::Body, response::Response};
use blue_base::{
    clock::Clock,
    host::Host,
    http::{self, AuthScheme, Credential, Http, HttpConfig},
    load::{Load, LoadLimits},
    secret::Secret,
};
use blue_broker::{Backend, Caller, Ended};
use blue_forge::{
    Endpoint, Forge,
    allow::Allow,
    detect::{DetectedType, Detection, FoundBy},
    forgejo::Forgejo,
    model::RepoId,
    open::{Ask, OpenError, Opened},
};
use blue_mcp::{
    CallerId,
    http::{Guard, McpEndpoint, keep_with},
};
use blue_tools::{Cx, ErrorCode, Opener, ToolError, tools};
use running::RunningGrants;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::mcp::{Choice, Server, Toolbox};

/// How long the forge of a user without any running call is kept open
///
/// What it remembers of its server is not believed for longer. A grant that another process ends is
/// not told here, so this is also the longest that a forge token outlives its last grant.
const IDLE_FORGE_TTL: Duration = Duration::from_mins(1);

/// Serves the tools by MCP to callers that the broker authenticated
pub(super) struct Tools {
    endpoint: McpEndpoint<Server>,
    load: Arc<Load>,
    running: RunningGrants,
    open: Open,
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tools").finish_non_exhaustive()
    }
}

impl Tools {
    /// `allow` holds for everybody, whatever their token can reach
    pub(super) fn new(
        http: HttpConfig,
        clock: Arc<dyn Clock>,
        allow: Allow,
    ) -> Result<Self, ToolError> {
        let tools = Toolbox::new(tools::ALL, &Choice::default())?.without_folder();
        let forges = Arc::new(Forges::new(http, allow));
        let open = Arc::clone(&forges.open);
        let caller = move |parts: Option<&::http::request::Parts>| {
            let caller = parts.and_then(|parts| parts.extensions.get::<Caller>());
            let unknown = || ToolError::new(ErrorCode::Internal, "nobody knows who calls");
            forges.cx(caller.ok_or_else(unknown)?, &clock)
        };
        let server = Server::new(tools, Arc::new(caller));
        Ok(Self {
            endpoint: McpEndpoint::new(server, Guard::seen(), CancellationToken::new()),
            load: Load::new(LoadLimits::default()),
            running: RunningGrants::default(),
            open,
        })
    }
}

#[async_trait]
impl Backend for Tools {
    async fn answer(&self, caller: Caller, mut request: Request<Body>) -> Response {
        let running = self.running.enter(&caller.grant);
        let user = self.load.user(&caller.user);
        close_idle_forges_later(&self.open);
        let extensions = request.extensions_mut();
        extensions.insert(running.revocation());
        extensions.insert(user);
        extensions.insert(CallerId(caller.grant.clone()));
        extensions.insert(caller);
        let answer = self.endpoint.answer(request).await;
        // Reports of progress are sent while the call still runs.
        keep_with(answer, running)
    }

    fn ended(&self, Ended::Grant(grant): &Ended) {
        self.running.end(grant);
        lock(&self.open).end_grant(grant);
    }
}

/// Closes forges that are idle, now and then, until none is open
///
/// One task does it, and it ends with the last forge: without users nothing is kept and nothing runs.
fn close_idle_forges_later(open: &Open) {
    let mut forges = lock(open);
    if std::mem::replace(&mut forges.closing, true) {
        return;
    }
    drop(forges);
    let open = Arc::downgrade(open);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(IDLE_FORGE_TTL / 2).await;
            let Some(open) = open.upgrade() else { return };
            let mut forges = lock(&open);
            forges.close_idle(Instant::now());
            if forges.by_user.is_empty() {
                forges.closing = false;
                return;
            }
        }
    });
}

/// The forge as one person sees it
#[derive(Debug)]
struct Kept {
    /// That it was opened with
    token: Secret,
    forge: Arc<dyn Forge>,
    /// Whom to tell when the forge does not take it
    refused: blue_broker::Refused,
    /// Grants of the user that called since it was opened
    grants: BTreeSet<String>,
    used: Instant,
}

/// By user: what a forge learnt of its server is kept as long as the token is the same
#[derive(Debug, Default)]
struct OpenForges {
    by_user: HashMap<String, Kept>,
    /// A task closes those that are idle
    closing: bool,
}

impl OpenForges {
    /// Forgets a grant that ended; the last one takes the forge and its token along
    fn end_grant(&mut self, grant: &str) {
        self.by_user.retain(|_, kept| {
            kept.grants.remove(grant);
            !kept.grants.is_empty()
        });
    }

    fn close_idle(&mut self, now: Instant) {
        self.by_user.retain(|_, kept| {
            let is_running = Arc::strong_count(&kept.forge) > 1;
            is_running || now.saturating_duration_since(kept.used) < IDLE_FORGE_TTL
        });
    }
}

type Open = Arc<Mutex<OpenForges>>;

fn lock(open: &Open) -> MutexGuard<'_, OpenForges> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The forge as each person sees it
struct Forges {
    http: Arc<Http>,
    allow: Allow,
    open: Open,
}

impl Forges {
    fn new(mut http: HttpConfig, allow: Allow) -> Self {
        let open = Open::default();
        let known = Arc::clone(&open);
        // Here, where every call passes: many tools go on when one of their questions fails.
        http.refused = Some(http::Refused(Arc::new(move |token| {
            let of = |kept: &&Kept| kept.token == *token;
            let refused = {
                let known = lock(&known);
                known.by_user.values().find(of).map(|k| k.refused.clone())
            };
            if let Some(refused) = refused {
                refused.tell();
            }
        })));
        Self {
            http: Arc::new(Http::new(http)),
            allow,
            open,
        }
    }

    /// What the tools work with for this caller
    fn cx(&self, caller: &Caller, clock: &Arc<dyn Clock>) -> Result<Cx, ToolError> {
        let opener = self.of(caller)?;
        // There is no folder of the caller here.
        let cx = Cx::new(Arc::new(opener), Arc::clone(clock), PathBuf::from("/"));
        Ok(cx.with_lent_token())
    }

    fn of(&self, caller: &Caller) -> Result<OneForge, ToolError> {
        let (host, api) = place(&caller.forge).ok_or_else(|| {
            ToolError::new(
                ErrorCode::Internal,
                "the forge of the broker has no address",
            )
        })?;
        let mut open = lock(&self.open);
        let kept = open.by_user.get_mut(&caller.user);
        let kept = kept.filter(|kept| kept.token == caller.forge_token);
        let forge = if let Some(kept) = kept {
            // A forge may give the same token twice; what is told counts for the last time.
            kept.refused = caller.refused.clone();
            kept.grants.insert(caller.grant.clone());
            kept.used = Instant::now();
            Arc::clone(&kept.forge)
        } else {
            let forge = self.connect(&host, &api, &caller.forge_token);
            let entry = Kept {
                token: caller.forge_token.clone(),
                forge: Arc::clone(&forge),
                refused: caller.refused.clone(),
                grants: BTreeSet::from([caller.grant.clone()]),
                used: Instant::now(),
            };
            open.by_user.insert(caller.user.clone(), entry);
            forge
        };
        Ok(OneForge {
            forge,
            host,
            api,
            allow: self.allow.clone(),
        })
    }

    fn connect(&self, host: &Host, api: &Url, token: &Secret) -> Arc<dyn Forge> {
        let endpoint = Endpoint {
            host: host.clone(),
            api: api.clone(),
        };
        let credential = Credential {
            host: host.clone(),
            // Sent in another way, some forges do not keep to the scope.
            scheme: AuthScheme::Bearer,
            token: token.clone(),
        };
        let http = Arc::clone(&self.http);
        Arc::new(Forgejo::new(http, endpoint, Some(credential)).allowing(self.allow.clone()))
    }
}

/// The host of a forge, and where its API begins
fn place(forge: &Url) -> Option<(Host, Url)> {
    Some((Host::of_url(forge)?, forge.join("api/v1/").ok()?))
}

/// The one forge that a caller can reach
#[derive(Debug)]
struct OneForge {
    forge: Arc<dyn Forge>,
    host: Host,
    api: Url,
    allow: Allow,
}

#[async_trait]
impl Opener for OneForge {
    async fn open(&self, ask: &Ask) -> Result<Opened, OpenError> {
        let (Some(owner), Some(name)) = (&ask.owner, &ask.name) else {
            return Err(OpenError::Unnamed);
        };
        let repo = RepoId::parse(owner, name)?;
        if let Some(asked) = ask.host.clone().filter(|host| *host != self.host) {
            let only = self.host.clone();
            return Err(OpenError::OtherForge { asked, only });
        }
        self.allow.check_repo(&self.host, &repo)?;
        Ok(Opened {
            forge: Arc::clone(&self.forge),
            found: Detection {
                kind: DetectedType::Forgejo,
                host: Some(self.host.clone()),
                owner: Some(repo.owner().to_owned()),
                repo: Some(repo.name().to_owned()),
                api_url: Some(self.api.clone()),
                found_by: Some(FoundBy::Config),
                guess: false,
                family_only: true,
                failure: None,
            },
            repo,
            token: None,
            reads_only: None,
            notices: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ::http::header;
    use blue_base::clock::SystemClock;

    use super::*;

    fn caller(user: &str, token: &str) -> Caller {
        Caller {
            grant: "g".to_owned(),
            user: user.to_owned(),
            login: user.to_owned(),
            forge: "https://git.example.org/sub/".parse().unwrap(),
            forge_token: Secret::new(token),
            scopes: vec!["mcp".to_owned()],
            refused: blue_broker::Refused::new(|| ()),
        }
    }

    fn forges(allow: Allow) -> Forges {
        Forges::new(HttpConfig::default(), allow)
    }

    fn ask(host: Option<&str>, owner: &str) -> Ask {
        Ask {
            host: host.map(|host| Host::parse(host).unwrap()),
            owner: Some(owner.to_owned()),
            name: Some("site".to_owned()),
            ..Ask::default()
        }
    }

    #[tokio::test]
    async fn only_the_one_forge_is_opened() {
        let forges = forges(Allow::parse("alice").unwrap());
        let one = forges.of(&caller("u", "t")).unwrap();
        for host in [None, Some("git.example.org")] {
            let opened = one.open(&ask(host, "alice")).await.unwrap();
            let api = opened.found.api_url.unwrap();
            assert_eq!(api.as_str(), "https://git.example.org/sub/api/v1/");
        }
        for host in ["github.com", "git.example.org:8443"] {
            let refused = one.open(&ask(Some(host), "alice")).await.unwrap_err();
            assert!(matches!(refused, OpenError::OtherForge { .. }), "{refused}");
        }
        let refused = one.open(&ask(None, "bob")).await.unwrap_err();
        assert!(matches!(refused, OpenError::NotAllowed(_)), "{refused}");
        let nothing = one.open(&Ask::default()).await.unwrap_err();
        assert!(matches!(nothing, OpenError::Unnamed), "{nothing}");
    }

    #[test]
    fn a_forge_is_kept_for_one_person_and_one_token() {
        let forges = forges(Allow::everything());
        let of = |user, token| forges.of(&caller(user, token)).unwrap().forge;
        let first = of("a", "1");
        assert!(Arc::ptr_eq(&first, &of("a", "1")));
        assert!(!Arc::ptr_eq(&first, &of("b", "1")));
        assert!(!Arc::ptr_eq(&first, &of("a", "2")));
    }

    #[test]
    fn the_forge_token_leaves_memory_with_the_last_grant() {
        let forges = forges(Allow::everything());
        let of = |grant: &str| {
            let caller = Caller {
                grant: grant.to_owned(),
                ..caller("u", "t")
            };
            Arc::downgrade(&forges.of(&caller).unwrap().forge)
        };
        let (first, second) = (of("one"), of("two"));
        lock(&forges.open).end_grant("one");
        lock(&forges.open).end_grant("another");
        assert!(first.upgrade().is_some(), "`two` still uses it");
        lock(&forges.open).end_grant("two");
        assert!(first.upgrade().is_none() && second.upgrade().is_none());
        assert!(lock(&forges.open).by_user.is_empty());
    }

    #[test]
    fn a_forge_without_a_running_call_is_closed_after_a_while() {
        let forges = forges(Allow::everything());
        let later = Instant::now() + IDLE_FORGE_TTL;
        let running = forges.of(&caller("busy", "1")).unwrap();
        drop(forges.of(&caller("idle", "2")).unwrap());
        lock(&forges.open).close_idle(Instant::now());
        assert_eq!(lock(&forges.open).by_user.len(), 2);
        lock(&forges.open).close_idle(later + Duration::from_secs(1));
        let users: Vec<_> = lock(&forges.open).by_user.keys().cloned().collect();
        assert_eq!(users, ["busy"]);
        drop(running);
    }

    #[tokio::test]
    async fn a_401_of_the_forge_is_told_to_the_broker() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let forge = format!("http://{}/", listener.local_addr().unwrap());
        let refusing = || async { ::http::StatusCode::UNAUTHORIZED };
        let router = axum::Router::new().fallback(refusing);
        tokio::spawn(axum::serve(listener, router).into_future());
        let told = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&told);
        let forges = forges(Allow::everything());
        let mut caller = caller("u", "t");
        caller.forge = forge.parse().unwrap();
        caller.refused = blue_broker::Refused::new(move || {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let opened = forges.of(&caller).unwrap();
        let opened = opened.open(&ask(None, "alice")).await.unwrap();
        let branch = opened.forge.repository(&opened.repo).await;
        assert!(branch.is_err());
        assert!(told.load(Ordering::SeqCst) >= 1);

        // Who called has no token to set, and a new one is on its way.
        let tool = tools::ALL.iter().find(|tool| tool.name() == "branch_list");
        let args = serde_json::json!({ "owner": "alice", "name": "site" });
        let args = args.as_object().unwrap().clone();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let cx = forges.cx(&caller, &clock).unwrap();
        let error = tool.unwrap().call_json(&cx, args).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Unauthorized, "{error}");
        let hint = error.hint.unwrap();
        assert!(hint.contains("try again") && error.retryable, "{hint}");
        assert!(!hint.contains("TOKEN"), "{hint}");
    }

    fn call(tool: &str, arguments: &serde_json::Value) -> Request<Body> {
        let call = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        Request::post("/mcp")
            .header(header::HOST, "broker.example")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(call.to_string()))
            .unwrap()
    }

    async fn body(answer: Response) -> String {
        let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await;
        String::from_utf8(body.unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_revocation_cancels_running_calls_however_many_grants_came_since() {
        // It takes connections, and never says anything.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut caller = caller("u", "t");
        caller.forge = format!("http://{}/", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        let tools = Tools::new(
            HttpConfig::default(),
            Arc::new(SystemClock),
            Allow::everything(),
        );
        let tools = Arc::new(tools.unwrap());
        let arguments = serde_json::json!({"owner": "alice", "name": "site"});
        let request = call("branch_list", &arguments);
        let other = caller.clone();
        let asked = Arc::clone(&tools);
        let running = tokio::spawn(async move { asked.answer(caller, request).await });
        let (mut forge, _) = listener.accept().await.unwrap();
        tools.ended(&Ended::Grant("another".to_owned()));
        // However many grants are used meanwhile.
        for n in 0..2_000 {
            let other = Caller {
                grant: n.to_string(),
                ..other.clone()
            };
            let request = call("no_such_tool", &serde_json::json!({}));
            tools.answer(other, request).await;
        }
        let mut head = [0; 1];
        tokio::io::AsyncReadExt::read_exact(&mut forge, &mut head)
            .await
            .unwrap();
        assert!(!running.is_finished());
        tools.ended(&Ended::Grant("g".to_owned()));
        let answer = tokio::time::timeout(Duration::from_secs(20), running);
        let said = body(answer.await.expect("it ends").unwrap()).await;
        assert!(said.contains("cancelled"), "{said}");
    }

    /// What a call names is a model's word: the caller's token stays with the broker's forge
    #[tokio::test]
    async fn a_host_in_the_arguments_gets_no_token() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let evil = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let router = axum::Router::new().fallback(move || {
            count.fetch_add(1, Ordering::SeqCst);
            async { r#"{"version":"1.26.0"}"# }
        });
        tokio::spawn(axum::serve(listener, router).into_future());
        let clock = Arc::new(SystemClock);
        let tools = Tools::new(HttpConfig::default(), clock, Allow::everything()).unwrap();
        let arguments = serde_json::json!(
            {"owner": "alice", "name": "site", "path": "x", "host": evil});
        let request = call("file_read", &arguments);
        let said = body(tools.answer(caller("u", "t"), request).await).await;
        assert!(said.contains("not_allowed"), "{said}");
        assert_eq!(asked.load(Ordering::SeqCst), 0);
    }
}
