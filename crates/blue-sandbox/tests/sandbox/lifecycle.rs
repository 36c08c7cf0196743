//! Starting and stopping

use std::{net::TcpStream, time::Instant};

use blue_sandbox::{Config, Error, Sandbox};

use crate::api::Forge;

#[tokio::test]
async fn a_stopped_sandbox_leaves_no_port_and_no_folder() {
    let before = tasks();
    let sandbox = Sandbox::start(Config::default()).await.unwrap();
    let address = sandbox.url().trim_start_matches("http://").to_owned();
    assert!(TcpStream::connect(&address).is_ok());
    sandbox.shutdown().await;
    assert!(TcpStream::connect(&address).is_err());
    assert_eq!(tasks(), before);
}

fn tasks() -> usize {
    tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks()
}

#[tokio::test]
async fn many_run_side_by_side() {
    let first = Forge::instant().await;
    let second = Forge::instant().await;
    assert_ne!(first.sandbox.url(), second.sandbox.url());
    assert_eq!(second.api.get("repos/admin/r").await["id"], 1);
    first.sandbox.shutdown().await;
    assert_eq!(second.api.get("repos/admin/r").await["name"], "r");
}

#[tokio::test]
async fn a_folder_belongs_to_one_sandbox_and_keeps_its_users() {
    let dir = tempfile::tempdir().unwrap();
    let config = || Config {
        dir: Some(dir.path().to_owned()),
        ..Config::default()
    };
    let first = Sandbox::start(config()).await.unwrap();
    assert!(matches!(
        Sandbox::start(config()).await,
        Err(Error::InUse(_))
    ));
    let token = first.users()[0].token.clone();
    assert!(first.users()[0].admin);
    first.shutdown().await;
    let again = Sandbox::start(config()).await.unwrap();
    assert_eq!(again.users()[0].token, token);
}

/// Generous, since tests run unoptimised and beside others; the bench holds the real limit
#[tokio::test]
async fn it_starts_at_once() {
    let start = Instant::now();
    let sandbox = Sandbox::start(Config::default()).await.unwrap();
    assert!(start.elapsed().as_millis() < 2_000, "{:?}", start.elapsed());
    sandbox.shutdown().await;
}
