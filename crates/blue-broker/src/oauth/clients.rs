//! Which client an id stands for

use serde_json::json;

use crate::{
    app::App,
    config::StaticClient,
    store::{AuthMethod, Client, ClientKind, StoreError},
    token::TokenHash,
};

/// Why nobody can say which client it is
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The client of this id; those of the configuration come first
pub(crate) async fn find(app: &App, client_id: &str) -> Result<Option<Client>, ClientError> {
    let known = app.config.clients.iter().find(|c| c.id == client_id);
    if let Some(known) = known {
        let client = written_down(app, known);
        if app.store.client(client_id).await?.is_none() {
            app.store.put_client(&client).await?;
        }
        return Ok(Some(client));
    }
    let row = app.store.client(client_id).await?;
    // One that was taken out of the configuration is gone.
    Ok(row.filter(|client| client.kind != ClientKind::Static))
}

fn written_down(app: &App, known: &StaticClient) -> Client {
    Client {
        id: known.id.clone(),
        kind: ClientKind::Static,
        name: known.name.clone(),
        redirect_uris: known.redirect_uris.clone(),
        auth_method: match known.secret {
            Some(_) => AuthMethod::Basic,
            None => AuthMethod::None,
        },
        secret: known.secret.as_ref().map(|s| TokenHash::of(s.expose())),
        metadata: json!({}),
        fingerprint: None,
        created_at: app.now(),
        last_used_at: None,
    }
}
