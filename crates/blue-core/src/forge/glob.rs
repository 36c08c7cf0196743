//! Globs as Gitea and Forgejo use them: names of protection rules and required contexts
//!
//! `*` and `?` stop at a separator, `**` does not; `[a-z]`, `[!x]` and `{one,two}` work; `\` takes
//! the next character as it is.

/// Whether a pattern has any glob character at all
pub fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// Match a whole text; `*` and `?` do not cross `separators`
pub fn matches(pattern: &str, text: &str, separators: &[char]) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    expand(&pattern, 0)
        .iter()
        .any(|p| run(p, &text, separators, &mut 200_000))
}

/// Whether a file is meant by one of the patterns that Gitea and Forgejo keep in a rule
///
/// There, `*` crosses no dot: `*.lock` is `deps.lock`, not `deps.old.lock` and not `a/deps.lock`.
pub fn names_file(patterns: &[String], path: &str) -> bool {
    let path = path.trim().to_lowercase();
    let mut patterns = patterns.iter().map(|pattern| pattern.to_lowercase());
    patterns.any(|pattern| matches(&pattern, &path, &['.', '/']))
}

/// The patterns of a text that has them between `;`
pub fn file_patterns(text: &str) -> Vec<String> {
    let patterns = text.split(';').map(str::trim);
    let patterns = patterns.filter(|pattern| !pattern.is_empty());
    patterns.map(str::to_owned).collect()
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
fn run(pattern: &[char], text: &[char], separators: &[char], fuel: &mut u32) -> bool {
    if *fuel == 0 {
        return false;
    }
    *fuel -= 1;
    let crosses = |c: char| !separators.contains(&c);
    match pattern.first() {
        None => text.is_empty(),
        Some('*') => {
            let stars = pattern.iter().take_while(|c| **c == '*').count();
            let rest = &pattern[stars..];
            for n in 0..=text.len() {
                if run(rest, &text[n..], separators, fuel) {
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
                && run(&pattern[1..], &text[1..], separators, fuel)
        }
        Some('[') => match class(pattern) {
            Some((set, negated, used)) => {
                text.first()
                    .is_some_and(|c| set.iter().any(|(a, b)| (a..=b).contains(&c)) != negated)
                    && run(&pattern[used..], &text[1..], separators, fuel)
            }
            None => literal('[', &pattern[1..], text, separators, fuel),
        },
        Some('\\') if pattern.len() > 1 => {
            literal(pattern[1], &pattern[2..], text, separators, fuel)
        }
        Some(c) => literal(*c, &pattern[1..], text, separators, fuel),
    }
}

fn literal(c: char, rest: &[char], text: &[char], separators: &[char], fuel: &mut u32) -> bool {
    text.first() == Some(&c) && run(rest, &text[1..], separators, fuel)
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
        for (pattern, text, separators, expected) in [
            ("main", "main", &['/'][..], true),
            ("main", "mainx", &['/'][..], false),
            ("release/*", "release/1.0", &['/'][..], true),
            ("release/*", "release/1/2", &['/'][..], false),
            ("release/**", "release/1/2", &['/'][..], true),
            ("**", "a/b", &['/'][..], true),
            ("ci/*", "ci/a/b", &[], true),
            ("*", "", &[], true),
            ("v?", "v1", &[], true),
            ("v?", "v", &[], false),
            ("a?b", "a/b", &['/'][..], false),
            ("[a-c]x", "bx", &[], true),
            ("[!a-c]x", "bx", &[], false),
            ("[!a-c]x", "dx", &[], true),
            ("{ci,cd}/build", "cd/build", &[], true),
            ("{ci,cd}/build", "ce/build", &[], false),
            ("{a,{b,c}}d", "cd", &[], true),
            ("\\*", "*", &[], true),
            ("\\*", "x", &[], false),
            ("[", "[", &[], true),
            ("a{b", "a{b", &[], true),
            ("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaac", &[], false),
            ("日*", "日本", &[], true),
        ] {
            assert_eq!(
                matches(pattern, text, separators),
                expected,
                "{pattern} on {text}"
            );
        }
    }

    #[test]
    fn hostile_patterns_end() {
        let pattern = "*a".repeat(60);
        assert!(!matches(&pattern, &"a".repeat(59), &[]));
        assert!(!matches(&"{a,b}".repeat(40), "x", &[]));
    }

    #[test]
    fn patterns_of_files() {
        let patterns = file_patterns(" *.LOCK; docs/** ;;.drone.yml");
        assert_eq!(patterns, ["*.LOCK", "docs/**", ".drone.yml"]);
        for (path, expected) in [
            ("deps.lock", true),
            ("Deps.Lock", true),
            ("deps.old.lock", false),
            ("a/deps.lock", false),
            ("docs/a/b.md", true),
            ("doc/a.md", false),
            (".drone.yml", true),
        ] {
            assert_eq!(names_file(&patterns, path), expected, "{path}");
        }
    }
}
