//! One call of a tool: its progress, its answer and its cancellation

use std::{fmt::Write as _, pin::pin};

use blue_base::load::{HeavyRequest, UserLoad};
use blue_tools::{AnyTool, Cx, ErrorCode, Progress, ToolError, reply};
use http::request::Parts;
use rmcp::{
    ErrorData, Peer, RoleServer,
    model::{CallToolResult, ContentBlock, ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use serde_json::{Map, Value};
use tokio::sync::mpsc::{self, UnboundedReceiver};

/// Most of a failure's text; a forge's own words can be a whole page
const MAX_ERROR: usize = 8_000;

/// Runs a tool to its end, or until the request is cancelled
pub(super) async fn run(
    tool: &'static dyn AnyTool,
    cx: Result<Cx, ToolError>,
    args: Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let cx = match cx {
        Ok(cx) => cx,
        Err(error) => return Ok(failed(&error)),
    };
    let (told, mut reports) = mpsc::unbounded_channel();
    let token = context.meta.get_progress_token();
    let cx = match token {
        Some(_) => cx.on_progress(move |progress| {
            let _ = told.send(progress);
        }),
        None => cx,
    };
    let mut teller = Teller {
        token,
        peer: &context.peer,
        last: f64::NEG_INFINITY,
    };
    let mut called = pin!(admitted(tool, &cx, args, context));
    let work = async {
        let outcome = loop {
            tokio::select! {
                outcome = &mut called => break outcome,
                Some(progress) = reports.recv() => teller.tell(progress).await,
            }
        };
        teller.rest(&mut reports).await;
        outcome
    };
    let outcome = tokio::select! {
        // First, and also while a client is told something and does not listen: dropping the call
        // drops its requests to the forge.
        biased;
        () = blue_mcp::until_cancelled(context) => {
            return Err(ErrorData::internal_error("the call was cancelled", None));
        }
        outcome = work => outcome,
    };
    Ok(match outcome {
        Ok(answer) => {
            let notes = answer.get("notes").and_then(Value::as_array);
            let notes = notes.into_iter().flatten().filter_map(Value::as_str);
            notes.for_each(|note| tracing::warn!("{note}"));
            succeeded(answer)
        }
        Err(error) => {
            let notes = error.notes.iter();
            notes.for_each(|note| tracing::warn!("{note}"));
            failed(&error)
        }
    })
}

/// Runs a tool as soon as its user may have one more call; one that waits too long is refused
///
/// Only servers for several clients limit calls. Each message of a batch is a call of its own.
async fn admitted(
    tool: &'static dyn AnyTool,
    cx: &Cx,
    args: Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> Result<Map<String, Value>, ToolError> {
    let beside = context
        .extensions
        .get::<Parts>()
        .map(|parts| &parts.extensions);
    let Some(user) = beside.and_then(|beside| beside.get::<UserLoad>()) else {
        return tool.call_json(cx, args).await;
    };
    let request = beside.and_then(|beside| beside.get::<HeavyRequest>());
    let call = user.call(request.cloned()).await?;
    call.run(tool.call_json(cx, args)).await
}

/// Passes on how far a call has come
struct Teller<'a> {
    token: Option<ProgressToken>,
    peer: &'a Peer<RoleServer>,
    last: f64,
}

impl Teller<'_> {
    async fn tell(&mut self, progress: Progress) {
        let Some(token) = &self.token else { return };
        // The protocol wants it to grow with each report.
        if progress.done <= self.last {
            return;
        }
        self.last = progress.done;
        let mut param = ProgressNotificationParam::new(token.clone(), progress.done);
        param.total = progress.total;
        if !progress.message.is_empty() {
            param.message = Some(blue_base::text::clean_line(&progress.message));
        }
        // A client that went away is found out by the transport.
        let _ = self.peer.notify_progress(param).await;
    }

    async fn rest(&mut self, reports: &mut UnboundedReceiver<Progress>) {
        while let Ok(progress) = reports.try_recv() {
            self.tell(progress).await;
        }
    }
}

/// The object, and the same as text for clients that read nothing else
fn succeeded(answer: Map<String, Value>) -> CallToolResult {
    let value = Value::Object(answer);
    let size = reply::bytes(&value);
    if size > reply::MAX_ANSWER_BYTES {
        let message = format!("the answer has {size} bytes, too many to be sent");
        return failed(&ToolError::new(ErrorCode::TooLarge, message));
    }
    let mut result = CallToolResult::success(vec![ContentBlock::text(value.to_string())]);
    result.structured_content = Some(value);
    result
}

/// A failure is for the model to read; it has no structured content, since that has a schema
fn failed(error: &ToolError) -> CallToolResult {
    let mut json = error.json();
    shorten(&mut json);
    let text = serde_json::json!({ "error": json }).to_string();
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_ERROR => {
            let end = text.floor_char_boundary(MAX_ERROR);
            let cut = text.len() - end;
            text.truncate(end);
            let _ = write!(text, "… ({cut} more bytes)");
        }
        Value::Array(items) => {
            items.truncate(5);
            items.iter_mut().for_each(shorten);
        }
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}
