//! A broker beside a sandbox, with nothing to configure

use std::{fs, net::SocketAddr, path::Path};

use blue_base::{http::Http, secret::Secret};
use blue_broker::{
    Broker, StartError,
    config::{Config, ForgeUrl, Given, PublicUrl},
};
use blue_tools::{ErrorCode, ToolError};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::{
    serve::{not_started, parts},
    setup,
};
use crate::commands::Cx;

/// It runs until it is stopped; its files go with it, unless a folder was named
#[derive(Debug)]
pub(crate) struct Beside {
    broker: Broker,
    port: u16,
    _temporary: Option<TempDir>,
}

/// The application at the forge, kept for the next start in the same folder: with another one its
/// users would have to sign in again
#[derive(Debug, Serialize, Deserialize)]
struct Application {
    public_url: String,
    client_id: String,
    client_secret: String,
}

impl Beside {
    /// Make the application at the forge and start; `admin` is a token of the forge
    pub(crate) async fn start(
        cx: &Cx,
        forge: &str,
        admin: Secret,
        listen: SocketAddr,
        dir: Option<&Path>,
    ) -> Result<Self, ToolError> {
        let no_folder = |source: std::io::Error| {
            let message = "no folder for the broker's data could be made";
            ToolError::new(ErrorCode::Io, message).with_source(source)
        };
        let failed = |source| {
            let address = listen;
            not_started(StartError::Listen { address, source })
                .with_hint("choose another address with `--broker`; port 0 is any free one")
        };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let wrong = |why| ToolError::new(ErrorCode::Config, format!("the broker: {why}"));
        let public = PublicUrl::parse(&format!("http://{address}")).map_err(wrong)?;
        let url = ForgeUrl::parse(forge).map_err(wrong)?;
        let http = Http::new(cx.env.http()?);
        let temporary = match dir {
            Some(_) => None,
            None => Some(tempfile::tempdir().map_err(no_folder)?),
        };
        let data = match (&temporary, dir) {
            (Some(temporary), _) => temporary.path().to_owned(),
            (None, dir) => dir.unwrap_or(Path::new(".")).join("broker"),
        };
        fs::create_dir_all(&data).map_err(no_folder)?;
        let kept = data.join("application.json");
        let app = if let Some(app) = application(&kept, &public) {
            app
        } else {
            let made = setup::create(&http, &url, admin, "Blue broker", &public).await?;
            let app = Application {
                public_url: public.origin().to_owned(),
                client_id: made.client_id,
                client_secret: made.client_secret,
            };
            keep(&kept, &app).map_err(no_folder)?;
            app
        };
        // Variables are ignored: they configure a broker that an admin set up.
        let given = Given {
            flags: [
                ("public_url", public.origin()),
                ("forge_url", forge),
                ("client_id", &app.client_id),
                ("client_secret", &app.client_secret),
                ("listen", &address.to_string()),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .to_vec(),
            cwd: data.clone(),
            ..Given::default()
        };
        let config = Config::read(&given, &data)
            .map_err(|faults| ToolError::new(ErrorCode::Config, faults.to_string()))?;
        let broker = Broker::build_on(listener, config, parts(cx)?)
            .await
            .map_err(not_started)?;
        Ok(Self {
            broker,
            port: address.port(),
            _temporary: temporary,
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// What clients are given
    pub(crate) fn mcp_url(&self) -> String {
        self.broker.public_url().resource()
    }

    pub(crate) async fn shutdown(self) {
        self.broker.shutdown().await;
    }
}

/// The application that was made for this address in an earlier run
fn application(file: &Path, public: &PublicUrl) -> Option<Application> {
    let app: Application = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    (app.public_url == public.origin()).then_some(app)
}

/// Written for its owner only: it has a secret
fn keep(file: &Path, app: &Application) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let text = serde_json::to_vec(app)?;
    std::io::Write::write_all(&mut options.open(file)?, &text)
}
