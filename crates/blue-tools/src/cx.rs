//! What a tool works with

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use blue_base::{clock::Clock, git::Git};
use blue_forge::{
    Forge,
    detect::DetectedType,
    model::RepoId,
    open::{Ask, Forges, OpenError, Opened},
};

use crate::{Effect, ErrorCode, ToolError, args::RepoArgs, reply::Envelope};

/// From what a caller names to an open forge; the allowlist is kept behind this
#[async_trait]
pub trait Opener: Send + Sync + fmt::Debug {
    async fn open(&self, ask: &Ask) -> Result<Opened, OpenError>;
}

#[async_trait]
impl Opener for Forges {
    async fn open(&self, ask: &Ask) -> Result<Opened, OpenError> {
        Self::open(self, ask).await
    }
}

/// How far a call that takes its time has come
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Grows with each report
    pub done: f64,
    pub total: Option<f64>,
    pub message: String,
}

type Listener = Arc<dyn Fn(Progress) + Send + Sync>;
type Piped = Arc<dyn Fn() -> std::io::Result<Vec<u8>> + Send + Sync>;

/// What a tool works with; cheap to clone, one for each call
#[derive(Clone)]
pub struct Cx {
    opener: Arc<dyn Opener>,
    clock: Arc<dyn Clock>,
    cwd: PathBuf,
    read_only: bool,
    raw: bool,
    lent: bool,
    listener: Option<Listener>,
    piped: Option<Piped>,
    effect: Effect,
    record: Arc<Mutex<CallRecord>>,
}

/// Facts of one call that its tool does not return itself
#[derive(Debug, Default)]
struct CallRecord {
    notes: Vec<String>,
    repository: Option<RepoId>,
}

/// A repository that the caller may reach; there is no other way to a forge
#[derive(Debug, Clone)]
pub struct Repo {
    pub forge: Arc<dyn Forge>,
    pub id: RepoId,
    /// What it was found to be, before it was asked
    kind: DetectedType,
    /// Which of Gitea and Forgejo it is was not asked yet
    family_only: bool,
}

impl Repo {
    /// Returns the type that the server reports, as `blue forge status` shows it
    ///
    /// Costs a round of requests at most once, and none where the type was found by asking.
    pub async fn forge_name(&self) -> &'static str {
        if !self.family_only {
            return self.kind.as_str();
        }
        let flavor = self.forge.flavor().await;
        flavor.map_or(self.kind, DetectedType::from).as_str()
    }
}

impl Cx {
    pub fn new(opener: Arc<dyn Opener>, clock: Arc<dyn Clock>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            opener,
            clock,
            cwd: cwd.into(),
            read_only: false,
            raw: false,
            lent: false,
            listener: None,
            piped: None,
            // Until a call says what it does, the strictest.
            effect: Effect::Destroy,
            record: Arc::default(),
        }
    }

    /// Refuse every tool that does more than read
    #[must_use]
    pub fn read_only(mut self, only: bool) -> Self {
        self.read_only = only;
        self
    }

    /// What is read goes to a file or a program: bytes as they are, and all of them
    #[must_use]
    pub fn raw(mut self, raw: bool) -> Self {
        self.raw = raw;
        self
    }

    /// The token is not the caller's own: who lent it gets another when the forge refuses it
    #[must_use]
    pub fn with_lent_token(mut self) -> Self {
        self.lent = true;
        self
    }

    /// Reports the progress of calls to `listener`
    #[must_use]
    pub fn on_progress(mut self, listener: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.listener = Some(Arc::new(listener));
        self
    }

    /// Where `-` reads from
    #[must_use]
    pub fn with_piped(
        mut self,
        piped: impl Fn() -> std::io::Result<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        self.piped = Some(Arc::new(piped));
        self
    }

    /// Returns the context of one call: a record of its own, which begins with the notes that are
    /// pending here, such as those of a question that was asked before the call
    #[must_use]
    pub fn for_call(&self, effect: Effect) -> Self {
        let notes = std::mem::take(&mut self.record().notes);
        let record = CallRecord {
            notes,
            repository: None,
        };
        Self {
            effect,
            record: Arc::new(Mutex::new(record)),
            ..self.clone()
        }
    }

    fn record(&self) -> MutexGuard<'_, CallRecord> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Find and open the repository that was named, if it is allowed
    pub async fn repo(&self, args: &RepoArgs) -> Result<Repo, ToolError> {
        let ask = args.ask()?;
        let opened = self.opener.open(&ask).await;
        let opened = opened.map_err(|error| ToolError::of_call(error, &ask))?;
        for notice in opened.notices {
            self.note(notice);
        }
        if self.effect != Effect::Read
            && let Some(why) = &opened.reads_only
        {
            return Err(ToolError::of_reads_only(why));
        }
        self.record().repository = Some(opened.repo.clone());
        Ok(Repo {
            forge: opened.forge,
            id: opened.repo,
            kind: opened.found.kind,
            family_only: opened.found.family_only,
        })
    }

    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// The folder whose git remote is meant when no repository is named
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Whether the clone that the caller works in has a remote of this name
    pub(crate) async fn has_remote(&self, name: &str) -> bool {
        // The folder of a server that lends tokens is not the caller's.
        if self.lent {
            return false;
        }
        let git = Git::default();
        if !git.is_repository(&self.cwd).await.unwrap_or(false) {
            return false;
        }
        let remotes = git.remotes(&self.cwd).await;
        remotes.is_ok_and(|remotes| remotes.iter().any(|remote| remote == name))
    }

    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether bytes are wanted rather than something to look at
    pub fn is_raw(&self) -> bool {
        self.raw
    }

    /// A failure as this caller can deal with it
    pub(crate) fn advised(&self, error: ToolError) -> ToolError {
        if self.lent {
            error.of_lent_token()
        } else {
            error
        }
    }

    /// Reports the progress of the call, if there is a listener
    pub fn progress(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        if let Some(listener) = &self.listener {
            listener(Progress {
                done,
                total,
                message: message.into(),
            });
        }
    }

    /// What was piped in, for `-` on the command line
    pub async fn piped(&self) -> Result<Vec<u8>, ToolError> {
        let nothing =
            || ToolError::new(ErrorCode::Usage, "`-` reads stdin, and there is none here");
        let piped = self.piped.clone().ok_or_else(nothing)?;
        // A read from a terminal can take minutes; on its own thread, the call stays cancellable.
        let read = tokio::task::spawn_blocking(move || piped()).await;
        let read = read.unwrap_or_else(|error| Err(error.into()));
        read.map_err(|source| {
            ToolError::new(ErrorCode::Io, "could not read stdin").with_source(source)
        })
    }

    /// Returns all of stdin as UTF-8 text, for `-` on the command line
    pub async fn piped_text(&self) -> Result<String, ToolError> {
        String::from_utf8(self.piped().await?).map_err(|source| {
            ToolError::new(ErrorCode::Usage, "stdin is not a text in UTF-8").with_source(source)
        })
    }

    /// Adds a line to the `notes` of the answer or error of this call, once
    ///
    /// For what a caller should know beside the result: something noticed, an assumption made.
    pub fn note(&self, note: String) {
        let mut record = self.record();
        if !record.notes.contains(&note) {
            record.notes.push(note);
        }
    }

    /// Returns the notes so far, each once
    pub(crate) fn notes(&self) -> Vec<String> {
        self.record().notes.clone()
    }

    /// Returns what every answer of this call has beside the fields of its tool
    pub(crate) fn envelope(&self) -> Envelope {
        let record = self.record();
        let repository = record.repository.as_ref();
        Envelope {
            repository: repository
                .filter(|_| self.effect != Effect::Read)
                .map(ToString::to_string),
            notes: record.notes.clone(),
        }
    }
}

impl fmt::Debug for Cx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx")
            .field("opener", &self.opener)
            .field("cwd", &self.cwd)
            .field("read_only", &self.read_only)
            .finish_non_exhaustive()
    }
}
