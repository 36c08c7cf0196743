//! Measure the forge layer and the sandbox; `bench/run` starts the servers and calls this
//!
//! `forge overhead|branches|memory|compare …`: each prints rows of a Markdown table. Two things that
//! are compared take turns in one run, so that a busy machine slows both.

#![expect(clippy::print_stdout, reason = "the results are the output")]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use blue_base::{
    host::Host,
    http::{AuthScheme, Credential, Http, HttpConfig, Method, Request},
    secret::Secret,
};
use blue_forge::{
    Endpoint, Forge,
    forgejo::Forgejo,
    model::{CommitOpts, CreatePrOpts, Expect, FileChange, MergeOpts, Page, RepoId},
};
use serde_json::{Value, json};
use url::Url;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["prepare", url, token] => prepare(&Server::new(url, token)?).await,
        ["overhead", url, token] => overhead(&Server::new(url, token)?).await,
        ["branches", url, token] => branches(&Server::new(url, token)?).await,
        ["memory", url, token] => memory(&Server::new(url, token)?).await,
        ["compare", a, a_token, b, b_token] => {
            compare(&Server::new(a, a_token)?, &Server::new(b, b_token)?).await
        }
        _ => bail!(
            "usage: forge prepare|overhead|branches|memory URL TOKEN, or compare URL TOKEN URL TOKEN"
        ),
    }
}

const BRANCHES: usize = 1_000;
const FILE: &str = "docs/file.txt";

struct Server {
    api: Url,
    credential: Credential,
    forge: Arc<Forgejo>,
    http: Arc<Http>,
    raw: reqwest::Client,
    repo: RepoId,
}

impl Server {
    fn new(url: &str, token: &str) -> Result<Self> {
        let api = Url::parse(&format!("{}/api/v1/", url.trim_end_matches('/')))?;
        let host = Host::of_url(&api).context("the URL has no host")?;
        let credential = Credential {
            host: host.clone(),
            scheme: AuthScheme::Token,
            token: Secret::new(token),
        };
        let http = Arc::new(Http::new(HttpConfig {
            in_flight: 64,
            ..HttpConfig::default()
        }));
        let endpoint = Endpoint {
            host,
            api: api.clone(),
        };
        Ok(Self {
            forge: Arc::new(Forgejo::new(
                Arc::clone(&http),
                endpoint,
                Some(credential.clone()),
            )),
            http,
            raw: reqwest::Client::builder().no_proxy().build()?,
            repo: RepoId::parse("bench", "bench")?,
            api,
            credential,
        })
    }

    fn url(&self, path: &str) -> Result<Url> {
        Ok(self.api.join(path)?)
    }

    async fn raw_get(&self, path: &str) -> Result<usize> {
        let answer = self
            .raw
            .get(self.url(path)?)
            .header(
                "authorization",
                format!("token {}", self.credential.token.expose()),
            )
            .send()
            .await?;
        ensure!(
            answer.status().is_success(),
            "{path} answered {}",
            answer.status()
        );
        Ok(answer.bytes().await?.len())
    }

    async fn http_get(&self, path: &str) -> Result<usize> {
        let mut request = Request::new(Method::GET, self.url(path)?);
        request.credential = Some(self.credential.clone());
        let answer = self.http.send(request).await?;
        ensure!(
            answer.status.is_success(),
            "{path} answered {}",
            answer.status
        );
        Ok(answer.body.len())
    }

    async fn post(&self, path: &str, body: Value) -> Result<()> {
        let answer = self
            .raw
            .post(self.url(path)?)
            .header(
                "authorization",
                format!("token {}", self.credential.token.expose()),
            )
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
            .await?;
        let status = answer.status();
        let text = answer.text().await?;
        ensure!(status.is_success(), "{path} answered {status}: {text}");
        Ok(())
    }
}

/// A repository with a file, a hundred files in a folder, and 1,000 branches
async fn prepare(server: &Server) -> Result<()> {
    server.post("orgs", json!({"username": "bench"})).await?;
    server
        .post(
            "orgs/bench/repos",
            json!({"name": "bench", "auto_init": true, "default_branch": "main"}),
        )
        .await?;
    let mut changes = vec![write(FILE, &"a line of text\n".repeat(600))];
    changes.extend((0..100).map(|i| write(&format!("many/{i:03}.txt"), &format!("file {i}\n"))));
    commit(server, "main", changes).await?;
    for i in 0..BRANCHES - 1 {
        server
            .post(
                "repos/bench/bench/branches",
                json!({"new_branch_name": format!("topic/{i:04}"), "old_ref_name": "main"}),
            )
            .await?;
    }
    Ok(())
}

fn write(path: &str, text: &str) -> FileChange {
    FileChange::Write {
        path: path.to_owned(),
        content: text.as_bytes().to_vec(),
        expect: Expect::Any,
    }
}

async fn commit(server: &Server, branch: &str, changes: Vec<FileChange>) -> Result<()> {
    let opts = CommitOpts {
        branch: branch.to_owned(),
        base: Some("main".to_owned()),
        message: "bench".to_owned(),
        changes,
        expected_head: None,
    };
    server.forge.commit_files(&server.repo, &opts).await?;
    Ok(())
}

/// Measures one GET by a bare client and by ours
async fn overhead(server: &Server) -> Result<()> {
    let path = "repos/bench/bench/branches/main";
    let (mut bare, mut ours, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..3_000 {
        let start = Instant::now();
        server.raw_get(path).await?;
        let a = start.elapsed();
        let start = Instant::now();
        server.http_get(path).await?;
        let b = start.elapsed();
        let start = Instant::now();
        server.forge.get_branch(&server.repo, "main").await?;
        let c = start.elapsed();
        // The first rounds open connections.
        if round >= 100 {
            bare.push(a);
            ours.push(b);
            whole.push(c);
        }
    }
    let (bare, ours, whole) = (median(&mut bare), median(&mut ours), median(&mut whole));
    println!("| one GET, bare `reqwest` | {} | 1.00 |", us(bare));
    println!(
        "| the same by `blue_base::http` | {} | {:.2} |",
        us(ours),
        ratio(ours, bare)
    );
    println!(
        "| the same as `Forge::get_branch`, decoded | {} | {:.2} |",
        us(whole),
        ratio(whole, bare)
    );
    Ok(())
}

/// A thousand branches: one page after the other, and as Blue does it
async fn branches(server: &Server) -> Result<()> {
    let (mut slow, mut fast) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let start = Instant::now();
        let mut page = 1;
        let mut seen = 0;
        loop {
            let listing = server
                .forge
                .list_branches(&server.repo, Page::new(page, 30))
                .await?;
            seen += listing.items.len();
            match listing.next_page {
                Some(next) => page = next,
                None => break,
            }
        }
        ensure!(seen == BRANCHES, "{seen} branches one page after the other");
        slow.push(start.elapsed());
        let start = Instant::now();
        let all = server.forge.all_branches(&server.repo).await?;
        ensure!(all.len() == BRANCHES, "{} branches at once", all.len());
        fast.push(start.elapsed());
    }
    let (slow, fast) = (median(&mut slow), median(&mut fast));
    println!(
        "| 1,000 branches, pages of 30 one by one | {} | 1.00 |",
        ms(slow)
    );
    println!(
        "| the same as `Forge::all_branches` | {} | {:.2} |",
        ms(fast),
        ratio(fast, slow)
    );
    Ok(())
}

/// Most memory that 50 reads at once take
async fn memory(server: &Server) -> Result<()> {
    for _ in 0..20 {
        let mut reads = tokio::task::JoinSet::new();
        for _ in 0..50 {
            let (forge, repo) = (Arc::clone(&server.forge), server.repo.clone());
            reads.spawn(async move { forge.read_file(&repo, FILE, Some("main"), 1 << 20).await });
        }
        while let Some(file) = reads.join_next().await {
            ensure!(!file??.content.is_empty(), "an empty file");
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|l| l.strip_prefix("VmHWM:"))
        .and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
    match peak {
        Some(kb) => println!(
            "| 50 parallel reads, peak RSS of the client | {:.1} MB | |",
            to_f64(kb) / 1024.0
        ),
        None => {
            println!("| 50 parallel reads, peak RSS of the client | not told on this system | |");
        }
    }
    Ok(())
}

/// Measures equal work on two servers, alternating between them
async fn compare(ours: &Server, peer: &Server) -> Result<()> {
    let reads: [(&str, &str, usize); 4] = [
        (
            "read one file (`contents`)",
            "repos/bench/bench/contents/docs/file.txt?ref=main",
            200,
        ),
        (
            "list a folder of 100 files (`contents`)",
            "repos/bench/bench/contents/many?ref=main",
            60,
        ),
        (
            "list 50 of 1,000 branches",
            "repos/bench/bench/branches?limit=50",
            60,
        ),
        ("read one branch", "repos/bench/bench/branches/main", 200),
    ];
    for (what, path, times) in reads {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for round in 0..times + 5 {
            let start = Instant::now();
            ours.raw_get(path).await?;
            let ours_took = start.elapsed();
            let start = Instant::now();
            peer.raw_get(path).await?;
            if round >= 5 {
                b.push(start.elapsed());
                a.push(ours_took);
            }
        }
        row(what, &mut a, &mut b);
    }
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for round in 0..15 {
        a.push(pull_request(ours, round).await?);
        b.push(pull_request(peer, round).await?);
    }
    row(
        "write a file on a branch, open a PR, merge it",
        &mut a,
        &mut b,
    );
    Ok(())
}

async fn pull_request(server: &Server, round: usize) -> Result<Duration> {
    let start = Instant::now();
    let branch = format!("bench/{round}");
    commit(
        server,
        &branch,
        vec![write(&format!("pr/{round}.txt"), "content\n")],
    )
    .await?;
    let pr = server
        .forge
        .create_pr(CreatePrOpts {
            repo: server.repo.clone(),
            head: branch,
            base: "main".to_owned(),
            title: format!("Round {round}"),
            body: None,
            draft: false,
        })
        .await?;
    server
        .forge
        .merge_pr(&server.repo, pr.number, &MergeOpts::default())
        .await?;
    Ok(start.elapsed())
}

fn row(what: &str, ours: &mut [Duration], peer: &mut [Duration]) {
    let (ours, peer) = (median(ours), median(peer));
    println!(
        "| {what} | {} | {} | {:.1} |",
        ms(ours),
        ms(peer),
        ratio(peer, ours)
    );
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

fn us(time: Duration) -> String {
    format!("{:.0} µs", time.as_secs_f64() * 1e6)
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

#[expect(clippy::cast_precision_loss, reason = "a size in kB is far below 2^52")]
fn to_f64(n: u64) -> f64 {
    n as f64
}
