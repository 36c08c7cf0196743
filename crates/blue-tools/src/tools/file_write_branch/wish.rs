//! What is to become of each file

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use blue_forge::model::Sha;
use schemars::JsonSchema;
use serde::Deserialize;

use super::edits::Edit;
use crate::{ErrorCode, ToolError, path};

/// With or without padding
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

// No doc comment: it would cost bytes in every list of tools.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct FileArg {
    pub path: String,
    pub content: Option<String>,
    pub encoding: Option<Encoding>,
    #[serde(default)]
    #[schemars(extend("default" = null))]
    pub edits: Vec<Edit>,
    #[serde(default)]
    #[schemars(extend("default" = null))]
    pub delete: bool,
    pub rename_from: Option<String>,
    pub sha: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    #[serde(rename = "utf-8")]
    Utf8,
    Base64,
}

/// A change that makes sense by itself
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) path: String,
    pub(super) what: What,
    /// The blob that the caller saw
    pub(super) sha: Option<Sha>,
}

#[derive(Debug)]
pub(super) enum What {
    Write(Vec<u8>),
    Edit(Vec<Edit>),
    Delete,
    Move { from: String, then: Then },
}

/// What a file that moves becomes
#[derive(Debug)]
pub(super) enum Then {
    Same,
    Write(Vec<u8>),
    Edit(Vec<Edit>),
}

impl Wish {
    pub(super) fn of(file: FileArg) -> Result<Self, ToolError> {
        let path = path::of_file(&file.path)?;
        let wrong = |why: &str| ToolError::new(ErrorCode::Invalid, format!("`{path}` {why}"));
        // An empty text is how some models leave an argument out.
        let from = file.rename_from.filter(|from| !from.is_empty());
        let left_out = file.delete || !file.edits.is_empty() || from.is_some();
        let content = file.content.filter(|text| !(text.is_empty() && left_out));
        let content = match content {
            Some(text) if file.encoding == Some(Encoding::Base64) => {
                let packed: String = text.split_whitespace().collect();
                let bytes = BASE64.decode(packed).map_err(|error| {
                    wrong("has `content` that is not base64").with_source(error)
                })?;
                Some(bytes)
            }
            Some(text) => Some(text.into_bytes()),
            None => None,
        };
        let sha = match file.sha.as_deref().map(str::trim) {
            None | Some("") => None,
            Some(sha) => Some(Sha::parse(sha)?),
        };
        let what = match (content, &file.edits[..], file.delete, from) {
            (Some(_), [_, ..], _, _) => return Err(wrong("has both `content` and `edits`")),
            (None, [], true, None) => What::Delete,
            (_, _, true, _) => return Err(wrong("has `delete` and something else")),
            (content, edits, false, Some(from)) => What::Move {
                from: path::of_file(&from)?,
                then: match (content, edits) {
                    (Some(content), _) => Then::Write(content),
                    (None, []) => Then::Same,
                    (None, edits) => Then::Edit(edits.to_vec()),
                },
            },
            (Some(content), [], false, None) => What::Write(content),
            (None, [], false, None) => {
                return Err(wrong("needs `content`, `edits`, `rename_from` or `delete`"));
            }
            (None, edits, false, None) => What::Edit(edits.to_vec()),
        };
        Ok(Self { path, what, sha })
    }

    /// The file that must be read before it can be written
    pub(super) fn reads(&self) -> Option<&str> {
        match &self.what {
            What::Edit(_) => Some(&self.path),
            What::Move {
                from,
                then: Then::Edit(_),
            } => Some(from),
            _ => None,
        }
    }

    /// Default commit message
    pub(super) fn title(&self) -> String {
        match &self.what {
            What::Write(_) => format!("Write {}", self.path),
            What::Edit(_) => format!("Edit {}", self.path),
            What::Delete => format!("Delete {}", self.path),
            What::Move { from, .. } => format!("Move {from} to {}", self.path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: serde_json::Value) -> Result<String, String> {
        let file: FileArg = serde_json::from_value(json).unwrap();
        match Wish::of(file) {
            Ok(wish) => Ok(format!("{} {:?}", wish.title(), wish.reads())),
            Err(error) => Err(error.message),
        }
    }

    #[test]
    fn files_that_make_sense() {
        use serde_json::json;
        let edits = json!([{"old": "a", "new": "b"}]);
        for (file, meant) in [
            (json!({"path": "/a", "content": ""}), "Write a None"),
            (
                json!({"path": "a", "content": "AA", "encoding": "base64"}),
                "Write a None",
            ),
            (json!({"path": "a", "edits": edits}), "Edit a Some(\"a\")"),
            (
                json!({"path": "a", "edits": edits, "content": ""}),
                "Edit a Some(\"a\")",
            ),
            (
                json!({"path": "a", "delete": true, "rename_from": ""}),
                "Delete a None",
            ),
            (json!({"path": "a", "rename_from": "b"}), "Move b to a None"),
            (
                json!({"path": "a", "rename_from": "b", "edits": edits}),
                "Move b to a Some(\"b\")",
            ),
        ] {
            assert_eq!(read(file.clone()).unwrap(), meant, "{file}");
        }
        for (file, said) in [
            (
                json!({"path": "a"}),
                "`a` needs `content`, `edits`, `rename_from` or `delete`",
            ),
            (
                json!({"path": "a/", "content": ""}),
                "`a/` names a directory, not a file",
            ),
            (
                json!({"path": "a", "content": "x", "edits": edits}),
                "`a` has both `content` and `edits`",
            ),
            (
                json!({"path": "a", "content": "x", "delete": true}),
                "`a` has `delete` and something else",
            ),
            (
                json!({"path": "a", "rename_from": "b", "delete": true}),
                "`a` has `delete` and something else",
            ),
            (
                json!({"path": "a", "content": "!", "encoding": "base64"}),
                "`a` has `content` that is not base64",
            ),
        ] {
            assert_eq!(read(file.clone()).unwrap_err(), said, "{file}");
        }
    }
}
