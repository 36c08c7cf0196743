//! The GitHub client reads every example of GitHub's description
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{StatusCode, header},
    response::Response,
};
use blue_base::{
    host::Host,
    http::{AuthScheme, Credential, Http, HttpConfig},
    secret::Secret,
};
use blue_forge::{
    Endpoint, Forge, ForgeError,
    github::GitHub,
    model::{
        CheckState, CommitOpts, CreatePrOpts, Expect, FileChange, MergeOpts, Page, PrFilter,
        PrStateFilter, RepoId, RunFilter, Sha, StatusOpts, TagOpts,
    },
};
use blue_testkit::openapi::{Description, Operation};
use serde_json::Value;

const SHA: &str = "6dcb09b5b57875f334f61aebed695e2e4193db5e";

/// Calls that some examples are no good answer to: a file where a folder is meant
const ODD: &[&str] = &["read_file", "list_dir"];

/// Answers each operation with its examples, the same one for a whole round
#[derive(Debug, Clone, Default)]
struct Stub {
    round: Arc<AtomicUsize>,
    /// For each operation, how many examples it has and which were given out
    told: Arc<Mutex<Told>>,
}

type Told = BTreeMap<String, (usize, BTreeSet<usize>)>;

async fn answer(State(stub): State<Stub>, request: Request) -> Response {
    let path = request.uri().path().strip_prefix("/api/v3").unwrap_or("/");
    let found = Description::github().find(request.method().as_str(), path);
    let mut response = Response::new(Body::empty());
    let Some((operation, _)) = found else {
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let (status, examples) = success(operation);
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    if status == 302 {
        let here = "/api/v3/zen".parse().unwrap();
        response.headers_mut().insert(header::LOCATION, here);
    }
    // Who asks for an object gets a folder as one, and not as a list.
    let accept = request.headers().get(header::ACCEPT);
    let as_object = accept.is_some_and(|kind| kind.to_str().unwrap().contains("github.object"));
    let examples: Vec<&Value> = examples
        .iter()
        .filter(|example| !as_object || example.is_object())
        .collect();
    if !examples.is_empty() {
        let number = stub.round.load(Ordering::Relaxed) % examples.len();
        let mut told = stub.told.lock().unwrap();
        let met = told.entry(operation.id.clone()).or_default();
        met.0 = examples.len();
        met.1.insert(number);
        drop(told);
        *response.body_mut() = Body::from(examples[number].to_string());
        let json = "application/json; charset=utf-8".parse().unwrap();
        response.headers_mut().insert(header::CONTENT_TYPE, json);
    }
    response
}

/// The first success that is listed, with its examples
fn success(operation: &Operation) -> (u16, &[Value]) {
    let good = operation
        .responses
        .iter()
        .find(|(status, _)| status.starts_with('2'));
    let (status, response) = good
        .or(operation.responses.iter().next())
        .expect("it has answers");
    (status.parse().unwrap(), &response.examples)
}

#[tokio::test]
async fn the_client_reads_every_example() {
    drop(rustls::crypto::ring::default_provider().install_default());
    let stub = Stub::default();
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap();
    let root = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(answer).with_state(stub.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let api: url::Url = format!("{root}/api/v3/").parse().unwrap();
    let host = Host::of_url(&api).unwrap();
    let credential = Credential {
        host: host.clone(),
        scheme: AuthScheme::Bearer,
        token: Secret::new("hunter2"),
    };

    let most = Description::github()
        .operations
        .iter()
        .map(|operation| success(operation).1.len())
        .max()
        .unwrap();
    let mut unread = Vec::new();
    for round in 0..most {
        stub.round.store(round, Ordering::Relaxed);
        // A client of its own for each round: what it remembers of the last one is not this one.
        let http = Arc::new(Http::new(HttpConfig::default()));
        let endpoint = Endpoint {
            host: host.clone(),
            api: api.clone(),
        };
        let forge = GitHub::new(http, endpoint, Some(credential.clone()));
        for (call, outcome) in every_call(&forge).await {
            if let Err(error @ ForgeError::Decode { .. }) = outcome {
                unread.push(format!("round {round}, {call}: {error:?}"));
            } else if let Err(error) = outcome {
                assert!(ODD.contains(&call), "round {round}, {call}: {error}");
            }
        }
    }
    assert!(unread.is_empty(), "{}", unread.join("\n"));

    // Every operation that the client uses was met with all of its examples.
    let told = stub.told.lock().unwrap();
    for (id, (examples, met)) in told.iter() {
        assert!(met.len() >= *examples, "{id}: {met:?} of {examples}");
    }
    assert!(told.len() >= 25, "only {}: {:?}", told.len(), told.keys());
}

async fn every_call(forge: &dyn Forge) -> Vec<(&'static str, Result<(), ForgeError>)> {
    let repo = &RepoId::parse("octocat", "Hello-World").unwrap();
    let sha = &Sha::parse(SHA).unwrap();
    let page = Page::default();
    let mut all = Vec::new();
    macro_rules! call {
        ($name:ident ( $($argument:expr),* )) => {
            let outcome = forge.$name($($argument),*).await;
            all.push((stringify!($name), outcome.map(drop)));
        };
    }
    call!(about());
    call!(whoami());
    call!(repository(repo));
    call!(list_branches(repo, page));
    call!(all_branches(repo));
    call!(get_branch(repo, "main"));
    call!(create_branch(repo, "featureA", "master"));
    call!(delete_branch(repo, "featureA"));
    call!(protection(repo, "master"));
    call!(create_pr(CreatePrOpts {
        repo: repo.clone(),
        head: "new-topic".to_owned(),
        base: "master".to_owned(),
        title: "Amazing new feature".to_owned(),
        body: None,
        draft: false,
    }));
    call!(get_pr(repo, 1347));
    let filter = PrFilter {
        state: PrStateFilter::All,
        ..PrFilter::default()
    };
    call!(list_prs(repo, &filter, page));
    call!(find_pr(repo, "new-topic", "master"));
    let merge = MergeOpts {
        patience: Duration::ZERO,
        ..MergeOpts::default()
    };
    call!(merge_pr(repo, 1347, &merge));
    call!(pr_is_merged(repo, 1347));
    call!(pr_files(repo, 1347));
    call!(pr_reviews(repo, 1347));
    call!(mergeability(repo, 1347, Duration::ZERO));
    call!(resolve(repo, "master"));
    call!(get_commit(repo, SHA));
    call!(list_commits(repo, None, None, page));
    call!(compare(repo, "master", "topic"));
    call!(read_file(repo, "README.md", Some(SHA), 1_000_000));
    call!(list_dir(repo, "src", Some(SHA)));
    let write = CommitOpts {
        branch: "main".to_owned(),
        base: None,
        message: "my commit message".to_owned(),
        changes: vec![FileChange::Write {
            path: "file.rb".to_owned(),
            content: b"x".to_vec(),
            expect: Expect::Any,
        }],
        expected_head: None,
    };
    call!(commit_files(repo, &write));
    call!(checks(repo, SHA));
    let status = StatusOpts {
        context: "ci".to_owned(),
        state: CheckState::Success,
        description: None,
        target_url: None,
    };
    call!(set_status(repo, sha, &status));
    call!(list_runs(repo, &RunFilter::default(), page));
    call!(get_run(repo, 1));
    call!(list_jobs(repo, 1));
    call!(job_log(repo, 1, 1000));
    call!(list_tags(repo, page));
    call!(get_tag(repo, "v0.0.1"));
    let tag = TagOpts {
        name: "v0.0.1".to_owned(),
        target: SHA.to_owned(),
        message: Some("initial version".to_owned()),
    };
    call!(create_tag(repo, &tag));
    all
}
