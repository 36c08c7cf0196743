//! Parsing of client metadata documents

use serde_json::Value;

use super::{super::claims::Claims, MetadataError};
use crate::config::Config;

/// Parse a document that was found at `id`
pub(super) fn read(config: &Config, id: &str, body: &[u8]) -> Result<Claims, MetadataError> {
    let bad = |why: &str| MetadataError::Document(why.to_owned());
    let Ok(Value::Object(said)) = serde_json::from_slice(body) else {
        return Err(bad("it is not a JSON object"));
    };
    if said.get("client_id").and_then(Value::as_str) != Some(id) {
        return Err(bad("its `client_id` is not its own address"));
    }
    if said.contains_key("client_secret") || said.contains_key("client_secret_expires_at") {
        return Err(bad("it must hold no secret"));
    }
    let claims =
        Claims::read(config, &said).map_err(|why| MetadataError::Document(why.to_string()))?;
    if claims.name.as_deref().is_none_or(str::is_empty) {
        return Err(bad("`client_name` is missing"));
    }
    // A client that authenticates with a key must not be accepted without it: any other party could
    // pose as it.
    let offered = said.get("token_endpoint_auth_methods_supported");
    let offers_none = offered
        .and_then(Value::as_array)
        .is_some_and(|methods| methods.iter().any(|method| method == "none"));
    match claims.auth_method.as_deref() {
        None | Some("none") => Ok(claims),
        Some(_) if offers_none => Ok(claims),
        Some(_) => Err(bad("`token_endpoint_auth_method` must be `none`")),
    }
}
