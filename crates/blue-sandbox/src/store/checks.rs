//! Rows of commit statuses, workflow runs and jobs

use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use serde::{Deserialize, Serialize};

use crate::git::Oid;

#[derive(Debug, Clone)]
pub(crate) struct Status {
    pub(crate) id: i64,
    pub(crate) sha: Oid,
    pub(crate) state: String,
    pub(crate) context: String,
    pub(crate) description: String,
    pub(crate) target_url: String,
    pub(crate) creator_id: Option<i64>,
    pub(crate) created_at: i64,
}

impl Status {
    fn row(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            sha: row.get(1)?,
            state: row.get(2)?,
            context: row.get(3)?,
            description: row.get(4)?,
            target_url: row.get(5)?,
            creator_id: row.get(6)?,
            created_at: row.get(7)?,
        })
    }
}

const STATUS: &str =
    "SELECT id, sha, state, context, description, target_url, creator_id, created_at FROM statuses";

/// Every status of a commit, newest first
pub(crate) fn statuses(c: &Connection, repo_id: i64, sha: Oid) -> Result<Vec<Status>> {
    c.prepare_cached(&format!(
        "{STATUS} WHERE repo_id = ?1 AND sha = ?2 ORDER BY id DESC"
    ))?
    .query_map(params![repo_id, sha], Status::row)?
    .collect()
}

/// The newest status of each context, newest first
pub(crate) fn latest(c: &Connection, repo_id: i64, sha: Oid) -> Result<Vec<Status>> {
    let mut seen = std::collections::HashSet::new();
    let mut rows = statuses(c, repo_id, sha)?;
    rows.retain(|row| seen.insert(row.context.clone()));
    Ok(rows)
}

pub(crate) fn insert_status(c: &Connection, repo_id: i64, status: &Status) -> Result<i64> {
    c.prepare_cached(
        "INSERT INTO statuses (repo_id, sha, state, context, description, target_url, creator_id, \
         created_at) VALUES (?1,?2,?3,?4,?5,?6,?7,?8)",
    )?
    .execute(params![
        repo_id,
        status.sha,
        status.state,
        status.context,
        status.description,
        status.target_url,
        status.creator_id,
        status.created_at
    ])?;
    Ok(c.last_insert_rowid())
}

#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) id: i64,
    pub(crate) repo_id: i64,
    pub(crate) number: i64,
    pub(crate) title: String,
    pub(crate) workflow: String,
    pub(crate) event: String,
    pub(crate) ref_name: String,
    pub(crate) sha: Oid,
    pub(crate) actor_id: i64,
    pub(crate) attempt: i64,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
}

impl Run {
    fn row(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            repo_id: row.get(1)?,
            number: row.get(2)?,
            title: row.get(3)?,
            workflow: row.get(4)?,
            event: row.get(5)?,
            ref_name: row.get(6)?,
            sha: row.get(7)?,
            actor_id: row.get(8)?,
            attempt: row.get(9)?,
            created_at: row.get(10)?,
            updated_at: row.get(11)?,
        })
    }
}

const RUN: &str = "SELECT id, repo_id, number, title, workflow, event, ref, sha, actor_id, attempt, \
                   created_at, updated_at FROM runs";

/// Newest first
pub(crate) fn runs(c: &Connection, repo_id: i64) -> Result<Vec<Run>> {
    c.prepare_cached(&format!("{RUN} WHERE repo_id = ?1 ORDER BY id DESC"))?
        .query_map([repo_id], Run::row)?
        .collect()
}

pub(crate) fn run(c: &Connection, repo_id: i64, id: i64) -> Result<Option<Run>> {
    c.prepare_cached(&format!("{RUN} WHERE repo_id = ?1 AND id = ?2"))?
        .query_row([repo_id, id], Run::row)
        .optional()
}

/// Write a new row; `id` and `number` are chosen here
pub(crate) fn insert_run(c: &Connection, run: &Run) -> Result<i64> {
    c.prepare_cached(
        "INSERT INTO runs (repo_id, number, title, workflow, event, ref, sha, actor_id, attempt, \
         created_at, updated_at) VALUES (?1, (SELECT coalesce(max(number), 0) + 1 FROM runs WHERE \
         repo_id = ?1), ?2,?3,?4,?5,?6,?7,?8,?9,?9)",
    )?
    .execute(params![
        run.repo_id,
        run.title,
        run.workflow,
        run.event,
        run.ref_name,
        run.sha,
        run.actor_id,
        run.attempt,
        run.created_at
    ])?;
    Ok(c.last_insert_rowid())
}

pub(crate) fn touch_run(c: &Connection, id: i64, attempt: i64, now: i64) -> Result<()> {
    c.execute(
        "UPDATE runs SET updated_at = ?3, attempt = ?2 WHERE id = ?1",
        [id, attempt, now],
    )?;
    Ok(())
}

/// What a job becomes by itself
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) conclusion: String,
    #[serde(default)]
    pub(crate) log: String,
    /// Milliseconds it takes once started
    #[serde(default)]
    pub(crate) delay_ms: i64,
    /// App that reports it as a check on GitHub; `None` is Actions
    #[serde(default)]
    pub(crate) app_id: Option<i64>,
}

#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) id: i64,
    pub(crate) run_id: i64,
    pub(crate) repo_id: i64,
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) log: String,
    pub(crate) context: String,
    pub(crate) plan: Option<Plan>,
    pub(crate) due_at: Option<i64>,
    pub(crate) created_at: i64,
    pub(crate) started_at: Option<i64>,
    pub(crate) finished_at: Option<i64>,
}

impl Job {
    fn row(row: &Row<'_>) -> Result<Self> {
        let plan: Option<String> = row.get(8)?;
        Ok(Self {
            id: row.get(0)?,
            run_id: row.get(1)?,
            repo_id: row.get(2)?,
            name: row.get(3)?,
            status: row.get(4)?,
            conclusion: row.get(5)?,
            log: row.get(6)?,
            context: row.get(7)?,
            plan: plan.and_then(|text| serde_json::from_str(&text).ok()),
            due_at: row.get(9)?,
            created_at: row.get(10)?,
            started_at: row.get(11)?,
            finished_at: row.get(12)?,
        })
    }
}

const JOB: &str = "SELECT id, run_id, repo_id, name, status, conclusion, log, context, result, due_at, \
                   created_at, started_at, finished_at FROM jobs";

pub(crate) fn jobs(c: &Connection, run_id: i64) -> Result<Vec<Job>> {
    c.prepare_cached(&format!("{JOB} WHERE run_id = ?1 ORDER BY id"))?
        .query_map([run_id], Job::row)?
        .collect()
}

pub(crate) fn jobs_of_repo(c: &Connection, repo_id: i64) -> Result<Vec<Job>> {
    c.prepare_cached(&format!("{JOB} WHERE repo_id = ?1 ORDER BY id DESC"))?
        .query_map([repo_id], Job::row)?
        .collect()
}

pub(crate) fn job(c: &Connection, repo_id: i64, id: i64) -> Result<Option<Job>> {
    c.prepare_cached(&format!("{JOB} WHERE repo_id = ?1 AND id = ?2"))?
        .query_row([repo_id, id], Job::row)
        .optional()
}

/// Jobs whose time has come
pub(crate) fn due(c: &Connection, now: i64) -> Result<Vec<Job>> {
    c.prepare_cached(&format!(
        "{JOB} WHERE due_at IS NOT NULL AND due_at <= ?1 ORDER BY due_at, id"
    ))?
    .query_map([now], Job::row)?
    .collect()
}

/// When the next job is due
pub(crate) fn next_due(c: &Connection) -> Result<Option<i64>> {
    c.prepare_cached("SELECT min(due_at) FROM jobs WHERE due_at IS NOT NULL")?
        .query_row([], |row| row.get(0))
}

/// Write a new row; its `id` is ignored and the new one returned
pub(crate) fn insert_job(c: &Connection, job: &Job) -> Result<i64> {
    c.prepare_cached(
        "INSERT INTO jobs (run_id, repo_id, name, status, created_at) VALUES (?1,?2,?3,?4,?5)",
    )?
    .execute(params![
        job.run_id,
        job.repo_id,
        job.name,
        job.status,
        job.created_at
    ])?;
    let id = c.last_insert_rowid();
    save_job(c, &Job { id, ..job.clone() })?;
    Ok(id)
}

pub(crate) fn save_job(c: &Connection, job: &Job) -> Result<()> {
    let plan = job
        .plan
        .as_ref()
        .map(|plan| serde_json::to_string(plan).expect("plain data"));
    c.prepare_cached(
        "UPDATE jobs SET status=?2, conclusion=?3, log=?4, context=?5, result=?6, due_at=?7, \
         started_at=?8, finished_at=?9 WHERE id=?1",
    )?
    .execute(params![
        job.id,
        job.status,
        job.conclusion,
        job.log,
        job.context,
        plan,
        job.due_at,
        job.started_at,
        job.finished_at
    ])?;
    Ok(())
}

/// An attempt of a job that a re-run replaced
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) number: i64,
    pub(crate) conclusion: String,
    pub(crate) started_at: i64,
    pub(crate) finished_at: i64,
}

/// The replaced attempts of a job, oldest first
pub(crate) fn attempts(c: &Connection, job_id: i64) -> Result<Vec<Attempt>> {
    c.prepare_cached(
        "SELECT attempt, conclusion, started_at, finished_at FROM attempts WHERE job_id = ?1 \
         ORDER BY attempt",
    )?
    .query_map([job_id], |row| {
        Ok(Attempt {
            number: row.get(0)?,
            conclusion: row.get(1)?,
            started_at: row.get(2)?,
            finished_at: row.get(3)?,
        })
    })?
    .collect()
}

/// Keep what a job came to before it runs again
pub(crate) fn keep_attempt(c: &Connection, job: &Job, attempt: i64) -> Result<()> {
    let (Some(conclusion), Some(started), Some(finished)) =
        (&job.conclusion, job.started_at, job.finished_at)
    else {
        return Ok(());
    };
    c.execute(
        "INSERT OR REPLACE INTO attempts (job_id, attempt, conclusion, started_at, finished_at) \
         VALUES (?1,?2,?3,?4,?5)",
        params![job.id, attempt, conclusion, started, finished],
    )?;
    Ok(())
}

/// Make a run wait for a person's approval
pub(crate) fn hold_run(c: &Connection, run_id: i64) -> Result<()> {
    c.execute(
        "INSERT OR IGNORE INTO held_runs (run_id) VALUES (?1)",
        [run_id],
    )?;
    Ok(())
}

pub(crate) fn is_held(c: &Connection, run_id: i64) -> Result<bool> {
    c.prepare_cached("SELECT EXISTS (SELECT 1 FROM held_runs WHERE run_id = ?1)")?
        .query_row([run_id], |row| row.get(0))
}

pub(crate) fn release_run(c: &Connection, run_id: i64) -> Result<()> {
    c.execute("DELETE FROM held_runs WHERE run_id = ?1", [run_id])?;
    Ok(())
}
