//! Measure `blue mcp` beside other forge MCP servers; `bench/tools/run` starts the servers and calls this
//!
//! Everything that is compared takes turns in one run, so that a busy machine slows all of them.

mod forge;
mod mcp;
mod measure;
mod peers;
mod proxy;
mod report;
mod steps;

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context as _, Result, ensure};
use forge::Forge;
use measure::{Bench, Starts};
use peers::{Door, Peer, Place};
use proxy::Proxy;
use report::Found;
use tokio::runtime::{Handle, Runtime};
use url::Url;

const REPO: &str = "project";

/// `--name value` pairs, as `bench/tools/run` gives them
struct Settings(BTreeMap<String, String>);

impl Settings {
    fn read() -> Self {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let pairs = args.chunks_exact(2);
        Self(
            pairs
                .map(|pair| (pair[0].trim_start_matches('-').to_owned(), pair[1].clone()))
                .collect(),
        )
    }

    fn get(&self, name: &str) -> Result<&str> {
        let value = self.0.get(name).map(String::as_str);
        value.with_context(|| format!("`--{name}` is missing"))
    }

    fn number(&self, name: &str) -> Result<usize> {
        Ok(self.get(name)?.parse()?)
    }
}

/// One forge with the proxy in front of it
struct Site {
    forge: Forge,
    proxy: Proxy,
    place: Place,
}

impl Site {
    fn open(runtime: &Handle, url: &str, login: &str, token: &str) -> Result<Self> {
        let root = Url::parse(url)?;
        let proxy = runtime.block_on(Proxy::start(&root))?;
        Ok(Self {
            forge: Forge::new(runtime, &root, login, token)?,
            place: Place {
                url: proxy.url.clone(),
                token: token.to_owned(),
                second_token: String::new(),
            },
            proxy,
        })
    }
}

fn main() -> Result<()> {
    drop(rustls::crypto::ring::default_provider().install_default());
    let settings = Settings::read();
    let runtime = Runtime::new()?;
    let runtime = runtime.handle();
    let home = tempfile::tempdir()?;

    let login = settings.get("gitea-login")?;
    let mut gitea = Site::open(
        runtime,
        settings.get("gitea-url")?,
        login,
        settings.get("gitea-token")?,
    )?;
    gitea.place.second_token = gitea.forge.second_token(settings.get("gitea-password")?)?;
    let github = Site::open(
        runtime,
        settings.get("sandbox-url")?,
        settings.get("sandbox-login")?,
        settings.get("sandbox-token")?,
    )?;

    let mut all = Vec::new();
    let blue = settings.get("blue").ok();
    if let Some(blue) = blue {
        all.push(peers::blue(blue, Door::Gitea, &gitea.place));
    }
    let list = std::fs::read_to_string(settings.get("peers")?)?;
    for line in list.lines() {
        let mut words = line.split('\t').map(str::to_owned);
        let name = words.next().context("an empty line")?;
        let command = words.collect();
        let peer = peers::known(&name, command, &gitea.place, &github.place);
        all.push(peer.with_context(|| format!("no table for `{name}`"))?);
    }
    all.push(peers::rest(Door::Gitea));
    if let Some(blue) = blue {
        let mut twin = peers::blue(blue, Door::GitHub, &github.place);
        "blue on the GitHub door".clone_into(&mut twin.name);
        all.push(twin);
    }
    all.push(peers::rest(Door::GitHub));
    let mut all: Vec<Found> = all.into_iter().map(found).collect();

    starts(
        &mut all,
        settings.number("starts")?,
        home.path(),
        &gitea,
        &github,
    )?;
    let rounds = settings.number("loops")?;
    for (door, site) in [(Door::Gitea, &gitea), (Door::GitHub, &github)] {
        loops(&mut all, door, rounds, home.path(), site, runtime)?;
    }
    print(&all);
    Ok(())
}

fn found(peer: Peer) -> Found {
    Found {
        peer,
        starts: Starts::default(),
        cold: Vec::new(),
        warm: Vec::new(),
    }
}

fn starts(all: &mut [Found], times: usize, home: &Path, gitea: &Site, github: &Site) -> Result<()> {
    for round in 0..=times {
        for found in &mut *all {
            let Some(launch) = &found.peer.launch else {
                continue;
            };
            let site = if found.peer.door == Door::GitHub {
                github
            } else {
                gitea
            };
            let one = found.starts.one_more(launch, home, &site.proxy);
            one.with_context(|| found.peer.name.clone())?;
            // The first one reads the program from the disk.
            if round == 0 {
                found.starts = Starts::default();
            }
        }
    }
    Ok(())
}

fn loops(
    all: &mut [Found],
    door: Door,
    rounds: usize,
    home: &Path,
    site: &Site,
    runtime: &Handle,
) -> Result<()> {
    let bench = Bench {
        runtime,
        forge: &site.forge,
        proxy: &site.proxy,
        place: &site.place,
        home,
    };
    let mut here: Vec<_> = all
        .iter_mut()
        .filter(|found| found.peer.door == door)
        .collect();
    // One repository for all: a round leaves behind a commit and a tag, and nothing else.
    site.forge.fixture(REPO)?;
    let mut number = 0;
    for _ in 0..rounds {
        for found in &mut here {
            // A forge that says "try again later" to a program is no reason to lose the others' numbers.
            let mut left = 3;
            let [cold, warm] = loop {
                ensure!(left > 0, "{}: no whole session", found.peer.name);
                left -= 1;
                let rounds = bench.session(&found.peer, REPO, number)?;
                number += 2;
                if rounds.iter().all(|round| !round.broken) {
                    break rounds;
                }
            };
            found.cold.push(cold);
            found.warm.push(warm);
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the results are the output")]
fn print(all: &[Found]) {
    println!("### Start, memory and list\n");
    report::starts(all);
    for (door, title) in [
        (Door::Gitea, "### The loop on a real Gitea\n"),
        (Door::GitHub, "### The loop on the sandbox's GitHub door\n"),
    ] {
        let here: Vec<&Found> = all.iter().filter(|found| found.peer.door == door).collect();
        println!("{title}");
        report::loops(&here);
        report::steps(&here);
        for found in here {
            if found.peer.name.starts_with("blue") {
                report::overlap(found, "repo_status");
            }
            if found.peer.name.starts_with("blue") || found.peer.name.starts_with(report::YARDSTICK)
            {
                report::requests(found);
            }
        }
    }
}
