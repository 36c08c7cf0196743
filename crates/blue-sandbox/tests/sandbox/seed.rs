//! What a new sandbox starts with

use std::fs;

use blue_sandbox::{Config, Sandbox, Seed};

use crate::visitor::{Visitor, start};

#[tokio::test]
async fn the_demo_has_its_people() {
    let sandbox = start(Config {
        seed: Seed::Demo,
        ..Config::default()
    })
    .await;
    let users: Vec<(&str, &str, &str, bool)> = sandbox
        .users()
        .iter()
        .map(|user| {
            (
                user.login.as_str(),
                user.password.expose(),
                user.token.expose(),
                user.admin,
            )
        })
        .collect();
    assert_eq!(
        users,
        [
            (
                "alice",
                "alice-password",
                "a11ce00000000000000000000000000000000001",
                true
            ),
            (
                "bob",
                "bob-password",
                "b0b0000000000000000000000000000000000002",
                false
            ),
            (
                "carol",
                "carol-password",
                "ca401000000000000000000000000000000000c3",
                false
            ),
        ]
    );
}

#[tokio::test]
async fn the_demo_with_random_secrets_has_new_ones_each_time() {
    let config = || Config {
        seed: Seed::DemoWithRandomSecrets,
        ..Config::default()
    };
    let (one, other) = (start(config()).await, start(config()).await);
    for (first, second) in one.users().iter().zip(other.users()) {
        assert_eq!(first.login, second.login);
        assert_eq!(first.token.expose().len(), 40);
        assert_ne!(first.token.expose(), second.token.expose());
        assert_ne!(first.password.expose(), second.password.expose());
        assert_ne!(first.password.expose(), format!("{}-password", first.login));
    }
    assert_eq!(one.users().len(), 3);
}

#[tokio::test]
async fn the_empty_seed_has_one_admin() {
    let sandbox = start(Config::default()).await;
    let [admin] = sandbox.users() else {
        panic!("{:?}", sandbox.users())
    };
    assert!(admin.admin);
}

#[tokio::test]
async fn a_folder_is_seeded_once() {
    let folder = tempfile::tempdir().unwrap();
    let config = || Config {
        dir: Some(folder.path().join("state")),
        seed: Seed::Demo,
        ..Config::default()
    };
    let first = start(config()).await;
    first.shutdown().await;
    let again = start(Config {
        seed: Seed::Empty,
        ..config()
    })
    .await;
    assert_eq!(again.users().len(), 3);
    assert_eq!(
        again.users()[0].token.expose(),
        "a11ce00000000000000000000000000000000001"
    );
    let mut web = Visitor::new(&again);
    let refs = web
        .get("/acme/storefront.git/info/refs?service=git-upload-pack")
        .await;
    assert!(
        refs.text.contains("refs/heads/feature/discount"),
        "{refs:?}"
    );
}

#[tokio::test]
async fn a_faulty_file_is_named_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seed.yaml");
    let dir = folder.path().join("state");
    let config = || Config {
        dir: Some(dir.clone()),
        seed: Seed::File(file.clone()),
        ..Config::default()
    };
    let head = "users:\n  - { login: root, admin: true }\n";
    for (text, expected) in [
        ("users: 1\n".to_owned(), "seed.yaml"),
        (format!("{head}repos: []\n"), "repos"),
        (
            format!("{head}repositories: [{{ owner: nobody, name: x }}]\n"),
            "no user or organisation `nobody`",
        ),
        (
            format!("{head}repositories: [{{ owner: root, name: 'a b' }}]\n"),
            "repository `root/a b`",
        ),
        (
            format!(
                "{head}repositories: [{{ owner: root, name: x, pulls: [{{ head: a, title: T }}] }}]\n"
            ),
            "pull request `T`",
        ),
    ] {
        fs::write(&file, &text).unwrap();
        let error = Sandbox::start(config()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    fs::write(&file, head).unwrap();
    let sandbox = start(config()).await;
    assert_eq!(sandbox.users()[0].login, "root");
    assert_eq!(sandbox.users()[0].password.expose(), "root-password");
}
