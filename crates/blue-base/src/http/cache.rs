//! Answers that the server may confirm instead of sending again

use std::hash::{BuildHasher, RandomState};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use quick_cache::{Weighter, sync::Cache};

use super::{Request, Response};

/// Each entry counts at least this much, so that many small ones are bounded too
const LEAST_WEIGHT: u64 = 4 * 1024;

/// Whose answer: the same URL reads differently for another user or media type
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    url: String,
    accept: Option<HeaderValue>,
    /// A keyed hash: the token itself is not kept
    token: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) etag: HeaderValue,
    headers: HeaderMap,
    body: Bytes,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<Key, Kept> for ByBytes {
    fn weight(&self, key: &Key, kept: &Kept) -> u64 {
        ((key.url.len() + kept.body.len()) as u64 + 1024).max(LEAST_WEIGHT)
    }
}

#[derive(Debug)]
pub(super) struct Answers {
    kept: Cache<Key, Kept, ByBytes>,
    hasher: RandomState,
    largest: u64,
}

impl Answers {
    pub(super) fn new(bytes: u64) -> Self {
        let items = usize::try_from(bytes / LEAST_WEIGHT).unwrap_or(usize::MAX);
        Self {
            kept: Cache::with_weighter(items, bytes, ByBytes),
            hasher: RandomState::new(),
            largest: bytes / 4,
        }
    }

    /// The key of a request that asked for it; only whole answers to GET are kept
    pub(super) fn key(&self, request: &Request) -> Option<Key> {
        let wanted = request.cache && request.method == Method::GET && request.tail.is_none();
        wanted.then(|| Key {
            url: request.url.as_str().to_owned(),
            accept: request.headers.get(header::ACCEPT).cloned(),
            token: request
                .credential
                .as_ref()
                .map_or(0, |c| self.hasher.hash_one(c.token.expose())),
        })
    }

    pub(super) fn get(&self, key: &Key) -> Option<Kept> {
        self.kept.get(key)
    }

    pub(super) fn keep(&self, key: Key, answer: &Response) {
        let Some(etag) = answer.headers.get(header::ETAG) else {
            return;
        };
        if answer.status == StatusCode::OK && answer.body.len() as u64 <= self.largest {
            let kept = Kept {
                etag: etag.clone(),
                headers: answer.headers.clone(),
                body: answer.body.clone(),
            };
            self.kept.insert(key, kept);
        }
    }
}

impl Kept {
    /// The kept answer with the headers of the confirmation over its own
    pub(super) fn confirmed(self, by: &Response) -> Response {
        let mut headers = self.headers;
        for name in by.headers.keys() {
            // What describes the empty body of the confirmation is not about the kept one.
            if *name == header::CONTENT_LENGTH || *name == header::CONTENT_TYPE {
                continue;
            }
            headers.remove(name);
            for value in by.headers.get_all(name) {
                headers.append(name.clone(), value.clone());
            }
        }
        Response {
            status: StatusCode::OK,
            headers,
            body: self.body,
            skipped: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(url: &str) -> Request {
        let mut request = Request::new(Method::GET, url.parse().unwrap());
        request.cache = true;
        request
    }

    fn answer(body: Vec<u8>) -> Response {
        let mut headers = HeaderMap::new();
        headers.insert(header::ETAG, HeaderValue::from_static("\"a\""));
        Response {
            status: StatusCode::OK,
            headers,
            body: body.into(),
            skipped: 0,
        }
    }

    #[test]
    fn memory_is_bounded_by_bytes_and_by_count() {
        let answers = Answers::new(1024 * 1024);
        for n in 0..2000 {
            let key = answers.key(&get(&format!("http://h/{n}"))).unwrap();
            answers.keep(key, &answer(vec![0; n % 3 * 20_000]));
        }
        assert!(answers.kept.weight() <= 1024 * 1024);
        assert!(answers.kept.len() <= 256);
        let key = answers.key(&get("http://h/large")).unwrap();
        answers.keep(key.clone(), &answer(vec![0; 300_000]));
        assert!(answers.get(&key).is_none(), "one answer must not fill it");
    }

    #[test]
    fn only_whole_gets_that_ask_for_it_have_a_key() {
        let answers = Answers::new(1024);
        let mut request = get("http://h/");
        assert!(answers.key(&request).is_some());
        request.tail = Some(1);
        assert!(answers.key(&request).is_none());
        request.tail = None;
        request.method = Method::POST;
        assert!(answers.key(&request).is_none());
        assert!(
            answers
                .key(&Request::new(Method::GET, "http://h/".parse().unwrap()))
                .is_none()
        );
    }
}
