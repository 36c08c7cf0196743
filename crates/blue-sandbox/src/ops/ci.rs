//! Runs that a push or a pull request starts
//!
//! Two sources. Workflow files (`.gitea/workflows`, `.forgejo/workflows`, `.github/workflows`) make
//! runs that stay queued, since no runner is attached. The rule file `.sandbox/ci.yaml` makes runs
//! that end by themselves:
//!
//! ```yaml
//! workflows:
//!   - name: ci.yaml
//!     on: [push, pull_request]
//!     jobs:
//!       - { name: build, result: success, log: "all good", delay_ms: 200, context: ci/build }
//! ```

use std::collections::BTreeMap;

use blue_base::yaml;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Result,
    access::{self, Access},
    runs,
};
use crate::{
    app::App,
    git::{Kind, Oid},
    store::{
        checks::Plan,
        pulls::Pull,
        repos::{self, Repo},
        users::User,
    },
};

const RULE_FILE: &str = ".sandbox/ci.yaml";
const FOLDERS: &[&str] = &[
    ".gitea/workflows",
    ".forgejo/workflows",
    ".github/workflows",
];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RuleFile {
    workflows: Vec<RuleWorkflow>,
}

#[derive(Debug, Deserialize)]
struct RuleWorkflow {
    #[serde(default = "default_name")]
    name: String,
    #[serde(default = "default_on")]
    on: Vec<String>,
    jobs: Vec<RuleJob>,
}

#[derive(Debug, Deserialize)]
struct RuleJob {
    name: String,
    #[serde(default = "default_result")]
    result: String,
    #[serde(default)]
    log: String,
    #[serde(default)]
    delay_ms: i64,
    #[serde(default)]
    context: Option<String>,
}

fn default_name() -> String {
    "ci.yaml".to_owned()
}

fn default_on() -> Vec<String> {
    vec!["push".to_owned()]
}

fn default_result() -> String {
    "success".to_owned()
}

/// A workflow as found in a commit
#[derive(Debug, Clone)]
pub(crate) struct Workflow {
    /// File name, which is also its id
    pub(crate) file: String,
    pub(crate) path: String,
    pub(crate) title: String,
    pub(crate) on: Vec<String>,
    pub(crate) jobs: Vec<runs::NewJob>,
}

/// All workflows of a commit
pub(crate) fn workflows(app: &App, repo: &Repo, commit: Oid) -> Result<Vec<Workflow>> {
    let git = app.git(repo.id);
    let tree = git.commit(commit)?.tree;
    let mut found = Vec::new();
    if let Some(entry) = git.entry(tree, RULE_FILE)?
        && entry.mode.is_blob()
    {
        let text = String::from_utf8_lossy(&git.read_kind(entry.oid, Kind::Blob)?).into_owned();
        // A rule file that cannot be read drives nothing.
        let rules: RuleFile = yaml::parse(&text).unwrap_or_default();
        found.extend(rules.workflows.into_iter().map(from_rule));
    }
    for folder in FOLDERS {
        let Some(entry) = git.entry(tree, folder)? else {
            continue;
        };
        for file in git.tree(entry.oid)? {
            let is_yaml = matches!(file.name.rsplit_once('.'), Some((_, "yml" | "yaml")));
            if !is_yaml || !file.mode.is_blob() {
                continue;
            }
            let text = String::from_utf8_lossy(&git.read_kind(file.oid, Kind::Blob)?).into_owned();
            if let Ok(value) = yaml::parse::<Value>(&text) {
                found.push(from_file(&file.name, folder, &value));
            }
        }
        break;
    }
    Ok(found)
}

/// Start what a push to a branch starts
pub(crate) fn on_push(app: &App, repo: &Repo, user: &User, branch: &str, new: Oid) -> Result<()> {
    start(
        app,
        repo,
        user,
        "push",
        &format!("refs/heads/{branch}"),
        new,
        None,
        false,
    )
}

/// Start what a new or moved pull request starts
pub(crate) fn on_pull(app: &App, pull: &Pull, user: &User) -> Result<()> {
    let Some(repo) = app.store.read(|c| repos::by_id(c, pull.repo_id))? else {
        return Ok(());
    };
    let ref_name = format!("refs/pull/{}/head", pull.number);
    // Forgejo lets the code of an unknown contributor run only when a person has looked at it.
    let from_fork = pull.head_repo_id != Some(pull.repo_id);
    let access = app.store.read(|c| access::of_user(c, &repo, Some(user)))?;
    let held = app.is_forgejo() && from_fork && access < Access::Write;
    start(
        app,
        &repo,
        user,
        "pull_request",
        &ref_name,
        pull.head_sha,
        Some(&pull.title),
        held,
    )
}

#[expect(
    clippy::too_many_arguments,
    reason = "each is a fact of its own about the run"
)]
fn start(
    app: &App,
    repo: &Repo,
    user: &User,
    event: &str,
    ref_name: &str,
    sha: Oid,
    title: Option<&str>,
    held: bool,
) -> Result<()> {
    if !repo.settings.has_actions {
        return Ok(());
    }
    for workflow in workflows(app, repo, sha)? {
        if workflow.on.iter().any(|on| on == event) {
            let commit = app.git(repo.id).commit(sha)?;
            let title = title.unwrap_or_else(|| commit.title());
            run(
                app, repo, user, &workflow, event, ref_name, sha, title, held,
            )?;
        }
    }
    Ok(())
}

/// Start one workflow
#[expect(
    clippy::too_many_arguments,
    reason = "each is a fact of its own about the run"
)]
pub(crate) fn run(
    app: &App,
    repo: &Repo,
    user: &User,
    workflow: &Workflow,
    event: &str,
    ref_name: &str,
    sha: Oid,
    title: &str,
    held: bool,
) -> Result<crate::store::checks::Run> {
    let jobs = workflow.jobs.iter().map(|job| {
        let mut job = job.clone();
        // A run someone started by hand says nothing of the commit.
        if job.context.is_empty() && event != "workflow_dispatch" {
            let context = format!("{} / {} ({event})", workflow.title, job.name);
            context.trim_start().clone_into(&mut job.context);
        }
        job
    });
    let new = runs::NewRun {
        workflow: &workflow.file,
        title,
        event,
        ref_name,
        sha,
        jobs: jobs.collect(),
        held,
    };
    runs::create(app, repo, user, &new)
}

fn from_rule(rule: RuleWorkflow) -> Workflow {
    let jobs = rule.jobs.into_iter().map(|job| runs::NewJob {
        name: job.name,
        waits: false,
        context: job.context.unwrap_or_default(),
        plan: Some(Plan {
            conclusion: job.result,
            log: job.log,
            delay_ms: job.delay_ms,
            app_id: None,
        }),
    });
    Workflow {
        path: RULE_FILE.to_owned(),
        title: rule
            .name
            .trim_end_matches(".yaml")
            .trim_end_matches(".yml")
            .to_owned(),
        on: rule
            .on
            .into_iter()
            .chain(["workflow_dispatch".to_owned()])
            .collect(),
        jobs: jobs.collect(),
        file: rule.name,
    }
}

fn from_file(file: &str, folder: &str, value: &Value) -> Workflow {
    let on = match &value["on"] {
        Value::String(one) => vec![one.clone()],
        Value::Array(many) => many
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        Value::Object(map) => map.keys().cloned().collect(),
        _ => Vec::new(),
    };
    let jobs: BTreeMap<String, Value> =
        serde_json::from_value(value["jobs"].clone()).unwrap_or_default();
    let jobs = jobs.into_iter().map(|(id, job)| runs::NewJob {
        name: job["name"].as_str().unwrap_or(&id).to_owned(),
        waits: !job["needs"].is_null(),
        ..runs::NewJob::default()
    });
    Workflow {
        file: file.to_owned(),
        path: format!("{folder}/{file}"),
        title: value["name"].as_str().unwrap_or_default().to_owned(),
        on,
        jobs: jobs.collect(),
    }
}
