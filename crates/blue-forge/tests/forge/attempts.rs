//! Runs whose jobs wait, run again, or need approval

use std::{sync::Arc, time::Duration};

use blue_forge::{
    Forge,
    model::{Job, Run, RunFilter, RunState, Sha},
};
use blue_sandbox::Flavor;
use blue_testkit::{Backend, Cx, Repo, Result, Skip, eventually};
use serde_json::{Value, json};

use crate::words::ALL;

blue_testkit::on_every_forge![
    a_job_that_waits_for_another_keeps_its_run_open,
    the_newest_attempt_of_a_job_counts,
    a_job_that_runs_again_is_not_over,
    the_newest_attempt_counts_where_runs_are_listed,
    a_run_that_needs_approval_waits_for_a_person,
    the_number_in_the_address_of_a_run_is_understood,
];

/// One way to make a run by the sandbox, with the commit that it is for
struct Made {
    forge: Arc<dyn Forge>,
    repo: Repo,
    sha: Sha,
    run: Value,
}

impl Made {
    async fn new(cx: &Cx, jobs: Value) -> Result<Self> {
        if matches!(cx.backend, Backend::Gitea | Backend::Forgejo) {
            return Err(Skip::new("no runner is attached to a real server").into());
        }
        let (forge, repo) = cx.start().await?;
        let sha = cx.lab.head(&repo, "main").await?;
        // Not the first run of the server: its number is not its id.
        let (_, other) = cx.start().await?;
        cx.lab.run(&other, &json!({"jobs": []})).await?;
        let run = cx.lab.run(&repo, &json!({"jobs": jobs})).await?;
        Ok(Self {
            forge,
            repo,
            sha,
            run,
        })
    }

    async fn state(&self) -> Result<Option<(Run, Vec<Job>)>> {
        let filter = RunFilter {
            head_sha: Some(self.sha.clone()),
            ..RunFilter::default()
        };
        let mut page = self.forge.list_runs(&self.repo.id, &filter, ALL).await?;
        let Some(run) = page.items.pop() else {
            return Ok(None);
        };
        let told = self.forge.get_run(&self.repo.id, run.id).await?;
        assert_eq!(told.id, run.id);
        let mut jobs = self.forge.list_jobs(&self.repo.id, run.id).await?;
        jobs.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Some((run, jobs)))
    }

    /// Wait until a job has this state
    async fn until(&self, name: &str, state: RunState) -> Result<(Run, Vec<Job>)> {
        let what = format!("{name} is {state:?}");
        eventually(&what, Duration::from_secs(10), || async {
            let seen = self.state().await?;
            Ok(seen.filter(|(_, jobs)| {
                jobs.iter()
                    .any(|job| job.name == name && job.state == state)
            }))
        })
        .await
    }
}

fn job(name: &str, result: &str) -> Value {
    json!({"name": name, "result": result, "context": format!("ci / {name} (push)")})
}

async fn a_job_that_waits_for_another_keeps_its_run_open(cx: Cx) -> Result<()> {
    let waits = json!({"name": "deploy", "waits": true, "context": "ci / deploy (push)"});
    let made = Made::new(&cx, json!([job("build", "success"), waits])).await?;
    let (run, jobs) = made.until("build", RunState::Success).await?;
    assert!(
        matches!(run.state, RunState::Queued | RunState::Running),
        "{run:?}"
    );
    let states: Vec<_> = jobs
        .iter()
        .map(|job| (job.name.as_str(), job.state))
        .collect();
    assert_eq!(
        states,
        [("build", RunState::Success), ("deploy", RunState::Queued)]
    );
    let to = json!({"conclusion": "success"});
    cx.lab
        .move_job(&made.repo, &made.run["jobs"][1]["id"], &to)
        .await?;
    let (run, _) = made.until("deploy", RunState::Success).await?;
    assert_eq!(run.state, RunState::Success);
    Ok(())
}

/// Make a run fail, start it again, and let it pass
async fn passed_again(cx: &Cx) -> Result<Made> {
    let held = json!({"name": "build", "context": "ci / build (push)"});
    let made = Made::new(cx, json!([held])).await?;
    let job = &made.run["jobs"][0]["id"];
    cx.lab
        .move_job(&made.repo, job, &json!({"conclusion": "failure"}))
        .await?;
    let (run, _) = made.until("build", RunState::Failure).await?;
    assert_eq!(run.state, RunState::Failure);
    let id = made.run["id"].as_u64().expect("a run has an id");
    cx.lab.change_run(&made.repo, id, "rerun").await?;
    Ok(made)
}

async fn the_newest_attempt_of_a_job_counts(cx: Cx) -> Result<()> {
    let made = passed_again(&cx).await?;
    let job = &made.run["jobs"][0]["id"];
    cx.lab
        .move_job(&made.repo, job, &json!({"conclusion": "success"}))
        .await?;
    let (run, jobs) = made.until("build", RunState::Success).await?;
    assert_eq!((run.state, jobs.len()), (RunState::Success, 1), "{jobs:?}");
    Ok(())
}

async fn a_job_that_runs_again_is_not_over(cx: Cx) -> Result<()> {
    let made = passed_again(&cx).await?;
    let (run, jobs) = made.until("build", RunState::Queued).await?;
    assert!(
        matches!(run.state, RunState::Queued | RunState::Running),
        "{run:?}"
    );
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    Ok(())
}

async fn the_newest_attempt_counts_where_runs_are_listed(cx: Cx) -> Result<()> {
    let cx = cx.forgejo(Flavor::Forgejo15)?;
    let made = passed_again(&cx).await?;
    let job = &made.run["jobs"][0]["id"];
    cx.lab
        .move_job(&made.repo, job, &json!({"conclusion": "success"}))
        .await?;
    let (run, jobs) = made.until("build", RunState::Success).await?;
    assert_eq!((run.state, jobs.len()), (RunState::Success, 1), "{jobs:?}");
    Ok(())
}

async fn a_run_that_needs_approval_waits_for_a_person(cx: Cx) -> Result<()> {
    let cx = cx.forgejo(Flavor::Forgejo15)?;
    let (forge, repo) = cx.start().await?;
    let rule = json!({"workflows": [{
        "name": "ci.yaml", "on": ["pull_request"], "jobs": [{"name": "build", "result": "success"}],
    }]});
    let rule = rule.to_string();
    cx.lab
        .write(&repo, "main", &[(".sandbox/ci.yaml", rule.as_bytes())])
        .await?;
    let stranger = cx.lab.user("stranger").await?;
    let fork = cx.lab.fork(&repo, &stranger).await?;
    let head = cx
        .lab
        .write_new(&fork, "topic", "main", &[("a.txt", b"a")])
        .await?;
    let from = format!("{}:topic", stranger.login);
    let body = json!({"head": from, "base": "main", "title": "From a fork"});
    cx.lab
        .post(&stranger, &repo.path(&["pulls"]), &body)
        .await?;
    let filter = RunFilter {
        head_sha: Some(head),
        ..RunFilter::default()
    };
    let runs = forge.list_runs(&repo.id, &filter, ALL).await?.items;
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert_eq!(runs[0].state, RunState::ActionRequired);
    cx.lab.change_run(&repo, runs[0].id, "approve").await?;
    eventually(
        "the approved run passes",
        Duration::from_secs(10),
        || async {
            let run = forge.get_run(&repo.id, runs[0].id).await?;
            Ok((run.state == RunState::Success).then_some(()))
        },
    )
    .await
}

async fn the_number_in_the_address_of_a_run_is_understood(cx: Cx) -> Result<()> {
    let cx = cx.forgejo(Flavor::Forgejo15)?;
    let made = Made::new(&cx, json!([job("build", "success")])).await?;
    let (run, _) = made.until("build", RunState::Success).await?;
    let number = run.html_url.rsplit('/').next().unwrap_or_default();
    let number: u64 = number.parse()?;
    assert_ne!(number, run.id);
    let told = made.forge.get_run(&made.repo.id, number).await?;
    assert_eq!((told.id, told.number), (run.id, number));
    let jobs = made.forge.list_jobs(&made.repo.id, number).await?;
    assert_eq!(jobs.len(), 1);
    Ok(())
}
