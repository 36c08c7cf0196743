//! Words that come from elsewhere, made safe to show

/// Longest text of a forge that is kept
const MAX_CHARS: usize = 4_000;

/// Remove control, invisible and direction-changing characters from a text of a forge
///
/// Line breaks and tabs become spaces: a message is one line.
pub fn clean_line(text: &str) -> String {
    let mut out = String::new();
    let shown = text
        .chars()
        .filter(|c| is_separator(*c) || !is_hidden(*c))
        .take(MAX_CHARS);
    for c in shown {
        // A Braille pattern without dots is blank, too; in longer texts it is part of pictures.
        let c = if c.is_whitespace() || c == '\u{2800}' {
            ' '
        } else {
            c
        };
        if c == ' ' && out.ends_with(' ') {
            continue;
        }
        out.push(c);
    }
    out.trim().to_owned()
}

/// Remove control, invisible and direction-changing characters; line breaks and tabs stay
pub fn clean(text: &str) -> String {
    text.chars().filter(|c| !is_hidden(*c)).collect()
}

/// Show a name as it is, with what cannot be seen in it written out: `ma\u{200b}in` is not `main`
///
/// For names, paths and references, and texts that name them. Line breaks and tabs stay, and so do
/// the marks that make an emoji of several characters.
pub fn reveal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        let in_emoji = matches!(c, '\u{fe0f}' | '\u{200d}') && before >= '\u{2190}';
        if is_hidden(c) && !in_emoji {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        before = c;
    }
    out
}

/// Whether this is a Unicode line or paragraph separator, which most programs do not treat as a line break
fn is_separator(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

fn is_hidden(c: char) -> bool {
    if matches!(c, '\n' | '\t' | '\r') {
        return false;
    }
    c.is_control()
        || is_separator(c)
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_go_and_words_stay() {
        assert_eq!(
            clean_line("a\u{200b}b\u{202e}c\u{1b}[31m\r\n d"),
            "abc[31m d"
        );
        assert_eq!(clean("one\ntwo\u{0}"), "one\ntwo");
        assert_eq!(clean_line("naïve 日本 ✓"), "naïve 日本 ✓");
        let blank =
            "\u{3164}\u{2800}\u{115f}\u{ffa0}\u{fe0f}\u{34f}\u{17b4}\u{e01ef}\u{2028}\u{1d173}";
        assert_eq!(clean_line(blank), "");
        assert_eq!(clean_line(&format!("a{blank}b")), "a b");
        assert_eq!(clean_line("a\u{2028}b\u{1d173}c"), "a bc");
        assert_eq!(clean("a\u{2028}b\u{2029}c\u{1d173}"), "abc");
    }

    #[test]
    fn names_that_look_alike_are_told_apart() {
        assert_eq!(reveal("ma\u{200b}in"), r"ma\u{200b}in");
        assert_eq!(reveal("\u{202e}niam\u{1b}"), r"\u{202e}niam\u{1b}");
        assert_eq!(reveal("main\u{fe0f}"), r"main\u{fe0f}");
        for plain in ["feat/naïve 日本", "▶\u{fe0f} build", "👩\u{200d}🚀"] {
            assert_eq!(reveal(plain), plain);
        }
    }
}
