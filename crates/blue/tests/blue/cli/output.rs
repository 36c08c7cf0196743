//! Colour, pipes, logs and settings

use std::{
    io::{BufRead, BufReader, Read},
    process::Stdio,
};

use super::Blue;

const DETECT: &[&str] = &["forge", "detect", "https://github.com/alice/demo"];

#[test]
fn colour_only_when_wanted() {
    let plain = Blue::new().run(DETECT).success();
    assert!(!plain.stdout.contains('\x1b'), "{plain:?}");
    let forced = Blue::new().var("CLICOLOR_FORCE", "1").run(DETECT).success();
    assert!(forced.stdout.contains('\x1b'), "{forced:?}");
    let never = Blue::new().var("CLICOLOR_FORCE", "1").var("NO_COLOR", "1");
    assert_eq!(never.run(DETECT).stdout, plain.stdout);
    for args in [&["--help"][..], &["frge"]] {
        let ran = never.run(args);
        assert!(!format!("{ran}").contains('\x1b'), "{ran:?}");
    }
    let json = Blue::new()
        .var("CLICOLOR_FORCE", "1")
        .run(&[DETECT, &["--json"]].concat());
    assert!(!json.stdout.contains('\x1b'), "{json:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Blue::new()
        .command(&["--help"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
    assert_eq!(stderr, "");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_a_failure() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = Blue::new().command(DETECT).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .starts_with("error: could not write")
    );
}

#[test]
fn logs_go_to_stderr_and_only_when_asked_for() {
    let quiet = Blue::new().run(DETECT).success();
    assert_eq!(quiet.stderr, "");
    let wrong = Blue::new().var("BLUE_LOG", "blue=loud").run(DETECT);
    assert_eq!(wrong.code, Some(64), "{wrong}");
    assert!(
        wrong
            .stderr
            .starts_with("error: BLUE_LOG: `blue=loud` is not a log filter"),
        "{wrong}"
    );
    let wrong = Blue::new()
        .var("BLUE_LOG", "blue=loud")
        .run(&[DETECT, &["--json"]].concat());
    assert_eq!(
        (wrong.code, wrong.json()["error"]["code"].as_str()),
        (Some(64), Some("config"))
    );
}

#[test]
fn a_certificate_file_that_is_not_there_is_refused() {
    let ran = Blue::new()
        .var("BLUE_CA_FILE", "/nowhere/ca.pem")
        .run(DETECT);
    assert_eq!(ran.code, Some(64), "{ran}");
    assert_eq!(
        ran.stderr,
        "error: BLUE_CA_FILE: `/nowhere/ca.pem` is not a file\n"
    );
}

#[test]
#[cfg(unix)]
fn a_setting_that_is_no_text_is_refused() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    let blue = Blue::new();
    let mut command = blue.command(DETECT);
    let output = command
        .env("FORGEJO_URL", OsStr::from_bytes(b"\xff"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(64));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr, "error: FORGEJO_URL: not valid UTF-8\n");
}

#[test]
fn one_line_is_enough_for_a_script() {
    let blue = Blue::new();
    let mut child = blue
        .command(&["sandbox", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert!(line.starts_with("{\"url\":\"http://127.0.0.1:"), "{line}");
    child.kill().unwrap();
    child.wait().unwrap();
}
