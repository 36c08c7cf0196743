//! Which URLs a client metadata document may have

pub(super) use blue_base::http::is_public;
use url::{Host, Url};

use super::MetadataError;
use crate::config::{Config, MetadataHosts};

/// The URL in `id`, if a document may have it
pub(super) fn target(config: &Config, id: &str) -> Result<Url, MetadataError> {
    let bad = |why| Err(MetadataError::Address(why));
    let Ok(url) = Url::parse(id) else {
        return bad("not a URL");
    };
    if url.scheme() != "https" {
        return bad("not https");
    }
    if !url.username().is_empty() || url.password().is_some() || id.contains('@') {
        return bad("it must hold no user and no `@`");
    }
    if id.contains('#') {
        return bad("it must have no fragment");
    }
    // One spelling only: it is compared with the document, and no parser may read another host.
    if url.as_str() != id {
        return bad("it is not in its plain spelling");
    }
    if url.path() == "/" {
        return bad("it must have a path");
    }
    if url.port().is_some() {
        return bad("it must have no port");
    }
    let host = match url.host() {
        Some(Host::Domain(name)) if name.contains('.') && !name.ends_with('.') => name.to_owned(),
        _ => return bad("its host must be a public name"),
    };
    let known = match &config.metadata_hosts {
        MetadataHosts::Any => true,
        MetadataHosts::None => false,
        MetadataHosts::Only(hosts) => hosts.contains(&host),
    };
    if !known {
        return Err(MetadataError::Host(host));
    }
    Ok(url)
}
