//! Loose objects, read and written in place

use std::{
    fs,
    io::{ErrorKind, Read, Write},
    sync::atomic::{AtomicU64, Ordering},
};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};

use super::{Error, Oid, Repo, Result};

/// The four kinds of object
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Blob,
    Tree,
    Commit,
    Tag,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Tree => "tree",
            Self::Commit => "commit",
            Self::Tag => "tag",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "blob" => Some(Self::Blob),
            "tree" => Some(Self::Tree),
            "commit" => Some(Self::Commit),
            "tag" => Some(Self::Tag),
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) kind: Kind,
    pub(crate) data: Vec<u8>,
}

impl Repo {
    /// Read an object; a packed one is fetched by git itself
    pub(crate) fn read(&self, oid: Oid) -> Result<Object> {
        let file = match fs::File::open(self.loose(oid)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return self.read_packed(oid),
            Err(error) => return Err(error.into()),
        };
        let mut all = Vec::new();
        ZlibDecoder::new(file)
            .read_to_end(&mut all)
            .map_err(|_| Error::Damaged(oid))?;
        let end = all
            .iter()
            .position(|byte| *byte == 0)
            .ok_or(Error::Damaged(oid))?;
        let (kind, _) = header(&all[..end]).ok_or(Error::Damaged(oid))?;
        all.drain(..=end);
        Ok(Object { kind, data: all })
    }

    /// Kind and size of an object, without its bytes
    pub(crate) fn stat(&self, oid: Oid) -> Result<(Kind, u64)> {
        let file = match fs::File::open(self.loose(oid)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let object = self.read_packed(oid)?;
                return Ok((object.kind, object.data.len() as u64));
            }
            Err(error) => return Err(error.into()),
        };
        let mut start = [0; 64];
        let mut decoder = ZlibDecoder::new(file);
        let mut filled = 0;
        while filled < start.len() {
            match decoder
                .read(&mut start[filled..])
                .map_err(|_| Error::Damaged(oid))?
            {
                0 => break,
                read => filled += read,
            }
        }
        let end = start
            .iter()
            .position(|byte| *byte == 0)
            .ok_or(Error::Damaged(oid))?;
        header(&start[..end]).ok_or(Error::Damaged(oid))
    }

    pub(crate) fn read_kind(&self, oid: Oid, kind: Kind) -> Result<Vec<u8>> {
        let object = self.read(oid)?;
        if object.kind == kind {
            Ok(object.data)
        } else {
            Err(Error::Missing(oid))
        }
    }

    pub(crate) fn has(&self, oid: Oid) -> bool {
        self.loose(oid).exists() || self.read_packed(oid).is_ok()
    }

    /// Write an object and name it
    pub(crate) fn write(&self, kind: Kind, data: &[u8]) -> Result<Oid> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let oid = Oid::of(kind.name(), data);
        let path = self.loose(oid);
        if path.exists() {
            return Ok(oid);
        }
        let dir = path.parent().expect("an object lies in a fan-out folder");
        fs::create_dir_all(dir)?;
        let turn = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = dir.join(format!("tmp_obj_{}_{turn}", std::process::id()));
        let mut encoder = ZlibEncoder::new(fs::File::create(&temporary)?, Compression::fast());
        encoder.write_all(format!("{} {}\0", kind.name(), data.len()).as_bytes())?;
        encoder.write_all(data)?;
        encoder.finish()?;
        fs::rename(temporary, path)?;
        Ok(oid)
    }

    /// Follow tags down to a commit
    pub(crate) fn peel(&self, oid: Oid) -> Result<Option<Oid>> {
        let mut oid = oid;
        loop {
            let object = self.read(oid)?;
            match object.kind {
                Kind::Commit => return Ok(Some(oid)),
                Kind::Tag => match super::Tag::parse(&object.data) {
                    Some(tag) => oid = tag.target,
                    None => return Err(Error::Damaged(oid)),
                },
                Kind::Blob | Kind::Tree => return Ok(None),
            }
        }
    }

    fn loose(&self, oid: Oid) -> std::path::PathBuf {
        let hex = oid.to_string();
        let (dir, file) = hex.split_at(2);
        self.path().join("objects").join(dir).join(file)
    }

    fn read_packed(&self, oid: Oid) -> Result<Object> {
        let no_pack = fs::read_dir(self.path().join("objects/pack"))
            .map_or(true, |mut files| files.next().is_none());
        if no_pack && !self.path().join("objects/info/alternates").exists() {
            return Err(Error::Missing(oid));
        }
        let name = oid.to_string();
        let kind = self
            .git(&["cat-file", "-t", &name])
            .map_err(|_| Error::Missing(oid))?
            .text();
        let kind = Kind::parse(kind.trim()).ok_or(Error::Damaged(oid))?;
        let data = self.git(&["cat-file", kind.name(), &name])?.stdout;
        Ok(Object { kind, data })
    }
}

fn header(bytes: &[u8]) -> Option<(Kind, u64)> {
    let (kind, size) = std::str::from_utf8(bytes).ok()?.split_once(' ')?;
    Some((Kind::parse(kind)?, size.parse().ok()?))
}
