//! What people see, as functions of what is known

pub(crate) mod connections;
pub(crate) mod consent;
pub(crate) mod home;
pub(crate) mod onward;

use blue_base::text::clean_line;
use jiff::{Timestamp, tz::TimeZone};

/// A self-chosen name as one short line without characters that could change the text around it
pub(crate) fn plain(name: &str) -> String {
    const MOST: usize = 60;
    let line = clean_line(name);
    if line.is_empty() {
        return "An app without a name".to_owned();
    }
    if line.chars().count() <= MOST {
        return line;
    }
    let start: String = line.chars().take(MOST - 1).collect();
    format!("{start}…")
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
            ("\u{3164}\u{2800}", "An app without a name"),
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
