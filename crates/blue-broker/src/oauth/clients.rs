//! Looking up a `client_id`

use jiff::Timestamp;
use serde_json::json;

use super::{
    builtin,
    cimd::{self, MetadataError},
};
use crate::{
    app::App,
    config::StaticClient,
    store::{AuthMethod, Client, ClientKind, StoreError},
    token::TokenHash,
};

/// Longest `client_id`
const LONGEST: usize = 2048;

/// Why the lookup of a client failed
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("the client could not be looked up")]
    Store(#[from] StoreError),
    /// Its id is a URL, and there is no valid document
    #[error(transparent)]
    Metadata(MetadataError),
}

impl From<MetadataError> for ClientError {
    fn from(error: MetadataError) -> Self {
        match error {
            MetadataError::Store(error) => Self::Store(error),
            error => Self::Metadata(error),
        }
    }
}

/// The client of that id: configured by an admin, built in, registered, or described by a document
///
/// `None` if there is none, or none any more.
pub(crate) async fn find(app: &App, client_id: &str) -> Result<Option<Client>, ClientError> {
    if client_id.is_empty() || client_id.len() > LONGEST {
        return Ok(None);
    }
    if let Some(written) = app.config.clients.iter().find(|c| c.id == client_id) {
        return Ok(Some(kept(app, of_admin(app, written)?).await?));
    }
    if let Some(known) = builtin::find(client_id) {
        return Ok(Some(kept(app, of_builtin(app, known)).await?));
    }
    if client_id.starts_with("https://") {
        return Ok(Some(cimd::find(app, client_id).await?));
    }
    let row = app.store.client(client_id).await?;
    // A client that an admin removed from the configuration is gone, even if a row of it is left.
    Ok(row.filter(|client| client.kind == ClientKind::Dynamic))
}

/// The host that vouches for a client, if one does
pub(crate) fn verified_host(client: &Client) -> Option<String> {
    if client.kind != ClientKind::Metadata {
        return None;
    }
    let url = url::Url::parse(&client.id).ok()?;
    url.host_str().map(str::to_owned)
}

fn of_admin(app: &App, written: &StaticClient) -> Result<Client, StoreError> {
    let secret = written.secret.as_ref();
    let secret = secret.map(|secret| app.store.keyed(&TokenHash::of(secret.expose())));
    Ok(Client {
        id: written.id.clone(),
        kind: ClientKind::Static,
        name: written.name.clone(),
        redirect_uris: written.redirect_uris.clone(),
        auth_method: match written.secret {
            // Only one method can be stored; a client with a secret may use either.
            Some(_) => AuthMethod::Basic,
            None => AuthMethod::None,
        },
        secret: secret.transpose()?,
        metadata: json!({}),
        fingerprint: None,
        created_at: app.now(),
        last_used_at: None,
    })
}

fn of_builtin(app: &App, known: &builtin::Builtin) -> Client {
    let uris = known.redirect_uris.iter().map(|uri| (*uri).to_owned());
    public(known.id, known.name, uris.collect(), app.now())
}

/// A public client, which has a document instead of a secret
fn public(id: &str, name: &str, redirect_uris: Vec<String>, now: Timestamp) -> Client {
    Client {
        id: id.to_owned(),
        kind: ClientKind::Metadata,
        name: name.to_owned(),
        redirect_uris,
        auth_method: AuthMethod::None,
        secret: None,
        metadata: json!({}),
        fingerprint: None,
        created_at: now,
        last_used_at: None,
    }
}

/// Keep a row of the client, so that lists can name it; written only when something changed
async fn kept(app: &App, mut client: Client) -> Result<Client, StoreError> {
    if let Some(row) = app.store.client(&client.id).await? {
        client.created_at = row.created_at;
        client.last_used_at = row.last_used_at;
        let same = row.kind == client.kind
            && row.name == client.name
            && row.redirect_uris == client.redirect_uris
            && row.auth_method == client.auth_method
            && row.secret == client.secret
            && row.metadata == client.metadata;
        if same {
            return Ok(client);
        }
    }
    app.store.put_client(&client).await?;
    Ok(client)
}
