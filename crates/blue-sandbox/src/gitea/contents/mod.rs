//! Files: read, and change one or many

mod change;
mod read;

use super::{Outcome, fail::Fail, request::InRepo};
use crate::ops::contents::Action;

pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Outcome {
    let file = path[1..].join("/");
    match (cx.req.verb(), file.as_str()) {
        ("GET", _) => {
            let malformed = || Fail::new(500, &read::malformed(&file));
            read::read(cx, &read::clean(&file).ok_or_else(malformed)?)
        }
        ("POST", "") => change::many(cx),
        ("POST", _) => change::write(cx, &change::target(cx, &file)?, Action::Create),
        ("PUT", name) if !name.is_empty() => change::put(cx, &change::target(cx, &file)?),
        ("DELETE", name) if !name.is_empty() => change::delete(cx, &change::target(cx, &file)?),
        _ => Err(Fail::wrong_verb()),
    }
}
