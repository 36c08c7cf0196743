//! Configuration of the broker: flags, then variables, then a file, then defaults
//!
//! Values are read as text, each with its origin, and then parsed into types that are always valid.
//! All faults are reported at once.

mod clients;
mod layers;
mod network;
mod places;
mod postgres;
mod settings;
mod values;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use blue_base::secret::Secret;

pub use clients::StaticClient;
pub use layers::{Fault, Faults, File, Given};
pub use network::Network;
pub(crate) use postgres::postgres_options;
pub use settings::{Kind, SETTINGS, Setting, setting};
pub use values::{Database, ForgeScopes, ForgeUrl, PublicUrl};

use crate::oauth::redirect;
use layers::Layers;

/// What the broker runs with; nothing after [`Config::read`] checks it again
#[derive(Debug, Clone)]
pub struct Config {
    pub public_url: PublicUrl,
    pub forge: ForgeUrl,
    /// What the forge is called on pages
    pub forge_name: String,
    pub client_id: String,
    pub client_secret: Secret,
    pub listen: SocketAddr,
    /// Folder of the broker's own files
    pub data: PathBuf,
    pub database: Database,
    pub key_file: KeyFile,
    /// Scopes that the broker requests at the forge for each user
    pub forge_scopes: ForgeScopes,
    pub access_ttl: Duration,
    pub refresh_ttl: Duration,
    /// How long audit events are kept
    pub audit_ttl: Duration,
    /// Schemes besides https and loopback http that a redirect URI may have
    pub private_schemes: Vec<String>,
    /// Whether clients may register themselves
    pub registration: bool,
    /// Hosts whose client metadata documents are fetched
    pub metadata_hosts: MetadataHosts,
    /// Browser origins that may call `/mcp`, besides the broker's own
    pub origins: Vec<String>,
    /// Proxies whose `X-Forwarded-For` is trusted, for limits and the log
    pub trusted_proxies: Vec<Network>,
    pub clients: Vec<StaticClient>,
    /// Files that one of the secrets was read from
    pub secret_files: Vec<PathBuf>,
}

/// Where the master keys are
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyFile {
    /// Made at the first start if it is not there
    Own(PathBuf),
    /// Must be there
    Named(PathBuf),
}

impl KeyFile {
    pub fn path(&self) -> &std::path::Path {
        match self {
            Self::Own(path) | Self::Named(path) => path,
        }
    }

    /// The mode of a file that is not for its owner alone, where systems have modes
    pub fn open_to_others(&self) -> Option<u32> {
        blue_base::secret::open_to_others(self.path())
    }
}

/// Hosts from which client metadata documents are fetched
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetadataHosts {
    /// Every public host
    Any,
    /// None: only the built-in copies are known
    None,
    Only(Vec<String>),
}

impl Config {
    /// Parse and validate the configuration; `home` is the folder for files without a configured
    /// path
    pub fn read(given: &Given, home: &std::path::Path) -> Result<Self, Faults> {
        let mut from = Layers::read(given);
        let data = from.path("data").unwrap_or_else(|| home.to_owned());
        if let Err(why) = places::can_be_folder(&data) {
            from.fault("data", &why);
        }
        let public_url = from.required("public_url", PublicUrl::parse);
        let forge = from.required("forge_url", ForgeUrl::parse);
        let client_id = from.required("client_id", values::word);
        let client_secret = from.secret("client_secret");
        if client_secret.is_none() {
            from.missing("client_secret");
        }
        let listen = from.or_default("listen", values::listen);
        let database = from
            .secret("db")
            .map(|text| Database::parse(text.expose(), from.base("db")));
        let database = match database {
            None => Some(Database::Sqlite(data.join("broker.db"))),
            Some(Ok(database)) => {
                if let Err(why) = places::can_hold(&database, &data) {
                    from.fault("db", &why);
                }
                Some(database)
            }
            Some(Err(why)) => {
                from.fault("db", &why);
                None
            }
        };
        let key_file = match from.path("key_file") {
            Some(path) => {
                if let Err(why) = places::holds_keys(&path) {
                    from.fault("key_file", &why);
                }
                KeyFile::Named(path)
            }
            None => KeyFile::Own(data.join("keys")),
        };
        let forge_scopes = from.or_default("forge_scopes", ForgeScopes::parse);
        let access_ttl = from.or_default("access_ttl", |text| {
            values::duration(text, Duration::from_secs(10), Duration::from_hours(24))
        });
        let refresh_ttl = from.or_default("refresh_ttl", |text| {
            values::duration(
                text,
                Duration::from_hours(1),
                Duration::from_hours(24 * 366),
            )
        });
        let audit_ttl = from.or_default("audit_ttl", |text| {
            values::duration(
                text,
                Duration::from_hours(24),
                Duration::from_hours(24 * 3650),
            )
        });
        let private_schemes = from.or_default("private_schemes", values::schemes);
        let registration = from.or_default("registration", values::on_off);
        let metadata_hosts = from.or_default("metadata_hosts", values::metadata_hosts);
        let origins = from.or_default("origins", values::origins);
        let trusted_proxies = from.or_default("trusted_proxies", values::networks);
        let forge_name = from.optional("forge_name", values::word);
        let clients = from.clients(|uri| match (&private_schemes, &public_url) {
            (Some(schemes), Some(own)) => {
                redirect::good(schemes, own, uri).map_err(|why| why.to_string())
            }
            // Faults of those were reported already.
            _ => Ok(()),
        });
        let secret_files = std::mem::take(&mut from.secret_files);
        from.finish()?;
        let forge = forge.expect(CHECKED);
        Ok(Self {
            public_url: public_url.expect(CHECKED),
            forge_name: forge_name.unwrap_or_else(|| forge.host()),
            forge,
            client_id: client_id.expect(CHECKED),
            client_secret: client_secret.expect(CHECKED),
            listen: listen.expect(CHECKED),
            data,
            database: database.expect(CHECKED),
            key_file,
            forge_scopes: forge_scopes.expect(CHECKED),
            access_ttl: access_ttl.expect(CHECKED),
            refresh_ttl: refresh_ttl.expect(CHECKED),
            audit_ttl: audit_ttl.expect(CHECKED),
            private_schemes: private_schemes.expect(CHECKED),
            registration: registration.expect(CHECKED),
            metadata_hosts: metadata_hosts.expect(CHECKED),
            origins: origins.expect(CHECKED),
            trusted_proxies: trusted_proxies.expect(CHECKED),
            clients,
            secret_files,
        })
    }
}

const CHECKED: &str = "a value that is absent was a fault, and `finish` ends on faults";

#[cfg(test)]
mod tests;
