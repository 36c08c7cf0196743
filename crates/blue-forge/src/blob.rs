//! The id that git gives to a file's content

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

use super::model::Sha;

/// How a repository names its objects
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectFormat {
    Sha1,
    Sha256,
}

impl ObjectFormat {
    /// The format of a repository with this id in it
    pub(crate) fn of(sha: &Sha) -> Self {
        if sha.as_str().len() == 64 {
            Self::Sha256
        } else {
            Self::Sha1
        }
    }
}

pub(crate) fn blob_id(content: &[u8], format: ObjectFormat) -> Sha {
    let algorithm = match format {
        ObjectFormat::Sha1 => &SHA1_FOR_LEGACY_USE_ONLY,
        ObjectFormat::Sha256 => &SHA256,
    };
    let mut digest = Context::new(algorithm);
    digest.update(format!("blob {}\0", content.len()).as_bytes());
    digest.update(content);
    let mut hex = String::new();
    for byte in digest.finish().as_ref() {
        use std::fmt::Write as _;
        let _ = write!(hex, "{byte:02x}");
    }
    Sha::parse(&hex).expect("a digest in hexadecimal is an object id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        let id = |text: &[u8], format| blob_id(text, format).as_str().to_owned();
        assert_eq!(
            id(b"", ObjectFormat::Sha1),
            "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
        );
        assert_eq!(
            id(b"hello\n", ObjectFormat::Sha1),
            "ce013625030ba8dba906f756967f9e9ca394464a"
        );
        assert_eq!(
            id(b"", ObjectFormat::Sha256),
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
        );
    }
}
