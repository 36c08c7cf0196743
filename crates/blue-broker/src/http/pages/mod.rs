//! What people see, as functions of what is known

pub(crate) mod connections;
pub(crate) mod consent;
pub(crate) mod onward;

use jiff::{Timestamp, tz::TimeZone};

/// A name that somebody gave themselves, as one short line that cannot disturb what is around it
pub(crate) fn plain(name: &str) -> String {
    const MOST: usize = 60;
    let spaced = name
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c });
    let shown: String = spaced.filter(|c| !disturbs(*c)).collect();
    let words: Vec<_> = shown.split_whitespace().collect();
    let line = words.join(" ");
    if line.is_empty() {
        return "An app without a name".to_owned();
    }
    if line.chars().count() <= MOST {
        return line;
    }
    let start: String = line.chars().take(MOST - 1).collect();
    format!("{start}…")
}

/// Characters that are not seen, or turn the direction of what follows
fn disturbs(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{2028}' | '\u{2029}' | '\u{feff}'
        )
        || ('\u{200b}'..='\u{200f}').contains(&c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2060}'..='\u{206f}').contains(&c)
        || ('\u{fff0}'..='\u{fffb}').contains(&c)
        || ('\u{e0000}'..='\u{e0fff}').contains(&c)
}

/// `2 May 2027, 14:05 UTC`
fn day(time: Timestamp) -> String {
    let time = time.to_zoned(TimeZone::UTC);
    time.strftime("%-d %b %Y, %H:%M UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_short_line() {
        for (name, shown) in [
            ("Claude", "Claude"),
            ("  a\n\tb ", "a b"),
            ("\u{202e}live\u{200b}", "live"),
            ("\u{7}", "An app without a name"),
            ("", "An app without a name"),
            ("日本語", "日本語"),
        ] {
            assert_eq!(plain(name), shown, "{name:?}");
        }
        let long = plain(&"é".repeat(500));
        assert_eq!(long.chars().count(), 60);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn days_are_readable() {
        let time = Timestamp::from_second(1_800_000_000).unwrap();
        assert_eq!(day(time), "15 Jan 2027, 08:00 UTC");
    }
}
