//! Object names

use std::fmt;

use ring::digest;

/// The name of a git object (SHA-1)
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Oid([u8; 20]);

impl Oid {
    pub(crate) const ZERO: Self = Self([0; 20]);
    /// The tree without entries
    pub(crate) const EMPTY_TREE: Self = Self([
        0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92,
        0x88, 0xfb, 0xee, 0x49, 0x04,
    ]);

    /// Read 40 hexadecimal digits; upper case is accepted as git does
    pub(crate) fn parse(hex: &str) -> Option<Self> {
        let digits = hex.as_bytes();
        if digits.len() != 40 {
            return None;
        }
        let mut raw = [0; 20];
        for (byte, pair) in raw.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Some(Self(raw))
    }

    pub(crate) fn from_raw(raw: &[u8]) -> Option<Self> {
        raw.try_into().ok().map(Self)
    }

    pub(crate) fn raw(&self) -> &[u8; 20] {
        &self.0
    }

    pub(crate) fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    /// Name the bytes of an object with its header
    pub(crate) fn of(kind: &str, data: &[u8]) -> Self {
        let mut hash = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
        hash.update(format!("{kind} {}\0", data.len()).as_bytes());
        hash.update(data);
        Self::from_raw(hash.finish().as_ref()).expect("SHA-1 has 20 bytes")
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl serde::Serialize for Oid {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl rusqlite::ToSql for Oid {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(self.to_string().into())
    }
}

impl rusqlite::types::FromSql for Oid {
    fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
        Self::parse(value.as_str()?).ok_or(rusqlite::types::FromSqlError::InvalidType)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_objects_as_git_does() {
        assert_eq!(Oid::of("tree", b""), Oid::EMPTY_TREE);
        assert_eq!(
            Oid::of("blob", b"hello\n").to_string(),
            "ce013625030ba8dba906f756967f9e9ca394464a"
        );
        assert_eq!(Oid::parse("ce01"), None);
        assert_eq!(Oid::parse(&"g".repeat(40)), None);
    }
}
