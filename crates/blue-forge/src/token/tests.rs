use std::{fs, path::Path};

use jiff::Timestamp;

use super::{resolve::Resolved, *};
use crate::{ForgeType, detect::DetectedType};
use blue_testkit::GitRepo as Repo;

fn host(text: &str) -> Host {
    Host::parse(text).unwrap()
}

fn forgejo(name: &str) -> Want {
    Want {
        host: host(name),
        kind: DetectedType::Forgejo,
        family: ForgeType::Forgejo,
        api: format!("https://{name}/api/v1/").parse().unwrap(),
        web: format!("https://{name}/").parse().unwrap(),
        username: None,
        confirmed: Confirmed::HostAndType,
        named_by: "the remote",
        guess: false,
    }
}

fn github(name: &str) -> Want {
    let api = match name {
        "github.com" => "https://api.github.com/".to_owned(),
        name => format!("https://{name}/api/v3/"),
    };
    Want {
        kind: DetectedType::GitHub,
        family: ForgeType::GitHub,
        api: api.parse().unwrap(),
        ..forgejo(name)
    }
}

struct Bench {
    dir: tempfile::TempDir,
    vars: Vars,
}

impl Bench {
    fn new(vars: &[(&str, &str)]) -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            vars: vars.iter().copied().collect(),
        }
    }

    fn with_hosts(self, text: &str) -> Self {
        fs::write(self.dir.path().join("hosts.yaml"), text).unwrap();
        self
    }

    fn file(&self) -> HostsFile {
        HostsFile::new(self.dir.path(), None)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.dir.path().join("hosts.yaml")).unwrap_or_default()
    }

    async fn ask(&self, want: &Want) -> Result<Resolved, TokenError> {
        let places = Places {
            vars: &self.vars,
            hosts: &self.file(),
            git: None,
            dir: Path::new("."),
            now: Timestamp::UNIX_EPOCH,
        };
        resolve(places, want).await
    }

    async fn token(&self, want: &Want) -> Option<(String, String)> {
        let found = self.ask(want).await.unwrap();
        let credential = found.credential?;
        assert_eq!(Some(&credential.host), Host::of_url(&want.api).as_ref());
        Some((
            credential.token.expose().to_owned(),
            found.source.unwrap().to_string(),
        ))
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it is compared with an answer")]
fn some(token: &str, source: &str) -> Option<(String, String)> {
    Some((token.to_owned(), source.to_owned()))
}

#[tokio::test]
async fn a_home_that_cannot_be_written_to_does_not_fail_a_read() {
    let bench = Bench::new(&[("GITHUB_TOKEN", "a"), ("FORGEJO_TOKEN", "c")]);
    // A file where the folder should be: no permission lets anyone write below it.
    let home = bench.dir.path().join("home");
    fs::write(&home, "").unwrap();
    let hosts = HostsFile::new(&home.join("blue"), None);
    let ask = async |want: &Want| {
        let places = Places {
            vars: &bench.vars,
            hosts: &hosts,
            git: None,
            dir: Path::new("."),
            now: Timestamp::UNIX_EPOCH,
        };
        resolve(places, want).await
    };
    // It belongs there by its nature.
    let natural = ask(&github("github.com")).await.unwrap();
    assert_eq!(natural.credential.unwrap().token.expose(), "a");
    // Where nothing can be recorded, each host would be the first: the token stays here.
    for name in ["x.example", "y.example"] {
        let found = ask(&forgejo(name)).await.unwrap();
        assert!(found.credential.is_none(), "{name}");
        let notice = found.notice.unwrap();
        assert!(
            notice.contains("`FORGEJO_TOKEN` is not sent") && notice.contains("`FORGEJO_URL`"),
            "{notice}"
        );
    }
}

#[tokio::test]
async fn variables_have_an_order() {
    let all = [
        ("GITHUB_TOKEN", "a"),
        ("GH_TOKEN", "b"),
        ("FORGEJO_TOKEN", "c"),
        ("GITEA_TOKEN", "d"),
    ];
    let bench = Bench::new(&all);
    assert_eq!(
        bench.token(&github("github.com")).await,
        some("a", "`GITHUB_TOKEN`")
    );
    assert_eq!(
        bench.token(&forgejo("x.example")).await,
        some("c", "`FORGEJO_TOKEN`")
    );
    let bench = Bench::new(&[("GITHUB_TOKEN", " "), all[1], ("FORGEJO_TOKEN", ""), all[3]]);
    assert_eq!(
        bench.token(&github("github.com")).await,
        some("b", "`GH_TOKEN`")
    );
    assert_eq!(
        bench.token(&forgejo("x.example")).await,
        some("d", "`GITEA_TOKEN`")
    );
    let bench = Bench::new(&[]);
    assert_eq!(bench.token(&github("github.com")).await, None);
}

#[tokio::test]
async fn a_variable_may_name_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    fs::write(&path, "abc\n").unwrap();
    let path = path.to_str().unwrap();
    let bench = Bench::new(&[("GITEA_TOKEN_FILE", path)]);
    let source = format!("the file `{path}` of `GITEA_TOKEN_FILE`");
    assert_eq!(
        bench.token(&forgejo("x.example")).await,
        some("abc", &source)
    );
    fs::write(path, " \n").unwrap();
    let error = bench.ask(&forgejo("x.example")).await.unwrap_err();
    assert!(matches!(error, TokenError::EmptyFile { .. }));
    fs::remove_file(path).unwrap();
    let error = bench.ask(&forgejo("x.example")).await.unwrap_err();
    assert!(matches!(error, TokenError::File { .. }));
}

#[tokio::test]
async fn a_variable_binds_its_token() {
    let bench = Bench::new(&[
        ("FORGEJO_TOKEN", "a"),
        ("FORGEJO_URL", "https://x.example/git/api/v1"),
        ("GITHUB_TOKEN", "b"),
        ("GITHUB_SERVER_URL", "https://ghes.example"),
    ]);
    assert!(bench.token(&forgejo("x.example")).await.is_some());
    assert!(bench.token(&github("ghes.example")).await.is_some());
    for want in [
        forgejo("y.example"),
        forgejo("x.example:8443"),
        github("github.com"),
    ] {
        let error = bench.ask(&want).await.unwrap_err();
        assert!(
            matches!(
                &error,
                TokenError::Refused {
                    by: Binding::Variable(_),
                    ..
                }
            ),
            "{error}"
        );
    }
    // Nothing had to be recorded.
    assert_eq!(bench.text(), "");
    let servers = bench.vars.servers().unwrap();
    assert_eq!(servers[0].base.as_str(), "https://x.example/git/");
}

#[tokio::test]
async fn the_first_host_is_recorded_and_said_once() {
    let bench = Bench::new(&[("FORGEJO_TOKEN", "hunter2")]).with_hosts("# mine\n");
    let first = bench.ask(&forgejo("x.example")).await.unwrap();
    assert!(first.notice.unwrap().contains("x.example"));
    assert_eq!(
        bench.text(),
        "# mine\nx.example:\n  type: forgejo\n  trusted: \"1970-01-01T00:00:00Z\"\n"
    );
    let again = bench.ask(&forgejo("x.example")).await.unwrap();
    assert_eq!(again.notice, None);
    assert!(again.credential.is_some());
    let error = bench.ask(&forgejo("y.example")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the token in `FORGEJO_TOKEN` belongs to x.example and is not sent to y.example"
    );
    assert!(!format!("{error:?}{again:?}").contains("hunter2"));
    assert!(
        bench
            .file()
            .trust(&host("y.example"), None, Timestamp::UNIX_EPOCH)
            .unwrap()
    );
    assert!(
        !bench
            .file()
            .trust(&host("y.example"), None, Timestamp::UNIX_EPOCH)
            .unwrap()
    );
    assert!(
        bench
            .ask(&forgejo("y.example"))
            .await
            .unwrap()
            .credential
            .is_some()
    );
    assert!(bench.text().starts_with("# mine\n"));
}

#[tokio::test]
async fn github_com_is_first_without_a_word_and_then_the_only_one() {
    let bench = Bench::new(&[("GH_TOKEN", "a")]);
    assert_eq!(bench.ask(&github("github.com")).await.unwrap().notice, None);
    let error = bench.ask(&github("ghes.example")).await.unwrap_err();
    let TokenError::Refused {
        bound, variable, ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!(
        (bound, variable.as_str()),
        (vec![host("github.com")], "GH_TOKEN")
    );
    // The other family's first host is another matter.
    let bench = Bench::new(&[("GH_TOKEN", "a"), ("GITEA_TOKEN", "b")]);
    assert!(
        bench
            .ask(&github("github.com"))
            .await
            .unwrap()
            .credential
            .is_some()
    );
    assert!(
        bench
            .ask(&forgejo("x.example"))
            .await
            .unwrap()
            .credential
            .is_some()
    );
    assert!(bench.ask(&forgejo("github.com")).await.is_err());
}

#[tokio::test]
async fn a_host_that_nobody_confirmed_is_never_first() {
    let bench = Bench::new(&[("FORGEJO_TOKEN", "a"), ("GITHUB_TOKEN", "b")]);
    for want in [forgejo("x.example"), github("github.com")] {
        let want = Want {
            confirmed: Confirmed::Nothing,
            ..want
        };
        let error = bench.ask(&want).await.unwrap_err();
        assert!(
            matches!(&error, TokenError::Refused { bound, .. } if bound.is_empty()),
            "{error}"
        );
    }
    assert_eq!(bench.text(), "");
}

#[tokio::test]
async fn hosts_yaml_gives_each_host_its_own_token() {
    let text = "
x.example: {type: forgejo, token_env: MY_TOKEN}
y.example:
  token_file: secret.txt
z.example:
  token_command: echo from-shell; echo note
w.example:
  token_command: [echo, from words]
";
    let bench = Bench::new(&[("MY_TOKEN", "mine")]).with_hosts(text);
    fs::write(bench.dir.path().join("secret.txt"), "filed\n").unwrap();
    assert_eq!(bench.token(&forgejo("x.example")).await.unwrap().0, "mine");
    assert_eq!(bench.token(&forgejo("y.example")).await.unwrap().0, "filed");
    assert_eq!(
        bench.token(&forgejo("z.example")).await.unwrap().0,
        "from-shell"
    );
    assert_eq!(
        bench.token(&forgejo("w.example")).await.unwrap().0,
        "from words"
    );
    assert_eq!(bench.token(&forgejo("v.example")).await, None);
    assert_eq!(bench.text(), text);
}

#[tokio::test]
async fn another_hosts_variable_does_not_hide_the_own_token() {
    let bench = Bench::new(&[
        ("FORGEJO_TOKEN", "a"),
        ("FORGEJO_URL", "https://x.example"),
        ("MY_TOKEN", "mine"),
    ])
    .with_hosts("y.example:\n  token_env: MY_TOKEN\n");
    assert_eq!(bench.token(&forgejo("y.example")).await.unwrap().0, "mine");
    assert_eq!(bench.token(&forgejo("x.example")).await.unwrap().0, "a");
}

#[tokio::test]
async fn a_wrong_hosts_yaml_says_what_and_where() {
    for (text, words) in [
        ("x.example:\n  token: abc\n", "token"),
        (
            "x.example:\n  type: gitlab\n",
            "`gitlab` is not a valid `type`",
        ),
        ("x.example:\n  api_url: ftp://x\n", "`api_url`"),
        (
            "x.example:\n  trusted: maybe\n",
            "`maybe` is not a valid `trusted`",
        ),
        (
            "x.example:\n  token_env: A\n  token_file: b\n",
            "more than one",
        ),
        ("a/b:\n  token_env: A\n", "is not a host name"),
        ("x.example: [\n", "line"),
    ] {
        let bench = Bench::new(&[]).with_hosts(text);
        let shown = bench
            .ask(&forgejo("x.example"))
            .await
            .unwrap_err()
            .to_string();
        assert!(
            shown.contains(words) && shown.contains("hosts.yaml"),
            "{text:?}: {shown}"
        );
        assert!(!shown.contains("abc"), "{shown}");
    }
    let unset = Bench::new(&[]).with_hosts("x.example:\n  token_env: GONE\n");
    let error = unset.ask(&forgejo("x.example")).await.unwrap_err();
    assert!(matches!(error, TokenError::Unset { .. }));
    let failed = Bench::new(&[]).with_hosts("x.example:\n  token_command: echo no >&2; exit 3\n");
    let error = failed.ask(&forgejo("x.example")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the token command for x.example failed: no"
    );
    let bad = Bench::new(&[("GITEA_TOKEN", "a"), ("GITEA_URL", "x.example")]);
    assert!(matches!(
        bad.ask(&forgejo("x.example")).await,
        Err(TokenError::BadUrl { .. })
    ));
}

#[tokio::test]
async fn gits_helper_is_the_last_to_be_asked() {
    let repo = Repo::new();
    let helper = "!f() { echo username=alice; echo password=helped; }; f";
    repo.git(&["config", "--global", "credential.helper", helper]);
    let bench = Bench::new(&[("FORGEJO_TOKEN", "a"), ("FORGEJO_URL", "https://x.example")]);
    let ask = async |want: Want| {
        let places = Places {
            vars: &bench.vars,
            hosts: &bench.file(),
            git: Some(&repo.program()),
            dir: &repo.path(),
            now: Timestamp::UNIX_EPOCH,
        };
        resolve(places, &want).await.unwrap().source.unwrap()
    };
    assert_eq!(ask(forgejo("y.example")).await, TokenSource::GitCredential);
    assert_eq!(
        ask(forgejo("x.example")).await,
        TokenSource::Variable("FORGEJO_TOKEN".into())
    );
}

#[cfg(unix)]
#[test]
fn hosts_yaml_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new(&[]).with_hosts("# mine\nx.example:\n    type: gitea # here\n");
    bench
        .file()
        .trust(&host("x.example"), None, Timestamp::UNIX_EPOCH)
        .unwrap();
    assert_eq!(
        bench.text(),
        "# mine\nx.example:\n    trusted: \"1970-01-01T00:00:00Z\"\n    type: gitea # here\n"
    );
    let mode = fs::metadata(bench.file().path())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let flow = Bench::new(&[]).with_hosts("x.example: {type: gitea}\n");
    let error = flow
        .file()
        .trust(&host("x.example"), None, Timestamp::UNIX_EPOCH)
        .unwrap_err();
    assert!(matches!(error, HostsError::Uneditable { .. }));
    assert_eq!(flow.text(), "x.example: {type: gitea}\n");
}

#[test]
fn only_one_of_many_writers_is_first() {
    let bench = Bench::new(&[]);
    let file = bench.file();
    let firsts: usize = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8)
            .map(|n| {
                let file = file.clone();
                scope.spawn(move || {
                    let name = host(&format!("h{n}.example"));
                    let grant = file.grant(
                        &name,
                        DetectedType::Forgejo,
                        ForgeType::Forgejo,
                        true,
                        Timestamp::UNIX_EPOCH,
                    );
                    usize::from(grant.unwrap() == hosts_file::Grant::First)
                })
            })
            .collect();
        tries.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(firsts, 1);
    assert_eq!(file.load().unwrap().entries.len(), 1);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let file = file.clone();
            scope.spawn(move || {
                let name = host(&format!("t{n}.example"));
                file.trust(&name, None, Timestamp::UNIX_EPOCH).unwrap();
            });
        }
    });
    assert_eq!(file.load().unwrap().entries.len(), 9);
}

#[test]
fn variables_are_not_shown() {
    let vars: Vars = [("GITHUB_TOKEN", "hunter2")].into_iter().collect();
    assert_eq!(format!("{vars:?}"), "{\"GITHUB_TOKEN\"}");
}
