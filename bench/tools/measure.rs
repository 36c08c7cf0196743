//! What is measured: starts and sizes, and rounds of the loop

#![expect(clippy::print_stderr, reason = "a call that fails is worth a look")]

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::{
    forge::{Forge, text},
    mcp::{Launch, Session},
    peers::{Peer, Place},
    proxy::{Passed, Proxy, busy},
    steps::{At, Call, Plan, Step},
};

/// Starts of one program
#[derive(Debug, Default, Clone)]
pub(crate) struct Starts {
    pub(crate) took: Vec<Duration>,
    /// Bytes after `tools/list`
    pub(crate) rss: Vec<u64>,
    /// Of these, what no file backs
    pub(crate) anonymous: Vec<u64>,
    pub(crate) tools: usize,
    /// Name, description and input schema of every tool, compact
    pub(crate) visible: usize,
    /// The whole answer to `tools/list`
    pub(crate) whole: usize,
    pub(crate) instructions: usize,
    /// Requests to the forge before any tool was called
    pub(crate) requests: usize,
}

impl Starts {
    pub(crate) fn one_more(&mut self, launch: &Launch, home: &Path, proxy: &Proxy) -> Result<()> {
        proxy.take();
        let mut started = launch.start(home)?;
        self.took.push(started.took);
        self.instructions = started.instructions;
        let mut tools = Vec::new();
        let mut whole = 0;
        let mut cursor = json!({});
        loop {
            let mut page = started.session.ask("tools/list", &cursor)?;
            whole += page.to_string().len();
            if let Value::Array(more) = page["tools"].take() {
                tools.extend(more);
            }
            match page.get("nextCursor") {
                Some(Value::String(next)) => cursor = json!({"cursor": next}),
                _ => break,
            }
        }
        let (rss, anonymous) = memory(started.session.pid())?;
        self.rss.push(rss);
        self.anonymous.extend(anonymous);
        self.tools = tools.len();
        self.whole = whole;
        self.visible = tools
            .iter()
            .map(|tool| {
                let seen = json!({
                    "name": tool["name"],
                    "description": tool["description"],
                    "inputSchema": tool["inputSchema"],
                });
                seen.to_string().len()
            })
            .sum();
        drop(started);
        self.requests = proxy.take().len();
        Ok(())
    }
}

/// Resident bytes, and the anonymous ones where the system tells them
fn memory(pid: u32) -> Result<(u64, Option<u64>)> {
    if let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) {
        let kilobytes = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field))?;
            line.trim().trim_end_matches(" kB").parse::<u64>().ok()
        };
        let rss = kilobytes("VmRSS:").context("no VmRSS")?;
        return Ok((rss * 1024, kilobytes("RssAnon:").map(|kb| kb * 1024)));
    }
    let output = Command::new("ps")
        .args(["-o", "rss=", "-p", &pid.to_string()])
        .output()?;
    let rss: u64 = String::from_utf8_lossy(&output.stdout).trim().parse()?;
    Ok((rss * 1024, None))
}

/// One call of a round
#[derive(Debug, Clone)]
pub(crate) struct Done {
    pub(crate) tool: String,
    /// Bytes of the text that a model reads
    pub(crate) bytes: usize,
    /// Bytes of the whole answer, structured content included
    pub(crate) wire: usize,
    pub(crate) wall: Duration,
    pub(crate) passed: Vec<Passed>,
    /// It said that it failed
    pub(crate) failed: bool,
}

impl Done {
    /// Wall time without the time in which the forge was at work
    pub(crate) fn own(&self) -> Duration {
        self.wall.saturating_sub(busy(&self.passed))
    }
}

/// One round of the loop; a step without calls is `Err` with the reason
#[derive(Debug, Clone, Default)]
pub(crate) struct Round {
    pub(crate) first: Vec<Done>,
    pub(crate) steps: Vec<(Step, Result<Vec<Done>, &'static str>)>,
    /// A call had no result at all: nothing to count
    pub(crate) broken: bool,
}

impl Round {
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Done> {
        let steps = self.steps.iter();
        let steps = steps.flat_map(|(_, done)| done.iter().flatten());
        self.first.iter().chain(steps)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.calls().map(|done| done.bytes).sum()
    }

    pub(crate) fn wire(&self) -> usize {
        self.calls().map(|done| done.wire).sum()
    }

    pub(crate) fn requests(&self) -> usize {
        self.calls().map(|done| done.passed.len()).sum()
    }

    pub(crate) fn wall(&self) -> Duration {
        self.calls().map(|done| done.wall).sum()
    }

    pub(crate) fn own(&self) -> Duration {
        self.calls().map(Done::own).sum()
    }

    /// How many of the ten steps it does
    pub(crate) fn covered(&self) -> usize {
        let done = self.steps.iter().filter(|(_, done)| match done {
            Ok(calls) => calls.iter().all(|done| !done.failed),
            Err(why) => *why != "—",
        });
        done.count()
    }
}

/// Where rounds are run
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    pub(crate) runtime: &'a Handle,
    pub(crate) forge: &'a Forge,
    pub(crate) proxy: &'a Proxy,
    pub(crate) place: &'a Place,
    pub(crate) home: &'a Path,
}

/// What carries out a call
enum Hand {
    Program(Box<Session>),
    Rest(Client),
}

impl Bench<'_> {
    /// Two rounds in one session: the first, and one with everything warm
    pub(crate) fn session(&self, peer: &Peer, repo: &str, number: usize) -> Result<[Round; 2]> {
        let mut hand = match &peer.launch {
            Some(launch) => Hand::Program(Box::new(launch.start(self.home)?.session)),
            None => Hand::Rest(Client::builder().no_proxy().build()?),
        };
        self.proxy.take();
        let mut first = Vec::new();
        for call in &peer.first {
            first.push(self.call(&mut hand, call)?);
        }
        let mut cold = self.round(peer, &mut hand, repo, number)?;
        cold.first = first;
        let warm = self.round(peer, &mut hand, repo, number + 1)?;
        Ok([cold, warm])
    }

    fn round(&self, peer: &Peer, hand: &mut Hand, repo: &str, number: usize) -> Result<Round> {
        let mut at = At {
            owner: self.forge.login.clone(),
            repo: repo.to_owned(),
            branch: format!("change/guide-{number:04}"),
            title: format!("Rewrite the guide, version {number:04}"),
            content: text(number + 1),
            tag: format!("v1.0.{number:04}"),
            file_sha: self.forge.blob(repo)?,
            main_sha: self.forge.head(repo, "main")?,
            ..At::default()
        };
        let mut result = Round::default();
        for step in Step::ALL {
            let done = match (peer.plan)(step, &at) {
                Plan::Calls(calls) => {
                    let calls = calls.iter().map(|call| self.call(hand, call));
                    let calls: Result<Vec<_>> = calls.collect();
                    let calls = calls.unwrap_or_else(|error| {
                        eprintln!("{}: {}: {error:#}", peer.name, step.name());
                        result.broken = true;
                        Vec::new()
                    });
                    if result.broken || calls.iter().any(|done| done.failed) {
                        // There is a program that does the thing and then says it failed.
                        drop(self.forge.instead(step, &at));
                    }
                    Ok(calls)
                }
                Plan::Told => Err("told"),
                Plan::Lacks => {
                    self.forge.instead(step, &at)?;
                    Err("—")
                }
            };
            result.steps.push((step, done));
            match step {
                Step::Write => at.head_sha = self.forge.head(repo, &at.branch)?,
                // Waits until the forge has computed mergeability, so that no measured client has to poll.
                Step::OpenPr => at.number = self.forge.pull(repo, &at.branch)?,
                Step::Merge => at.main_sha = self.forge.head(repo, "main")?,
                _ => {}
            }
        }
        Ok(result)
    }

    fn call(&self, hand: &mut Hand, call: &Call) -> Result<Done> {
        self.proxy.take();
        let (wall, bytes, wire);
        let mut failed = false;
        match hand {
            Hand::Program(session) => {
                let params = json!({"name": call.tool, "arguments": call.args});
                let answer = session
                    .ask("tools/call", &params)
                    .with_context(|| call.tool.clone())?;
                wall = session.last_took();
                failed = answer["isError"] == true;
                if failed {
                    eprintln!("`{}`: {answer}", call.tool);
                }
                let blocks = answer["content"].as_array();
                bytes = blocks
                    .into_iter()
                    .flatten()
                    .map(|block| {
                        let text = block["text"].as_str();
                        text.map_or_else(|| block.to_string().len(), str::len)
                    })
                    .sum();
                wire = session.last_bytes();
            }
            Hand::Rest(client) => {
                let (method, path) = call.tool.split_once(' ').context("no method")?;
                let mut request = client
                    .request(method.parse()?, self.place.url.join(path)?)
                    .header("authorization", format!("token {}", self.place.token))
                    .header("user-agent", "bench");
                if !call.args.is_null() {
                    request = request
                        .header("content-type", "application/json")
                        .body(call.args.to_string());
                }
                let begun = Instant::now();
                let (status, text) = self.runtime.block_on(async {
                    let answer = request.send().await?;
                    let status = answer.status();
                    anyhow::Ok((status, answer.text().await?))
                })?;
                wall = begun.elapsed();
                ensure!(status.is_success(), "{}: {status}: {text}", call.tool);
                bytes = text.len();
                wire = text.len();
            }
        }
        Ok(Done {
            tool: call.tool.clone(),
            bytes,
            wire,
            wall,
            passed: self.proxy.take(),
            failed,
        })
    }
}
