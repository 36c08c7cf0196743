//! Real Gitea and Forgejo, as their own programs

use std::{
    ffi::OsStr,
    fmt::Write as _,
    fs::{self, File},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use url::Url;

use super::{Life, Server, StartError, Started, admin, guard::Guard, host};
use crate::{Settings, Skip, eventually, lab::http_client};

pub(crate) const GITEA_VERSION: &str = "1.26.0";

/// Where the bare repositories are, in the server's folder
const REPOSITORIES: &str = "repositories";

const ADMIN: &str = "root-admin";
const PASSWORD: &str = "Admin-pass-1";

/// The real Gitea, started at first use
pub(crate) fn gitea() -> &'static Started {
    static SERVER: OnceLock<Started> = OnceLock::new();
    SERVER.get_or_init(|| Ok(start(&find_gitea(Settings::get())?)?))
}

/// A real Forgejo where one is given, started at first use
pub(crate) fn forgejo() -> &'static Started {
    static SERVER: OnceLock<Started> = OnceLock::new();
    SERVER.get_or_init(|| Ok(start(&find_forgejo(Settings::get())?)?))
}

struct Program {
    path: PathBuf,
    /// Templates and locales, unless they are inside the program
    files: Option<PathBuf>,
}

fn find_gitea(settings: &Settings) -> Result<Program, StartError> {
    let skip = |why: String| StartError::Skip(Skip { why });
    if !settings.gitea {
        return Err(skip("BLUE_TEST_GITEA is not set".to_owned()));
    }
    let Some(cache) = &settings.cache else {
        return Err(skip("neither BLUE_TEST_CACHE nor HOME is set".to_owned()));
    };
    let dir = cache.join(format!("gitea-{GITEA_VERSION}"));
    let (path, files) = (dir.join("gitea"), dir.join("static"));
    if !path.is_file() || !files.is_dir() {
        return Err(skip(format!(
            "no Gitea in `{}`; e2e/install/gitea.sh builds it",
            dir.display()
        )));
    }
    Ok(Program {
        path,
        files: Some(files),
    })
}

fn find_forgejo(settings: &Settings) -> Result<Program, StartError> {
    let Some(path) = settings.forgejo_bin.clone() else {
        return Err(StartError::Skip(Skip::new(
            "BLUE_TEST_FORGEJO_BIN is not set",
        )));
    };
    if !path.is_file() {
        return Err(StartError::Broken(format!(
            "BLUE_TEST_FORGEJO_BIN: there is no file `{}`",
            path.display()
        )));
    }
    Ok(Program {
        path,
        files: settings.forgejo_static.clone(),
    })
}

fn start(program: &Program) -> Result<Server> {
    // The port is free now and perhaps not a moment later: then the next one is tried.
    let mut last = None;
    for _ in 0..3 {
        match start_once(program) {
            Ok(server) => return Ok(server),
            Err(error) => last = Some(error),
        }
    }
    Err(last.expect("three tries gave three errors"))
}

fn start_once(program: &Program) -> Result<Server> {
    let dir = tempfile::Builder::new().prefix("blue-forge-").tempdir()?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let url = Url::parse(&format!("http://127.0.0.1:{port}/"))?;
    let place = Place {
        program: &program.path,
        config: dir.path().join("app.ini"),
        dir: dir.keep(),
    };
    let ini = app_ini(&url, &place.dir, program.files.as_deref(), is_root());
    fs::write(&place.config, ini)?;
    let log = File::create(place.dir.join("server.log"))?;
    let args = place.args(&["web"]);
    let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
    let guard = Guard::start(&program.path, &args, &place.vars(), &place.dir, &log)
        .with_context(|| format!("`{}` cannot be started", program.path.display()))?;
    match set_up(&place, &url) {
        Ok(token) => Ok(Server {
            url,
            admin: admin(ADMIN, PASSWORD, &token),
            repositories: Some(place.dir.join(REPOSITORIES)),
            judge: None,
            life: Life::Process(guard),
        }),
        Err(error) => {
            let log = fs::read_to_string(place.dir.join("server.log")).unwrap_or_default();
            guard.stop();
            Err(error.context(tail(&log, 2000).to_owned()))
        }
    }
}

/// Wait until the server is healthy and give it an administrator with a token
fn set_up(place: &Place<'_>, url: &Url) -> Result<String> {
    let health = url.join("api/healthz")?;
    host().block_on(async {
        let client = http_client();
        eventually("the server is healthy", Duration::from_secs(90), || async {
            let answer = client.get(health.clone()).send().await;
            Ok(answer.is_ok_and(|a| a.status().is_success()).then_some(()))
        })
        .await
    })?;
    let mail = format!("{ADMIN}@example.org");
    let create = [
        "admin",
        "user",
        "create",
        "--admin",
        "--username",
        ADMIN,
        "--password",
    ];
    let create = [
        &create[..],
        &[PASSWORD, "--email", &mail, "--must-change-password=false"],
    ];
    place.run(&create.concat())?;
    let token = [
        "admin",
        "user",
        "generate-access-token",
        "--username",
        ADMIN,
    ];
    let token = [
        &token[..],
        &["--token-name", "tests", "--scopes", "all", "--raw"],
    ];
    let said = place.run(&token.concat())?;
    match said.lines().last().map(str::trim) {
        Some(token) if token.len() == 40 => Ok(token.to_owned()),
        _ => bail!("no token in `{said}`"),
    }
}

struct Place<'a> {
    program: &'a Path,
    config: PathBuf,
    dir: PathBuf,
}

impl Place<'_> {
    fn args(&self, command: &[&str]) -> Vec<std::ffi::OsString> {
        let mut args: Vec<std::ffi::OsString> = vec!["--config".into(), self.config.clone().into()];
        args.extend(["--work-path".into(), self.dir.clone().into()]);
        args.extend(command.iter().map(Into::into));
        args
    }

    fn vars(&self) -> [(&'static str, &OsStr); 4] {
        let path: &OsStr = Settings::get().path().as_ref();
        let dir = self.dir.as_os_str();
        [
            ("PATH", path),
            ("HOME", dir),
            ("TMPDIR", dir),
            ("GIT_CONFIG_NOSYSTEM", "1".as_ref()),
        ]
    }

    fn run(&self, command: &[&str]) -> Result<String> {
        let Output {
            status,
            stdout,
            stderr,
        } = Command::new(self.program)
            .args(self.args(command))
            .env_clear()
            .envs(self.vars())
            .output()?;
        let said = String::from_utf8_lossy(&stdout).into_owned();
        if !status.success() {
            bail!(
                "`{}` failed: {said}{}",
                command[..3].join(" "),
                String::from_utf8_lossy(&stderr)
            );
        }
        Ok(said)
    }
}

/// What the server needs, plus what makes many small tests quick; nothing that changes an answer
fn app_ini(url: &Url, dir: &Path, files: Option<&Path>, root: bool) -> String {
    let mut ini = String::new();
    if root {
        ini.push_str("I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true\n");
    }
    let port = url.port().unwrap_or(80);
    let _ = write!(
        ini,
        "[server]\nHTTP_ADDR = 127.0.0.1\nHTTP_PORT = {port}\nROOT_URL = {url}\n\
         OFFLINE_MODE = true\n"
    );
    if let Some(files) = files {
        let _ = writeln!(ini, "STATIC_ROOT_PATH = {}", files.display());
    }
    let repositories = dir.join(REPOSITORIES);
    let _ = write!(ini, "[repository]\nROOT = {}\n", repositories.display());
    ini.push_str(
        "[database]\nDB_TYPE = sqlite3\nSQLITE_JOURNAL_MODE = WAL\nSQLITE_TIMEOUT = 20000\n\
         [security]\nINSTALL_LOCK = true\nPASSWORD_HASH_ALGO = pbkdf2$1000$50\n\
         SUCCESSFUL_TOKENS_CACHE_SIZE = 2000\n\
         [actions]\nENABLED = true\n\
         [migrations]\nALLOW_LOCALNETWORKS = true\n\
         [indexer]\nISSUE_INDEXER_TYPE = db\n\
         [log]\nLEVEL = warn\n",
    );
    ini
}

fn is_root() -> bool {
    Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|out| out.stdout.trim_ascii() == b"0")
}

fn tail(text: &str, max: usize) -> &str {
    let mut start = text.len().saturating_sub(max);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_not_asked_for_is_skipped() {
        let none = Settings::default();
        assert!(matches!(find_gitea(&none), Err(StartError::Skip(_))));
        assert!(matches!(find_forgejo(&none), Err(StartError::Skip(_))));
    }

    #[test]
    fn a_wrong_forgejo_is_no_skip() {
        let settings = Settings {
            forgejo_bin: Some("/no/such/forgejo".into()),
            ..Settings::default()
        };
        assert!(matches!(
            find_forgejo(&settings),
            Err(StartError::Broken(_))
        ));
    }

    #[test]
    fn only_root_confesses() {
        let url = Url::parse("http://127.0.0.1:3000/").unwrap();
        let dir = Path::new("/srv");
        assert!(!app_ini(&url, dir, None, false).contains("UNSAFE"));
        assert!(app_ini(&url, dir, None, true).starts_with("I_AM_BEING_UNSAFE"));
    }
}
