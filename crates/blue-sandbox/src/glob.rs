//! Globs as the servers that the sandbox stands in for read them
//!
//! Written apart from the client's matcher on purpose: a fault of one is then not a fault of the other,
//! and the tests of the client can find it. Gitea and Forgejo use gobwas/glob: `*` and `?` stop at a separator,
//! `**` does not, `[a-z]` and `[!x]` are classes, `{one,two}` are alternatives, and `\` quotes.

/// Steps after which a match is given up; a pattern of a test needs a few hundred
const MAX_STEPS: u32 = 200_000;

/// Length after which a pattern matches only its own text: the match is recursive
const MAX_PATTERN_CHARS: usize = 1_000;

/// Returns whether the whole text matches; `*` and `?` do not cross `separators`
pub(crate) fn matches(pattern: &str, text: &str, separators: &[char]) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    if pattern.len() > MAX_PATTERN_CHARS {
        return pattern == text;
    }
    let mut matcher = Matcher {
        text: &text,
        separators,
        steps: 0,
    };
    matcher.run(&pattern, 0)
}

/// Returns whether one of the patterns of a rule names a file
///
/// Patterns are separated by `;`. Gitea and Forgejo compile them with `.` and `/` as separators and compare in lower
/// case.
pub(crate) fn names_file(patterns: &str, path: &str) -> bool {
    let path = path.trim().to_lowercase();
    patterns
        .split(';')
        .map(|pattern| pattern.trim().to_lowercase())
        .filter(|pattern| !pattern.is_empty())
        .any(|pattern| matches(&pattern, &path, &['.', '/']))
}

struct Matcher<'a> {
    text: &'a [char],
    separators: &'a [char],
    steps: u32,
}

impl Matcher<'_> {
    /// Returns whether the text from `at` on matches the pattern, by trying every choice in turn
    fn run(&mut self, pattern: &[char], at: usize) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return false;
        }
        match pattern {
            [] => at == self.text.len(),
            ['*', '*', rest @ ..] => (at..=self.text.len()).any(|next| self.run(rest, next)),
            ['*', rest @ ..] => {
                let end = self.text[at..]
                    .iter()
                    .position(|c| self.separators.contains(c))
                    .map_or(self.text.len(), |length| at + length);
                (at..=end).any(|next| self.run(rest, next))
            }
            ['?', rest @ ..] => self.plain(at) && self.run(rest, at + 1),
            ['[', rest @ ..] => match class(rest) {
                Some((class, rest)) => {
                    self.text.get(at).is_some_and(|c| class.has(*c)) && self.run(rest, at + 1)
                }
                None => self.literal('[', rest, at),
            },
            ['{', rest @ ..] => match alternatives(rest) {
                Some((choices, rest)) => choices
                    .iter()
                    .any(|choice| self.run(&[choice.as_slice(), rest].concat(), at)),
                None => self.literal('{', rest, at),
            },
            ['\\', quoted, rest @ ..] => self.literal(*quoted, rest, at),
            [c, rest @ ..] => self.literal(*c, rest, at),
        }
    }

    fn literal(&mut self, c: char, rest: &[char], at: usize) -> bool {
        self.text.get(at) == Some(&c) && self.run(rest, at + 1)
    }

    fn plain(&self, at: usize) -> bool {
        self.text
            .get(at)
            .is_some_and(|c| !self.separators.contains(c))
    }
}

/// What stands between `[` and `]`
struct Class<'a> {
    negated: bool,
    members: &'a [char],
}

impl Class<'_> {
    fn has(&self, c: char) -> bool {
        let mut members = self.members;
        let mut found = false;
        while let Some((first, rest)) = members.split_first() {
            if let ['-', last, after @ ..] = rest {
                found |= (*first..=*last).contains(&c);
                members = after;
            } else {
                found |= *first == c;
                members = rest;
            }
        }
        found != self.negated
    }
}

fn class(text: &[char]) -> Option<(Class<'_>, &[char])> {
    let (negated, text) = match text {
        ['!', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let end = text.iter().position(|c| *c == ']').filter(|end| *end > 0)?;
    let class = Class {
        negated,
        members: &text[..end],
    };
    Some((class, &text[end + 1..]))
}

/// Splits `one,two}rest` into its choices and the rest; braces may be nested
fn alternatives(text: &[char]) -> Option<(Vec<Vec<char>>, &[char])> {
    let mut depth = 0;
    let mut choices = vec![Vec::new()];
    let mut characters = text.iter().enumerate();
    while let Some((index, c)) = characters.next() {
        match c {
            '}' if depth == 0 => return Some((choices, &text[index + 1..])),
            ',' if depth == 0 => {
                choices.push(Vec::new());
                continue;
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        let choice = choices.last_mut().expect("there is always one");
        choice.push(*c);
        if *c == '\\' {
            choice.extend(characters.next().map(|(_, quoted)| *quoted));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_gitea_reads_them() {
        for (pattern, text, expected) in [
            ("main", "main", true),
            ("main", "main2", false),
            ("release/*", "release/1.0", true),
            ("release/*", "release/1/0", false),
            ("release/**", "release/1/0", true),
            ("v?", "v1", true),
            ("a?b", "a/b", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("{main,dev*}", "develop", true),
            ("x{a,{b,c}}y", "xcy", true),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
            ("[", "[", true),
            ("{a", "{a", true),
        ] {
            assert_eq!(
                matches(pattern, text, &['/']),
                expected,
                "`{pattern}` on `{text}`"
            );
        }
    }

    #[test]
    fn a_star_in_a_file_pattern_stops_at_a_dot() {
        assert!(names_file("docs/**; *.lock", "deps.LOCK"));
        assert!(!names_file("*.lock", "deps.old.lock"));
        assert!(!names_file("*.lock", "a/deps.lock"));
        assert!(!names_file("", "a"));
    }

    #[test]
    fn a_pattern_that_explodes_ends() {
        let pattern = format!("{}b", "*a".repeat(40));
        assert!(!matches(&pattern, &"a".repeat(200), &['/']));
    }
}
