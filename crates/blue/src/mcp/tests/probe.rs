//! Tools that do what a test asks for

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use blue_tools::{AnyTool, Cx, Effect, Page, Reply, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const ALL: &[&dyn AnyTool] = &[&Probe, &Change];

static BEGUN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
static GONE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn has(set: &Mutex<BTreeSet<String>>, key: &str) -> bool {
    set.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .contains(key)
}

fn mark(set: &Mutex<BTreeSet<String>>, key: &str) {
    set.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(key.to_owned());
}

/// Whether a call that waits has begun
pub(super) fn begun(key: &str) -> bool {
    has(&BEGUN, key)
}

/// Whether its future was dropped
pub(super) fn gone(key: &str) -> bool {
    has(&GONE, key)
}

#[derive(Debug)]
struct Probe;

#[derive(Debug)]
struct Change;

/// Do what a test asks for
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// What to do
    what: String,
    /// Name of the call
    #[arg(long, default_value = "")]
    #[serde(default)]
    key: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    said: String,
}

/// Tells that its call is over
struct Mark(String);

impl Drop for Mark {
    fn drop(&mut self) {
        mark(&GONE, &self.0);
    }
}

impl Tool for Probe {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "probe_run";
    const EFFECT: Effect = Effect::Read;

    async fn run(&self, cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        let said = match input.what.as_str() {
            "panic" => panic!("on purpose"),
            "big" => "x".repeat(100_000),
            "plain" => "x".repeat(input.key.parse().unwrap_or_default()),
            "quotes" => "\"".repeat(input.key.parse().unwrap_or_default()),
            "wait" => {
                let _over = Mark(input.key.clone());
                mark(&BEGUN, &input.key);
                std::future::pending().await
            }
            "tell" => {
                let _over = Mark(input.key.clone());
                for done in 0..100 {
                    cx.progress(f64::from(done), None, "x".repeat(100));
                }
                mark(&BEGUN, &input.key);
                std::future::pending().await
            }
            "progress" => {
                for (done, message) in [(0.0, "begun"), (1.0, "half"), (1.0, "again"), (2.0, "all")]
                {
                    cx.progress(done, Some(2.0), message);
                    tokio::task::yield_now().await;
                }
                "done".to_owned()
            }
            other => other.to_owned(),
        };
        Ok(Reply::from(Output { said }).next("Look with probe_run"))
    }

    fn page(output: &Output, page: &mut Page) {
        page.text(&output.said);
    }
}

impl Tool for Change {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "probe_change";
    const EFFECT: Effect = Effect::Destroy;

    async fn run(&self, _cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        Ok(Output { said: input.what }.into())
    }

    fn page(output: &Output, page: &mut Page) {
        page.text(&output.said);
    }
}
