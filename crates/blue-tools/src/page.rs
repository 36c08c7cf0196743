//! What a person is shown, before it has a width and colours

use blue_base::text::{clean, clean_line, reveal};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    #[default]
    Plain,
    Bold,
    Dim,
    Good,
    Warn,
    Bad,
}

/// A text with its look, safe to show: no forge can send escape codes to a terminal
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub text: String,
    pub style: Style,
    /// Where it leads, for terminals that can show links
    pub link: Option<String>,
    /// Not to be cut in a narrow terminal: a part of it is of no use
    pub whole: bool,
}

impl Cell {
    pub fn new(text: &str, style: Style) -> Self {
        Self {
            text: clean_line(text),
            style,
            link: None,
            whole: false,
        }
    }

    /// A name, path or reference: what cannot be seen in it is written out
    pub fn name(text: &str, style: Style) -> Self {
        Self::new(&reveal(text), style)
    }

    /// A text that a narrow terminal wraps rather than cuts, such as a token to copy
    #[must_use]
    pub fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    #[must_use]
    pub fn linked(mut self, url: &str) -> Self {
        self.link = Some(clean_line(url)).filter(|url| url.starts_with("http"));
        self
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text.as_ref(), Style::Plain)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    Line(Cell),
    /// A line to copy
    Code(String),
    Blank,
    /// Names and values in two columns
    Fields(Vec<(String, Cell)>),
    /// Rows under headings
    Table {
        head: Vec<String>,
        rows: Vec<Vec<Cell>>,
    },
    /// Many lines exactly as they are
    Text(String),
}

/// A page for people: lines, aligned fields, tables
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    pub blocks: Vec<Block>,
}

impl Page {
    pub fn line(&mut self, text: &str, style: Style) -> &mut Self {
        self.cell(Cell::new(text, style))
    }

    pub fn cell(&mut self, cell: Cell) -> &mut Self {
        self.push(Block::Line(cell))
    }

    /// A line to copy: indented, and otherwise as it is
    pub fn code(&mut self, text: &str) -> &mut Self {
        self.push(Block::Code(clean_line(text)))
    }

    pub fn blank(&mut self) -> &mut Self {
        self.push(Block::Blank)
    }

    pub fn fields(&mut self, fields: &[(&str, Cell)]) -> &mut Self {
        let fields = fields
            .iter()
            .map(|(name, cell)| ((*name).to_owned(), cell.clone()));
        self.push(Block::Fields(fields.collect()))
    }

    pub fn table(&mut self, head: &[&str], rows: Vec<Vec<Cell>>) -> &mut Self {
        let head = head.iter().map(|h| (*h).to_owned()).collect();
        self.push(Block::Table { head, rows })
    }

    /// Text of many lines, such as a file; nothing in it is hidden
    pub fn text(&mut self, text: &str) -> &mut Self {
        // After a lone return a terminal writes over what it has shown.
        let text = clean(text).replace("\r\n", "\n").replace('\r', "\n");
        self.push(Block::Text(text))
    }

    fn push(&mut self, block: Block) -> &mut Self {
        self.blocks.push(block);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_written_over() {
        let mut page = Page::default();
        page.text("rm -rf /\recho hello\r\nend\u{1b}[A\n");
        let [Block::Text(text)] = page.blocks.as_slice() else {
            panic!("{page:?}");
        };
        assert_eq!(text, "rm -rf /\necho hello\nend[A\n");
    }
}
