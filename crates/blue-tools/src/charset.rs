//! Bytes as text, where they are text, and text as the same kind of bytes

/// How a text is written
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    Utf8,
    Windows1252,
    Utf16Le,
    Utf16Be,
}

/// Windows-1252 from 0x80 on, where it differs from Latin-1
const HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The text of a file; nothing for a binary one
///
/// [`Charset::encode`] makes the very same bytes of it again.
pub(crate) fn decode(bytes: &[u8]) -> Option<(String, Charset)> {
    if let [0xFF, 0xFE, rest @ ..] = bytes {
        return Some((utf16(rest, u16::from_le_bytes)?, Charset::Utf16Le));
    }
    if let [0xFE, 0xFF, rest @ ..] = bytes {
        return Some((utf16(rest, u16::from_be_bytes)?, Charset::Utf16Be));
    }
    if bytes.contains(&0) {
        return None;
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some((text.to_owned(), Charset::Utf8));
    }
    // Text has line ends and tabs, perhaps form feeds and colours, and no other control codes.
    let text_like = |b: &u8| !b.is_ascii_control() || matches!(b, b'\t' | b'\n' | b'\r' | 12 | 27);
    if !bytes.iter().all(text_like) {
        return None;
    }
    let text = bytes.iter().map(|b| from_1252(*b)).collect();
    Some((text, Charset::Windows1252))
}

impl Charset {
    /// As answers call it; UTF-8 goes without saying
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Utf8 => None,
            Self::Windows1252 => Some("windows-1252"),
            Self::Utf16Le => Some("utf-16le"),
            Self::Utf16Be => Some("utf-16be"),
        }
    }

    /// The text as bytes, or the first character that cannot be written so
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        let utf16 = |unit: fn(u16) -> [u8; 2]| {
            let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
            units.flat_map(unit).collect()
        };
        Ok(match self {
            Self::Utf8 => text.as_bytes().to_vec(),
            Self::Windows1252 => text
                .chars()
                .map(|c| to_1252(c).ok_or(c))
                .collect::<Result<_, _>>()?,
            Self::Utf16Le => utf16(u16::to_le_bytes),
            Self::Utf16Be => utf16(u16::to_be_bytes),
        })
    }
}

fn from_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9F => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

fn to_1252(letter: char) -> Option<u8> {
    let high = HIGH.iter().zip(0x80..).find(|(high, _)| **high == letter);
    match (high, u8::try_from(letter)) {
        (None, Ok(0x80..=0x9F) | Err(_)) => None,
        (Some((_, byte)), _) | (None, Ok(byte)) => Some(byte),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    let text = char::decode_utf16(units)
        .collect::<Result<String, _>>()
        .ok()?;
    rest.is_empty().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_from_binary_and_becomes_the_same_bytes_again() {
        for (bytes, text, charset) in [
            (&b""[..], "", Charset::Utf8),
            ("naïve ✓\r\n".as_bytes(), "naïve ✓\r\n", Charset::Utf8),
            (b"\x1b[1mbold", "\x1b[1mbold", Charset::Utf8),
            (
                b"caf\xe9 \x93x\x94\x81\n",
                "caf\u{e9} “x”\u{81}\n",
                Charset::Windows1252,
            ),
            (b"\xff\xfeh\0\xe9\0", "hé", Charset::Utf16Le),
            (b"\xfe\xff\0h\xd8\x3d\xde\0", "h😀", Charset::Utf16Be),
        ] {
            assert_eq!(decode(bytes), Some((text.to_owned(), charset)));
            assert_eq!(charset.encode(text).as_deref(), Ok(bytes), "{text}");
        }
        for binary in [
            &b"a\0b"[..],
            b"\x89PNG\r\n\x1a\n",
            b"\xff\xd8\xff\xe0\x10",
            b"\xff\xfea",
            b"\xff\xfe\0\xd8",
        ] {
            assert_eq!(decode(binary), None, "{binary:?}");
        }
    }

    #[test]
    fn a_small_set_of_characters_takes_no_others() {
        assert_eq!(
            Charset::Windows1252.encode("€ ÿ"),
            Ok(b"\x80 \xff".to_vec())
        );
        for other in ['✓', '\u{80}', 'Ā'] {
            let text = format!("a{other}");
            assert_eq!(Charset::Windows1252.encode(&text), Err(other));
        }
    }
}
