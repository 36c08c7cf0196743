//! What a granted scope lets a token do

use crate::{auth::known_scope, config::Flavor};

/// Scopes that ask for facts about the user and limit nothing
const IDENTITY: &[&str] = &["openid", "profile", "email", "groups"];

/// The scopes that limit a token; `None` is no limit
///
/// No scope, or only unknown ones, is everything. An unknown scope beside known ones opens
/// everything on Gitea and is left out on Forgejo. Forgejo 7 keeps to no scope at all.
pub(super) fn limits(flavor: Flavor, granted: &str) -> Option<String> {
    let asked: Vec<&str> = granted
        .split(' ')
        .filter(|scope| !IDENTITY.contains(scope))
        .flat_map(|scope| scope.split(','))
        .filter(|scope| !scope.is_empty())
        .collect();
    let known: Vec<&str> = asked
        .iter()
        .copied()
        .filter(|scope| known_scope(scope))
        .collect();
    let opens = flavor == Flavor::Forgejo7
        || known.is_empty()
        || known.contains(&"all")
        || (flavor == Flavor::Gitea && known.len() < asked.len());
    (!opens).then(|| known.join(","))
}

/// Whether the granted scope names this one
pub(super) fn names(granted: &str, scope: &str) -> bool {
    granted.split(' ').any(|one| one == scope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_as_measured() {
        for (scope, gitea, forgejo) in [
            ("", None, None),
            ("openid profile email groups", None, None),
            ("repo", None, None),
            ("read:user all", None, None),
            (
                "openid read:repository",
                Some("read:repository"),
                Some("read:repository"),
            ),
            (
                "read:user,read:repository",
                Some("read:user,read:repository"),
                Some("read:user,read:repository"),
            ),
            ("read:user write:repo", None, Some("read:user")),
        ] {
            assert_eq!(
                limits(Flavor::Gitea, scope).as_deref(),
                gitea,
                "gitea {scope}"
            );
            assert_eq!(
                limits(Flavor::Forgejo, scope).as_deref(),
                forgejo,
                "forgejo {scope}"
            );
        }
    }
}
