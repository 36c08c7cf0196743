//! A PostgreSQL of our own: a new cluster in a temporary folder, stopped when dropped

use std::{
    fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};

use crate::{Settings, Skip, report::say_once};

/// A running server, reached by a socket in its folder
#[derive(Debug)]
pub struct Postgres {
    dir: tempfile::TempDir,
    programs: PathBuf,
}

impl Postgres {
    /// Starts a server; `None`, reported once, if PostgreSQL is not installed and not required
    #[must_use]
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            let skip = Skip::new("there is no PostgreSQL below /usr/lib/postgresql");
            assert!(!Settings::get().requires("postgres"), "postgres: {skip}");
            say_once("postgres", &skip);
            return None;
        };
        Some(Self::start_with(programs).expect("a PostgreSQL that is installed starts"))
    }

    fn start_with(programs: PathBuf) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        if let Some((user, group)) = servant() {
            std::os::unix::fs::chown(dir.path(), Some(user), Some(group))?;
        }
        let server = Self { dir, programs };
        let data = server.data();
        server.run(
            "initdb",
            &[
                "-D",
                &data,
                "-U",
                "blue",
                "-A",
                "trust",
                "--no-sync",
                "-E",
                "UTF8",
            ],
        )?;
        let folder = server.dir.path().display();
        let options =
            format!("-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off");
        server.run(
            "pg_ctl",
            &[
                "-D",
                &data,
                "-w",
                "-o",
                &options,
                "-l",
                "/dev/null",
                "start",
            ],
        )?;
        Ok(server)
    }

    /// Make an empty database and give its address
    pub fn database(&self, name: &str) -> Result<String> {
        let folder = self.dir.path().to_str().context("a path of text")?;
        self.run("createdb", &["-h", folder, "-U", "blue", name])?;
        let folder =
            percent_encoding::utf8_percent_encode(folder, percent_encoding::NON_ALPHANUMERIC);
        Ok(format!("postgres://blue@localhost/{name}?host={folder}"))
    }

    fn data(&self) -> String {
        self.dir.path().join("data").display().to_string()
    }

    fn run(&self, program: &str, args: &[&str]) -> Result<()> {
        let mut command = Command::new(self.programs.join(program));
        command
            .args(args)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        if let Some((user, group)) = servant() {
            command.uid(user).gid(group);
        }
        // A file, no pipe: the server that `pg_ctl` starts would hold a pipe open for ever.
        let log = self.dir.path().join("log");
        command.stderr(fs::File::create(&log)?);
        let status = command.status().with_context(|| program.to_owned())?;
        let told = fs::read_to_string(&log).unwrap_or_default();
        ensure!(status.success(), "{program}: {told}");
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The folder goes away in any case.
        let _ = self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "stop"]);
    }
}

/// The newest version that Debian's packages put here
fn programs() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|bin| bin.join("initdb").is_file())
        .collect();
    found.sort();
    found.pop()
}

/// PostgreSQL refuses to run as root; then it runs as the user that its package made
fn servant() -> Option<(u32, u32)> {
    let root =
        fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
    if !root {
        return None;
    }
    let users = fs::read_to_string(Path::new("/etc/passwd")).ok()?;
    let fields: Vec<&str> = users
        .lines()
        .find(|line| line.starts_with("postgres:"))?
        .split(':')
        .collect();
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}
