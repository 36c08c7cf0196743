//! Globs as Gitea and Forgejo use them: names of protection rules and required contexts
//!
//! `*` and `?` stop at a separator, `**` does not; `[a-z]`, `[!x]` and `{one,two}` work; `\` takes
//! the next character as it is.

/// Whether a pattern has any glob character at all
pub fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// Longest text that is read as a pattern; a longer one only matches itself
const LONGEST: usize = 1000;
/// Steps that one match may take, over all alternatives of the pattern: the forge chooses the pattern and
/// often the text too, so the time must be bounded
const FUEL: u32 = 20_000;

/// Steps that all patterns of a rule may take with all files, or all checks, of a pull request
const CALL_FUEL: u32 = 5_000_000;

/// Steps that are left for all matches of one call
///
/// Users of a forge choose the patterns of a rule and the names of checks, and as many of both as
/// they like. Once the steps are used up, a pattern matches its own text only.
#[derive(Debug)]
pub struct CallBudget(u32);

impl Default for CallBudget {
    fn default() -> Self {
        Self(CALL_FUEL)
    }
}

impl CallBudget {
    /// Match a whole text as [`matches()`] does, with the steps that are left
    pub fn matches(&mut self, pattern: &str, text: &str, separators: &[char]) -> bool {
        if pattern.len() > LONGEST || self.0 == 0 {
            return pattern == text;
        }
        let pattern: Vec<char> = pattern.chars().collect();
        let text: Vec<char> = text.chars().collect();
        let alternatives = expand(&pattern, 0);
        let written: usize = alternatives.iter().map(Vec::len).sum();
        self.0 = self
            .0
            .saturating_sub(u32::try_from(written).unwrap_or(u32::MAX));
        let mut own = self.0.min(FUEL);
        let before = own;
        let found = alternatives
            .iter()
            .any(|one| run(&parts(one), &text, separators, &mut own));
        self.0 -= before - own;
        found
    }
}

/// Match a whole text; `*` and `?` do not cross `separators`
pub fn matches(pattern: &str, text: &str, separators: &[char]) -> bool {
    if pattern.len() > LONGEST {
        return pattern == text;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let mut fuel = FUEL;
    expand(&pattern, 0)
        .iter()
        .any(|one| run(&parts(one), &text, separators, &mut fuel))
}

/// Whether a file is meant by one of the patterns that Gitea and Forgejo keep in a rule
///
/// There, `*` crosses no dot: `*.lock` is `deps.lock`, not `deps.old.lock` and not `a/deps.lock`.
pub fn names_file(patterns: &[String], path: &str) -> bool {
    let path = path.trim().to_lowercase();
    let mut patterns = patterns.iter().map(|pattern| pattern.to_lowercase());
    patterns.any(|pattern| matches(&pattern, &path, &['.', '/']))
}

/// The files that are meant by one of the patterns, as [`names_file`] reads them
///
/// Users of a forge choose both, so all of them together share a limit of steps: a file that was
/// not reached counts as not meant, and the forge itself decides. It may compute for long and
/// belongs on a thread of its own.
pub fn named_files(patterns: &[String], paths: &[String]) -> Vec<String> {
    let lower = |path: &String| path.trim().to_lowercase().chars().collect::<Vec<_>>();
    let texts: Vec<Vec<char>> = paths.iter().map(lower).collect();
    let mut is_named = vec![false; texts.len()];
    let mut fuel = CALL_FUEL;
    for pattern in patterns {
        let pattern = pattern.to_lowercase();
        let chars: Vec<char> = pattern.chars().collect();
        let alternatives = if pattern.len() > LONGEST {
            Vec::new()
        } else {
            expand(&chars, 0)
        };
        for one in alternatives {
            let one = parts(&one);
            fuel = fuel.saturating_sub(u32::try_from(one.len()).unwrap_or(u32::MAX));
            for (text, named) in texts.iter().zip(&mut is_named) {
                if !*named {
                    let mut own = fuel.min(FUEL);
                    let before = own;
                    *named = run(&one, text, &['.', '/'], &mut own);
                    fuel -= before - own;
                }
            }
            if fuel == 0 {
                break;
            }
        }
    }
    let named = paths.iter().zip(is_named).filter(|(_, named)| *named);
    named.map(|(path, _)| path.clone()).collect()
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

/// A part of a pattern without braces
#[derive(Debug)]
enum Part {
    /// `*`
    Star,
    /// `**`
    Stars,
    /// `?`
    Any,
    /// `[a-z]`, and whether it is negated
    Class(Ranges, bool),
    Char(char),
}

impl Part {
    fn takes(&self, c: char, separators: &[char]) -> bool {
        match self {
            Self::Star | Self::Stars => false,
            Self::Any => !separators.contains(&c),
            Self::Class(set, negated) => set.iter().any(|(a, b)| (a..=b).contains(&&c)) != *negated,
            Self::Char(own) => *own == c,
        }
    }
}

fn parts(mut pattern: &[char]) -> Vec<Part> {
    let mut parts = Vec::new();
    while let Some(first) = pattern.first() {
        let (part, used) = match first {
            '*' => match pattern.iter().take_while(|c| **c == '*').count() {
                1 => (Part::Star, 1),
                stars => (Part::Stars, stars),
            },
            '?' => (Part::Any, 1),
            '[' => match class(pattern) {
                Some((set, negated, used)) => (Part::Class(set, negated), used),
                None => (Part::Char('['), 1),
            },
            '\\' if pattern.len() > 1 => (Part::Char(pattern[1]), 2),
            c => (Part::Char(*c), 1),
        };
        parts.push(part);
        pattern = &pattern[used..];
    }
    parts
}

/// Match without recursion, which a long text would take beyond the end of the stack
///
/// To go back to the last star is enough: what an earlier one could take besides, it can take too. Only
/// where it stops at a separator, the last double star goes on.
fn run(parts: &[Part], text: &[char], separators: &[char], fuel: &mut u32) -> bool {
    let (mut at, mut read) = (0, 0);
    // What comes after the star, and how far in the text the star reaches
    let mut star: Option<(usize, usize)> = None;
    let mut stars: Option<(usize, usize)> = None;
    while *fuel > 0 {
        *fuel -= 1;
        match (parts.get(at), text.get(read)) {
            (None, None) => return true,
            (Some(Part::Star), _) => {
                at += 1;
                star = Some((at, read));
                continue;
            }
            (Some(Part::Stars), _) => {
                at += 1;
                (star, stars) = (None, Some((at, read)));
                continue;
            }
            (Some(part), Some(c)) if part.takes(*c, separators) => {
                (at, read) = (at + 1, read + 1);
                continue;
            }
            _ => {}
        }
        let is_inside = |end: usize| text.get(end).is_some_and(|c| !separators.contains(c));
        if let Some((after, end)) = star.filter(|(_, end)| is_inside(*end)) {
            star = Some((after, end + 1));
            (at, read) = (after, end + 1);
        } else if let Some((after, end)) = stars.filter(|(_, end)| *end < text.len()) {
            (star, stars) = (None, Some((after, end + 1)));
            (at, read) = (after, end + 1);
        } else {
            return false;
        }
    }
    false
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
    fn files_are_found_by_patterns_within_a_limit_of_steps() {
        let text = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let patterns = text(&["*.lock", "{a,b}/**", "Docs/*.md"]);
        let paths = text(&["deps.lock", "c/deps.lock", "b/x.y/z", "docs/A.md", "other"]);
        let found = named_files(&patterns, &paths);
        assert_eq!(found, text(&["deps.lock", "b/x.y/z", "docs/A.md"]));
        for path in &paths {
            assert_eq!(found.contains(path), names_file(&patterns, path), "{path}");
        }
        // A rule and a pull request that would take minutes.
        let slow = vec!["**a**a**a**a**a**b".to_owned(); 500];
        let long = vec!["a".repeat(4000); 500];
        assert_eq!(named_files(&slow, &long), Vec::<String>::new());
    }

    #[test]
    fn matches_of_one_call_share_a_limit_of_steps() {
        let mut budget = CallBudget::default();
        assert!(budget.matches("ci/*", "ci/test", &[]));
        let long = "a".repeat(4000);
        for _ in 0..2000 {
            assert!(!budget.matches("**a**a**a**a**a**b", &long, &[]));
        }
        assert_eq!(budget.0, 0);
        assert!(!budget.matches("ci/*", "ci/test", &[]));
        assert!(budget.matches("ci/test", "ci/test", &[]));
    }

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
        // Longer than any stack is deep
        let (long, other) = ("a".repeat(1_000_000), "b".repeat(1_000_000));
        for pattern in [
            format!("{long}*"),
            "*a".repeat(500_000),
            "{a}".repeat(300_000),
        ] {
            assert!(!matches(&pattern, &long, &[]));
            assert!(!matches(&pattern, &other, &[]));
        }
        assert!(matches(&long, &long, &[]));
        assert!(!matches(&"*a".repeat(500), &format!("{long}b"), &[]));
        assert!(matches("a*", &"a".repeat(10_000), &[]));
        assert!(matches(&"{a}".repeat(333), &"a".repeat(333), &[]));
    }

    /// Reference implementation of a match, straight from the definition; exponential
    fn slow(pattern: &str, text: &str) -> bool {
        let skips = |rest: &str, may: &dyn Fn(&str) -> bool| {
            let ends = text.char_indices().map(|(end, _)| end).chain([text.len()]);
            ends.take_while(|end| may(&text[..*end]))
                .any(|end| slow(rest, &text[end..]))
        };
        if let Some(rest) = pattern.strip_prefix("**") {
            return skips(rest.trim_start_matches('*'), &|_| true);
        }
        if let Some(rest) = pattern.strip_prefix('*') {
            return skips(rest, &|taken| !taken.contains('/'));
        }
        match (pattern.chars().next(), text.chars().next()) {
            (None, None) => true,
            (Some('?'), Some(c)) if c != '/' => slow(&pattern[1..], &text[1..]),
            (Some(p), Some(c)) if p == c => slow(&pattern[1..], &text[1..]),
            _ => false,
        }
    }

    #[test]
    fn stars_take_what_they_may_and_no_more() {
        let words = |letters: &[char], longest: usize| {
            let mut all = vec![String::new()];
            let mut from = 0;
            for _ in 0..longest {
                let upto = all.len();
                for n in from..upto {
                    let longer = letters.iter().map(|c| format!("{}{c}", all[n]));
                    let longer: Vec<_> = longer.collect();
                    all.extend(longer);
                }
                from = upto;
            }
            all
        };
        let texts = words(&['a', '/'], 5);
        for pattern in words(&['a', '/', '*', '?'], 5) {
            for text in &texts {
                let expected = slow(&pattern, text);
                assert_eq!(
                    matches(&pattern, text, &['/']),
                    expected,
                    "{pattern} {text}"
                );
            }
        }
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
