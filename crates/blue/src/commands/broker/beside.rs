//! A broker beside a sandbox, with nothing to configure and nothing kept

use std::net::SocketAddr;

use blue_broker::{
    Broker, StartError,
    config::{Config, ForgeUrl, Given, PublicUrl},
};
use blue_core::{http::Http, secret::Secret};
use blue_tools::{ErrorCode, ToolError};
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::{
    serve::{not_started, parts},
    setup,
};
use crate::commands::Cx;

/// It runs until it is stopped, and its files go with it
#[derive(Debug)]
pub(crate) struct Beside {
    broker: Broker,
    _data: TempDir,
}

impl Beside {
    /// Make the application at the forge and start; `admin` is a token of the forge
    pub(crate) async fn start(
        cx: &Cx,
        forge: &str,
        admin: Secret,
        listen: SocketAddr,
    ) -> Result<Self, ToolError> {
        let io = |message: &str, source| {
            ToolError::new(ErrorCode::Io, message.to_owned()).with_source(source)
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
        let app = setup::create(&http, &url, admin, "Blue broker", &public).await?;
        let data = tempfile::tempdir()
            .map_err(|error| io("no folder for the broker's data could be made", error))?;
        // Variables are left out: they are meant for a broker that somebody set up.
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
            cwd: data.path().to_owned(),
            ..Given::default()
        };
        let config = Config::read(&given, data.path())
            .map_err(|faults| ToolError::new(ErrorCode::Config, faults.to_string()))?;
        let broker = Broker::build_on(listener, config, parts(cx)?)
            .await
            .map_err(not_started)?;
        Ok(Self {
            broker,
            _data: data,
        })
    }

    /// What clients are given
    pub(crate) fn mcp_url(&self) -> String {
        self.broker.public_url().resource()
    }

    pub(crate) async fn shutdown(self) {
        self.broker.shutdown().await;
    }
}
