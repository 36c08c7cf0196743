//! Everything that the program prints
//!
//! A command gives a [`Report`]; here it becomes one JSON object or a page for people. With
//! `--json` an error is an object on stdout too, and stderr has only warnings and logs.

mod layout;
mod steps;
mod wait;

use std::{
    future::Future,
    io::{self, IsTerminal, Write as _},
};

use blue_base::text::clean_line;
use blue_tools::{Answer, Effect, ErrorCode, ToolError};
pub(crate) use blue_tools::{Cell, Page, Style};
pub(crate) use layout::folded;
use layout::{Look, laid_out, paint};
use serde::Serialize;
pub(crate) use steps::{Known, quoted, typed};
use terminal_size::{Width, terminal_size_of};
pub(crate) use wait::News;

use crate::env::Env;

/// What a command has to say
pub(crate) trait Report: Serialize {
    fn page(&self, page: &mut Page);
}

/// Where output goes and how it looks
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    json: bool,
    look: Look,
    colour_err: bool,
    /// Columns of the terminal behind stderr, if it can show a line that moves
    moving: Option<usize>,
}

impl Screen {
    pub(crate) fn new(env: &Env, json: bool) -> Self {
        let terminal = io::stdout().is_terminal();
        let colour = env.colour(terminal);
        let columns = |(Width(columns), _)| usize::from(columns);
        Self {
            json,
            look: Look {
                colour,
                links: terminal && colour,
                width: terminal_size_of(io::stdout()).map(columns),
            },
            colour_err: env.colour(io::stderr().is_terminal()),
            moving: terminal_size_of(io::stderr())
                .map(columns)
                .filter(|_| env.moves()),
        }
    }

    /// Turns the spinner off, for commands that log to stderr
    pub(crate) fn still(mut self) -> Self {
        self.moving = None;
        self
    }

    pub(crate) fn is_json(self) -> bool {
        self.json
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
            laid_out(&page, self.look)
        };
        out(&text)
    }

    /// Print what a tool found, and what could be done next
    pub(crate) fn answer(self, answer: &Answer, mut known: Known) -> io::Result<()> {
        self.notes(&answer.notes)?;
        if self.json {
            return out(&json_line(&answer.json)?);
        }
        match &answer.bytes {
            Some(bytes) => out(bytes)?,
            None => out(laid_out(&answer.page, self.look))?,
        }
        known.learn(&answer.json);
        for step in &answer.next_steps {
            let line = format!("next: {}", clean_line(&typed(step, &known)));
            err(&(paint(&line, Style::Dim, self.colour_err) + "\n"))?;
        }
        Ok(())
    }

    /// Wait for a call; on a terminal a line moves until it has ended
    pub(crate) async fn wait<T>(self, call: impl Future<Output = T>, news: &News) -> T {
        wait::watch(call, news, self.moving).await
    }

    /// Ask a person; anything but yes is no
    pub(crate) fn ask(self, question: &str) -> io::Result<bool> {
        let question = paint(&clean_line(question), Style::Bold, self.colour_err);
        err(&format!("{question} [y/N] "))?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        // Ctrl-D leaves the cursor behind the question.
        if !answer.ends_with('\n') {
            err("\n")?;
        }
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Hint for a confirmation that is needed where no prompt is possible
    pub(crate) const UNASKED: &str =
        "add `--yes`; the question is asked only on a terminal, and without `--json`";

    /// Whether a prompt is possible: stdin and stderr are a terminal, and no JSON is wanted
    pub(crate) fn can_ask(self) -> bool {
        !self.json && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Print one JSON object, whatever was asked for
    pub(crate) fn json(value: &impl Serialize) -> io::Result<()> {
        out(&json_line(value)?)
    }

    /// Whether what is printed goes to a file or a program, which want bytes as they are
    pub(crate) fn takes_bytes(self) -> bool {
        !self.json && !io::stdout().is_terminal()
    }

    /// Print a failure
    pub(crate) fn fail(self, error: &ToolError) -> io::Result<()> {
        self.notes(&error.notes)?;
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

    /// Warns that the user interrupted the command with Ctrl-C
    pub(crate) fn interrupted(self, effect: Effect) -> io::Result<()> {
        self.warn(match effect {
            Effect::Read => "interrupted",
            _ => "interrupted; the change may have been made anyway",
        })
    }

    pub(crate) fn notes(self, texts: &[String]) -> io::Result<()> {
        texts
            .iter()
            .try_for_each(|text| err(&labelled("note", Style::Bold, text, self.colour_err)))
    }
}

fn error_text(error: &ToolError, colour: bool) -> String {
    let chain = error.chain().join(": ");
    // Settings are Blue's own words, and a list of what is wrong with them is read line by line.
    let mut lines = match error.code {
        ErrorCode::Config => chain.lines().collect(),
        _ => vec![chain.as_str()],
    }
    .into_iter();
    let mut text = labelled(
        "error",
        Style::Bad,
        lines.next().unwrap_or_default(),
        colour,
    );
    for line in lines {
        text.extend(["  ", &clean_line(line), "\n"]);
    }
    if let Some(hint) = &error.hint {
        text += &labelled("hint", Style::Bold, hint, colour);
    }
    text
}

fn labelled(label: &str, style: Style, text: &str, colour: bool) -> String {
    let label = paint(&format!("{label}:"), style, colour);
    format!("{label} {}\n", clean_line(text))
}

fn json_line(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)? + "\n")
}

fn out(text: impl AsRef<[u8]>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_ref())?;
    stdout.flush()
}

fn err(text: &str) -> io::Result<()> {
    io::stderr().lock().write_all(text.as_bytes())
}
