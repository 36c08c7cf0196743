//! Running calls of clients of the older revisions, which cancel by a request of its own
//!
//! Without sessions a client is identified by its caller, or its bearer, and its user agent, and request
//! ids repeat between clients. So a call is cancelled only if no other running call could be meant.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use http::{header, request::Parts};
use rmcp::model::RequestId;
use tokio_util::sync::CancellationToken;

use crate::CallerId;

/// Who sent it, and its id
type Key = (Vec<u8>, RequestId);
type Calls = HashMap<Key, Vec<CancellationToken>>;

/// The calls that are running
#[derive(Debug, Clone, Default)]
pub(super) struct Register(Arc<Mutex<Calls>>);

/// A call that is running, as long as this is kept
#[derive(Debug, Clone)]
pub struct Running(Arc<Entry>);

#[derive(Debug)]
struct Entry {
    key: Key,
    token: CancellationToken,
    register: Register,
}

impl Register {
    pub(super) fn enter(&self, request: &Parts, id: &RequestId) -> Running {
        let key = key(request, id);
        let token = CancellationToken::new();
        self.calls()
            .entry(key.clone())
            .or_default()
            .push(token.clone());
        Running(Arc::new(Entry {
            key,
            token,
            register: self.clone(),
        }))
    }

    pub(super) fn cancel(&self, request: &Parts, id: &RequestId) {
        if let Some([only]) = self.calls().get(&key(request, id)).map(Vec::as_slice) {
            only.cancel();
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    pub fn token(&self) -> CancellationToken {
        self.0.token.clone()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // Marks which of several with the same key it is.
        self.token.cancel();
        let mut calls = self.register.calls();
        if let Some(same) = calls.get_mut(&self.key) {
            same.retain(|token| !token.is_cancelled());
            if same.is_empty() {
                calls.remove(&self.key);
            }
        }
    }
}

fn key(request: &Parts, id: &RequestId) -> Key {
    let header = |name| {
        let value: Option<&http::HeaderValue> = request.headers.get(name);
        value.map_or(b"".as_slice(), |value| value.as_bytes())
    };
    let caller = match request.extensions.get::<CallerId>() {
        Some(CallerId(id)) => id.as_bytes(),
        None => header(header::AUTHORIZATION),
    };
    let client = [caller, b"\0", header(header::USER_AGENT)].concat();
    (client, id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(user_agent: &str, caller: Option<&str>) -> Parts {
        let mut request = http::Request::builder().header(header::USER_AGENT, user_agent);
        if let Some(caller) = caller {
            request = request.extension(CallerId(caller.to_owned()));
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_caller_cannot_cancel_the_call_of_another() {
        let register = Register::default();
        let id = RequestId::Number(1);
        let running = register.enter(&request("same", Some("grant-1")), &id);
        register.cancel(&request("same", Some("grant-2")), &id);
        register.cancel(&request("same", None), &id);
        assert!(!running.token().is_cancelled());
        register.cancel(&request("same", Some("grant-1")), &id);
        assert!(running.token().is_cancelled());
    }

    #[test]
    fn a_call_is_cancelled_only_if_no_other_could_be_meant() {
        let register = Register::default();
        let one = request("one", None);
        let two = request("two", None);
        let id = RequestId::Number(1);

        let first = register.enter(&one, &id);
        register.cancel(&two, &id);
        register.cancel(&one, &RequestId::Number(2));
        assert!(!first.token().is_cancelled());

        let second = register.enter(&one, &id);
        register.cancel(&one, &id);
        assert!(!first.token().is_cancelled() && !second.token().is_cancelled());

        drop(second);
        register.cancel(&one, &id);
        assert!(first.token().is_cancelled());
        drop(first);
        assert!(register.calls().is_empty());
    }
}
