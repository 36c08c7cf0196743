//! A child process that cannot outlive the tests
//!
//! libtest never drops statics, a panic may abort and a run may be killed. So the server is
//! started by a small shell that waits for the end of its own standard input, which the kernel
//! closes with the test process, however that ends; then it kills the server and removes its
//! folder. The shell has a process group of its own, so Ctrl-C reaches it only through that pipe.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

const SCRIPT: &str = r#"
dir=$1; shift
"$@" </dev/null &
server=$!
while read -r line; do :; done
kill -KILL "$server" 2>/dev/null
wait "$server" 2>/dev/null
rm -rf "$dir"
"#;

#[derive(Debug)]
pub(crate) struct Guard {
    shell: Child,
}

impl Guard {
    /// Start `program`; `dir` is removed when it has ended
    pub(crate) fn start(
        program: &Path,
        args: &[&OsStr],
        vars: &[(&str, &OsStr)],
        dir: &Path,
        log: &File,
    ) -> io::Result<Self> {
        let shell = Command::new("sh")
            .args(["-c", SCRIPT, "guard"])
            .arg(dir)
            .arg(program)
            .args(args)
            .env_clear()
            .envs(vars.iter().copied())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log.try_clone()?)
            .process_group(0)
            .spawn()?;
        Ok(Self { shell })
    }

    /// End the server now
    pub(crate) fn stop(mut self) {
        drop(self.shell.stdin.take());
        // Nothing can be done about a shell that is gone already.
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_child_and_its_folder_end_with_the_pipe() {
        let dir = tempfile::tempdir().unwrap().keep();
        let log = File::create(dir.join("log")).unwrap();
        let path: &OsStr = "/usr/local/bin:/usr/bin:/bin".as_ref();
        let script = "echo $$ > \"$0\"; exec sleep 600";
        let pid_file = dir.join("pid");
        let guard = Guard::start(
            Path::new("sh"),
            &["-c".as_ref(), script.as_ref(), pid_file.as_os_str()],
            &[("PATH", path)],
            &dir,
            &log,
        )
        .unwrap();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let pid = loop {
            let pid = std::fs::read_to_string(&pid_file).unwrap_or_default();
            if pid.ends_with('\n') {
                break pid.trim().to_owned();
            }
            assert!(std::time::Instant::now() < end, "the child did not start");
            std::thread::yield_now();
        };
        let alive = || {
            let kill = Command::new("kill")
                .args(["-0", &pid])
                .stderr(Stdio::null())
                .status();
            kill.unwrap().success()
        };
        assert!(alive());
        guard.stop();
        assert!(!alive());
        assert!(!dir.exists());
    }
}
