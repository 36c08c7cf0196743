//! Files: read, and change one or many

mod change;
mod read;

use super::{Outcome, fail::Fail, request::InRepo};
use crate::ops::contents::Action;

pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Outcome {
    let file = path[1..].join("/");
    match (cx.req.verb(), file.as_str()) {
        ("GET", _) => read::read(cx, &read::clean(&file)),
        ("POST", "") => change::many(cx),
        ("POST", _) => change::write(cx, &file, Action::Create),
        ("PUT", name) if !name.is_empty() => change::put(cx, &file),
        ("DELETE", name) if !name.is_empty() => change::delete(cx, &file),
        _ => Err(Fail::wrong_verb()),
    }
}
