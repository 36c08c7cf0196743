//! Globs as Gitea and Forgejo use them: names of protection rules and required contexts
//!
//! `*` and `?` stop at a separator, `**` does not; `[a-z]`, `[!x]` and `{one,two}` work; `\` takes
//! the next character as it is.

use super::model::{Check, CheckState};

/// Whether a pattern has any glob character at all
pub fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// Match a whole text; `separator` is what `*` and `?` do not cross
pub fn matches(pattern: &str, text: &str, separator: Option<char>) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    expand(&pattern, 0)
        .iter()
        .any(|p| run(p, &text, separator, &mut 200_000))
}

/// Where one required context stands: the worst of all that match, pending when none does
pub fn required_state(pattern: &str, checks: &[Check]) -> CheckState {
    let mut state = None;
    for check in checks {
        if check.context != pattern && !matches(pattern, &check.context, None) {
            continue;
        }
        state = Some(match (state, check.state) {
            (Some(CheckState::Failure), _) | (_, CheckState::Failure) => CheckState::Failure,
            (Some(CheckState::Pending), _) | (_, CheckState::Pending) => CheckState::Pending,
            (Some(CheckState::Success), _) | (_, CheckState::Success) => CheckState::Success,
            _ => CheckState::Skipped,
        });
    }
    state.unwrap_or(CheckState::Pending)
}

/// Most alternatives that a pattern may unfold to
const MAX_ALTERNATIVES: usize = 256;

/// Write `{a,b}` out as several patterns without it
fn expand(pattern: &[char], from: usize) -> Vec<Vec<char>> {
    let Some((open, close, commas)) = first_braces(pattern, from) else {
        return vec![pattern.to_vec()];
    };
    let mut out = Vec::new();
    let mut start = open + 1;
    for end in commas.into_iter().chain([close]) {
        let mut one = pattern[..open].to_vec();
        one.extend(&pattern[start..end]);
        one.extend(&pattern[close + 1..]);
        out.extend(expand(&one, open));
        start = end + 1;
        if out.len() > MAX_ALTERNATIVES {
            break;
        }
    }
    out
}

fn first_braces(pattern: &[char], from: usize) -> Option<(usize, usize, Vec<usize>)> {
    let (mut depth, mut open, mut commas, mut i) = (0_u32, None, Vec::new(), from);
    while i < pattern.len() {
        match pattern[i] {
            '\\' => i += 1,
            '{' => {
                depth += 1;
                open.get_or_insert(i);
            }
            ',' if depth == 1 => commas.push(i),
            '}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    return Some((open?, i, commas));
                }
            }
            _ => {}
        }
        i += 1;
    }
    None
}

/// `fuel` bounds the work that a hostile pattern can cause
fn run(pattern: &[char], text: &[char], separator: Option<char>, fuel: &mut u32) -> bool {
    if *fuel == 0 {
        return false;
    }
    *fuel -= 1;
    let crosses = |c: char| Some(c) != separator;
    match pattern.first() {
        None => text.is_empty(),
        Some('*') => {
            let stars = pattern.iter().take_while(|c| **c == '*').count();
            let rest = &pattern[stars..];
            for n in 0..=text.len() {
                if run(rest, &text[n..], separator, fuel) {
                    return true;
                }
                if n < text.len() && stars == 1 && !crosses(text[n]) {
                    return false;
                }
            }
            false
        }
        Some('?') => {
            text.first().is_some_and(|c| crosses(*c))
                && run(&pattern[1..], &text[1..], separator, fuel)
        }
        Some('[') => match class(pattern) {
            Some((set, negated, used)) => {
                text.first()
                    .is_some_and(|c| set.iter().any(|(a, b)| (a..=b).contains(&c)) != negated)
                    && run(&pattern[used..], &text[1..], separator, fuel)
            }
            None => literal('[', &pattern[1..], text, separator, fuel),
        },
        Some('\\') if pattern.len() > 1 => {
            literal(pattern[1], &pattern[2..], text, separator, fuel)
        }
        Some(c) => literal(*c, &pattern[1..], text, separator, fuel),
    }
}

fn literal(c: char, rest: &[char], text: &[char], separator: Option<char>, fuel: &mut u32) -> bool {
    text.first() == Some(&c) && run(rest, &text[1..], separator, fuel)
}

type Ranges = Vec<(char, char)>;

/// Ranges of `[…]`, whether it is negated, and how long it is
fn class(pattern: &[char]) -> Option<(Ranges, bool, usize)> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let start = if negated { 2 } else { 1 };
    let end = start + pattern.get(start..)?.iter().position(|c| *c == ']')?;
    let inside = &pattern[start..end];
    let mut set = Vec::new();
    let mut i = 0;
    while i < inside.len() {
        if i + 2 < inside.len() && inside[i + 1] == '-' {
            set.push((inside[i], inside[i + 2]));
            i += 3;
        } else {
            set.push((inside[i], inside[i]));
            i += 1;
        }
    }
    (!set.is_empty()).then_some((set, negated, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, separator, expected) in [
            ("main", "main", Some('/'), true),
            ("main", "mainx", Some('/'), false),
            ("release/*", "release/1.0", Some('/'), true),
            ("release/*", "release/1/2", Some('/'), false),
            ("release/**", "release/1/2", Some('/'), true),
            ("**", "a/b", Some('/'), true),
            ("ci/*", "ci/a/b", None, true),
            ("*", "", None, true),
            ("v?", "v1", None, true),
            ("v?", "v", None, false),
            ("a?b", "a/b", Some('/'), false),
            ("[a-c]x", "bx", None, true),
            ("[!a-c]x", "bx", None, false),
            ("[!a-c]x", "dx", None, true),
            ("{ci,cd}/build", "cd/build", None, true),
            ("{ci,cd}/build", "ce/build", None, false),
            ("{a,{b,c}}d", "cd", None, true),
            ("\\*", "*", None, true),
            ("\\*", "x", None, false),
            ("[", "[", None, true),
            ("a{b", "a{b", None, true),
            ("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaac", None, false),
            ("日*", "日本", None, true),
        ] {
            assert_eq!(
                matches(pattern, text, separator),
                expected,
                "{pattern} on {text}"
            );
        }
    }

    #[test]
    fn hostile_patterns_end() {
        let pattern = "*a".repeat(60);
        assert!(!matches(&pattern, &"a".repeat(59), None));
        assert!(!matches(&"{a,b}".repeat(40), "x", None));
    }

    #[test]
    fn a_required_context_is_the_worst_of_its_matches() {
        let check = |context: &str, state| Check {
            context: context.to_owned(),
            state,
            description: String::new(),
            url: String::new(),
        };
        let checks = [
            check("ci/a", CheckState::Success),
            check("ci/b", CheckState::Pending),
            check("lint", CheckState::Skipped),
            check("x [1]", CheckState::Success),
        ];
        assert_eq!(required_state("ci/*", &checks), CheckState::Pending);
        assert_eq!(required_state("ci/a", &checks), CheckState::Success);
        assert_eq!(required_state("lint", &checks), CheckState::Skipped);
        assert_eq!(required_state("x [1]", &checks), CheckState::Success);
        assert_eq!(required_state("deploy/*", &checks), CheckState::Pending);
    }
}
