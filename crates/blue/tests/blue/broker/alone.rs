//! One broker per SQLite file, and room for more connections than the system gives at first

use std::process::{Command, Stdio};

use tokio::net::TcpStream;

use super::{
    forge::{Forge, client},
    process::Place,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_second_broker_is_refused_until_the_first_is_killed() {
    let forge = Forge::start("nobody").await;
    let place = Place::new(&forge).await;
    let first = place.start().await;
    let second = place.blue().run(&["broker", "--listen", "127.0.0.1:0"]);
    assert_eq!(second.code, Some(1), "{second}");
    let lock = place.data().join("broker.db.lock");
    assert!(
        second.stderr.contains(&lock.display().to_string()),
        "{second}"
    );
    assert!(
        second.stderr.contains("hint: stop the other one"),
        "{second}"
    );
    // Admin commands work beside it.
    for list in ["clients", "users", "grants"] {
        let listed = place.blue().run(&["broker", list, "list", "--json"]);
        let listed = listed.success().json();
        assert_eq!(listed["total"], listed[list].as_array().unwrap().len());
    }
    place.blue().run(&["broker", "keys", "rotate"]).success();
    // `kill -9`: the system releases the lock, and the file that is left refuses no start.
    drop(first);
    assert!(lock.is_file());
    place.start().await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_over_the_soft_file_limit_lock_nobody_out() {
    let forge = Forge::start("nobody").await;
    let place = Place::new(&forge).await;
    // As a system starts a process, only with less.
    let program = place.blue().command(&["broker"]);
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -Sn 128 && exec \"$0\" broker"])
        .arg(program.get_program())
        .env_clear()
        .envs(
            program
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(program.get_current_dir().unwrap())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _running = place.start_as(command).await;
    let address = place.url.trim_start_matches("http://");
    let mut idle = Vec::new();
    for _ in 0..200 {
        idle.push(TcpStream::connect(address).await.unwrap());
    }
    let answer = client().get(place.at("/healthz")).send().await.unwrap();
    assert_eq!(answer.status(), 200);
}
