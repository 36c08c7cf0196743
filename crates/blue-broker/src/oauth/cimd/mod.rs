//! Clients whose id is the URL of a document about them
//!
//! An untrusted caller chooses the URL, and the broker stands in the network of a forge: the
//! document is fetched only from public addresses, resolved once and then pinned, without proxy or
//! redirect, with a small size limit and timeout. The client's row is the cache; errors are never
//! cached.

mod address;
mod document;
mod fetch;
#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use fetch::FetchError;
pub(crate) use fetch::Fetcher;

use crate::{
    app::App,
    limits::CountedAs,
    store::{AuthMethod, Client, ClientKind, StoreError, ms},
};

/// How old a cached document may be that is still used while its host cannot be reached
const STALE: Duration = Duration::from_hours(24);

/// Why a document is not accepted
#[derive(Debug, thiserror::Error)]
pub(crate) enum MetadataError {
    #[error("`client_id` is no address of a client's document: {0}")]
    Address(&'static str),
    #[error("clients of `{0}` are not allowed here")]
    Host(String),
    #[error("too many documents were asked for in a short time")]
    Busy,
    // Deliberately vague: the difference between the ways to fail would be a map of our network.
    #[error("the client's document could not be read")]
    Unreachable,
    /// A public server responded without a document, or timed out: retrying does not help before
    /// the client's author has changed something
    #[error("the client's document could not be read: {0}")]
    NotServed(String),
    #[error("the client's document is not good: {0}")]
    Document(String),
    #[error("the client could not be looked up")]
    Store(#[from] StoreError),
}

impl From<FetchError> for MetadataError {
    fn from(error: FetchError) -> Self {
        if error.is_fault_of_client() {
            Self::NotServed(error.to_string())
        } else {
            Self::Unreachable
        }
    }
}

/// The client that the document at `id` describes
pub(super) async fn find(app: &App, id: &str) -> Result<Client, MetadataError> {
    let url = address::target(&app.config, id)?;
    let row = app.store.client(id).await?;
    let row = row.filter(|row| row.kind == ClientKind::Metadata);
    let now = app.now();
    if let Some(row) = row.as_ref().filter(|row| good_until(row) > ms(now)) {
        return Ok(row.clone());
    }
    let host = url.host_str().unwrap_or_default();
    let stale = i64::try_from(STALE.as_millis()).unwrap_or(0);
    let old = || {
        let row = row.clone();
        row.filter(|row| good_until(row).saturating_add(stale) > ms(now))
    };
    let limit = match &row {
        Some(row) if row.last_used_at.is_some() => &app.limits.known_documents,
        _ => &app.limits.documents,
    };
    if limit.take(Some(&CountedAs::host(host)), now).is_err() {
        return old().ok_or(MetadataError::Busy);
    }
    let fetched = match app.documents.fetch(&url).await {
        Ok(fetched) => fetched,
        Err(error) => {
            tracing::info!(host, %error, "a client's document could not be read");
            // A server that responds with something else has withdrawn the document.
            let old = if error.is_answer() { None } else { old() };
            return old.ok_or_else(|| MetadataError::from(error));
        }
    };
    let claims = document::read(&app.config, id, &fetched.body)?;
    // Links and the like are not stored: nothing reads them.
    let mut metadata = serde_json::Map::new();
    let until = now.checked_add(fetched.keep).unwrap_or(Timestamp::MAX);
    metadata.insert(UNTIL.to_owned(), ms(until).into());
    let client = Client {
        id: id.to_owned(),
        kind: ClientKind::Metadata,
        name: claims.shown_name(),
        redirect_uris: claims.redirect_uris,
        auth_method: AuthMethod::None,
        secret: None,
        metadata: Value::Object(metadata),
        fingerprint: None,
        created_at: row.as_ref().map_or(now, |row| row.created_at),
        last_used_at: row.as_ref().and_then(|row| row.last_used_at),
    };
    app.store.put_client(&client).await?;
    Ok(client)
}

/// Contents of a valid document
#[cfg(any(test, feature = "fuzz"))]
pub(crate) struct Document {
    pub(crate) name: String,
    pub(crate) redirect_uris: Vec<String>,
    pub(crate) metadata: serde_json::Map<String, Value>,
}

#[cfg(any(test, feature = "fuzz"))]
pub(crate) fn read_document(
    config: &crate::config::Config,
    id: &str,
    body: &[u8],
) -> Option<Document> {
    let claims = document::read(config, id, body).ok()?;
    Some(Document {
        name: claims.shown_name(),
        redirect_uris: claims.redirect_uris,
        metadata: claims.metadata,
    })
}

/// Key of the time until which the row stands for the document, in ms
const UNTIL: &str = "document_good_until";

fn good_until(row: &Client) -> i64 {
    row.metadata.get(UNTIL).and_then(Value::as_i64).unwrap_or(0)
}
