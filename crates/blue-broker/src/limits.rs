//! Rate limits on what unauthenticated callers may request
//!
//! Whole companies and hosted clients share one address, so the limit of an address is wide; the
//! global limit is what keeps the database small.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;

/// Maximum number of addresses in the table of one limit
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
    /// Client metadata documents of clients that a user has consented to, by host; apart from
    /// `documents`, so that fetches caused by strangers cannot delay these
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
    fn half_as_much_again(self) -> Self {
        Self {
            burst: self.burst.saturating_mul(3) / 2,
            every: (self.every.saturating_mul(2) / 3).max(1),
        }
    }

    fn new(burst: i64, every: Duration) -> Self {
        let every = i64::try_from(every.as_millis()).unwrap_or(i64::MAX);
        Self { burst, every }
    }

    /// Returns the new state of a bucket that was in state `paid`, or how long to wait; both in ms
    fn take(self, paid: i64, now: i64) -> Result<i64, i64> {
        let room = self.every.saturating_mul(self.burst);
        // A bucket is never paid that far ahead, so the clock was set back. Without this reset all
        // callers would wait until the clock has caught up.
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

/// The key that a request is counted under, in one bucket or several
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CountedAs {
    /// An IPv4 address, or the host of a document
    One(String),
    /// An IPv6 address, by the networks that it lies in
    ///
    /// A machine has a /64, a household mostly a /56, and a site, a company or a rented server may
    /// have a /48 with 65,536 networks of the smallest kind. Counted by /64 alone, one of those
    /// could use up what all callers together are allowed.
    Networks {
        machine: String,
        household: String,
        site: String,
    },
}

impl CountedAs {
    /// By address; `None` if it is loopback, where a proxy in front of the broker sends the
    /// requests of many clients
    pub(crate) fn address(address: IpAddr) -> Option<Self> {
        match address.to_canonical() {
            ip if ip.is_loopback() => None,
            IpAddr::V4(ip) => Some(Self::One(ip.to_string())),
            IpAddr::V6(ip) => {
                let network = |bits: u32| {
                    let kept = u128::MAX << (128 - bits);
                    format!("{}/{bits}", Ipv6Addr::from(u128::from(ip) & kept))
                };
                Some(Self::Networks {
                    machine: network(64),
                    household: network(56),
                    site: network(48),
                })
            }
        }
    }

    pub(crate) fn host(name: &str) -> Self {
        Self::One(name.to_owned())
    }

    /// Each bucket, with whether it is that of a whole site
    pub(crate) fn buckets(&self) -> Vec<(&str, bool)> {
        match self {
            Self::One(name) => vec![(name, false)],
            Self::Networks {
                machine,
                household,
                site,
            } => vec![(site, true), (household, false), (machine, false)],
        }
    }
}

/// A limit for each caller and a global one
#[derive(Debug)]
pub(crate) struct Limit {
    each: Rate,
    /// Of a site, which may hold many households: half as much again as one caller has, so that
    /// one of them does not lock the others out, and all of them do not get a multiple
    site: Rate,
    all: Rate,
    /// Until when each bucket has used up its share
    state: Mutex<(i64, HashMap<String, i64>)>,
}

/// Retry after this many seconds
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many requests in a short time")]
pub(crate) struct TooMany(pub(crate) u64);

impl Limit {
    fn new(each: Rate, all: Rate) -> Self {
        Self {
            each,
            site: each.half_as_much_again(),
            all,
            state: Mutex::default(),
        }
    }

    /// Count one request; without a caller only the global limit applies
    pub(crate) fn take(&self, who: Option<&CountedAs>, now: Timestamp) -> Result<(), TooMany> {
        let now = now.as_millisecond();
        let wait = |ms: i64| TooMany(u64::try_from(ms / 1000 + 1).unwrap_or(1));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, known) = &mut *state;
        let next = self.all.take(*all, now).map_err(wait)?;
        // A request that one bucket refuses is counted in none.
        let mut paid = Vec::new();
        for (name, is_site) in who.map(CountedAs::buckets).unwrap_or_default() {
            let rate = if is_site { self.site } else { self.each };
            let before = known.get(name).copied().unwrap_or(i64::MIN);
            paid.push((name, rate.take(before, now).map_err(wait)?));
        }
        for (name, until) in paid {
            if known.len() >= REMEMBERED && !known.contains_key(name) {
                known.retain(|_, paid| *paid > now);
            }
            // A caller that does not fit into the table is counted by the global limit alone.
            if known.len() < REMEMBERED || known.contains_key(name) {
                known.insert(name.to_owned(), until);
            }
        }
        *all = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> CountedAs {
        CountedAs::One(text.to_owned())
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_delay_callers() {
        let limit = Limit::new(
            Rate::new(3, Duration::from_secs(10)),
            Rate::new(100, Duration::from_secs(1)),
        );
        for _ in 0..3 {
            assert!(limit.take(Some(&name("a")), at(100_000)).is_ok());
        }
        assert!(limit.take(Some(&name("a")), at(100_000)).is_err());
        for _ in 0..3 {
            assert!(limit.take(Some(&name("a")), at(1000)).is_ok());
        }
        assert!(
            limit.take(Some(&name("a")), at(1000)).is_err(),
            "it still counts"
        );
        assert!(limit.take(Some(&name("b")), at(1000)).is_ok());
    }

    #[test]
    fn one_address_is_held_up_and_others_are_not() {
        let limit = Limit::new(
            Rate::new(3, Duration::from_secs(10)),
            Rate::new(100, Duration::from_secs(1)),
        );
        for _ in 0..3 {
            assert_eq!(limit.take(Some(&name("a")), at(1000)), Ok(()));
        }
        let wait = limit.take(Some(&name("a")), at(1000)).unwrap_err();
        assert!((10..=11).contains(&wait.0), "{wait:?}");
        assert_eq!(limit.take(Some(&name("b")), at(1000)), Ok(()));
        assert_eq!(limit.take(Some(&name("a")), at(1011)), Ok(()));
        assert!(limit.take(Some(&name("a")), at(1011)).is_err());
    }

    #[test]
    fn all_together_are_held_up_whatever_they_call_themselves() {
        let limit = Limit::new(
            Rate::new(3, Duration::from_secs(10)),
            Rate::new(5, Duration::from_secs(1)),
        );
        for n in 0..5 {
            assert_eq!(limit.take(Some(&name(&n.to_string())), at(1000)), Ok(()));
        }
        assert!(limit.take(Some(&name("x")), at(1000)).is_err());
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
            let _ = limit.take(Some(&name(&n.to_string())), at(1000));
        }
        assert!(limit.state.lock().unwrap().1.len() <= REMEMBERED);
        limit.take(Some(&name("late")), at(9000)).unwrap();
        assert_eq!(limit.state.lock().unwrap().1.len(), 1);
    }

    #[test]
    fn an_address_is_counted_by_its_networks_and_loopback_is_not() {
        let of = |text: &str| CountedAs::address(text.parse().unwrap());
        for loopback in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(of(loopback), None);
        }
        assert_eq!(of("192.0.2.1"), Some(name("192.0.2.1")));
        assert_eq!(of("::ffff:192.0.2.1"), Some(name("192.0.2.1")));
        assert_eq!(of("2001:db8::1"), of("2001:db8::2"));
        let networks = |machine: &str, household: &str, site: &str| {
            Some(CountedAs::Networks {
                machine: machine.to_owned(),
                household: household.to_owned(),
                site: site.to_owned(),
            })
        };
        assert_eq!(
            of("2001:db8:1:2345::1"),
            networks(
                "2001:db8:1:2345::/64",
                "2001:db8:1:2300::/56",
                "2001:db8:1::/48"
            )
        );
    }

    /// How many of `tries` requests are admitted, each from the next address
    fn let_in(limit: &Limit, tries: u128, address: impl Fn(u128) -> u128) -> usize {
        let taken = (0..tries).filter(|n| {
            let ip = IpAddr::V6(Ipv6Addr::from(address(*n)));
            limit
                .take(CountedAs::address(ip).as_ref(), at(1000))
                .is_ok()
        });
        taken.count()
    }

    #[test]
    fn one_48_gets_no_multiple_of_the_allowance_and_locks_no_other_out() {
        const SITE: u128 = 0x2001_0db8_0001 << 80;
        for limit in [
            Limits::default().registrations,
            Limits::default().authorizations,
        ] {
            let allowed = usize::try_from(limit.each.burst).unwrap();
            // Another /64 of the site each time, with another /56 among them.
            let taken = let_in(&limit, 4000, |n| SITE | n << 64);
            assert_eq!(taken, allowed * 3 / 2);
            assert_eq!(
                let_in(&limit, 1, |_| 0x2001_0db8_0002 << 80),
                1,
                "a neighbour"
            );
            assert_eq!(limit.take(Some(&name("192.0.2.1")), at(1000)), Ok(()));
        }
    }

    #[test]
    fn one_56_gets_what_one_machine_gets_and_leaves_room_in_its_48() {
        const HOUSE: u128 = 0x2001_0db8_0001_0200 << 64;
        let limit = Limits::default().registrations;
        let taken = let_in(&limit, 4000, |n| HOUSE | (n % 256) << 64);
        assert_eq!(taken, usize::try_from(limit.each.burst).unwrap());
        assert_eq!(
            let_in(&limit, 1, |_| HOUSE | 0x100 << 64),
            1,
            "another household"
        );
    }
}
