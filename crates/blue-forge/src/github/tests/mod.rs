//! The client against GitHub's documented answers, the nasty ones above all

mod commit;
mod fake;
mod lists;
mod merge;
mod names;
mod open;
mod overview;
mod protect;
mod read;
mod refused;
mod runs;
mod server;
mod tags;
mod verdict;

use std::sync::Arc;

use fake::{Fake, Reply, json_reply, reply};
use serde_json::{Value, json};

use super::*;
use crate::{ConflictKind, MergeBlock, model::*};
use blue_base::{
    http::{AuthScheme, HttpConfig},
    secret::Secret,
};

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const C: &str = "cccccccccccccccccccccccccccccccccccccccc";
const D: &str = "dddddddddddddddddddddddddddddddddddddddd";

fn sha(text: &str) -> Sha {
    Sha::parse(text).unwrap()
}

fn repo() -> RepoId {
    RepoId::parse("o", "r").unwrap()
}

fn github(fake: &Fake) -> GitHub {
    github_of(fake, "hunter2", Vec::new())
}

fn github_of(fake: &Fake, token: &str, private_hosts: Vec<Host>) -> GitHub {
    let host = Host::parse(&fake.addr.to_string()).unwrap();
    let config = HttpConfig {
        backoff: Duration::from_millis(1),
        private_hosts,
        ..HttpConfig::default()
    };
    let endpoint = Endpoint {
        api: api_url(&host),
        host: host.clone(),
    };
    let credential = Credential {
        host,
        scheme: AuthScheme::Bearer,
        token: Secret::new(token),
    };
    GitHub::new(Arc::new(Http::new(config)), endpoint, Some(credential))
}

/// A client of `fake` with this token, such as one that also occurs inside of ordinary words
fn github_with_token(fake: &Fake, token: &str) -> GitHub {
    github_of(fake, token, Vec::new())
}

/// A pull request as `GET /pulls/{n}` gives it, with changes
fn pull(change: &Value) -> Value {
    let side = |name: &str, id: &str| {
        json!({
            "ref": name, "sha": id, "label": format!("o:{name}"), "user": {"login": "o"},
            "repo": {"name": "r", "owner": {"login": "o"}},
        })
    };
    let mut pull = json!({
        "number": 1, "title": "t", "body": null, "state": "open", "draft": false,
        "merged": false, "merged_at": null, "mergeable": true, "mergeable_state": "clean",
        "merge_commit_sha": D, "changed_files": 1, "head": side("topic", A),
        "base": side("main", B), "user": {"login": "o"}, "html_url": "https://x/o/r/pull/1",
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    });
    for (key, value) in change.as_object().unwrap() {
        pull[key] = value.clone();
    }
    pull
}

fn merged() -> Value {
    pull(&json!({
        "state": "closed", "merged": true, "merged_at": "2026-01-02T00:00:00Z",
        "mergeable": null, "merge_commit_sha": C,
    }))
}

fn message(status: u16, text: &str) -> Reply {
    json_reply(
        status,
        &json!({"message": text, "documentation_url": "https://docs"}),
    )
}

/// A 422 with the words in `errors`, as GitHub has most of them
fn failed(text: &str) -> Reply {
    let error = json!({"resource": "PullRequest", "code": "custom", "message": text});
    json_reply(
        422,
        &json!({"message": "Validation Failed", "errors": [error]}),
    )
}

fn git_ref(name: &str, kind: &str, id: &str) -> Value {
    json!({"ref": name, "object": {"type": kind, "sha": id, "url": ""}})
}
