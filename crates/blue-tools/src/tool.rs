//! What a tool is, and what every door sees of it

use std::{fmt::Debug, future::Future, panic::AssertUnwindSafe, pin::Pin};

use clap::{ArgMatches, FromArgMatches};
use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{Answer, Cx, ErrorCode, Page, Reply, ToolError, schema};

/// What a call does to the world
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Read,
    /// Adds or changes something that can be undone
    Write,
    /// Takes something away
    Destroy,
}

impl Effect {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destroy => "destroy",
        }
    }
}

/// Judgement of an answer, for tools whose answer is one; a script reads it from the exit status
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verdict {
    #[default]
    Green,
    /// Failed or blocked
    Red,
    /// Pending or unknown
    Pending,
}

/// A thing that an agent or a person can ask for
///
/// The doc comment of `Input` is the description that models, people and the reference page see.
pub trait Tool: Debug + Sync + 'static {
    type Input: clap::Args + DeserializeOwned + JsonSchema + Send;
    type Output: Serialize + JsonSchema + Send + Sync;
    /// `noun_verb`
    const NAME: &'static str;
    const EFFECT: Effect;
    /// A second call with the same arguments changes nothing more
    const IDEMPOTENT: bool = false;
    /// Arguments that take something away, where the tool alone does not
    const REMOVES: &'static [&'static str] = &[];
    /// What people are told after the summary, where they type something else than a model sends
    const FOR_PEOPLE: Option<&'static str> = None;

    fn run(
        &self,
        cx: &Cx,
        input: Self::Input,
    ) -> impl Future<Output = Result<Reply<Self::Output>, ToolError>> + Send;

    /// Complete what was typed: a file to read, the last commit; not called for JSON
    fn typed(
        &self,
        _cx: &Cx,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Input, ToolError>> + Send {
        std::future::ready(Ok(input))
    }

    /// Returns how the answer judges what was asked about
    fn verdict(_output: &Self::Output) -> Verdict {
        Verdict::Green
    }

    /// What a person sees
    fn page(output: &Self::Output, page: &mut Page);
}

type Future1<'a, T> = Pin<Box<dyn Future<Output = Result<T, ToolError>> + Send + 'a>>;

/// A tool with its types taken off
pub trait AnyTool: Debug + Sync {
    fn name(&self) -> &'static str;
    fn effect(&self) -> Effect;
    fn idempotent(&self) -> bool;
    /// Arguments that take something away, where the tool alone does not
    fn removes(&self) -> &'static [&'static str];
    /// First line of the description
    fn summary(&self) -> String;
    fn description(&self) -> String;
    fn input_schema(&self) -> Map<String, Value>;
    fn output_schema(&self) -> Map<String, Value>;
    /// The command line of this tool, named by its verb
    fn command(&self) -> clap::Command;
    fn call_json<'a>(
        &'a self,
        cx: &'a Cx,
        args: Map<String, Value>,
    ) -> Future1<'a, Map<String, Value>>;
    fn call_args<'a>(&'a self, cx: &'a Cx, args: &'a ArgMatches) -> Future1<'a, Answer>;

    /// The part of the name before the first `_`: the command it is under, and its tool set
    fn noun(&self) -> &'static str {
        self.name()
            .split_once('_')
            .map_or(self.name(), |(noun, _)| noun)
    }

    /// The rest of the name, as it is typed
    fn verb(&self) -> String {
        let verb = self.name().split_once('_').map_or("", |(_, verb)| verb);
        verb.replace('_', "-")
    }
}

impl<T: Tool> AnyTool for T {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn effect(&self) -> Effect {
        T::EFFECT
    }

    fn idempotent(&self) -> bool {
        T::IDEMPOTENT || T::EFFECT == Effect::Read
    }

    fn removes(&self) -> &'static [&'static str] {
        T::REMOVES
    }

    fn summary(&self) -> String {
        schema::summary(&schema::description::<T::Input>())
    }

    fn description(&self) -> String {
        schema::prose(&schema::description::<T::Input>())
    }

    fn input_schema(&self) -> Map<String, Value> {
        schema::input::<T::Input>()
    }

    fn output_schema(&self) -> Map<String, Value> {
        schema::output::<T::Output>(T::EFFECT)
    }

    fn command(&self) -> clap::Command {
        let text = schema::description::<T::Input>();
        let command = <T::Input as clap::Args>::augment_args(clap::Command::new(self.verb()));
        let summary = schema::summary(&text);
        let long = match T::FOR_PEOPLE {
            Some(more) => format!("{summary}\n\n{more}"),
            None => schema::paragraphs(&text),
        };
        command.about(summary).long_about(long)
    }

    fn call_json<'a>(
        &'a self,
        cx: &'a Cx,
        args: Map<String, Value>,
    ) -> Future1<'a, Map<String, Value>> {
        let cx = cx.for_call(T::EFFECT);
        guarded(cx.clone(), async move {
            let cx = &cx;
            allow::<T>(cx)?;
            let input = schema::check::parse::<T::Input>(T::NAME, args)?;
            let reply = self.run(cx, input).await;
            let reply = reply.map_err(|error| cx.advised(error))?;
            reply.json(&cx.envelope())
        })
    }

    fn call_args<'a>(&'a self, cx: &'a Cx, args: &'a ArgMatches) -> Future1<'a, Answer> {
        let cx = cx.for_call(T::EFFECT);
        guarded(cx.clone(), async move {
            let cx = &cx;
            allow::<T>(cx)?;
            let input = T::Input::from_arg_matches(args)
                .map_err(|e| ToolError::new(ErrorCode::Usage, e.to_string()))?;
            let input = self.typed(cx, input).await?;
            let reply = self.run(cx, input).await?;
            let mut page = Page::default();
            T::page(&reply.result, &mut page);
            let envelope = cx.envelope();
            Ok(Answer {
                json: reply.json(&envelope)?,
                notes: envelope.notes,
                page,
                verdict: T::verdict(&reply.result),
                next_steps: reply.next_steps,
                bytes: reply.bytes,
            })
        })
    }
}

fn allow<T: Tool>(cx: &Cx) -> Result<(), ToolError> {
    if cx.is_read_only() && T::EFFECT != Effect::Read {
        let message = format!("read-only: `{}` would change something", T::NAME);
        return Err(ToolError::new(ErrorCode::ReadOnly, message)
            .with_hint("start Blue without `--read-only` to allow it"));
    }
    Ok(())
}

/// Runs a call; a panic is a failure of its own call and of nothing else, and a failure gets the
/// notes of the call
fn guarded<'a, R: 'a>(
    cx: Cx,
    call: impl Future<Output = Result<R, ToolError>> + Send + 'a,
) -> Future1<'a, R> {
    Box::pin(async move {
        let outcome = AssertUnwindSafe(call)
            .catch_unwind()
            .await
            .unwrap_or_else(|panic| {
                let said = panic
                    .downcast_ref::<&str>()
                    .map(|s| (*s).to_owned())
                    .or_else(|| panic.downcast_ref::<String>().cloned())
                    .unwrap_or_default();
                tracing::error!(panic = %said, "a tool panicked");
                Err(
                    ToolError::new(ErrorCode::Internal, "a defect in Blue ended this call")
                        .with_hint("the log on stderr says more; the other tools still work"),
                )
            });
        outcome.map_err(|error| error.with_notes(cx.notes()))
    })
}
