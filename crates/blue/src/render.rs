//! Everything that the program prints
//!
//! A command gives a [`Report`]; here it becomes one JSON object or a page for people. With
//! `--json` an error is an object on stdout too, and stderr has only warnings and logs.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal, Write as _},
};

use blue_core::text::clean_line;
pub(crate) use blue_tools::{Cell, Page, Style};
use blue_tools::{ToolError, page::Block};
use serde::Serialize;

use crate::env::Env;

/// What a command has to say
pub(crate) trait Report: Serialize {
    fn page(&self, page: &mut Page);
}

fn code(style: Style) -> &'static str {
    match style {
        Style::Plain => "",
        Style::Bold => "\x1b[1m",
        Style::Dim => "\x1b[2m",
        Style::Good => "\x1b[32m",
        Style::Warn => "\x1b[33m",
        Style::Bad => "\x1b[31m",
    }
}

/// Where output goes and how it looks
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    json: bool,
    colour: bool,
    colour_err: bool,
}

impl Screen {
    pub(crate) fn new(env: &Env, json: bool) -> Self {
        Self {
            json,
            colour: env.colour(io::stdout().is_terminal()),
            colour_err: env.colour(io::stderr().is_terminal()),
        }
    }

    pub(crate) fn colour_err(self) -> bool {
        self.colour_err
    }

    /// Print what a command found
    pub(crate) fn show(self, report: &impl Report) -> io::Result<()> {
        let text = if self.json {
            json_line(report)?
        } else {
            let mut page = Page::default();
            report.page(&mut page);
            laid_out(&page, self.colour)
        };
        out(&text)
    }

    /// Print one JSON object, whatever was asked for
    pub(crate) fn json(value: &impl Serialize) -> io::Result<()> {
        out(&json_line(value)?)
    }

    /// Print a failure
    pub(crate) fn fail(self, error: &ToolError) -> io::Result<()> {
        if self.json {
            out(&json_line(&serde_json::json!({ "error": error.json() }))?)
        } else {
            err(&error_text(error, self.colour_err))
        }
    }

    /// Say something beside the result; never on stdout
    pub(crate) fn warn(self, text: &str) -> io::Result<()> {
        err(&labelled("warning", Style::Warn, text, self.colour_err))
    }

    pub(crate) fn notes(self, texts: &[String]) -> io::Result<()> {
        texts
            .iter()
            .try_for_each(|text| err(&labelled("note", Style::Bold, text, self.colour_err)))
    }
}

fn error_text(error: &ToolError, colour: bool) -> String {
    let chain = error.chain().join(": ");
    let mut text = labelled("error", Style::Bad, &chain, colour);
    if let Some(hint) = &error.hint {
        text += &labelled("hint", Style::Bold, hint, colour);
    }
    text
}

fn labelled(label: &str, style: Style, text: &str, colour: bool) -> String {
    let label = paint(&format!("{label}:"), style, colour);
    format!("{label} {}\n", clean_line(text))
}

fn paint(text: &str, style: Style, colour: bool) -> String {
    if colour && !code(style).is_empty() {
        format!("{}{text}\x1b[0m", code(style))
    } else {
        text.to_owned()
    }
}

fn json_line(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)? + "\n")
}

fn out(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

fn err(text: &str) -> io::Result<()> {
    io::stderr().lock().write_all(text.as_bytes())
}

/// Lay a page out
fn laid_out(page: &Page, colour: bool) -> String {
    let mut text = String::new();
    for block in &page.blocks {
        match block {
            Block::Line(cell) => text += &painted(cell, colour),
            Block::Code(line) => text += &format!("  {}", paint(line, Style::Bold, colour)),
            Block::Blank => {}
            Block::Fields(fields) => text += &two_columns(fields, colour),
            Block::Table { head, rows } => text += &columns(head, rows, colour),
            Block::Text(lines) => text += lines.strip_suffix('\n').unwrap_or(lines),
        }
        text.push('\n');
    }
    text
}

fn two_columns(fields: &[(String, Cell)], colour: bool) -> String {
    let widest = fields.iter().map(|(name, _)| width(name)).max();
    let lines = fields.iter().map(|(name, cell)| {
        let gap = " ".repeat(widest.unwrap_or(0) - width(name) + 2);
        let name = paint(name, Style::Dim, colour);
        format!("{name}{gap}{}", painted(cell, colour))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Each column as wide as it needs
fn columns(head: &[String], rows: &[Vec<Cell>], colour: bool) -> String {
    let mut widths: Vec<usize> = head.iter().map(|h| width(h)).collect();
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            widths[at] = widths[at].max(width(&cell.text));
        }
    }
    let head: Vec<Cell> = head.iter().map(|h| Cell::new(h, Style::Dim)).collect();
    let lines = std::iter::once(&head).chain(rows).map(|row| {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let last = at + 1 == row.len();
            let gap = if last {
                0
            } else {
                widths[at] - width(&cell.text) + 2
            };
            let _ = write!(line, "{}{}", painted(cell, colour), " ".repeat(gap));
        }
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn painted(cell: &Cell, colour: bool) -> String {
    paint(&cell.text, cell.style, colour)
}

fn width(text: &str) -> usize {
    text.chars().count()
}
