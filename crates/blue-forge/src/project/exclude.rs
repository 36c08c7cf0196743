use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
};

use super::ForgeConfig;

/// The exclude file of a clone: patterns that git ignores there alone
#[derive(Debug, Clone)]
pub struct Exclude {
    path: PathBuf,
}

impl Exclude {
    /// `path` is what `git rev-parse --git-path info/exclude` prints
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Whether `.blue/config.yaml` is listed
    pub fn covers_config(&self) -> bool {
        self.text().is_ok_and(|text| text.lines().any(is_config))
    }

    /// Keep `.blue/config.yaml` out of `git status`
    pub fn hide_config(&self) -> io::Result<()> {
        let text = self.text()?;
        if text.lines().any(is_config) {
            return Ok(());
        }
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let gap = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        // One write at the end: what another program adds meanwhile is kept.
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)?;
        file.write_all(format!("{gap}/{}\n", ForgeConfig::PATH).as_bytes())
    }

    /// Let git see `.blue/config.yaml`, for a command by which a person writes settings that belong
    /// into the repository; false if it did already
    pub fn show_config(&self) -> io::Result<bool> {
        let text = self.text()?;
        let lines = text.split_inclusive('\n');
        let kept: String = lines.filter(|line| !is_config(line)).collect();
        if kept == text {
            return Ok(false);
        }
        blue_base::yaml::replace(&self.path, &kept, false)?;
        Ok(true)
    }

    fn text(&self) -> io::Result<String> {
        match fs::read(&self.path) {
            Ok(bytes) => String::from_utf8(bytes)
                .map_err(|_| io::Error::other("the exclude file of git is not text")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(error),
        }
    }
}

fn is_config(line: &str) -> bool {
    line.trim_end().strip_prefix('/') == Some(ForgeConfig::PATH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_added_once_and_removed_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("info/exclude");
        let exclude = Exclude::at(&path);
        let text = || fs::read_to_string(&path).unwrap();
        assert!(!exclude.covers_config() && !exclude.show_config().unwrap());
        for _ in 0..2 {
            exclude.hide_config().unwrap();
            assert_eq!(text(), "/.blue/config.yaml\n");
            assert!(exclude.covers_config());
        }
        fs::write(&path, "# mine\r\n*.log").unwrap();
        exclude.hide_config().unwrap();
        assert_eq!(text(), "# mine\r\n*.log\n/.blue/config.yaml\n");
        assert!(exclude.show_config().unwrap());
        assert_eq!(text(), "# mine\r\n*.log\n");
        assert!(!exclude.show_config().unwrap());
    }
}
