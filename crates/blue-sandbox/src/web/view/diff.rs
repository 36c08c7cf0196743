//! A diff as tables

use maud::{Markup, html};

use crate::web::patch::{FilePatch, Kind};

pub(in crate::web) fn show(files: &[FilePatch]) -> Markup {
    let added: usize = files.iter().map(|file| file.count(Kind::Add)).sum();
    let deleted: usize = files.iter().map(|file| file.count(Kind::Delete)).sum();
    html! {
        p.dim {
            (files.len()) @if files.len() == 1 { " file" } @else { " files" } " changed, "
            span.ok { "+" (added) } " " span.bad { "−" (deleted) }
        }
        @for file in files {
            div.box {
                div.head {
                    b.mono { (file.name()) }
                    @for note in &file.notes { span.pill { (note) } }
                    span.grow {}
                    span.ok { "+" (file.count(Kind::Add)) }
                    span.bad { "−" (file.count(Kind::Delete)) }
                }
                @if !file.lines.is_empty() { (table(file)) }
                @if file.left_out > 0 {
                    div.body.dim { (file.left_out) " more lines are not shown" }
                }
            }
        }
    }
}

fn table(file: &FilePatch) -> Markup {
    html! {
        div.scroll {
            table.code {
                @for line in &file.lines {
                    tr class=[class(line.kind)] {
                        td.n { @if let Some(number) = line.old { (number) } }
                        td.n { @if let Some(number) = line.new { (number) } }
                        td.l { (sign(line.kind)) (line.text) }
                    }
                }
            }
        }
    }
}

fn class(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Add => Some("add"),
        Kind::Delete => Some("del"),
        Kind::Hunk => Some("hunk"),
        Kind::Note => Some("dim"),
        Kind::Same => None,
    }
}

fn sign(kind: Kind) -> &'static str {
    match kind {
        Kind::Add => "+",
        Kind::Delete => "-",
        Kind::Same => " ",
        Kind::Hunk | Kind::Note => "",
    }
}
