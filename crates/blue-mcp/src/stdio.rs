//! One client on stdin and stdout, a message on each line

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleServer, ServerHandler,
    model::{
        ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, ProtocolVersion, RequestId,
        ServerJsonRpcMessage, ServerResult,
    },
    service::serve_directly_with_ct,
    transport::Transport,
};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{
    batch::Batches,
    ids::Ids,
    lines::{Line, Lines},
    wire::{self, Incoming, Refusal},
};

/// How long calls may still run after the last input: less than clients wait before they kill
const GRACE: Duration = Duration::from_millis(1500);
/// How long calls have to go away once they are called off
const LAST: Duration = Duration::from_secs(1);

/// Serve until the input ends or `stop` says so; no call is left behind
pub async fn serve<S: ServerHandler>(
    server: S,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: CancellationToken,
) {
    let ended = CancellationToken::new();
    let transport = Stdio::new(input, output, ended.clone());
    // Without a handshake of the library's own: it would end at an early notification.
    let running = serve_directly_with_ct(server, transport, None, CancellationToken::new());
    let calls = running.cancellation_token();
    let mut done = std::pin::pin!(running.waiting());
    tokio::select! {
        _ = &mut done => return,
        () = stop.cancelled() => {}
        () = async {
            ended.cancelled().await;
            tokio::time::sleep(GRACE).await;
        } => {}
    }
    calls.cancel();
    let _ = tokio::time::timeout(LAST, done).await;
}

/// Messages as lines
struct Stdio<R> {
    lines: Lines<R>,
    /// What was read but not yet passed on
    queue: VecDeque<ClientJsonRpcMessage>,
    batches: Arc<Mutex<Batches>>,
    ids: Ids,
    /// What `initialize` agreed on
    version: Arc<Mutex<Option<ProtocolVersion>>>,
    out: Option<mpsc::UnboundedSender<Out>>,
    writer: Option<JoinHandle<()>>,
    /// Nothing more comes in, or nothing more can go out
    ended: CancellationToken,
}

/// A line to write, and who wants to know that it is out
struct Out {
    line: String,
    written: Option<oneshot::Sender<io::Result<()>>>,
}

impl<R: AsyncRead + Send + Unpin> Stdio<R> {
    fn new(
        input: R,
        output: impl AsyncWrite + Send + Unpin + 'static,
        ended: CancellationToken,
    ) -> Self {
        let (out, lines) = mpsc::unbounded_channel();
        Self {
            lines: Lines::new(input, super::MAX_MESSAGE),
            queue: VecDeque::new(),
            batches: Arc::default(),
            ids: Ids::default(),
            version: Arc::default(),
            out: Some(out),
            // Reading can be given up half-way, writing cannot: so that is a task of its own.
            writer: Some(tokio::spawn(write(output, lines, ended.clone()))),
            ended,
        }
    }

    fn refuse(&self, error: Refusal) {
        self.put(text(&error.message()), None);
    }

    fn put(&self, line: String, written: Option<oneshot::Sender<io::Result<()>>>) {
        if let Some(out) = &self.out {
            let _ = out.send(Out { line, written });
        }
    }

    /// Take what came on a line into the queue, or answer it
    fn take(&mut self) {
        let line = self.lines.text();
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match wire::read(line) {
            Err(error) => self.refuse(error),
            Ok(Incoming::One(value)) => {
                let asks = !wire::is_notification(&value);
                let message = wire::message(value).and_then(|message| self.enter(message));
                match message {
                    Ok(message) => self.pass_on(message),
                    Err(error) if asks => self.refuse(error),
                    Err(error) => overheard(&error),
                }
            }
            Ok(Incoming::Batch(items)) => self.take_batch(items),
        }
    }

    fn take_batch(&mut self, items: Vec<Value>) {
        let version = lock(&self.version).clone();
        let allowed = version.is_none_or(|v| v == ProtocolVersion::V_2025_03_26);
        if let Err(error) = wire::check_batch(&items, allowed) {
            return self.refuse(error);
        }
        let (mut waiting, mut answers) = (Vec::new(), Vec::new());
        let mut messages = Vec::new();
        for item in items {
            let asks = !wire::is_notification(&item);
            match batched(item).and_then(|message| self.enter(message)) {
                Ok(message) => {
                    if let JsonRpcMessage::Request(request) = &message {
                        waiting.push(request.id.clone());
                    }
                    messages.push(message);
                }
                Err(error) if asks => answers.push(text(&error.message())),
                Err(error) => overheard(&error),
            }
        }
        let whole = lock(&self.batches).open(waiting, answers);
        if let Some(whole) = whole {
            self.put(whole, None);
        }
        for message in messages {
            self.pass_on(message);
        }
    }

    /// Replaces the id of a request by an internal one
    ///
    /// An id that is already in use is refused: neither an answer nor a cancellation could be
    /// matched to one of the two requests.
    fn enter(
        &mut self,
        mut message: ClientJsonRpcMessage,
    ) -> Result<ClientJsonRpcMessage, Refusal> {
        if let JsonRpcMessage::Request(request) = &mut message {
            request.id = self.ids.enter(&request.id).ok_or_else(|| {
                wire::invalid(
                    Some(request.id.clone()),
                    "a request with this id is not answered yet; the second one was not carried out",
                )
            })?;
        }
        Ok(message)
    }

    fn pass_on(&mut self, mut message: ClientJsonRpcMessage) {
        if let JsonRpcMessage::Notification(told) = &mut message
            && let ClientNotification::CancelledNotification(cancelled) = &mut told.notification
            && let Some(id) = &mut cancelled.params.request_id
        {
            let Some(ours) = self.ids.call_off(id) else {
                return;
            };
            // No answer will come for it.
            let whole = lock(&self.batches).add(&ours, None);
            if let Some(whole) = whole {
                self.put(whole, None);
            }
            *id = ours;
        }
        self.queue.push_back(message);
    }
}

/// A notification has no answer, whatever is wrong with it
fn overheard(error: &Refusal) {
    tracing::debug!(?error, "a notification cannot be read");
}

/// A message of a batch; connections do not begin inside of one
fn batched(item: Value) -> Result<ClientJsonRpcMessage, Refusal> {
    let begins = wire::method(&item) == Some("initialize");
    let message = wire::message(item)?;
    match &message {
        JsonRpcMessage::Request(request) if begins => Err(wire::invalid(
            Some(request.id.clone()),
            "`initialize` cannot be part of a batch",
        )),
        _ => Ok(message),
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Stdio<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        if let JsonRpcMessage::Response(response) = &message
            && let ServerResult::InitializeResult(result) = &response.result
        {
            *lock(&self.version) = Some(result.protocol_version.clone());
        }
        let told = self.line(&mut message).map(|line| {
            let (written, told) = oneshot::channel();
            self.put(line, Some(written));
            told
        });
        async move {
            match told {
                None => Ok(()),
                Some(told) => told
                    .await
                    .unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into())),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(message) = self.queue.pop_front() {
                return Some(message);
            }
            let line = tokio::select! {
                line = self.lines.next() => line,
                () = self.ended.cancelled() => Line::End,
            };
            match line {
                Line::Whole => {
                    self.take();
                    self.lines.clear();
                }
                Line::TooLong => {
                    let message = format!("a message has more than {} bytes", super::MAX_MESSAGE);
                    self.refuse(wire::invalid(None, message));
                }
                Line::End => {
                    self.ended.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.out.take());
        if let Some(writer) = self.writer.take() {
            let _ = writer.await;
        }
        Ok(())
    }
}

impl<R> Stdio<R> {
    /// The line to write for a message
    ///
    /// None for the answer to a cancelled request, and while its batch is incomplete.
    fn line(&mut self, message: &mut ServerJsonRpcMessage) -> Option<String> {
        let Some(id) = answered(message) else {
            return Some(text(message));
        };
        let ours = std::mem::replace(id, RequestId::Number(0));
        *id = self.ids.answer(&ours)?;
        let line = text(message);
        let mut batches = lock(&self.batches);
        if batches.has(&ours) {
            batches.add(&ours, Some(line))
        } else {
            Some(line)
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The id that a message answers
fn answered(message: &mut ServerJsonRpcMessage) -> Option<&mut RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&mut response.id),
        JsonRpcMessage::Error(error) => error.id.as_mut(),
        _ => None,
    }
}

fn text(message: &ServerJsonRpcMessage) -> String {
    serde_json::to_string(message).expect("a message is made of maps with text keys")
}

async fn write(
    mut output: impl AsyncWrite + Send + Unpin,
    mut lines: mpsc::UnboundedReceiver<Out>,
    ended: CancellationToken,
) {
    while let Some(Out { mut line, written }) = lines.recv().await {
        line.push('\n');
        let done = async {
            output.write_all(line.as_bytes()).await?;
            output.flush().await
        };
        let done = done.await;
        if let Err(error) = &done {
            tracing::debug!(%error, "nobody reads the answers any more");
            ended.cancel();
        }
        if let Some(written) = written {
            let _ = written.send(done);
        }
    }
}
