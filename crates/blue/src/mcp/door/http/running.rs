//! Calls of older clients, so that they can be called off
//!
//! Without sessions a client is told apart by what it says of itself, and ids repeat between
//! clients. So a call is called off only when no other could be meant.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use http::{HeaderMap, header};
use rmcp::model::RequestId;
use tokio_util::sync::CancellationToken;

/// Who sent it, and its id
type Key = (Vec<u8>, RequestId);
type Calls = HashMap<Key, Vec<CancellationToken>>;

/// The calls that are running
#[derive(Debug, Clone, Default)]
pub(super) struct Register(Arc<Mutex<Calls>>);

/// A call that is running, as long as this is kept
#[derive(Debug, Clone)]
pub(crate) struct Running(Arc<Entry>);

#[derive(Debug)]
struct Entry {
    key: Key,
    token: CancellationToken,
    register: Register,
}

impl Register {
    pub(super) fn enter(&self, headers: &HeaderMap, id: &RequestId) -> Running {
        let key = key(headers, id);
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

    pub(super) fn call_off(&self, headers: &HeaderMap, id: &RequestId) {
        if let Some([only]) = self.calls().get(&key(headers, id)).map(Vec::as_slice) {
            only.cancel();
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    pub(crate) fn token(&self) -> CancellationToken {
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

fn key(headers: &HeaderMap, id: &RequestId) -> Key {
    let mut who = Vec::new();
    for name in [header::AUTHORIZATION, header::USER_AGENT] {
        who.extend_from_slice(headers.get(name).map_or(b"", |value| value.as_bytes()));
        who.push(0);
    }
    (who, id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_called_off_only_when_it_must_be_the_one() {
        let register = Register::default();
        let mut one = HeaderMap::new();
        one.insert(header::USER_AGENT, "one".parse().unwrap());
        let mut two = HeaderMap::new();
        two.insert(header::USER_AGENT, "two".parse().unwrap());
        let id = RequestId::Number(1);

        let first = register.enter(&one, &id);
        register.call_off(&two, &id);
        register.call_off(&one, &RequestId::Number(2));
        assert!(!first.token().is_cancelled());

        let second = register.enter(&one, &id);
        register.call_off(&one, &id);
        assert!(!first.token().is_cancelled() && !second.token().is_cancelled());

        drop(second);
        register.call_off(&one, &id);
        assert!(first.token().is_cancelled());
        drop(first);
        assert!(register.calls().is_empty());
    }
}
