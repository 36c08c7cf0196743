//! The whole story once, and then every byte that it left

use std::{collections::BTreeSet, path::Path, process::Command};

use ring::digest::{SHA256, digest};
use serde_json::Value;

use super::{
    forge::Forge,
    process::Place,
    visitor::{Client, VERIFIER, Visitor},
};

#[tokio::test(flavor = "multi_thread")]
async fn no_file_log_or_argument_holds_a_secret_after_the_whole_story() {
    let forge = Forge::start("nobody").await;
    let place = Place::new(&forge).await;
    let mut running = place.start().await;
    let mut secrets = BTreeSet::from([VERIFIER.to_owned(), place.secret.clone()]);
    let text = |answer: &Value, key: &str| answer[key].as_str().unwrap().to_owned();

    let tool = Client::register(&place, "A tool").await;
    let secretive = Client::register_as(&place, "A site", "client_secret_post").await;
    secrets.extend(secretive.secret.clone());
    for (login, tool) in [("alice", &tool), ("bob", &tool), ("alice", &secretive)] {
        let mut visitor = Visitor::new(login);
        for round in 0..2 {
            let code = visitor.code(&place, &forge, &tool.id).await.unwrap();
            let (status, first) = tool.exchange(&place, &code).await.unwrap();
            assert_eq!(status, 200, "{first}");
            let access = text(&first, "access_token");
            let (status, said) = tool.call(&place, &access).await.unwrap();
            assert_eq!(status, 200, "{said}");
            let refresh = text(&first, "refresh_token");
            let (status, second) = tool.refresh(&place, &refresh).await.unwrap();
            assert_eq!(status, 200, "{second}");
            // Replayed, refused, revoked: what fails is logged, too.
            assert_eq!(tool.call(&place, &refresh).await.unwrap().0, 401);
            assert_eq!(tool.refresh(&place, &access).await.unwrap().0, 400);
            assert_eq!(
                tool.exchange(&place, &format!("{code}x")).await.unwrap().0,
                400
            );
            if round == 0 {
                let token = text(&second, "refresh_token");
                assert_eq!(tool.revoke(&place, &token).await.unwrap().0, 200);
                assert_eq!(tool.exchange(&place, &code).await.unwrap().0, 400);
            }
            for answer in [&first, &second] {
                secrets.insert(text(answer, "access_token"));
                secrets.insert(text(answer, "refresh_token"));
            }
            secrets.insert(code);
            // In the place of a path nothing is logged that may be a token.
            let lost = place.at(&format!("/{access}?x={refresh}"));
            super::forge::client().get(lost).send().await.unwrap();
            if round == 1 {
                running = restarted(&place, running).await;
                assert_eq!(tool.call(&place, &access).await.unwrap().0, 200);
            }
        }
        let seen = visitor.connections(&place, &forge).await.unwrap();
        assert!(seen.contains("Your connections") && seen.contains(login));
        secrets.extend(visitor.secrets());
    }
    let cookies = secrets.iter().filter(|secret| secret.starts_with("bbps_"));
    assert_eq!(
        cookies.count(),
        3,
        "of those who looked at their connections"
    );
    secrets.extend(forge.secrets());
    // Cookies of the forge that say nothing.
    secrets.retain(|secret| secret.len() > 15);
    assert!(secrets.len() > 30, "{}", secrets.len());
    // Nor what the rows have in their place, as text: a hash in a log would tell who is who.
    let hashed: Vec<_> = secrets.iter().flat_map(|secret| hashed(secret)).collect();
    secrets.extend(hashed);
    nothing_holds(&secrets, &place, running.id());
    every_event_names_its_request(&std::fs::read_to_string(place.log()).unwrap());
    // The admin sees what happened, and no secret either.
    let events = place.blue().run(&["broker", "audit", "--json"]).success();
    for event in [
        "registered",
        "consented",
        "issued",
        "refreshed",
        "replayed",
        "revoked",
    ] {
        assert!(events.stdout.contains(event), "{event}: {}", events.stdout);
    }
    for login in ["alice", "bob"] {
        let name = format!(r#""detail":{{"login":"{login}"}}"#);
        assert!(events.stdout.contains(&name), "{}", events.stdout);
    }
    for secret in &secrets {
        assert!(!events.stdout.contains(secret.as_str()));
    }
}

/// Read every byte of a broker's files, log, arguments and variables
fn nothing_holds(secrets: &BTreeSet<String>, place: &Place, process: u32) {
    // While it runs: the log of the database is still there, and so are its arguments.
    let proc = Path::new("/proc").join(process.to_string());
    // The master keys are the one secret that lies there; nothing else may be in that file.
    let files = std::fs::read_dir(place.data()).unwrap();
    let mut read: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    read.extend([place.log(), proc.join("cmdline"), proc.join("environ")]);
    let mut bytes = 0;
    for path in &read {
        let Ok(held) = std::fs::read(path) else {
            assert!(path.starts_with("/proc"), "{}", path.display());
            continue;
        };
        bytes += held.len();
        for secret in secrets {
            let mut parts = held.windows(secret.len());
            let found = parts.any(|part| part == secret.as_bytes());
            assert!(!found, "{} holds {secret}", path.display());
        }
    }
    assert!(bytes > 100_000, "{bytes} bytes of {read:?} were read");
    let names: Vec<_> = read.iter().filter_map(|path| path.file_name()).collect();
    for name in ["broker.db", "broker.db-wal", "log"] {
        assert!(
            names.iter().any(|found| *found == name),
            "{name} of {names:?}"
        );
    }
}

/// What is finished after its browser went away is logged with the request that began it, too
fn every_event_names_its_request(log: &str) {
    let lines = log.lines().filter(|line| line.starts_with('{'));
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events: Vec<Value> = lines.filter(|line| line["message"] == "audit").collect();
    assert!(events.len() > 10, "{}", events.len());
    for event in &events {
        assert_eq!(event["span"]["id"], event["request"], "{event}");
        assert!(event["request"].is_string(), "{event}");
    }
}

/// How a hash is written, in hex and as a list of numbers
fn hashed(secret: &str) -> [String; 2] {
    let hash = digest(&SHA256, secret.as_bytes());
    let hex = hash.as_ref().iter().map(|byte| format!("{byte:02x}"));
    [hex.collect(), format!("{:?}", hash.as_ref())]
}

/// Stop it as a service manager does, and start it again
async fn restarted(place: &Place, running: super::process::Running) -> super::process::Running {
    let id = running.id().to_string();
    let asked = Command::new("kill").args(["-s", "TERM", &id]).status();
    assert!(asked.unwrap().success());
    drop(running);
    place.start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn revoking_is_asked_about_and_works_beside_a_running_broker() {
    let forge = Forge::start("alice").await;
    let place = Place::new(&forge).await;
    let _running = place.start().await;
    let tool = Client::register(&place, "A tool").await;
    let mut visitor = Visitor::new("alice");
    let code = visitor.code(&place, &forge, &tool.id).await.unwrap();
    let (_, tokens) = tool.exchange(&place, &code).await.unwrap();
    let access = tokens["access_token"].as_str().unwrap();
    let grants = place.blue().run(&["broker", "grants", "list", "--json"]);
    let grants = grants.success().json();
    let grant = grants["grants"][0]["id"].as_str().unwrap();
    for what in [["grants", grant], ["users", "alice"], ["clients", &tool.id]] {
        let args = ["broker", what[0], "revoke", what[1]];
        let asked = place.blue().run(&args);
        assert_eq!(asked.code, Some(2), "{asked}");
        assert!(asked.stderr.contains("--yes"), "{asked}");
        assert_eq!(tool.call(&place, access).await.unwrap().0, 200);
    }
    let args = ["broker", "grants", "revoke", grant, "--yes"];
    place.blue().run(&args).success();
    // What the broker remembered of the token was forgotten before the command ended.
    assert_eq!(tool.call(&place, access).await.unwrap().0, 401);
}
