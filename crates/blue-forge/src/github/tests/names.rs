use super::*;

#[test]
fn where_the_api_is() {
    for (host, api) in [
        ("github.com", "https://api.github.com/"),
        ("octo.ghe.com", "https://api.octo.ghe.com/"),
        ("git.example.org", "https://git.example.org/api/v3/"),
        (
            "git.example.org:8443",
            "https://git.example.org:8443/api/v3/",
        ),
        ("evilghe.com", "https://evilghe.com/api/v3/"),
        ("127.0.0.1:3000", "http://127.0.0.1:3000/api/v3/"),
    ] {
        assert_eq!(api_url(&Host::parse(host).unwrap()).as_str(), api);
    }
}

#[test]
fn a_token_moves_only_to_the_api_of_its_own_host() {
    let bound = |token: &str, host: &str, api: &str| {
        let credential = Credential {
            host: Host::parse(token).unwrap(),
            scheme: AuthScheme::Bearer,
            token: Secret::new("hunter2"),
        };
        let endpoint = Endpoint {
            host: Host::parse(host).unwrap(),
            api: api.parse().unwrap(),
        };
        bound_to_api(credential, &endpoint).host.to_string()
    };
    let github = "https://api.github.com/";
    assert_eq!(bound("github.com", "github.com", github), "api.github.com");
    assert_eq!(
        bound("octo.ghe.com", "octo.ghe.com", "https://api.octo.ghe.com/"),
        "api.octo.ghe.com"
    );
    // An API address from a configuration file does not get the token of github.com.
    assert_eq!(
        bound("github.com", "github.com", "https://evil.example/"),
        "github.com"
    );
    assert_eq!(
        bound("github.com", "github.com", "http://api.github.com/"),
        "github.com"
    );
    assert_eq!(
        bound(
            "git.example.org",
            "git.example.org",
            "https://api.git.example.org/"
        ),
        "git.example.org"
    );
    assert_eq!(
        bound("git.example.org", "github.com", github),
        "git.example.org"
    );
}

#[test]
fn names_of_refs() {
    for good in [
        "main",
        "a/b",
        "hash#tag",
        "per%2Fcent",
        "ünï-日本",
        "at@sign",
        "x.y",
    ] {
        assert!(branches::is_ref_name(good), "{good}");
    }
    for bad in [
        "", "@", "a..b", "a b", "x.lock", "/a", "a/", "a//b", "a~b", "-a", ".a", "a/.b", "a.",
        "a@{b", "a\\b", "a\u{7}",
    ] {
        assert!(!branches::is_ref_name(bad), "{bad}");
    }
}
