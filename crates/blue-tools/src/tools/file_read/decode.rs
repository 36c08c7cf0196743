//! Bytes as text, where they are text

/// What the bytes of a file are
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decoded {
    Text {
        text: String,
        /// Absent for UTF-8
        charset: Option<&'static str>,
    },
    Binary,
}

/// Windows-1252 from 0x80 on, where it differs from Latin-1
const HIGH: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

pub(super) fn text(bytes: &[u8]) -> Decoded {
    if let [0xFF, 0xFE, rest @ ..] = bytes {
        return utf16(rest, u16::from_le_bytes, "utf-16le");
    }
    if let [0xFE, 0xFF, rest @ ..] = bytes {
        return utf16(rest, u16::from_be_bytes, "utf-16be");
    }
    if bytes.contains(&0) {
        return Decoded::Binary;
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Decoded::Text {
            text: text.to_owned(),
            charset: None,
        };
    }
    // Text has line ends and tabs, perhaps form feeds and colours, and no other control codes.
    let text_like = |b: &u8| !b.is_ascii_control() || matches!(b, b'\t' | b'\n' | b'\r' | 12 | 27);
    if !bytes.iter().all(text_like) {
        return Decoded::Binary;
    }
    Decoded::Text {
        text: bytes.iter().map(|b| windows_1252(*b)).collect(),
        charset: Some("windows-1252"),
    }
}

/// The bytes that a text is in its charset
pub(super) fn bytes(text: &str, charset: Option<&str>) -> Vec<u8> {
    let wide = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect();
    match charset {
        Some("utf-16le") => wide(u16::to_le_bytes),
        Some("utf-16be") => wide(u16::to_be_bytes),
        Some("windows-1252") => text.chars().map(windows_1252_byte).collect(),
        _ => text.as_bytes().to_vec(),
    }
}

fn windows_1252_byte(c: char) -> u8 {
    match (HIGH.iter().position(|high| *high == c), u32::from(c)) {
        (Some(at), _) => 0x80 + u8::try_from(at).unwrap_or(0),
        (None, code) => u8::try_from(code).unwrap_or(b'?'),
    }
}

fn windows_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9F => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, charset: &'static str) -> Decoded {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    match char::decode_utf16(units).collect::<Result<String, _>>() {
        Ok(text) if rest.is_empty() => Decoded::Text {
            text,
            charset: Some(charset),
        },
        _ => Decoded::Binary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Option<(String, Option<&'static str>)> {
        match text(bytes) {
            Decoded::Text { text, charset } => Some((text, charset)),
            Decoded::Binary => None,
        }
    }

    #[test]
    fn a_text_goes_back_to_its_bytes() {
        let all: Vec<u8> = (0x20..=0xFF).collect();
        for bytes in [
            all.as_slice(),
            "naïve ✓\r\n".as_bytes(),
            b"\xff\xfeh\0\xe9\0",
            b"\xfe\xff\0h\0\xe9\xd8\x3d\xde\x00",
        ] {
            let (text, charset) = decoded(bytes).unwrap();
            let back = super::bytes(&text, charset);
            assert!(
                bytes.ends_with(&back) && bytes.len() - back.len() <= 2,
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn text_is_told_from_binary() {
        let utf8 = |text: &str| Some((text.to_owned(), None));
        assert_eq!(decoded(b""), utf8(""));
        assert_eq!(decoded("naïve ✓\r\n".as_bytes()), utf8("naïve ✓\r\n"));
        assert_eq!(decoded(b"\x1b[1mbold"), utf8("\x1b[1mbold"));
        let latin = Some(("caf\u{e9} “x”\n".to_owned(), Some("windows-1252")));
        assert_eq!(decoded(b"caf\xe9 \x93x\x94\n"), latin);
        let wide = Some(("hé".to_owned(), Some("utf-16le")));
        assert_eq!(decoded(b"\xff\xfeh\0\xe9\0"), wide);
        let wide = Some(("hé".to_owned(), Some("utf-16be")));
        assert_eq!(decoded(b"\xfe\xff\0h\0\xe9"), wide);
        for binary in [
            &b"a\0b"[..],
            b"\x89PNG\r\n\x1a\n",
            b"\xff\xd8\xff\xe0\x10",
            b"\xff\xfea",
        ] {
            assert_eq!(decoded(binary), None, "{binary:?}");
        }
    }
}
