//! The allowance of requests that GitHub's headers talk about
//!
//! It is counted and shown, never enforced: a test that wants a refusal orders a fault.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

const LIMIT: i64 = 5000;
const HOUR: i64 = 3600;

#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    used: i64,
    /// Seconds since 1970
    reset: i64,
}

/// Rate-limit windows of all callers by account id; 0 is the anonymous caller
#[derive(Debug, Default)]
pub(super) struct Rates(Mutex<HashMap<i64, Window>>);

impl Rates {
    /// Look, and count `cost` more requests
    pub(super) fn take(&self, caller: i64, now: i64, cost: i64) -> Window {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = Window {
            used: 0,
            reset: now + HOUR,
        };
        let window = windows.entry(caller).or_insert(fresh);
        // A new hour; or all used up, which a real server would refuse.
        if window.reset <= now || window.used + cost >= LIMIT {
            *window = fresh;
        }
        window.used += cost;
        *window
    }
}

impl Window {
    pub(super) fn write(self, headers: &mut HeaderMap) {
        for (name, value) in [
            ("x-ratelimit-limit", LIMIT),
            ("x-ratelimit-remaining", LIMIT - self.used),
            ("x-ratelimit-used", self.used),
            ("x-ratelimit-reset", self.reset),
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from(value));
        }
        headers.insert(
            HeaderName::from_static("x-ratelimit-resource"),
            HeaderValue::from_static("core"),
        );
    }

    /// The answer of `/rate_limit`
    pub(super) fn show(self) -> Value {
        let core = json!({
            "limit": LIMIT,
            "used": self.used,
            "remaining": LIMIT - self.used,
            "reset": self.reset,
        });
        let search = json!({"limit": 30, "used": 0, "remaining": 30, "reset": self.reset});
        json!({"resources": {"core": core, "search": search}, "rate": core})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_passes_and_nobody_is_refused() {
        let rates = Rates::default();
        assert_eq!(rates.take(1, 100, 1).used, 1);
        assert_eq!(rates.take(1, 200, 1).used, 2);
        assert_eq!(rates.take(2, 200, 1).used, 1);
        assert_eq!(rates.take(1, 100 + HOUR, 1).used, 1);
        for _ in 0..2 * LIMIT {
            assert!(rates.take(3, 1, 1).used < LIMIT);
        }
        let mut headers = HeaderMap::new();
        rates.take(4, 1, 1).write(&mut headers);
        assert_eq!(headers["x-ratelimit-remaining"], "4999");
    }
}
