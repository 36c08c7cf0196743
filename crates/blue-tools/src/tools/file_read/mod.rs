//! `file_read`

mod lines;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use blue_base::{load, text};
use blue_forge::{
    ForgeError,
    model::{EntryKind, File},
};
use lines::{Part, Range};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Cx, Effect, ErrorCode, Page, Reply, Repo, Style, Tool, ToolError, args::RepoArgs, charset,
    path, reply,
};

/// Largest file that is fetched to be shown in parts
const LARGEST: u64 = 16 * 1024 * 1024;
/// Largest file that goes to a file or a program as it is: as much as one answer of a forge may have
const LARGEST_WHOLE: u64 = 64 * 1024 * 1024;
/// Largest binary file that is sent whole
const LARGEST_BINARY: usize = 20 * 1024;
/// Largest file that is decoded on the spot
const INLINE_BYTES: usize = 256 * 1024;
/// Room for the text in one answer, counted as [`reply::bytes`] does; the rest is for what is around it
const ROOM: usize = reply::MAX_BYTES - 3_500;

#[derive(Debug)]
pub struct FileRead;

/// Read a file
///
/// Pass its `sha` to a later write or delete.
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
    /// Only these lines: `10-40`, `10-`, or `-20` for the last 20
    #[arg(long, allow_hyphen_values = true, value_parser = lines::typed)]
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
        let largest = if cx.is_raw() { LARGEST_WHOLE } else { LARGEST };
        let file = repo
            .forge
            .read_file(&repo.id, &path, rev, largest)
            .await
            .map_err(|error| too_large(&path, error))?;
        let output = Output {
            sha: file.sha.to_string(),
            size: file.size,
            path: file.path.clone(),
            ..Output::default()
        };
        if file.kind == EntryKind::Symlink {
            let target = file.target.unwrap_or_default();
            let goal = led_to(&output.path, &target);
            let step = match &goal {
                Some(goal) => step_of_link(&repo, goal, rev).await,
                None => None,
            };
            let mut reply = Reply::from(Output {
                content: target.clone(),
                target: Some(target),
                ..output
            });
            reply.bytes = cx.is_raw().then_some(file.content);
            return Ok(reply.next_if(step.is_some(), step.unwrap_or_default()));
        }
        if cx.is_raw() && range.is_none() {
            return Ok(Reply::from(output).with_bytes(file.content));
        }
        // A large file is decoded where that holds up no other call.
        let is_raw = cx.is_raw();
        if file.content.len() > INLINE_BYTES {
            return load::offload(move || decoded(&path, &file, range, output, is_raw)).await;
        }
        decoded(&path, &file, range, output, is_raw)
    }

    fn page(output: &Output, page: &mut Page) {
        if output.encoding.is_some() {
            let (path, size) = (&output.path, output.size);
            let text = format!("{path}: binary, {size} bytes; redirect the output to get them");
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
    }
}

/// The answer for a file that is no symlink
fn decoded(
    path: &str,
    file: &File,
    range: Option<Range>,
    output: Output,
    is_raw: bool,
) -> Result<Reply<Output>, ToolError> {
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
        Some((text, charset)) if is_raw => {
            let part = Part::of(&text, range.unwrap_or_default(), usize::MAX)?;
            // What was read from bytes can be written as such again.
            let bytes = charset.encode(part.text).unwrap_or_default();
            Ok(Reply::from(output).with_bytes(bytes))
        }
        Some((text, charset)) => {
            let range = range.unwrap_or_default();
            Ok(show(&text, charset.name(), range, output)?)
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
    let lfs = lfs_size(whole);
    let charset = charset.map(str::to_owned);
    let shown = part.lines.clone().unwrap_or_default();
    let total = part.total.unwrap_or_default();
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
    if let Some(size) = lfs {
        reply = reply.next(format!(
            "This is a Git LFS pointer, all that file_read can give: the file itself has {size} \
             bytes, get it with `git lfs pull`"
        ));
    }
    if let Some(rest) = steps.0 {
        reply = reply.next(format!(
            "Lines {shown} of {total}: get the rest with file_read, lines \"{rest}\""
        ));
    }
    if let Some(charset) = steps.1 {
        reply = reply.next(format!(
            "The file is {charset}: to keep it so, change it by file_write_branch `edits`"
        ));
    } else if hidden > 0 {
        let (what, them) = match hidden {
            1 => ("character is", "it"),
            _ => ("characters are", "them"),
        };
        reply = reply.next(format!(
            "{hidden} invisible {what} not shown: to keep {them}, change the file by \
             file_write_branch `edits`"
        ));
    }
    Ok(reply)
}

/// Returns what to do with a symlink, by what is at its target
async fn step_of_link(repo: &Repo, goal: &str, rev: Option<&str>) -> Option<String> {
    // Not a byte of it is wanted, only whether it is a file.
    match repo.forge.read_file(&repo.id, goal, rev, 0).await {
        Err(ForgeError::Invalid { message, .. }) if message.contains("is a directory") => Some(
            format!("It is a symlink to a directory: list it with dir_list, path \"{goal}\""),
        ),
        Err(ForgeError::NotFound { .. }) => None,
        _ => Some(format!(
            "It is a symlink: read its target with file_read, path \"{goal}\""
        )),
    }
}

/// The path that a link leads to, unless that is out of the repository, or all of it
fn led_to(link: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = link.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Size of the file that a Git LFS pointer stands for
fn lfs_size(text: &str) -> Option<u64> {
    let fields = text.strip_prefix("version https://git-lfs.github.com/spec/v1\n")?;
    let mut lines = fields.lines();
    // A pointer is short; a text about pointers may begin like one.
    if text.len() > 1024 || !lines.clone().any(|line| line.starts_with("oid ")) {
        return None;
    }
    lines.find_map(|line| line.strip_prefix("size ")?.parse().ok())
}

fn too_large(path: &str, error: ForgeError) -> ToolError {
    match error {
        ForgeError::TooLarge { limit, .. } => ToolError::new(
            ErrorCode::TooLarge,
            format!("`{path}` is larger than the {limit} bytes that are read of a file"),
        )
        .with_hint("get it with git"),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_from_its_folder() {
        for (link, target, goal) in [
            ("link", "dir/plain", Some("dir/plain")),
            ("a/b/link", "../c/./d", Some("a/c/d")),
            ("a/link", "../x", Some("x")),
            ("a/link", "../../x", None),
            ("a/link", "/etc/passwd", None),
            ("a/link", "..", None),
        ] {
            assert_eq!(led_to(link, target).as_deref(), goal, "{link} {target}");
        }
    }

    #[test]
    fn a_pointer_is_told_from_a_text_about_pointers() {
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
        assert_eq!(lfs_size(pointer), Some(12345));
        let reply = show(pointer, None, Range::default(), Output::default()).unwrap();
        assert!(reply.next_steps[0].contains("12345 bytes"), "{reply:?}");
        assert_eq!(lfs_size(&pointer.replace("oid", "id")), None);
        assert_eq!(lfs_size(&format!("{pointer}{}", "x".repeat(1024))), None);
        assert_eq!(lfs_size("a file\n"), None);
    }
}
