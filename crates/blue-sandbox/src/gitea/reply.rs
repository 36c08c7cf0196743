//! Answers that went well

use axum::{body::Body, response::Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;

use super::request::Req;
use crate::ops::repos::Found;

pub(super) const CACHE: &str = "max-age=0, private, must-revalidate, no-transform";

/// Rows on a page when the caller does not say, and at most
const DEFAULT_ROWS: usize = 30;
const MOST_ROWS: usize = 50;

#[derive(Debug)]
pub(super) struct Reply {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Reply {
    pub(super) fn json(status: u16, value: &Value) -> Self {
        let body = serde_json::to_vec(value).expect("a JSON value can be written");
        Self {
            status,
            headers: HeaderMap::new(),
            body,
        }
        .with("content-type", "application/json;charset=utf-8")
        .with("cache-control", CACHE)
    }

    pub(super) fn ok(value: &Value) -> Self {
        Self::json(200, value)
    }

    pub(super) fn created(value: &Value) -> Self {
        Self::json(201, value)
    }

    /// A list with its count
    pub(super) fn counted(value: &Value, total: usize) -> Self {
        Self::ok(value)
            .with("x-total-count", &total.to_string())
            .with("access-control-expose-headers", "X-Total-Count")
    }

    pub(super) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: Vec::new(),
        }
        .with("cache-control", CACHE)
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Self {
            status: 200,
            headers: HeaderMap::new(),
            body: text.into().into_bytes(),
        }
        .with("content-type", "text/plain; charset=utf-8")
        .with("cache-control", CACHE)
    }

    pub(super) fn bytes(status: u16, body: Vec<u8>) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body,
        }
    }

    /// Add a header; one that HTTP does not take is left out
    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    /// The old name of a repository leads to its new one, for every verb
    pub(super) fn moved(req: &Req, found: &Found) -> Self {
        let mut parts = req
            .raw_path
            .splitn(7, '/')
            .map(str::to_owned)
            .collect::<Vec<_>>();
        parts[4].clone_from(&found.owner.login);
        parts[5].clone_from(&found.repo.name);
        let mut location = parts.join("/");
        if let Some(query) = &req.raw_query {
            location = format!("{location}?{query}");
        }
        let reply = if req.verb() == "GET" {
            let body = format!("<a href=\"{location}\">Moved Permanently</a>.\n\n");
            Self::bytes(301, body.into_bytes()).with("content-type", "text/html; charset=utf-8")
        } else {
            Self::bytes(301, Vec::new())
        };
        reply.with("location", &location)
    }

    pub(super) fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = StatusCode::from_u16(self.status).expect("a status of ours");
        *response.headers_mut() = self.headers;
        response
    }
}

/// The part of a list a caller asked for
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    pub(super) number: usize,
    pub(super) rows: usize,
    /// As the caller wrote it; links keep it though rows are capped
    asked: usize,
}

impl Page {
    pub(super) fn of(req: &Req) -> Self {
        let positive = |name| {
            req.query_number(name)
                .and_then(|n| usize::try_from(n).ok())
                .filter(|n| *n > 0)
        };
        let asked = positive("limit").unwrap_or(DEFAULT_ROWS);
        Self {
            number: positive("page").unwrap_or(1),
            rows: asked.min(MOST_ROWS),
            asked,
        }
    }

    pub(super) fn slice<'a, T>(&self, all: &'a [T]) -> &'a [T] {
        let start = (self.number - 1).saturating_mul(self.rows).min(all.len());
        &all[start..(start + self.rows).min(all.len())]
    }

    pub(super) fn pages(&self, total: usize) -> usize {
        total.div_ceil(self.rows).max(1)
    }

    /// A list with its count and links to the other pages
    pub(super) fn linked(self, req: &Req, value: &Value, total: usize) -> Reply {
        let reply = Reply::counted(value, total);
        match self.links(req, total) {
            Some(links) => reply
                .with("link", &links)
                .with("access-control-expose-headers", "Link, X-Total-Count"),
            None => reply,
        }
    }

    pub(super) fn links(&self, req: &Req, total: usize) -> Option<String> {
        let last = total.div_ceil(self.asked.min(MOST_ROWS));
        if last <= 1 || self.number > last {
            return None;
        }
        let others: Vec<(String, String)> =
            url::form_urlencoded::parse(req.raw_query.as_deref().unwrap_or_default().as_bytes())
                .into_owned()
                .filter(|(name, _)| !matches!(name.as_str(), "page" | "token" | "access_token"))
                .collect();
        let link = |page: usize, rel: &str| {
            let mut pairs = others.clone();
            pairs.push(("page".to_owned(), page.to_string()));
            pairs.sort();
            let query = url::form_urlencoded::Serializer::new(String::new())
                .extend_pairs(pairs)
                .finish();
            format!(
                "<{}{}?{query}>; rel=\"{rel}\"",
                req.app.root_url, req.raw_path
            )
        };
        let mut links = Vec::new();
        if self.number < last {
            links.push(link(self.number + 1, "next"));
            links.push(link(last, "last"));
        }
        if self.number > 1 {
            links.push(link(1, "first"));
            links.push(link(self.number - 1, "prev"));
        }
        Some(links.join(","))
    }
}
