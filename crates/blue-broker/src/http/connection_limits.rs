//! Limits on the number of connections, in total and by address

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{config::Network, limits::CountedAs};

/// Connections in all, where the process may have as many files
const MAX_CONNECTIONS: usize = 8192;
/// Connections of one address, or of one IPv6 network of a household; high, because a whole company
/// may share one address
const MAX_PER_ADDRESS: usize = 512;
/// Files that are left for the database, the forge and the log
const RESERVED_FILES: usize = 256;
/// Connections that are allowed however few open files there may be
const MIN_CONNECTIONS: usize = 32;

/// The connections that are open, and how many more may be
#[derive(Debug, Clone)]
pub(crate) struct ConnectionLimits {
    all: Arc<Semaphore>,
    per_address: usize,
    /// Proxies, which carry the requests of many clients
    exempt: Arc<[Network]>,
    open: Arc<Mutex<HashMap<String, usize>>>,
}

/// A connection that is counted until this is dropped
#[derive(Debug)]
pub(crate) struct CountedConnection {
    _permit: OwnedSemaphorePermit,
    buckets: Vec<String>,
    open: Arc<Mutex<HashMap<String, usize>>>,
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for bucket in &self.buckets {
            match open.get_mut(bucket) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(open.remove(bucket)),
            }
        }
    }
}

impl ConnectionLimits {
    /// The limits of a process that may have so many files open
    pub(crate) fn new(max_open_files: Option<u64>, exempt: &[Network]) -> Self {
        let files = max_open_files.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
        let all = files
            .saturating_sub(RESERVED_FILES)
            .clamp(MIN_CONNECTIONS, MAX_CONNECTIONS);
        Self {
            all: Arc::new(Semaphore::new(all)),
            // However few there may be, one address does not get them all.
            per_address: MAX_PER_ADDRESS.min(all / 2),
            exempt: exempt.into(),
            open: Arc::default(),
        }
    }

    /// Wait until there is room for one more connection
    pub(super) async fn room(&self) -> OwnedSemaphorePermit {
        let permit = Arc::clone(&self.all).acquire_owned().await;
        permit.expect("the semaphore is never closed")
    }

    /// How many more connections there may be
    pub(super) fn free(&self) -> usize {
        self.all.available_permits()
    }

    /// Count a connection; `None` if its address has too many
    ///
    /// Loopback and trusted proxies are not counted by address, because many clients come through
    /// them.
    pub(super) fn count(
        &self,
        permit: OwnedSemaphorePermit,
        from: IpAddr,
    ) -> Option<CountedConnection> {
        let is_proxy = self.exempt.iter().any(|network| network.holds(from));
        let who = CountedAs::address(from).filter(|_| !is_proxy);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buckets = Vec::new();
        for (name, is_site) in who.as_ref().map(CountedAs::buckets).unwrap_or_default() {
            let most = if is_site {
                self.per_address * 3 / 2
            } else {
                self.per_address
            };
            if open.get(name).is_some_and(|count| *count >= most) {
                return None;
            }
            buckets.push(name.to_owned());
        }
        for bucket in &buckets {
            *open.entry(bucket.clone()).or_default() += 1;
        }
        Some(CountedConnection {
            _permit: permit,
            buckets,
            open: Arc::clone(&self.open),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn taken(limits: &ConnectionLimits, from: &str) -> Option<CountedConnection> {
        let permit = limits.room().await;
        limits.count(permit, from.parse().unwrap())
    }

    #[tokio::test]
    async fn one_address_is_capped_and_proxies_are_not() {
        let proxy = Network::parse("10.0.0.0/8").unwrap();
        let limits = ConnectionLimits::new(None, &[proxy]);
        let mut held = Vec::new();
        for _ in 0..MAX_PER_ADDRESS {
            held.push(taken(&limits, "192.0.2.1").await.expect("below the cap"));
        }
        assert!(taken(&limits, "192.0.2.1").await.is_none());
        assert!(taken(&limits, "192.0.2.2").await.is_some());
        for free in ["127.0.0.1", "::1", "10.1.2.3"] {
            for _ in 0..=MAX_PER_ADDRESS {
                held.push(taken(&limits, free).await.expect("it is not counted"));
            }
        }
        held.truncate(MAX_PER_ADDRESS - 1);
        assert!(taken(&limits, "192.0.2.1").await.is_some(), "one has ended");
        held.clear();
        assert!(
            limits.open.lock().unwrap().is_empty(),
            "nothing is left behind"
        );
    }

    #[tokio::test]
    async fn a_48_of_ipv6_gets_no_multiple_of_what_one_address_gets() {
        let limits = ConnectionLimits::new(None, &[]);
        let mut held = Vec::new();
        for n in 0..2000 {
            held.extend(taken(&limits, &format!("2001:db8:1:{n:x}::1")).await);
        }
        assert_eq!(held.len(), MAX_PER_ADDRESS * 3 / 2);
        assert!(taken(&limits, "2001:db8:2::1").await.is_some());
    }

    #[tokio::test]
    async fn connections_in_all_stay_below_the_files_of_the_process() {
        let limits = ConnectionLimits::new(Some(1024), &[]);
        let mut held = Vec::new();
        while limits.free() > 0 {
            held.push(taken(&limits, "127.0.0.1").await.unwrap());
        }
        assert_eq!(held.len(), 1024 - RESERVED_FILES);
        let waiting = tokio::time::timeout(std::time::Duration::ZERO, limits.room());
        assert!(waiting.await.is_err());
        held.pop();
        taken(&limits, "127.0.0.1").await.unwrap();
        assert_eq!(
            ConnectionLimits::new(Some(10), &[]).per_address,
            MIN_CONNECTIONS / 2
        );
    }
}
