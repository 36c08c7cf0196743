use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// Largest file that is read
const MAX_BYTES: u64 = 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("not a file")]
    NotFile,
    #[error("larger than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("not UTF-8 text")]
    NotText,
}

/// Read a small text file; one that is not there is `None`
pub fn read_small(path: &Path) -> Result<Option<String>, ReadError> {
    // Looked at before it is opened: opening a pipe waits for a writer.
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() => {}
        Ok(_) => return Err(ReadError::NotFile),
        Err(e) if is_absent(&e) => return Ok(None),
        Err(e) => return Err(e.into()),
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ReadError::TooLarge);
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| ReadError::NotText)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Put a text in the place of a file at once: a reader sees the old one or the new one
///
/// `private` keeps it from other users; otherwise it has the rights of the file it replaces.
pub fn replace(path: &Path, text: &str, private: bool) -> io::Result<()> {
    let (temp, mut file) = create_beside(path, private)?;
    let written = (|| {
        if !private && let Ok(meta) = fs::metadata(path) {
            file.set_permissions(meta.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temp, path)
    })();
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&temp);
    }
    written
}

fn create_beside(path: &Path, private: bool) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut tries = 0;
    loop {
        let temp = path.with_file_name(format!(".{name}.{}-{tries}.tmp", std::process::id()));
        match options.open(&temp) {
            Ok(file) => return Ok((temp, file)),
            // Left by a process that was killed and had this number.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && tries < 100 => tries += 1,
            Err(e) => return Err(e),
        }
    }
}
