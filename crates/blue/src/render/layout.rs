//! A page becomes lines: aligned, coloured, and as wide as the terminal

use std::fmt::Write as _;

use blue_tools::{Cell, Page, Style, page::Block};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr};

/// A column is not cut below this
const NARROWEST: usize = 6;
/// A value beside its name is not folded below this
const NARROWEST_TEXT: usize = 20;
const GAP: usize = 2;

/// How a page is to look
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Look {
    pub(super) colour: bool,
    /// The terminal can be asked to show links
    pub(super) links: bool,
    /// Columns of the terminal; nothing is cut where there is none
    pub(super) width: Option<usize>,
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

pub(super) fn paint(text: &str, style: Style, colour: bool) -> String {
    if colour && !code(style).is_empty() {
        format!("{}{text}\x1b[0m", code(style))
    } else {
        text.to_owned()
    }
}

/// Lay a page out
pub(super) fn laid_out(page: &Page, look: Look) -> String {
    let mut text = String::new();
    for block in &page.blocks {
        match block {
            Block::Line(cell) => text += &look.cell(cell),
            Block::Code(line) => {
                text += "  ";
                text += &paint(line, Style::Bold, look.colour);
            }
            Block::Blank => {}
            Block::Fields(fields) => text += &two_columns(fields, look),
            Block::Table { head, rows } => text += &columns(head, rows, look),
            Block::Text(lines) => text += lines.strip_suffix('\n').unwrap_or(lines),
        }
        text.push('\n');
    }
    text
}

impl Look {
    fn cell(self, cell: &Cell) -> String {
        let painted = paint(&cell.text, cell.style, self.colour);
        match &cell.link {
            Some(url) if self.links => format!("\x1b]8;;{url}\x1b\\{painted}\x1b]8;;\x1b\\"),
            _ => painted,
        }
    }
}

fn two_columns(fields: &[(String, Cell)], look: Look) -> String {
    let widest = fields.iter().map(|(name, _)| name.width()).max();
    let indent = widest.unwrap_or(0) + GAP;
    let room = look.width.map(|width| width.saturating_sub(indent));
    // Where too little is left the terminal does it better.
    let room = room.filter(|room| *room >= NARROWEST_TEXT);
    let mut lines = Vec::new();
    for (name, cell) in fields {
        let mut start = paint(name, Style::Dim, look.colour) + &" ".repeat(indent - name.width());
        for text in folded(&cell.text, room.unwrap_or(usize::MAX)) {
            let part = Cell {
                text,
                ..cell.clone()
            };
            lines.push((start + &look.cell(&part)).trim_end().to_owned());
            start = " ".repeat(indent);
        }
    }
    lines.join("\n")
}

/// Lines of at most so many columns, broken between words
pub(crate) fn folded(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.width().saturating_add(1 + word.width()) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Each column as wide as it needs, or as the terminal lets it
fn columns(head: &[String], rows: &[Vec<Cell>], look: Look) -> String {
    let head: Vec<Cell> = head.iter().map(|h| Cell::new(h, Style::Dim)).collect();
    let mut widths = Vec::new();
    let mut least = Vec::new();
    for row in std::iter::once(&head).chain(rows) {
        widths.resize(widths.len().max(row.len()), 0);
        least.resize(widths.len(), NARROWEST);
        for ((width, least), cell) in widths.iter_mut().zip(&mut least).zip(row) {
            *width = cell.text.width().max(*width);
            if cell.whole {
                *least = cell.text.width().max(*least);
            }
        }
    }
    if let Some(width) = look.width {
        squeeze(&mut widths, &least, width);
    }
    let lines = std::iter::once(&head).chain(rows).map(|row| {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let cell = Cell {
                text: cut(&cell.text, *width),
                ..cell.clone()
            };
            let ends_here = row[at + 1..].iter().all(|cell| cell.text.is_empty());
            let gap = if ends_here {
                0
            } else {
                width - cell.text.width() + GAP
            };
            let _ = write!(line, "{}{}", look.cell(&cell), " ".repeat(gap));
            if ends_here {
                break;
            }
        }
        line
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Take from the widest columns until all fit, as far as that goes; none gets narrower than its least
fn squeeze(widths: &mut [usize], least: &[usize], room: usize) {
    let gaps = GAP * widths.len().saturating_sub(1);
    let mut over = (widths.iter().sum::<usize>() + gaps).saturating_sub(room);
    while over > 0 {
        let can_shrink = widths
            .iter_mut()
            .zip(least)
            .filter(|(width, least)| **width > **least);
        let Some((widest, _)) = can_shrink.max_by_key(|(width, _)| **width) else {
            return;
        };
        *widest -= 1;
        over -= 1;
    }
}

/// The start of a text that takes at most `width` columns; `…` says that there is more
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        let row = |number: &str, title: &str, branch: &str| {
            vec![
                Cell::from(number).linked("https://forge.example/1"),
                Cell::from(title),
                Cell::new(branch, Style::Dim),
            ]
        };
        let mut page = Page::default();
        page.table(
            &["PR", "TITLE", "BRANCH"],
            vec![
                row("#1", "Bring the basket back after signing in", "basket"),
                row("#12", "日本語の長い題名がここにある", "topic/日本"),
                row("#123", "Short", ""),
            ],
        );
        page
    }

    fn at(width: Option<usize>) -> String {
        laid_out(
            &page(),
            Look {
                width,
                ..Look::default()
            },
        )
    }

    #[test]
    fn a_cell_that_must_stay_whole_is_not_cut_in_a_narrow_terminal() {
        let token = "0123456789abcdef0123456789abcdef01234567";
        let mut page = Page::default();
        let row = vec![
            Cell::from("alice"),
            Cell::from("a-long-password-of-alice"),
            Cell::from(token).whole(),
        ];
        page.table(&["User", "Password", "Token"], vec![row]);
        for width in [40, 60, 70, 100] {
            let look = Look {
                width: Some(width),
                ..Look::default()
            };
            let text = laid_out(&page, look);
            assert!(text.contains(token), "{width}: {text}");
        }
    }

    #[test]
    fn columns_align_by_what_a_terminal_shows() {
        insta::assert_snapshot!(at(None), @r"
        PR    TITLE                                   BRANCH
        #1    Bring the basket back after signing in  basket
        #12   日本語の長い題名がここにある            topic/日本
        #123  Short
        ");
        assert_eq!(at(None), at(Some(200)), "there is room for all of it");
    }

    #[test]
    fn the_widest_column_gives_way() {
        insta::assert_snapshot!(at(Some(40)), @r"
        PR    TITLE                   BRANCH
        #1    Bring the basket back…  basket
        #12   日本語の長い題名がこ…   topic/日本
        #123  Short
        ");
        for width in [24, 30, 40, 53] {
            let longest = at(Some(width)).lines().map(UnicodeWidthStr::width).max();
            assert!(longest <= Some(width), "{width}: {longest:?}");
        }
        // Too narrow for any table: it stays readable rather than fitting.
        assert!(at(Some(5)).contains("Short"));
    }

    #[test]
    fn a_value_hangs_beside_its_name() {
        let mut page = Page::default();
        page.fields(&[
            ("State", Cell::from("open")),
            (
                "Workflow",
                Cell::from("feature branch: `main` is protected"),
            ),
        ]);
        let at = |width| {
            laid_out(
                &page,
                Look {
                    width,
                    ..Look::default()
                },
            )
        };
        insta::assert_snapshot!(at(Some(36)), @r"
        State     open
        Workflow  feature branch: `main` is
                  protected
        ");
        let whole = "State     open\nWorkflow  feature branch: `main` is protected\n";
        assert_eq!(at(None), whole);
        assert_eq!(at(Some(45)), whole);
        assert_eq!(at(Some(20)), whole, "nothing can be read in ten columns");
    }

    #[test]
    fn links_and_colours_take_no_room() {
        let look = Look {
            colour: true,
            links: true,
            width: Some(40),
        };
        let text = laid_out(&page(), look);
        assert!(
            text.contains("\x1b]8;;https://forge.example/1\x1b\\#12\x1b]8;;\x1b\\   日本語"),
            "{text:?}"
        );
        let mut plain = text.replace("\x1b]8;;https://forge.example/1\x1b\\", "");
        for code in ["\x1b]8;;\x1b\\", "\x1b[2m", "\x1b[0m"] {
            plain = plain.replace(code, "");
        }
        assert_eq!(plain, at(Some(40)));
    }

    #[test]
    fn a_cut_text_says_so_and_fits() {
        assert_eq!(cut("basket", 6), "basket");
        assert_eq!(cut("baskets", 6), "baske…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("two words", 5), "two…");
    }
}
