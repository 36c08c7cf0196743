//! Lines of bounded length

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// What came
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// It is in [`Lines::text`] until [`Lines::clear`]
    Whole,
    /// It was read over
    TooLong,
    End,
}

/// Reads lines; giving up on [`Lines::next`] half-way loses nothing
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    max: usize,
    /// Inside of a line that is too long
    skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R, max: usize) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            max,
            skipping: false,
        }
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.line
    }

    pub(super) fn clear(&mut self) {
        self.line.clear();
        // One large file must not cost its size for ever.
        self.line.shrink_to(64 * 1024);
    }

    pub(super) async fn next(&mut self) -> Line {
        loop {
            let there = match self.input.fill_buf().await {
                Ok(there) => there,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    tracing::debug!(%error, "the input cannot be read");
                    return Line::End;
                }
            };
            if there.is_empty() {
                // The last line may have no end.
                let rest = !self.line.is_empty() && !self.skipping;
                return if rest { Line::Whole } else { Line::End };
            }
            let end = there.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(there.len(), |at| at + 1);
            if !self.skipping {
                self.line.extend_from_slice(&there[..end.unwrap_or(used)]);
            }
            self.input.consume(used);
            let too_long = self.line.len() > self.max;
            if too_long {
                self.skipping = true;
                self.clear();
            }
            if end.is_some() {
                let skipped = std::mem::take(&mut self.skipping);
                return if skipped { Line::TooLong } else { Line::Whole };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_is_read_over() {
        let long = "x".repeat(100_000);
        let text = format!("one\n{long}\ntwo\r\n\nthree");
        let mut lines = Lines::new(text.as_bytes(), 1000);
        let mut seen = Vec::new();
        loop {
            match lines.next().await {
                Line::Whole => {
                    seen.push(String::from_utf8(lines.text().to_vec()).unwrap());
                    lines.clear();
                }
                Line::TooLong => seen.push("(too long)".to_owned()),
                Line::End => break,
            }
        }
        assert_eq!(seen, ["one", "(too long)", "two\r", "", "three"]);
    }
}
