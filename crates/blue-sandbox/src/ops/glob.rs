//! Glob patterns as forges write them in rules

/// Match a pattern; with a separator, a single `*` does not cross it
///
/// `*`, `**`, `?`, `[abc]`, `[a-z]`, `[!a]` and `{one,two}` are known.
pub(crate) fn matches(pattern: &str, text: &str, separator: Option<char>) -> bool {
    let alternatives = expand(pattern);
    let text: Vec<char> = text.chars().collect();
    alternatives.iter().any(|one| {
        let one: Vec<char> = one.chars().collect();
        at(&one, &text, separator)
    })
}

fn at(pattern: &[char], text: &[char], separator: Option<char>) -> bool {
    let Some(first) = pattern.first() else {
        return text.is_empty();
    };
    match first {
        '*' => {
            let deep = pattern.get(1) == Some(&'*');
            let rest = &pattern[if deep { 2 } else { 1 }..];
            for taken in 0..=text.len() {
                if at(rest, &text[taken..], separator) {
                    return true;
                }
                let crosses = text.get(taken).is_some_and(|c| Some(*c) == separator);
                if crosses && !deep {
                    return false;
                }
            }
            false
        }
        '?' => {
            !text.is_empty()
                && Some(text[0]) != separator
                && at(&pattern[1..], &text[1..], separator)
        }
        '[' => {
            let Some(end) = pattern
                .iter()
                .skip(1)
                .position(|c| *c == ']')
                .map(|found| found + 1)
            else {
                return text.first() == Some(&'[') && at(&pattern[1..], &text[1..], separator);
            };
            let Some(c) = text.first() else { return false };
            let (negated, set) = match pattern.get(1) {
                Some('!' | '^') => (true, &pattern[2..end]),
                _ => (false, &pattern[1..end]),
            };
            in_set(set, *c) != negated && at(&pattern[end + 1..], &text[1..], separator)
        }
        '\\' if pattern.len() > 1 => {
            text.first() == Some(&pattern[1]) && at(&pattern[2..], &text[1..], separator)
        }
        plain => text.first() == Some(plain) && at(&pattern[1..], &text[1..], separator),
    }
}

fn in_set(set: &[char], c: char) -> bool {
    let mut rest = set;
    while let Some(low) = rest.first() {
        if rest.len() >= 3 && rest[1] == '-' {
            if (*low..=rest[2]).contains(&c) {
                return true;
            }
            rest = &rest[3..];
        } else {
            if *low == c {
                return true;
            }
            rest = &rest[1..];
        }
    }
    false
}

/// Write out `{a,b}`
fn expand(pattern: &str) -> Vec<String> {
    let Some(open) = pattern.find('{') else {
        return vec![pattern.to_owned()];
    };
    let Some(close) = pattern[open..].find('}').map(|found| found + open) else {
        return vec![pattern.to_owned()];
    };
    let (before, after) = (&pattern[..open], &pattern[close + 1..]);
    let one = |choice: &str| expand(&format!("{before}{choice}{after}"));
    pattern[open + 1..close].split(',').flat_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn globs_match_as_in_rules() {
        assert!(matches("ci/*", "ci/build", None));
        assert!(matches("*", "ci/build", None));
        assert!(matches("rel/*", "rel/1.0", Some('/')));
        assert!(!matches("rel/*", "rel/1/0", Some('/')));
        assert!(matches("rel/**", "rel/1/0", Some('/')));
        assert!(matches("{main,dev-?}", "dev-1", Some('/')));
        assert!(matches("v[0-9]*", "v1", None));
        assert!(!matches("v[!0-9]*", "v1", None));
        assert!(matches("*.lock", "a.lock", Some('/')));
    }
}
