//! `dir_list`

use blue_forge::model::{Entry, EntryKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Cell, Cx, Effect, Page, Reply, Style, Tool, ToolError,
    args::{self, RepoArgs},
    path, reply,
    rows::short,
};

/// Room for rows in one answer; the rest is for what is around them
const ROOM: usize = reply::MAX_BYTES - 1_000;

#[derive(Debug)]
pub struct DirList;

/// List a directory
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[command(after_help = EXAMPLES)]
pub struct Input {
    #[command(flatten)]
    #[serde(flatten)]
    pub repo: RepoArgs,
    /// Directory [default: the root of the repository]
    #[arg(default_value = "", hide_default_value = true)]
    #[serde(default)]
    #[schemars(description = "", extend("default" = null))]
    pub path: String,
    /// Branch, tag or commit [default: the default branch]
    #[arg(long = "ref")]
    #[serde(rename = "ref")]
    #[schemars(description = "Branch, tag or commit")]
    pub rev: Option<String>,
    /// Page of a directory that is too large for one answer, from 1
    #[arg(long, value_parser = args::page)]
    pub page: Option<u32>,
}

const EXAMPLES: &str = "\
Examples:
  blue dir list
  blue dir list docs --ref v1.2.0";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    pub entries: Vec<Row>,
    /// The page to ask for next; absent on the last
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page: Option<u32>,
    /// All entries, where they are not all here
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Row {
    pub name: String,
    pub path: String,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub sha: String,
    pub size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    File,
    Dir,
    Symlink,
    Submodule,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Dir => "dir",
            Self::Symlink => "symlink",
            Self::Submodule => "submodule",
        }
    }
}

impl From<Entry> for Row {
    fn from(entry: Entry) -> Self {
        Self {
            name: entry.name,
            path: entry.path,
            kind: match entry.kind {
                EntryKind::File => Kind::File,
                EntryKind::Dir => Kind::Dir,
                EntryKind::Symlink => Kind::Symlink,
                EntryKind::Submodule => Kind::Submodule,
            },
            sha: entry.sha.to_string(),
            size: entry.size,
        }
    }
}

impl Tool for DirList {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "dir_list";
    const EFFECT: Effect = Effect::Read;

    async fn run(&self, cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        let path = path::inside(&input.path)?;
        let page = args::part(input.page, None)?.number;
        let repo = cx.repo(&input.repo).await?;
        let rev = input.rev.as_deref().filter(|rev| !rev.is_empty());
        let mut entries = repo.forge.list_dir(&repo.id, &path, rev).await?;
        // The forges differ in their order; pages need one.
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let rows = entries.into_iter().map(Row::from).collect();
        let output = part(rows, page, ROOM);
        let next = output.next_page;
        let step = next.map(|page| format!("Get the rest with dir_list, page {page}"));
        Ok(Reply::from(output).next_if(next.is_some(), step.unwrap_or_default()))
    }

    fn page(output: &Output, page: &mut Page) {
        let rows = output.entries.iter().map(|entry| {
            let (name, style) = match entry.kind {
                Kind::Dir => (format!("{}/", entry.name), Style::Bold),
                _ => (entry.name.clone(), Style::Plain),
            };
            let size = match entry.kind {
                Kind::File => entry.size.to_string(),
                _ => String::new(),
            };
            vec![
                Cell::name(&name, style),
                Cell::from(entry.kind.as_str()),
                Cell::from(size),
                Cell::new(short(&entry.sha), Style::Dim),
            ]
        });
        if output.entries.is_empty() {
            page.line("no files here", Style::Dim);
        } else {
            page.table(&["NAME", "TYPE", "SIZE", "BLOB"], rows.collect());
        }
        if let Some(total) = output.total {
            let shown = output.entries.len();
            page.line(&format!("{shown} of {total} entries"), Style::Dim);
        }
    }
}

/// One page of the rows; each is as long as fits into `room`
fn part(mut rows: Vec<Row>, page: u32, room: usize) -> Output {
    let total = rows.len();
    let (mut before, mut number) = (0, 1);
    loop {
        let mut used = 0;
        let fits = rows[before..]
            .iter()
            .take_while(|row| {
                used += reply::bytes(row) + 2;
                used <= room
            })
            .count();
        if number < page && fits > 0 {
            before += fits;
            number += 1;
            continue;
        }
        let entries: Vec<Row> = rows.drain(before..before + fits).collect();
        let more = before + fits < total;
        return Output {
            next_page: (more && fits > 0).then_some(page.saturating_add(1)),
            total: (entries.len() < total).then_some(total),
            entries,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize) -> Vec<Row> {
        (0..count)
            .map(|n| Row {
                name: format!("file-{n:05}"),
                path: format!("some/folder/file-{n:05}"),
                kind: Kind::File,
                sha: "a".repeat(40),
                size: 12,
            })
            .collect()
    }

    #[test]
    fn pages_are_full_and_have_every_row_once() {
        let mut seen = Vec::new();
        let mut page = Some(1);
        while let Some(number) = page {
            let part = part(rows(3000), number, ROOM);
            assert!(reply::bytes(&part) <= reply::MAX_BYTES);
            assert_eq!(part.total, Some(3000));
            seen.extend(part.entries.into_iter().map(|row| row.name));
            page = part.next_page;
        }
        let all: Vec<String> = rows(3000).into_iter().map(|row| row.name).collect();
        assert_eq!(seen, all);
    }

    #[test]
    fn a_page_after_the_last_is_empty() {
        let whole = part(rows(3), 1, ROOM);
        assert_eq!(
            (whole.entries.len(), whole.total, whole.next_page),
            (3, None, None)
        );
        let after = part(rows(3), 9, ROOM);
        assert_eq!(
            (after.entries.len(), after.total, after.next_page),
            (0, Some(3), None)
        );
        let none = part(rows(0), u32::MAX, ROOM);
        assert_eq!((none.entries.len(), none.total), (0, None));
    }
}
