//! What must hold for every text: shared by the fuzz target and a plain test

use blue_forge::git_url::GitUrl;

/// Parse any bytes, and check what must be true of whatever comes out
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match GitUrl::parse(text) {
        Err(error) => {
            assert_safe(&error.to_string());
            assert_safe(&format!("{error:?}"));
        }
        Ok(GitUrl::Local) => {}
        Ok(GitUrl::Hosted(url)) => {
            let shown = url.to_string();
            assert_safe(&shown);
            assert!(!shown.contains('@'), "user or password in `{shown}`");
            assert!(!url.host().as_str().starts_with('-'));
            for part in [url.owner(), url.repo(), url.sub_path().unwrap_or("x")] {
                assert!(!part.is_empty() && !part.starts_with('-') && !part.contains('/'));
                assert!(part != "." && part != "..");
            }
            let base = url.base_url();
            assert!(base.username().is_empty() && base.password().is_none());
            assert_eq!(base.host_str(), Some(url.host().name()));
            let again = GitUrl::parse(&shown).expect("what is shown can be read again");
            assert_eq!(again.to_string(), shown);
            assert_eq!(again.host(), Some(url.host()));
        }
    }
}

fn assert_safe(text: &str) {
    assert!(
        !text.chars().any(char::is_control),
        "control character in {text:?}"
    );
}
