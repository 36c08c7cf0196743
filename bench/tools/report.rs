//! The tables, in Markdown

#![expect(clippy::print_stdout, reason = "the results are the output")]

use std::{collections::BTreeSet, time::Duration};

use crate::{
    measure::{Round, Starts},
    peers::Peer,
    proxy::Passed,
    steps::Step,
};

/// The peer that the times are told in relation to
pub(crate) const YARDSTICK: &str = "forgejo-mcp-rs";

/// What was found out about one way through the loop
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) peer: Peer,
    pub(crate) starts: Starts,
    pub(crate) cold: Vec<Round>,
    pub(crate) warm: Vec<Round>,
}

pub(crate) fn starts(all: &[Found]) {
    let base = all
        .iter()
        .find(|found| found.peer.name.starts_with(YARDSTICK))
        .map(|found| median(found.starts.took.iter().map(|took| ms(*took))));
    println!(
        "| | `initialize` answered | ratio | RSS | anonymous | tools | visible to a model | per tool | whole list | instructions |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for found in all.iter().filter(|found| !found.starts.took.is_empty()) {
        let starts = &found.starts;
        let took = || starts.took.iter().map(|took| ms(*took));
        let ratio = base.map_or_else(
            || "—".to_owned(),
            |base| format!("{:.2}", median(took()) / base),
        );
        println!(
            "| {} | {:.1} ms ({:.1}–{:.1}) | {ratio} | {} | {} | {} | {} B | {} B | {} B | {} B |",
            found.peer.name,
            median(took()),
            quantile(took(), 0.25),
            quantile(took(), 0.75),
            mebibytes(&starts.rss),
            mebibytes(&starts.anonymous),
            starts.tools,
            thousands(starts.visible),
            starts.visible / starts.tools.max(1),
            thousands(starts.whole),
            thousands(starts.instructions),
        );
    }
    println!();
}

pub(crate) fn loops(all: &[&Found]) {
    println!(
        "| | steps | results | whole answers | definitions, instructions and results | requests | wall | own time, first loop | own time, next loop |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for found in all {
        let Some(last) = found.cold.last() else {
            continue;
        };
        let bytes = last.bytes();
        let defined = found.starts.visible + found.starts.instructions;
        println!(
            "| {} | {}/10 | {} B | {} B | {} B | {} | {:.0} ms | {:.1} ms | {:.1} ms |",
            found.peer.name,
            last.covered(),
            thousands(bytes),
            thousands(last.wire()),
            thousands(bytes + defined),
            last.requests(),
            median(found.cold.iter().map(|round| ms(round.wall()))),
            median(found.cold.iter().map(|round| ms(round.own()))),
            median(found.warm.iter().map(|round| ms(round.own()))),
        );
    }
    println!();
}

/// Bytes of the results, and requests, step by step
pub(crate) fn steps(all: &[&Found]) {
    let names: Vec<&str> = all.iter().map(|found| found.peer.name.as_str()).collect();
    println!("| result bytes (requests) | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(names.len()));
    for step in Step::ALL {
        let cells: Vec<String> = all
            .iter()
            .filter_map(|found| {
                let last = found.cold.last()?;
                let (_, done) = last.steps.iter().find(|(at, _)| *at == step)?;
                Some(match done {
                    Ok(calls) => {
                        let bytes: usize = calls.iter().map(|done| done.bytes).sum();
                        let requests: usize = calls.iter().map(|done| done.passed.len()).sum();
                        let failed = calls.iter().any(|done| done.failed);
                        let mark = if failed { ", says it failed" } else { "" };
                        format!("{} ({requests}){mark}", thousands(bytes))
                    }
                    Err(why) => (*why).to_owned(),
                })
            })
            .collect();
        println!("| {} | {} |", step.name(), cells.join(" | "));
    }
    println!();
}

/// Every request of one loop
pub(crate) fn requests(found: &Found) {
    let (Some(cold), Some(warm)) = (found.cold.last(), found.warm.last()) else {
        return;
    };
    println!(
        "{}: {} requests in the first loop, {} in the next.",
        found.peer.name,
        cold.requests(),
        warm.requests()
    );
    println!();
    println!("| call | own time | requests |");
    println!("|---|---|---|");
    for (index, done) in cold.calls().enumerate() {
        let own = found.cold.iter().filter_map(|round| {
            let done = round.calls().nth(index)?;
            Some(ms(done.own()))
        });
        let listed: Vec<String> = done.passed.iter().map(told).collect();
        println!(
            "| `{}` | {:.1} ms | {} |",
            done.tool,
            median(own),
            listed.join("<br>")
        );
    }
    println!();
}

/// How long a call that asks for several things at once takes beside its slowest request
pub(crate) fn overlap(found: &Found, tool: &str) {
    let rounds = [("first", &found.cold), ("next", &found.warm)];
    for (which, rounds) in rounds {
        let calls: Vec<_> = rounds
            .iter()
            .flat_map(Round::calls)
            .filter(|done| done.tool == tool && !done.passed.is_empty())
            .collect();
        if calls.is_empty() {
            return;
        }
        let ratio = calls.iter().map(|done| {
            let slowest = done.passed.iter().map(Passed::took).max();
            ms(done.wall) / slowest.map_or(f64::NAN, ms)
        });
        let requests: BTreeSet<usize> = calls.iter().map(|done| done.passed.len()).collect();
        println!(
            "`{tool}`, {which} loop: {:.2} times its slowest request (median; {:.2} to {:.2}), {requests:?} requests, {:.1} ms.",
            median(ratio.clone()),
            quantile(ratio.clone(), 0.0),
            quantile(ratio, 1.0),
            median(calls.iter().map(|done| ms(done.wall))),
        );
    }
    println!();
}

/// A request without what is the same in all of them
fn told(passed: &Passed) -> String {
    let path = passed.path.splitn(7, '/').collect::<Vec<_>>();
    let short = match path.as_slice() {
        ["", "api", _, "repos", _, _, rest] => format!("…/{rest}"),
        ["", "api", _, "repos", _, _] => "…".to_owned(),
        _ => passed.path.clone(),
    };
    format!("{} `{short}` {}", passed.method, passed.status)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    quantile(values, 0.5)
}

/// The value below which that part of them lies, without interpolation
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index into a short list"
)]
fn quantile(values: impl IntoIterator<Item = f64>, part: f64) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    let index = (last as f64 * part).round() as usize;
    values.get(index).copied().unwrap_or(f64::NAN)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn mebibytes(bytes: &[u64]) -> String {
    if bytes.is_empty() {
        return "—".to_owned();
    }
    let bytes = median(bytes.iter().map(|bytes| *bytes as f64));
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}

fn thousands(number: usize) -> String {
    if number < 1_000 {
        return number.to_string();
    }
    format!("{},{:03}", number / 1_000, number % 1_000)
}
