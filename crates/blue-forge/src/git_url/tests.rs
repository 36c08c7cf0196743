use proptest::prelude::*;

use super::*;

#[path = "../../../../fuzz/git_url_body.rs"]
mod body;

/// The fuzz target for a moment: the same texts each time
#[test]
fn the_fuzz_body_holds_for_fixed_seeds() {
    const PARTS: &[&str] = &[
        "https",
        "http",
        "ssh",
        "git",
        "file",
        "ext",
        "://",
        ":",
        "::",
        "/",
        "//",
        "@",
        "git@",
        "-",
        "%2d",
        "%40",
        "%2F",
        "%00",
        "[",
        "]",
        "[::1]",
        ".",
        "..",
        ".git",
        "host",
        "github.com",
        "127.0.0.1",
        "0x7f.1",
        "xn--",
        "ü",
        "\u{202e}",
        " ",
        "\n",
        "\\",
        "C:",
        "?",
        "#",
        "owner",
        "repo",
        "443",
        "99999",
        "~",
        "ssh.github.com",
        "\u{3002}",
        "\u{ff0f}",
        "\u{ff20}",
        "=",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below
    };
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..=next(12) {
            text.push_str(PARTS[next(PARTS.len())]);
        }
        body::check(text.as_bytes());
    }
}

fn hosted(text: &str) -> HostedUrl {
    match GitUrl::parse(text) {
        Ok(GitUrl::Hosted(url)) => url,
        other => panic!("{text}: {other:?}"),
    }
}

/// What is written, its host, and where its pages begin
const USUAL: &[(&str, &str, &str)] = &[
    (
        "https://github.com/o/r",
        "github.com",
        "https://github.com/",
    ),
    (
        "https://github.com/o/r.git",
        "github.com",
        "https://github.com/",
    ),
    (
        "https://GitHub.com/o/r.git/",
        "github.com",
        "https://github.com/",
    ),
    (
        "HTTPS://github.com//o//r//",
        "github.com",
        "https://github.com/",
    ),
    (
        "https://www.github.com/o/r",
        "github.com",
        "https://github.com/",
    ),
    (
        "https://github.com./o/r",
        "github.com",
        "https://github.com/",
    ),
    (
        "https://alice:pw@git.example.org/o/r",
        "git.example.org",
        "https://git.example.org/",
    ),
    (
        "https://git.example.org:8443/o/r",
        "git.example.org:8443",
        "https://git.example.org:8443/",
    ),
    (
        "https://git.example.org:443/o/r",
        "git.example.org",
        "https://git.example.org/",
    ),
    (
        "http://git.example.org:3000/o/r",
        "git.example.org:3000",
        "https://git.example.org:3000/",
    ),
    (
        "http://127.0.0.1:3000/o/r",
        "127.0.0.1:3000",
        "http://127.0.0.1:3000/",
    ),
    ("http://localhost/o/r", "localhost", "http://localhost/"),
    (
        "http://[::1]:3000/o/r.git",
        "[::1]:3000",
        "http://[::1]:3000/",
    ),
    (
        "ssh://git@git.example.org:2222/o/r.git",
        "git.example.org",
        "https://git.example.org/",
    ),
    (
        "ssh://git@[2001:db8::1]:2222/o/r.git",
        "[2001:db8::1]",
        "https://[2001:db8::1]/",
    ),
    (
        "git+ssh://git@git.example.org/o/r",
        "git.example.org",
        "https://git.example.org/",
    ),
    (
        "git://git.example.org:9999/o/r",
        "git.example.org",
        "https://git.example.org/",
    ),
    (
        "git@github.com:o/r.git",
        "github.com",
        "https://github.com/",
    ),
    (
        "git@github.com:/o/r.git",
        "github.com",
        "https://github.com/",
    ),
    ("github-work:o/r", "github-work", "https://github-work/"),
    (
        "[git@git.example.org:2222]:o/r",
        "git.example.org",
        "https://git.example.org/",
    ),
    ("git@[::1]:o/r.git", "[::1]", "https://[::1]/"),
    (
        "ssh://git@ssh.github.com:443/o/r.git",
        "github.com",
        "https://github.com/",
    ),
    (
        "ssh://git@altssh.gitlab.com:443/o/r.git",
        "gitlab.com",
        "https://gitlab.com/",
    ),
    (
        "https://acme.ghe.com/o/r",
        "acme.ghe.com",
        "https://acme.ghe.com/",
    ),
    (
        "https://git.example.org/%6F/%72.git",
        "git.example.org",
        "https://git.example.org/",
    ),
    (
        "  https://github.com/o/r\n",
        "github.com",
        "https://github.com/",
    ),
];

#[test]
fn the_usual_forms() {
    for (text, host, base) in USUAL {
        let url = hosted(text);
        assert_eq!(url.host().as_str(), *host, "{text}");
        assert_eq!(url.base_url().as_str(), *base, "{text}");
        assert_eq!((url.owner(), url.repo()), ("o", "r"), "{text}");
        assert_eq!(url.sub_path(), None, "{text}");
    }
}

#[test]
fn one_folder_before_the_owner_is_a_sub_path() {
    let url = hosted("https://git.example.org/git/alice/demo.git");
    assert_eq!(url.sub_path(), Some("git"));
    assert_eq!((url.owner(), url.repo()), ("alice", "demo"));
    assert_eq!(url.base_url().as_str(), "https://git.example.org/git/");
    assert_eq!(
        url.web_url().as_str(),
        "https://git.example.org/git/alice/demo"
    );
    for deep in [
        "https://git.example.org/a/b/c/d",
        "git@gitlab.example.org:a/b/c/d.git",
        "https://github.com/o/r/issues",
    ] {
        let error = GitUrl::parse(deep).unwrap_err();
        assert!(
            error.to_string().contains("nested groups"),
            "{deep}: {error}"
        );
    }
}

#[test]
fn what_is_on_this_machine_has_no_forge() {
    for text in [
        "file:///srv/git/o/r.git",
        "FILE://host/share",
        "/srv/git/o/r",
        "./o/r",
        "../o/r",
        "~/o/r",
        "o/r",
        "r.git",
        "./with:colon/r",
        "C:\\git\\r",
        "c:/git/r",
        "\\\\server\\share\\r",
    ] {
        assert_eq!(GitUrl::parse(text), Ok(GitUrl::Local), "{text}");
    }
}

#[test]
fn what_would_run_something_is_refused() {
    for text in [
        "-oProxyCommand=touch x",
        "--upload-pack=x",
        "ssh://-oProxyCommand=x/o/r",
        "ssh://%2doProxyCommand=x/o/r",
        "ssh://-oProxyCommand=x@host/o/r",
        "-host:o/r",
        "git@-host:o/r",
        "https://host/-o/r",
        "https://host/o/-r",
        "https://host/o/%2dr",
        "git@host:-o/r",
    ] {
        let error = GitUrl::parse(text).unwrap_err();
        assert!(
            matches!(error, GitUrlError::OptionLike { .. }),
            "{text}: {error}"
        );
    }
    for text in [
        "ext::sh -c 'touch x'",
        "fd::17/foo",
        "ext::https://h/o/r",
        "hg::x",
    ] {
        let error = GitUrl::parse(text).unwrap_err();
        assert!(
            matches!(error, GitUrlError::TransportHelper { .. }),
            "{text}: {error}"
        );
    }
}

#[test]
fn what_names_no_repository_is_refused() {
    for text in [
        "",
        " ",
        "https://",
        "https://github.com",
        "https://github.com/",
        "https://github.com/o",
        "https://github.com/o/.git",
        "https://github.com/o/.git.git",
        "https://github.com/o/r.git.git",
        "https://github.com/o/..",
        "https://github.com/o/%2e%2e",
        "https://github.com/../o/r",
        "https://github.com/o/a%2fb",
        "https://github.com/o/a%00b",
        "https://github.com/o/a%0ab",
        "https://github.com/o/a%ff",
        "https://github.com/o/r?x=y",
        "https://github.com/o/r#x",
        "https://github.com:0/o/r",
        "https://github.com:99999/o/r",
        "https://github.com:x/o/r",
        "https://good.example%40evil.example/o/r",
        "https://good.example%2fevil.example/o/r",
        "git@git.example%2e:o/r",
        "https://git.example%252e/o/r",
        "git@git.example..:o/r",
        "git@git..example:o/r",
        "git@git.example\u{3002}:o/r",
        "https://a b/o/r",
        "https:/github.com/o/r",
        "https:github.com/o/r",
        "ftp://host/o/r",
        "svn://host/o/r",
        "git@host:",
        "git@host:r.git",
        "git@host\n:o/r",
        "https://host/o\u{202e}/r",
        "::1:o/r",
    ] {
        assert!(GitUrl::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_password_is_never_shown() {
    for text in [
        "https://alice:hunter2@git.example.org/o/r",
        "https://hunter2@git.example.org/o/r",
        "https://alice:hunter2@git.example.org/o/r/x/y/z",
        "https://alice:hunter2@git.example.org/o",
        "https://alice:hunter2@git.example.org:x/o/r",
        "https://alice:hunt/hunter2@git.example.org/o/r",
        "https:/alice:hunter2@git.example.org/o/r",
        "alice:hunter2@git.example.org/o/r",
        "alice:hunter2@git.example.org/r",
        "alice:hunter2@git.example.org:o/r",
        "https://git.example.org/o/r?access_token=hunter2",
        "ssh://git:hunter2@git.example.org/o/r",
        "foo://alice:hunter2@git.example.org/o/r",
    ] {
        let parsed = GitUrl::parse(text);
        assert!(!format!("{parsed:?}").contains("hunter2"), "{text}");
        match parsed {
            Ok(url) => assert!(!url.to_string().contains("hunter2"), "{text}"),
            Err(e) => assert!(!e.to_string().contains("hunter2"), "{text}"),
        }
    }
}

proptest! {
    #[test]
    fn any_repository_survives_any_form(
        owner in "[a-z0-9_][a-z0-9._-]{0,20}[a-z0-9]",
        repo in "[A-Za-z0-9_]([A-Za-z0-9._-]{0,20}[A-Za-z0-9_])?",
        host in "[a-z]{1,10}(\\.[a-z]{2,8}){1,3}",
        port in 1024_u16..,
        git in prop::bool::ANY,
    ) {
        prop_assume!(repo.strip_suffix(".git").is_none());
        let end = if git { ".git" } else { "" };
        for text in [
            format!("https://{host}/{owner}/{repo}{end}"),
            format!("https://u:p@{host}:{port}/{owner}/{repo}{end}/"),
            format!("ssh://git@{host}:{port}/{owner}/{repo}{end}"),
            format!("git@{host}:{owner}/{repo}{end}"),
            format!("git://{host}/{owner}/{repo}{end}"),
        ] {
            let url = hosted(&text);
            prop_assert_eq!(url.owner(), &owner);
            prop_assert_eq!(url.repo(), &repo);
            prop_assert_eq!(url.host().name().to_owned(), host.clone());
        }
    }

    #[test]
    fn no_password_in_anything_shown(
        password in "[A-Z]{12}[!-~]{0,8}",
        rest in "[ -~]{0,40}",
        scheme in "(https|http|ssh|git|ftp)",
    ) {
        let secret = &password[..12];
        prop_assume!(!rest.contains(secret));
        let text = format!("{scheme}://alice:{password}@{rest}");
        let parsed = GitUrl::parse(&text);
        let debug = format!("{parsed:?}");
        prop_assert!(!debug.contains(secret), "{}", debug);
        prop_assert!(!debug.to_uppercase().contains(secret) || rest.to_uppercase().contains(secret));
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,60}") {
        let _ = GitUrl::parse(&text);
    }
}

#[test]
fn a_backslash_that_moves_the_host_is_refused() {
    for text in [
        r"https://evil.com\@github.com/a/b",
        r"https://github.com\evil.com/a/b",
        r"https://github.com/a\b/c",
        r"ssh://git@evil.com\@github.com/a/b",
        r"evil.com\@github.com:a/b",
    ] {
        assert_eq!(GitUrl::parse(text), Err(GitUrlError::Backslash), "{text}");
    }
    // On another system this is a folder.
    assert_eq!(GitUrl::parse(r"C:\a\b"), Ok(GitUrl::Local));
}

#[cfg(unix)]
#[tokio::test]
async fn ssh_tells_the_host_behind_an_alias() {
    let repo = blue_testkit::GitRepo::new();
    repo.ssh_says("user git\nhostname ssh.github.com\nport 443");
    let GitUrl::Hosted(url) = GitUrl::parse("git@work:o/r.git").unwrap() else {
        panic!();
    };
    let real = url.resolve_alias(&repo.program()).await.unwrap();
    assert_eq!(real.host().as_str(), "github.com");
    assert_eq!((real.owner(), real.repo(), real.port()), ("o", "r", None));
    repo.ssh_says("hostname -oProxyCommand=x");
    let GitUrl::Hosted(url) = GitUrl::parse("git@work:o/r.git").unwrap() else {
        panic!();
    };
    let same = url.clone().resolve_alias(&repo.program()).await.unwrap();
    assert_eq!(same, url);
}
