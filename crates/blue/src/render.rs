//! Everything that the program prints
//!
//! A command gives a [`Report`]; here it becomes one JSON object or a page for people. With
//! `--json` an error is an object on stdout too, and stderr has only warnings and logs.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal, Write as _},
};

use blue_core::text::clean_line;
use blue_tools::ToolError;
use serde::Serialize;

use crate::env::Env;

/// What a command has to say
pub(crate) trait Report: Serialize {
    fn page(&self, page: &mut Page);
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    Good,
    Warn,
    Bad,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::Good => "\x1b[32m",
            Self::Warn => "\x1b[33m",
            Self::Bad => "\x1b[31m",
        }
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
            let mut page = Page::new(self.colour);
            report.page(&mut page);
            page.text
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
            out(&json_line(
                &serde_json::json!({ "error": error_object(error) }),
            )?)
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

fn error_object(error: &ToolError) -> serde_json::Value {
    let mut object = serde_json::json!({
        "code": error.code.as_str(),
        "message": clean_line(&error.message),
        "hint": error.hint,
        "retryable": error.retryable,
    });
    let causes = &error.chain()[1..];
    if !causes.is_empty() {
        object["causes"] = serde_json::json!(causes);
    }
    if let Some(status) = error.forge_status {
        object["forge_status"] = serde_json::json!(status);
    }
    object
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
    if colour && !style.code().is_empty() {
        format!("{}{text}\x1b[0m", style.code())
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

/// A page for people: headings, aligned fields, tables
///
/// Every text is cleaned here, so no forge can send escape codes to a terminal.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    colour: bool,
}

impl Page {
    fn new(colour: bool) -> Self {
        Self {
            text: String::new(),
            colour,
        }
    }

    pub(crate) fn line(&mut self, text: &str, style: Style) -> &mut Self {
        let text = paint(&clean_line(text), style, self.colour);
        self.push(&text);
        self
    }

    /// A line to copy: indented, and otherwise as it is
    pub(crate) fn code(&mut self, text: &str) -> &mut Self {
        let text = paint(&clean_line(text), Style::Bold, self.colour);
        self.push(&format!("  {text}"));
        self
    }

    pub(crate) fn blank(&mut self) -> &mut Self {
        self.push("");
        self
    }

    /// Names and values in two columns; a value that was not to be had is shown as such
    pub(crate) fn fields(&mut self, fields: &[(&str, Cell)]) -> &mut Self {
        let width = fields
            .iter()
            .map(|(name, _)| width(name))
            .max()
            .unwrap_or(0);
        for (name, cell) in fields {
            let gap = " ".repeat(width - self::width(name) + 2);
            let name = paint(name, Style::Dim, self.colour);
            let value = cell.paint(self.colour);
            self.push(&format!("{name}{gap}{value}"));
        }
        self
    }

    /// Rows under headings, each column as wide as it needs
    pub(crate) fn table(&mut self, head: &[&str], rows: &[Vec<Cell>]) -> &mut Self {
        let mut widths: Vec<usize> = head.iter().map(|h| width(h)).collect();
        for row in rows {
            for (at, cell) in row.iter().enumerate() {
                widths[at] = widths[at].max(width(&cell.text));
            }
        }
        let head: Vec<Cell> = head.iter().map(|h| Cell::new(h, Style::Dim)).collect();
        for row in std::iter::once(&head).chain(rows) {
            let mut line = String::new();
            for (at, cell) in row.iter().enumerate() {
                let last = at + 1 == row.len();
                let gap = if last {
                    0
                } else {
                    widths[at] - width(&cell.text) + 2
                };
                let _ = write!(line, "{}{}", cell.paint(self.colour), " ".repeat(gap));
            }
            self.push(line.trim_end());
        }
        self
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// A text with its look
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn new(text: &str, style: Style) -> Self {
        Self {
            text: clean_line(text),
            style,
        }
    }

    fn paint(&self, colour: bool) -> String {
        paint(&self.text, self.style, colour)
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text.as_ref(), Style::Plain)
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}
