//! How often strangers may ask for what costs us something
//!
//! Whole companies and hosted clients come from one address, so the limit of an address is wide;
//! what keeps the database small is the limit of all together.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;

/// Most addresses that are remembered at once
const REMEMBERED: usize = 10_000;

/// The limits of one broker
#[derive(Debug)]
pub(crate) struct Limits {
    /// New clients that register themselves, by address
    pub(crate) registrations: Limit,
    /// Authorizations that are begun, by address: each is a row for ten minutes
    pub(crate) authorizations: Limit,
    /// Client metadata documents that are fetched, by host
    pub(crate) documents: Limit,
    /// The same of clients that somebody said yes to: strangers cannot make those wait
    pub(crate) known_documents: Limit,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            registrations: Limit::new(
                Rate::new(120, Duration::from_secs(1)),
                Rate::new(600, Duration::from_millis(200)),
            ),
            authorizations: Limit::new(
                Rate::new(240, Duration::from_millis(500)),
                Rate::new(3000, Duration::from_millis(20)),
            ),
            documents: documents(),
            known_documents: documents(),
        }
    }
}

fn documents() -> Limit {
    Limit::new(
        Rate::new(10, Duration::from_secs(10)),
        Rate::new(60, Duration::from_secs(1)),
    )
}

/// So many at once, and then one each time that `every` has passed
#[derive(Debug, Clone, Copy)]
struct Rate {
    burst: i64,
    every: i64,
}

impl Rate {
    fn new(burst: i64, every: Duration) -> Self {
        let every = i64::try_from(every.as_millis()).unwrap_or(i64::MAX);
        Self { burst, every }
    }

    /// The new state of a bucket that was in state `paid`, or how long to wait; both in ms
    fn take(self, paid: i64, now: i64) -> Result<i64, i64> {
        let room = self.every.saturating_mul(self.burst);
        // Nobody pays so far ahead: the clock was set back, and all would wait until it is there again.
        let paid = if paid > now.saturating_add(room) {
            now
        } else {
            paid
        };
        let next = paid.max(now).saturating_add(self.every);
        let over = next.saturating_sub(now).saturating_sub(room);
        if over > 0 { Err(over) } else { Ok(next) }
    }
}

/// A limit for each and one for all
#[derive(Debug)]
pub(crate) struct Limit {
    each: Rate,
    all: Rate,
    /// Until when each has used up its share
    state: Mutex<(i64, HashMap<String, i64>)>,
}

/// Come again in so many seconds
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many requests in a short time")]
pub(crate) struct TooMany(pub(crate) u64);

impl Limit {
    fn new(each: Rate, all: Rate) -> Self {
        Self {
            each,
            all,
            state: Mutex::default(),
        }
    }

    /// Count one; `who` is nobody where only all together are counted
    pub(crate) fn take(&self, who: Option<&str>, now: Timestamp) -> Result<(), TooMany> {
        let now = now.as_millisecond();
        let wait = |ms: i64| TooMany(u64::try_from(ms / 1000 + 1).unwrap_or(1));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, known) = &mut *state;
        let next = self.all.take(*all, now).map_err(wait)?;
        if let Some(who) = who {
            if known.len() >= REMEMBERED && !known.contains_key(who) {
                known.retain(|_, paid| *paid > now);
            }
            let paid = known.get(who).copied().unwrap_or(i64::MIN);
            let own = self.each.take(paid, now).map_err(wait)?;
            // Whoever comes when there is no room is counted among all.
            if known.len() < REMEMBERED || known.contains_key(who) {
                known.insert(who.to_owned(), own);
            }
        }
        *all = next;
        Ok(())
    }
}

/// Who is behind an address: a network of one household or machine
///
/// Nobody if it is this machine: then it is the proxy in front of us, and everybody comes from it.
pub(crate) fn who(address: IpAddr) -> Option<String> {
    match address.to_canonical() {
        ip if ip.is_loopback() => None,
        IpAddr::V4(ip) => Some(ip.to_string()),
        IpAddr::V6(ip) => {
            let [a, b, c, d, ..] = ip.segments();
            Some(format!("{a:x}:{b:x}:{c:x}:{d:x}::/64"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_clock_that_is_set_back_holds_nobody_up() {
        let limit = Limit::new(
            Rate::new(3, Duration::from_secs(10)),
            Rate::new(100, Duration::from_secs(1)),
        );
        for _ in 0..3 {
            assert!(limit.take(Some("a"), at(100_000)).is_ok());
        }
        assert!(limit.take(Some("a"), at(100_000)).is_err());
        for _ in 0..3 {
            assert!(limit.take(Some("a"), at(1000)).is_ok());
        }
        assert!(limit.take(Some("a"), at(1000)).is_err(), "it still counts");
        assert!(limit.take(Some("b"), at(1000)).is_ok());
    }

    #[test]
    fn one_address_is_held_up_and_others_are_not() {
        let limit = Limit::new(
            Rate::new(3, Duration::from_secs(10)),
            Rate::new(100, Duration::from_secs(1)),
        );
        for _ in 0..3 {
            assert_eq!(limit.take(Some("a"), at(1000)), Ok(()));
        }
        let wait = limit.take(Some("a"), at(1000)).unwrap_err();
        assert!((10..=11).contains(&wait.0), "{wait:?}");
        assert_eq!(limit.take(Some("b"), at(1000)), Ok(()));
        assert_eq!(limit.take(Some("a"), at(1011)), Ok(()));
        assert!(limit.take(Some("a"), at(1011)).is_err());
    }

    #[test]
    fn all_together_are_held_up_whatever_they_call_themselves() {
        let limit = Limit::new(
            Rate::new(3, Duration::from_secs(10)),
            Rate::new(5, Duration::from_secs(1)),
        );
        for n in 0..5 {
            assert_eq!(limit.take(Some(&n.to_string()), at(1000)), Ok(()));
        }
        assert!(limit.take(Some("x"), at(1000)).is_err());
        assert!(limit.take(None, at(1000)).is_err());
        assert_eq!(limit.take(None, at(1002)), Ok(()));
    }

    #[test]
    fn what_is_remembered_has_an_end() {
        let limit = Limit::new(
            Rate::new(3, Duration::from_secs(10)),
            Rate::new(1_000_000, Duration::from_millis(1)),
        );
        for n in 0..REMEMBERED + 50 {
            let _ = limit.take(Some(&n.to_string()), at(1000));
        }
        assert!(limit.state.lock().unwrap().1.len() <= REMEMBERED);
        limit.take(Some("late"), at(9000)).unwrap();
        assert_eq!(limit.state.lock().unwrap().1.len(), 1);
    }

    #[test]
    fn a_network_counts_as_one_and_the_own_machine_as_nobody() {
        let of = |text: &str| who(text.parse().unwrap());
        assert_eq!(of("127.0.0.1"), None);
        assert_eq!(of("::1"), None);
        assert_eq!(of("::ffff:127.0.0.1"), None);
        assert_eq!(of("192.0.2.1").as_deref(), Some("192.0.2.1"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    }
}
