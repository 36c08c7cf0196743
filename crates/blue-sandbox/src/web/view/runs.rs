//! Workflow runs and their jobs

use maud::{Markup, html};

use crate::web::{link::RepoLink, view::commit::class};

#[derive(Debug, Clone)]
pub(in crate::web) struct RunRow {
    pub id: i64,
    pub name: String,
    /// The conclusion, or the status while there is none
    pub state: String,
    pub event: String,
    pub branch: String,
    pub sha: String,
    pub when: String,
}

#[derive(Debug, Clone)]
pub(in crate::web) struct JobView {
    pub id: i64,
    pub name: String,
    pub state: String,
    pub log: String,
}

pub(in crate::web) fn list(link: &RepoLink, runs: &[RunRow]) -> Markup {
    html! {
        div.box {
            ul.rows {
                @for run in runs {
                    li {
                        b class=(class(&run.state)) { (run.state) }
                        div.grow {
                            a href={ (link.page("actions/runs/")) (run.id) } { (run.name) }
                            div.dim { "#" (run.id) " · " (run.event) " · " (run.when) }
                        }
                        span.dim.mono { (run.branch) }
                        a.mono.dim href=(link.commit(&run.sha)) {
                            (run.sha.get(..10).unwrap_or(&run.sha))
                        }
                    }
                }
                @if runs.is_empty() { li.dim { "No runs" } }
            }
        }
    }
}

pub(in crate::web) fn one(link: &RepoLink, run: &RunRow, jobs: &[JobView]) -> Markup {
    html! {
        h1 { (run.name) " " span.dim { "#" (run.id) } }
        div.bar {
            b class=(class(&run.state)) { (run.state) }
            span.grow {
                (run.event) " on " code { (run.branch) } " at "
                a.mono href=(link.commit(&run.sha)) { (run.sha.get(..10).unwrap_or(&run.sha)) }
            }
            span.dim { (run.when) }
        }
        @for job in jobs {
            div.box id={ "job-" (job.id) } {
                div.head {
                    b class=(class(&job.state)) { (job.state) }
                    a href={ (link.page("actions/runs/")) (run.id) "/jobs/" (job.id) } {
                        (job.name)
                    }
                }
                @if job.log.is_empty() { div.body.dim { "No log yet" } } @else {
                    pre.log { (job.log) }
                }
            }
        }
        @if jobs.is_empty() { p.dim { "No jobs" } }
    }
}
