//! The ports of `blue up`: those of its folder, or always the same ones where they are free

use std::{
    fs, io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// Tried first, so that what was set up for one run works in the next
const FORGE_PORT: u16 = 4780;
const BROKER_PORT: u16 = 4781;

/// The ports of the forge and of its broker
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ports {
    pub(super) forge: u16,
    pub(super) broker: u16,
}

impl Ports {
    /// Those that the folder was used with last, or the usual ones
    pub(super) fn of(dir: Option<&Path>) -> Self {
        let usual = Self {
            forge: FORGE_PORT,
            broker: BROKER_PORT,
        };
        let kept = dir.and_then(|dir| fs::read(file(dir)).ok());
        kept.and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or(usual)
    }

    pub(super) fn keep(self, dir: &Path) -> io::Result<()> {
        fs::write(file(dir), serde_json::to_vec(&self)?)
    }
}

fn file(dir: &Path) -> PathBuf {
    dir.join("ports.json")
}

/// This port of loopback, or any free one where another program has it
pub(super) fn free(port: u16) -> SocketAddr {
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match TcpListener::bind(wanted) {
        Ok(_) => wanted,
        Err(_) => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_keeps_its_ports() {
        let dir = tempfile::tempdir().unwrap();
        let first = Ports::of(Some(dir.path()));
        assert_eq!(first, Ports::of(None));
        let ports = Ports {
            forge: 1234,
            broker: 2345,
        };
        ports.keep(dir.path()).unwrap();
        assert_eq!(Ports::of(Some(dir.path())), ports);
        fs::write(file(dir.path()), "no JSON").unwrap();
        assert_eq!(Ports::of(Some(dir.path())), first);
    }

    #[test]
    fn a_port_that_is_taken_is_another_one() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        assert_eq!(free(port).port(), 0);
        drop(taken);
        assert_eq!(free(port).port(), port);
    }
}
