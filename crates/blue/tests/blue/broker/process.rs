//! The program, started and killed

use std::{
    fs::{File, OpenOptions},
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::forge::{Forge, client};
use crate::cli::Blue;

/// A broker's settings and files, whether it runs or not
pub(super) struct Place {
    blue: Blue,
    pub(super) url: String,
    /// Of the application at the forge
    pub(super) secret: String,
}

/// A broker that runs; killed when the test ends
pub(super) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // `SIGKILL`: nothing is finished, nothing is closed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Place {
    pub(super) async fn new(forge: &Forge) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let listen = free.local_addr().unwrap().to_string();
        drop(free);
        let url = format!("http://{listen}");
        let redirect = format!("{url}/oauth/callback");
        let (id, secret) = forge.application(&redirect).await;
        let blue = Blue::new()
            .var("BLUE_BROKER_PUBLIC_URL", &url)
            .var("BLUE_BROKER_LISTEN", &listen)
            .var("BLUE_BROKER_FORGE_URL", &forge.url)
            .var("BLUE_BROKER_CLIENT_ID", &id)
            .var("BLUE_BROKER_CLIENT_SECRET_FILE", "secret")
            .var("BLUE_BROKER_DATA", "data")
            .var("BLUE_LOG", "trace");
        std::fs::write(blue.home().join("secret"), &secret).unwrap();
        Self { blue, url, secret }
    }

    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    pub(super) fn data(&self) -> PathBuf {
        self.blue.home().join("data")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.blue.home().join("log")
    }

    /// Start it and wait until it answers
    pub(super) async fn start(&self) -> Running {
        let open = || -> File {
            let mut options = OpenOptions::new();
            options.create(true).append(true);
            options.open(self.log()).unwrap()
        };
        let mut command = self.blue.command(&["broker"]);
        command.stdout(open()).stderr(open());
        self.start_as(command).await
    }

    /// Start it by a command of the test's own, and wait until it answers
    pub(super) async fn start_as(&self, mut command: Command) -> Running {
        let mut running = Running(command.stdin(Stdio::null()).spawn().unwrap());
        let until = Instant::now() + Duration::from_secs(30);
        let http = client();
        loop {
            if let Ok(answer) = http.get(self.at("/healthz")).send().await {
                assert_eq!(answer.status(), 200);
                return running;
            }
            if let Some(ended) = running.0.try_wait().unwrap() {
                let log = std::fs::read_to_string(self.log()).unwrap();
                panic!("it ended with {ended}: {log}");
            }
            assert!(Instant::now() < until, "it does not answer");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(super) fn blue(&self) -> &Blue {
        &self.blue
    }
}
