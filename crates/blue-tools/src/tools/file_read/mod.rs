//! `file_read`

mod lines;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use blue_core::{forge::model::EntryKind, text};
use lines::{Part, Range};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Cx, Effect, ErrorCode, Page, Reply, Style, Tool, ToolError, args::RepoArgs, charset, path,
};

/// Largest file that is fetched to be shown in parts
const LARGEST: u64 = 16 * 1024 * 1024;
/// Largest binary file that is sent whole
const LARGEST_BINARY: usize = 32 * 1024;
/// Room for the text in one answer, as JSON
const ROOM: usize = 56_000;

#[derive(Debug)]
pub struct FileRead;

/// Read a file
///
/// Its `sha` goes with a later write or delete.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[command(after_help = EXAMPLES)]
pub struct Input {
    #[command(flatten)]
    #[serde(flatten)]
    pub repo: RepoArgs,
    /// File to read
    #[schemars(description = "")]
    pub path: String,
    /// Branch, tag or commit [default: the default branch]
    #[arg(long = "ref")]
    #[serde(rename = "ref")]
    #[schemars(description = "Branch, tag or commit")]
    pub rev: Option<String>,
    /// Only these: `10-40`, `10-`, or `-20` for the last 20
    #[arg(long, allow_hyphen_values = true)]
    #[schemars(description = "10-40, 10-, or -20 for the last 20")]
    pub lines: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  blue file read README.md --lines 1-40
  blue file read src/main.rs --ref topic";

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Output {
    pub path: String,
    /// Blob id
    pub sha: String,
    /// Of the whole file, in bytes
    pub size: u64,
    pub content: String,
    /// `base64` for a binary file, absent for text
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// What the text was before it became UTF-8 here
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charset: Option<String>,
    /// Where a symlink points
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The lines that are here, where not all are
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<usize>,
    /// More was asked for than fits
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// `lines` for the rest of it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
    /// Invisible characters of this text that are not in `content`
    #[serde(skip_serializing_if = "is_zero")]
    pub hidden: usize,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Tool for FileRead {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "file_read";
    const EFFECT: Effect = Effect::Read;

    async fn run(&self, cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        let path = path::inside(&input.path)?;
        let range = match input.lines.as_deref().map(str::trim) {
            None | Some("") => None,
            Some(text) => Some(Range::parse(text)?),
        };
        let repo = cx.repo(&input.repo).await?;
        let rev = input.rev.as_deref().filter(|rev| !rev.is_empty());
        let file = repo
            .forge
            .read_file(&repo.id, &path, rev, LARGEST)
            .await
            .map_err(|error| too_large(&path, error))?;
        let output = Output {
            sha: file.sha.to_string(),
            size: file.size,
            path: file.path,
            ..Output::default()
        };
        if file.kind == EntryKind::Symlink {
            let target = file.target.unwrap_or_default();
            return Ok(Reply::from(Output {
                content: target.clone(),
                target: Some(target),
                ..output
            })
            .next("It is a symlink: read its target with file_read"));
        }
        match charset::decode(&file.content) {
            None if range.is_some() => Err(ToolError::new(
                ErrorCode::Invalid,
                format!("`{path}` is binary and has no lines"),
            )),
            None if file.content.len() > LARGEST_BINARY => Err(ToolError::new(
                ErrorCode::TooLarge,
                format!(
                    "`{path}` is binary and has {} bytes; at most {LARGEST_BINARY} are sent",
                    file.content.len()
                ),
            )
            .with_hint(format!("get it with git, or from {}", file.html_url))),
            None => Ok(Reply::from(Output {
                content: BASE64.encode(&file.content),
                encoding: Some("base64".to_owned()),
                ..output
            })),
            Some((text, charset)) => {
                let range = range.unwrap_or_default();
                Ok(show(&text, charset.name(), range, output)?)
            }
        }
    }

    fn page(output: &Output, page: &mut Page) {
        if output.encoding.is_some() {
            let text = format!("{}: binary, {} bytes", output.path, output.size);
            page.line(&text, Style::Dim);
            return;
        }
        if let Some(target) = &output.target {
            page.line(&format!("{} -> {target}", output.path), Style::Dim);
            return;
        }
        if !output.content.is_empty() {
            page.text(&output.content);
        }
        if let (Some(rest), Some(total)) = (&output.rest, output.total_lines) {
            let text = format!("cut: {total} lines in all; the rest with --lines {rest}");
            page.line(&text, Style::Dim);
        }
    }
}

fn show(
    whole: &str,
    charset: Option<&str>,
    range: Range,
    output: Output,
) -> Result<Reply<Output>, ToolError> {
    let part = Part::of(whole, range, ROOM)?;
    let content = text::clean(part.text);
    let hidden = part.text.chars().count() - content.chars().count();
    let charset = charset.map(str::to_owned);
    let steps = (part.rest.clone(), charset.clone());
    let mut reply = Reply::from(Output {
        content,
        charset,
        lines: part.lines,
        total_lines: part.total,
        truncated: part.rest.is_some(),
        rest: part.rest,
        hidden,
        ..output
    });
    if let Some(rest) = steps.0 {
        reply = reply.next(format!("Get the rest with file_read, lines \"{rest}\""));
    }
    if let Some(charset) = steps.1 {
        reply = reply.next(format!(
            "The file is {charset}: to keep it so, change it by file_write_branch `edits`"
        ));
    } else if hidden > 0 {
        reply = reply.next(format!(
            "{hidden} invisible characters are not shown: to keep them, change it by \
             file_write_branch `edits`"
        ));
    }
    Ok(reply)
}

fn too_large(path: &str, error: blue_core::forge::ForgeError) -> ToolError {
    match error {
        blue_core::forge::ForgeError::TooLarge { limit, .. } => ToolError::new(
            ErrorCode::TooLarge,
            format!("`{path}` is larger than the {limit} bytes that are read of a file"),
        )
        .with_hint("get it with git"),
        other => other.into(),
    }
}
