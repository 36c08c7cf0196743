//! The limit of open files, of which each connection is one

/// Limit that is asked for where the system sets no lower one
#[cfg(unix)]
const WANTED: u64 = 65_536;
/// Limit that macOS grants where it says that there is none
#[cfg(unix)]
const GRANTED_BY_MACOS: u64 = 10_240;

/// Raise the soft limit of open files as far as the hard one allows; returns the limit that holds
///
/// Most systems start a process with 1,024, and some hundreds of idle connections would lock
/// everyone out. None where the system has no such limit, or does not tell it.
pub(crate) fn raise_limit() -> Option<u64> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let (Some(soft), hard) = (limit.current, limit.maximum) else {
            return None;
        };
        let most = hard.unwrap_or(u64::MAX);
        for wanted in [WANTED, GRANTED_BY_MACOS].map(|wanted| wanted.min(most)) {
            let mut raised = limit;
            raised.current = Some(wanted);
            if wanted > soft && setrlimit(Resource::Nofile, raised).is_ok() {
                return Some(wanted);
            }
        }
        Some(soft)
    }
    #[cfg(not(unix))]
    None
}

#[cfg(all(test, unix))]
mod tests {
    use rustix::process::{Resource, getrlimit};

    use super::*;

    #[test]
    fn a_soft_limit_is_raised_to_the_hard_one_or_to_what_is_wanted() {
        let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        let raised = raise_limit();
        assert_eq!(raised, getrlimit(Resource::Nofile).current);
        assert!(
            raised.unwrap() >= hard.min(GRANTED_BY_MACOS),
            "{raised:?} {hard}"
        );
        // Once more changes nothing.
        assert_eq!(raise_limit(), raised);
    }
}
