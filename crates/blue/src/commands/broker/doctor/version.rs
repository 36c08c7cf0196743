//! What is known to be wrong with the OAuth of a forge's version

use super::Check;

const NAME: &str = "Forge";

/// Judge a version as `/api/v1/version` tells it
pub(super) fn check(text: &str) -> Check {
    let forgejo = text.contains("+gitea-");
    let name = if forgejo { "Forgejo" } else { "Gitea" };
    let found = format!("{name} {text}");
    let Some(version) = numbers(text) else {
        return Check::warning(
            NAME,
            found,
            "its version is not readable; use Gitea 1.27 or Forgejo 15.0.2 or newer",
        );
    };
    let defects = if forgejo {
        forgejo_defects(version)
    } else {
        gitea_defects(version)
    };
    let wanted = if forgejo {
        "Forgejo 15.0.2 or 11.0.14"
    } else {
        "Gitea 1.27"
    };
    match defects {
        None => Check::failed(
            NAME,
            format!("{found}: its OAuth tokens have no scopes, they open everything"),
            format!("update to {wanted} or newer"),
        ),
        Some(defects) if defects.is_empty() => Check::ok(NAME, found),
        Some(defects) => Check::warning(
            NAME,
            format!("{found}: {}", defects.join("; ")),
            format!("update to {wanted} or newer"),
        ),
    }
}

type Version = (u32, u32, u32);

fn numbers(text: &str) -> Option<Version> {
    let plain = text.trim_start_matches('v');
    let end = plain
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(plain.len());
    let mut parts = plain[..end].split('.').map(str::parse::<u32>);
    let major = parts.next()?.ok()?;
    let minor = parts.next()?.ok()?;
    let patch = parts.next().and_then(Result::ok).unwrap_or(0);
    Some((major, minor, patch))
}

/// None: a version that knows no scopes at all
fn gitea_defects(version: Version) -> Option<Vec<&'static str>> {
    if version < (1, 23, 0) {
        return None;
    }
    let mut defects = Vec::new();
    if version < (1, 26, 0) {
        defects.push("PKCE is not checked after its consent page");
    }
    if version < (1, 27, 0) {
        defects.push("a code is not bound to its redirect URI");
        defects.push("a scoped token is not limited when it is sent as a password or used for git");
    }
    Some(defects)
}

fn forgejo_defects(version: Version) -> Option<Vec<&'static str>> {
    let (major, minor, patch) = version;
    if major < 9 {
        return None;
    }
    let mut defects = Vec::new();
    let checks_pkce = match major {
        11 => (minor, patch) >= (0, 11),
        14 => (minor, patch) >= (0, 3),
        _ => major >= 15,
    };
    if !checks_pkce {
        defects.push("PKCE is not checked after its consent page");
    }
    let binds = match major {
        11 => (minor, patch) >= (0, 14),
        15 => (minor, patch) >= (0, 2),
        _ => major > 15,
    };
    if !binds {
        defects.push("a code is not bound to its redirect URI");
        defects.push("scoped tokens reach some files outside their scope");
    }
    Some(defects)
}

#[cfg(test)]
mod tests {
    use super::{super::State, *};

    #[test]
    fn versions_are_judged_by_what_is_known_of_them() {
        for (text, state) in [
            ("1.27.2", State::Ok),
            ("1.28.0+dev-12-gabc", State::Ok),
            ("1.26.0", State::Warning),
            ("1.23.1", State::Warning),
            ("1.22.6", State::Failed),
            ("15.0.2+gitea-1.22.0", State::Ok),
            ("15.0.1+gitea-1.22.0", State::Warning),
            ("11.0.14+gitea-1.22.0", State::Ok),
            ("11.0.13+gitea-1.22.0", State::Warning),
            ("12.0.4+gitea-1.22.0", State::Warning),
            ("17.0.0-dev+gitea-1.22.0", State::Ok),
            ("8.0.3+gitea-1.22.0", State::Failed),
            ("development", State::Warning),
        ] {
            let check = check(text);
            assert_eq!(check.state, state, "{text}: {}", check.found);
            assert_eq!(check.state == State::Ok, check.advice.is_none());
        }
        assert!(check("1.26.0").found.contains("sent as a password"));
        assert!(!check("1.26.0").found.contains("PKCE"));
    }
}
