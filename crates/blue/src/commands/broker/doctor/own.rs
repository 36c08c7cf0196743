//! What the broker keeps on its own machine: rows and keys

use blue_base::secret::open_to_others;
use blue_broker::{
    AdminError, KeyFileError,
    config::{Config, Database, KeyFile},
    key_ids,
};

use super::Check;
use crate::commands::broker::admin;

/// The database, and the ids of the keys that its rows need
pub(super) async fn database(config: &Config) -> (Check, Vec<String>) {
    const NAME: &str = "Database";
    let (clients, keys) = match rows(config).await {
        Ok(found) => found,
        Err(error) => return (unusable(NAME, &config.database, error), Vec::new()),
    };
    let found = match clients {
        1 => "answers; 1 client".to_owned(),
        n => format!("answers; {n} clients"),
    };
    let check = match &config.database {
        Database::Sqlite(path) => match open_to_others(path) {
            None => Check::ok(NAME, found),
            Some(mode) => Check::warning(
                NAME,
                format!("{found}; `{}` has mode {mode:o}", path.display()),
                format!("chmod 600 {}", path.display()),
            ),
        },
        Database::Postgres(_) => Check::ok(NAME, found),
    };
    (check, keys)
}

/// Whether the way to a database on another machine is verified, also if it does not answer
pub(super) fn database_tls(config: &Config) -> Option<Check> {
    let mode = config.database.weak_sslmode()?;
    let what = match mode {
        "verify-ca" => "does not check the name of the server",
        "require" => "does not check who the server is",
        _ => "may go over the network in plain text, and does not check who the server is",
    };
    Some(Check::warning(
        "Database TLS",
        format!("the connection has `sslmode={mode}`: it {what}"),
        "write `sslmode=verify-full` into the address of the database, or leave it out, which \
         means the same; `sslrootcert` names an authority of your own",
    ))
}

async fn rows(config: &Config) -> Result<(u64, Vec<String>), AdminError> {
    let admin = admin::open_plain(config).await?;
    let clients = admin.count_clients().await;
    let keys = admin.keys_in_use().await;
    admin.close().await;
    Ok((clients?, keys?))
}

fn unusable(name: &'static str, database: &Database, error: AdminError) -> Check {
    let (is_wrong, advice) = match &error {
        AdminError::NoDatabase(_) | AdminError::Empty => {
            (false, "it is made when the broker first starts")
        }
        AdminError::Older { .. } => (
            false,
            "it is brought up to date when the broker of this program starts; keep a copy",
        ),
        AdminError::Newer { .. } => (true, "a newer program was here: use that one"),
        _ if matches!(database, Database::Postgres(_)) => (
            true,
            "see that `db` is right, that the database runs, that it lets this account in, and \
             that it has a certificate for its name: without `sslmode` a database on another \
             machine must show one",
        ),
        _ => (
            true,
            "see that `db` or `data` is right, and that this account may read it; where the \
             database is broken, put a backup back",
        ),
    };
    let why = admin::failed(error).chain().join(": ");
    if is_wrong {
        Check::failed(name, why, advice)
    } else {
        Check::warning(name, why, advice)
    }
}

/// Whether the files that hold secrets are for their owner alone
pub(super) fn secrets(config: &Config) -> impl Iterator<Item = Check> {
    const NAME: &str = "Secret";
    config.secret_files.iter().map(|path| {
        let shown = path.display();
        match open_to_others(path) {
            // No fault: what a supervisor hands out is often readable by a group.
            Some(mode) => Check::warning(
                NAME,
                format!("`{shown}` has mode {mode:o}: others can read it"),
                format!("chmod 600 {shown}"),
            ),
            None => Check::ok(NAME, format!("`{shown}`, for its owner only")),
        }
    })
}

/// Whether a broker would start with the key file that there is
pub(super) fn key_file(config: &Config, needed: &[String]) -> Check {
    const NAME: &str = "Key file";
    const BACK: &str =
        "put the key file back; or move the database away, and everybody signs in again";
    let path = config.key_file.path();
    let shown = path.display().to_string();
    let known = match key_ids(config) {
        Ok(known) => known,
        Err(KeyFileError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            return match needed.first() {
                Some(id) => Check::failed(
                    NAME,
                    format!("`{shown}` is not there, and the database holds data of key `{id}`"),
                    BACK,
                ),
                None => Check::warning(
                    NAME,
                    format!("`{shown}` is not there"),
                    "it is made when the broker first starts; keep a copy apart from the database",
                ),
            };
        }
        Err(_) if path.is_dir() => {
            let advice = match config.key_file {
                KeyFile::Named(_) => "correct `key_file`",
                KeyFile::Own(_) => "move it away",
            };
            return Check::failed(NAME, format!("`{shown}` is a folder"), advice);
        }
        Err(error) => {
            let advice = match &error {
                KeyFileError::Read { .. } => "run this as the account of the broker",
                _ => BACK,
            };
            let why = admin::failed(error.into()).chain();
            return Check::failed(NAME, why[1..].join(": "), advice);
        }
    };
    if let Some(id) = needed.iter().find(|id| !known.contains(id)) {
        return Check::failed(
            NAME,
            format!("the database holds data of key `{id}`, which `{shown}` does not have"),
            "put that key back into the file, behind the active one",
        );
    }
    match config.key_file.open_to_others() {
        Some(mode) => Check::failed(
            NAME,
            format!("`{shown}` has mode {mode:o}: others can read it"),
            format!("chmod 600 {shown}"),
        ),
        None => Check::ok(NAME, format!("`{shown}`, for its owner only")),
    }
}

#[cfg(test)]
mod tests {
    use blue_broker::config::Given;

    use super::super::State;
    use super::*;

    fn config(database: &str) -> Config {
        let vars = [
            ("PUBLIC_URL", "https://broker.example.org"),
            ("FORGE_URL", "https://forge.example.org"),
            ("CLIENT_ID", "c"),
            ("CLIENT_SECRET", "s"),
            ("DB", database),
        ];
        let given = Given {
            vars: vars
                .map(|(name, value)| (format!("BLUE_BROKER_{name}"), value.to_owned()))
                .to_vec(),
            ..Given::default()
        };
        Config::read(&given, std::path::Path::new("data")).unwrap()
    }

    #[test]
    fn a_weak_sslmode_of_a_remote_database_is_a_warning() {
        let check = |database: &str| database_tls(&config(database));
        for fine in [
            "postgres://db.example.org/blue",
            "postgres://db.example.org/blue?sslmode=verify-full",
            "postgres://127.0.0.1/blue?sslmode=disable",
            "sqlite:/tmp/broker.db",
        ] {
            assert!(check(fine).is_none(), "{fine}");
        }
        for mode in ["disable", "prefer", "require", "verify-ca"] {
            let url = format!("postgres://blue:hunter2@db.example.org/blue?sslmode={mode}");
            let found = check(&url).unwrap();
            assert_eq!(found.state, State::Warning);
            assert!(
                found.found.contains(&format!("sslmode={mode}")),
                "{found:?}"
            );
            assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
        }
    }
}
