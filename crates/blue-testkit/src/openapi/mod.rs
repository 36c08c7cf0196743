//! GitHub's published description as a judge of requests and answers
//!
//! The extract in `data/` holds the operations Blue uses; `e2e/openapi` makes it.

mod judge;
mod proxy;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use judge::{Answer, Request};
use percent_encoding::percent_decode_str;
pub use proxy::Proxy;
use serde::Deserialize;
use serde_json::Value;

static GITHUB: LazyLock<Description> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/github-openapi.json"))
        .expect("the committed extract is what the extractor writes")
});

/// The operations of an API and the schemas they share
#[derive(Debug, Deserialize)]
pub struct Description {
    pub version: String,
    pub operations: Vec<Operation>,
    #[serde(rename = "$defs")]
    defs: Value,
}

#[derive(Debug, Deserialize)]
pub struct Operation {
    /// `pulls/merge`
    pub id: String,
    pub method: String,
    /// `/repos/{owner}/{repo}/pulls/{pull_number}/merge`
    pub path: String,
    pub parameters: Vec<Parameter>,
    pub body: Option<Body>,
    pub responses: BTreeMap<String, Response>,
}

#[derive(Debug, Deserialize)]
pub struct Parameter {
    pub name: String,
    #[serde(rename = "in")]
    pub place: Place,
    #[serde(default)]
    pub required: bool,
    /// The value may hold slashes
    #[serde(default)]
    multi_segment: bool,
    schema: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    Path,
    Query,
    Header,
}

#[derive(Debug, Deserialize)]
pub struct Body {
    #[serde(default)]
    required: bool,
    schema: Value,
}

#[derive(Debug, Deserialize)]
pub struct Response {
    schema: Option<Value>,
    #[serde(default)]
    pub examples: Vec<Value>,
}

impl Description {
    /// GitHub's REST API as published
    pub fn github() -> &'static Self {
        &GITHUB
    }

    pub fn operation(&self, id: &str) -> &Operation {
        self.operations
            .iter()
            .find(|operation| operation.id == id)
            .unwrap_or_else(|| panic!("the extract has no operation `{id}`"))
    }

    /// The operation that a request is, with its path parameters decoded
    ///
    /// `path` begins after the API's base and has no query.
    pub fn find(&self, method: &str, path: &str) -> Option<(&Operation, Vec<(&str, String)>)> {
        let method = if method == "HEAD" { "GET" } else { method };
        self.operations
            .iter()
            .filter(|operation| operation.method == method)
            .filter_map(|operation| {
                let values = operation.matches(path)?;
                Some((operation, values))
            })
            // Where `contents/{path}` and a longer template both fit, the fixed text wins.
            .max_by_key(|(operation, _)| operation.fixed_segments())
    }
}

impl Operation {
    fn fixed_segments(&self) -> usize {
        self.path.split('/').filter(|s| !s.starts_with('{')).count()
    }

    fn matches(&self, path: &str) -> Option<Vec<(&str, String)>> {
        let template: Vec<&str> = self.path.split('/').collect();
        let path: Vec<&str> = path.split('/').collect();
        let mut values = Vec::new();
        self.fit(&template, &path, &mut values).then_some(values)
    }

    fn fit<'a>(
        &'a self,
        template: &[&'a str],
        path: &[&str],
        values: &mut Vec<(&'a str, String)>,
    ) -> bool {
        let Some((first, rest)) = template.split_first() else {
            return path.is_empty();
        };
        let Some(name) = first.strip_prefix('{').and_then(|s| s.strip_suffix('}')) else {
            return path.first() == Some(first) && self.fit(rest, &path[1..], values);
        };
        // The top folder has an empty path, and the slash before it may be missing too.
        if path.is_empty() && rest.is_empty() && name == "path" {
            values.push((name, String::new()));
            return true;
        }
        let most = if self.multi_segment(name) {
            path.len()
        } else {
            1.min(path.len())
        };
        // The longest first: a branch name may hold what looks like the next fixed part.
        (1..=most).rev().any(|taken| {
            let value = path[..taken].join("/");
            if value.is_empty() && name != "path" {
                return false;
            }
            let mark = values.len();
            values.push((name, percent_decode_str(&value).decode_utf8_lossy().into()));
            let fits = self.fit(rest, &path[taken..], values);
            if !fits {
                values.truncate(mark);
            }
            fits
        })
    }

    fn multi_segment(&self, name: &str) -> bool {
        name == "basehead"
            || self
                .parameters
                .iter()
                .any(|p| p.place == Place::Path && p.name == name && p.multi_segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(method: &str, path: &str) -> Option<(String, Vec<(String, String)>)> {
        Description::github()
            .find(method, path)
            .map(|(operation, values)| {
                let values = values.into_iter().map(|(k, v)| (k.to_owned(), v));
                (operation.id.clone(), values.collect())
            })
    }

    #[test]
    fn paths_are_told_apart() {
        for (method, path, id, last) in [
            ("GET", "/repos/a/b", "repos/get", "b"),
            ("GET", "/repos/a/b/branches/x/y", "repos/get-branch", "x/y"),
            (
                "GET",
                "/repos/a/b/branches/x%2Fy/protection",
                "repos/get-branch-protection",
                "x/y",
            ),
            ("GET", "/repos/a/b/contents/", "repos/get-content", ""),
            ("GET", "/repos/a/b/contents", "repos/get-content", ""),
            (
                "GET",
                "/repos/a/b/commits/feat/x/check-runs",
                "checks/list-for-ref",
                "feat/x",
            ),
            (
                "GET",
                "/repos/a/b/commits/feat/x",
                "repos/get-commit",
                "feat/x",
            ),
            (
                "GET",
                "/repos/a/b/git/ref/heads/a",
                "git/get-ref",
                "heads/a",
            ),
            (
                "GET",
                "/repos/a/b/compare/m/x...y/z",
                "repos/compare-commits-with-basehead",
                "m/x...y/z",
            ),
            ("PUT", "/repos/a/b/pulls/7/merge", "pulls/merge", "7"),
        ] {
            let (got, values) = found(method, path).unwrap_or_else(|| panic!("{path}"));
            assert_eq!(got, id, "{path}");
            assert_eq!(values.last().unwrap().1, last, "{path}");
        }
        assert_eq!(found("POST", "/repos/a/b/pulls/7/merge"), None);
        assert_eq!(found("GET", "/repos/a/b/nothing"), None);
        assert_eq!(found("GET", "/repos/a//branches"), None);
    }
}
