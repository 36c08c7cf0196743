//! Where each value comes from

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use blue_base::secret::Secret;

use super::{
    clients::{RawClient, StaticClient},
    settings::{Kind, SETTINGS},
};

/// Flags, variables and file, before they are parsed
#[derive(Default)]
pub struct Given {
    /// Key and value of each flag
    pub flags: Vec<(String, String)>,
    /// Name and value of every variable that begins with `BLUE_BROKER_`
    pub vars: Vec<(String, String)>,
    pub file: Option<File>,
    /// Folder that relative paths of flags and variables are below
    pub cwd: PathBuf,
}

/// A configuration file
pub struct File {
    pub path: PathBuf,
    /// What it says, or why it could not be read
    pub text: Result<String, String>,
}

impl fmt::Debug for Given {
    // Half of the values are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given").finish_non_exhaustive()
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("File").field(&self.path).finish()
    }
}

/// One fault in the configuration, and where the value was given
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub source: String,
    pub why: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source, self.why)
    }
}

/// Everything that is wrong
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Faults {}

struct Value {
    text: String,
    source: String,
    base: PathBuf,
    /// 1 for the file, 2 for variables, 3 for flags
    rank: u8,
}

const OF_FILE: u8 = 1;

/// All values, the strongest of each key
pub(super) struct Layers {
    values: BTreeMap<&'static str, Value>,
    /// Each with its place in the file
    clients: Vec<(usize, RawClient)>,
    /// Files that a secret was read from
    pub(super) secret_files: Vec<PathBuf>,
    file: String,
    file_path: PathBuf,
    file_base: PathBuf,
    /// There is a file, and it could not be read or parsed
    unread: bool,
    faults: Vec<Fault>,
}

/// Message about an unknown name, with the most similar known one
fn unknown(name: &str, known_as: fn(&super::Setting) -> &'static str) -> String {
    // The prefix that all variables share must not count as similarity.
    fn own(name: &str) -> &str {
        name.strip_prefix("BLUE_BROKER_").unwrap_or(name)
    }
    let near = SETTINGS.iter().map(known_as);
    let near = near.map(|known| (strsim::jaro_winkler(own(name), own(known)), known));
    match near.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((like, known)) if like > 0.93 => {
            format!("there is no such setting; did you mean `{known}`?")
        }
        _ => "there is no such setting".to_owned(),
    }
}

impl Layers {
    pub(super) fn read(given: &Given) -> Self {
        let mut all = Self {
            values: BTreeMap::new(),
            clients: Vec::new(),
            secret_files: Vec::new(),
            file: String::new(),
            file_path: PathBuf::new(),
            file_base: given.cwd.clone(),
            unread: false,
            faults: Vec::new(),
        };
        if let Some(file) = &given.file {
            all.read_file(file);
        }
        for (name, text) in &given.vars {
            let known = SETTINGS.iter().find(|s| s.var == name);
            match known {
                None => all.at(name, &unknown(name, |s| s.var)),
                Some(_) if text.trim().is_empty() => {}
                Some(setting) => all.put(setting.key, text, name.clone(), &given.cwd, 2),
            }
        }
        for (key, text) in &given.flags {
            if let Some(setting) = SETTINGS.iter().find(|s| s.key == key) {
                all.put(setting.key, text, setting.flag(), &given.cwd, 3);
            }
        }
        all
    }

    fn read_file(&mut self, file: &File) {
        self.file = format!("`{}`", file.path.display());
        self.file_path.clone_from(&file.path);
        let base = file.path.parent().unwrap_or(Path::new(".")).to_owned();
        self.file_base.clone_from(&base);
        let text = match &file.text {
            Ok(text) => text,
            Err(why) => {
                self.unread = true;
                return self.at(&self.file.clone(), why);
            }
        };
        let table: toml::Table = match toml::from_str(text) {
            Ok(table) => table,
            Err(error) => {
                // Only the line number: the text around the fault may be a secret.
                let line = error
                    .span()
                    .map_or(1, |span| 1 + text[..span.start].matches('\n').count());
                let why = format!("line {line}: {}", error.message());
                self.unread = true;
                return self.at(&self.file.clone(), &why);
            }
        };
        for (key, value) in table {
            let source = format!("{}: {key}", self.file);
            if key == "clients" {
                self.read_clients(value, &source);
                continue;
            }
            let Some(setting) = SETTINGS.iter().find(|s| s.key == key) else {
                self.at(&source, &unknown(&key, |s| s.key));
                continue;
            };
            match as_text(&value) {
                Some(text) => self.put(setting.key, &text, source, &base, OF_FILE),
                None => self.at(&source, "must be a text, a number or a list of texts"),
            }
        }
    }

    fn read_clients(&mut self, value: toml::Value, source: &str) {
        let toml::Value::Array(tables) = value else {
            return self.at(source, "must be tables, each under `[[clients]]`");
        };
        for (at, table) in tables.into_iter().enumerate() {
            match table.try_into::<RawClient>() {
                Ok(client) => self.clients.push((at, client)),
                Err(error) => self.at(&format!("{source}[{at}]"), error.message()),
            }
        }
    }

    fn put(&mut self, key: &'static str, text: &str, source: String, base: &Path, rank: u8) {
        let value = Value {
            text: text.to_owned(),
            source,
            base: base.to_owned(),
            rank,
        };
        self.values.insert(key, value);
    }

    fn at(&mut self, source: &str, why: &str) {
        self.faults.push(Fault {
            source: source.to_owned(),
            why: why.to_owned(),
        });
    }

    /// Note that the value of `key` is wrong
    pub(super) fn fault(&mut self, key: &'static str, why: &str) {
        let file = format!("{key}_file");
        let value = self
            .values
            .get(key)
            .or_else(|| self.values.get(file.as_str()));
        let source = value.map_or_else(|| key.to_owned(), |value| value.source.clone());
        self.at(&source, why);
    }

    pub(super) fn missing(&mut self, key: &'static str) {
        let Some(setting) = SETTINGS.iter().find(|s| s.key == key) else {
            return;
        };
        // The value may be in the file that could not be read.
        if self.unread {
            return;
        }
        // A fault of the value or of its file was reported already.
        let told = |fault: &Fault| {
            let file = format!("{key}_file");
            let mut given = [key, file.as_str()].into_iter();
            given.any(|key| {
                let value = self.values.get(key);
                value.is_some_and(|value| value.source == fault.source)
            })
        };
        if self.faults.iter().any(told) {
            return;
        }
        let how = match setting.kind {
            Kind::Secret => format!("missing; set it, or `{}_FILE`", setting.var),
            _ => format!("missing; set it, or give `{}`", setting.flag()),
        };
        self.at(setting.var, &how);
    }

    pub(super) fn optional<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.values.get(key)?.text.trim().to_owned();
        match parse(&text) {
            Ok(value) => Some(value),
            Err(why) => {
                self.fault(key, &why);
                None
            }
        }
    }

    pub(super) fn required<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        if !self.values.contains_key(key) {
            self.missing(key);
            return None;
        }
        self.optional(key, parse)
    }

    pub(super) fn or_default<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        if self.values.contains_key(key) {
            return self.optional(key, parse);
        }
        let setting = SETTINGS.iter().find(|s| s.key == key)?;
        Some(parse(setting.value).expect("defaults are right, `defaults_are_right` says"))
    }

    pub(super) fn path(&mut self, key: &'static str) -> Option<PathBuf> {
        let value = self.values.get(key)?;
        Some(value.base.join(value.text.trim()))
    }

    /// A secret, given as itself or by its file
    pub(super) fn secret(&mut self, key: &'static str) -> Option<Secret> {
        let file_key = SETTINGS
            .iter()
            .find(|s| s.key.strip_suffix("_file") == Some(key))?
            .key;
        let rank = |key| self.values.get(key).map(|value| value.rank);
        match (rank(key), rank(file_key)) {
            (Some(own), Some(file)) if own == file => {
                let other = self.values[file_key].source.clone();
                self.fault(key, &format!("also given by {other}; one of them must go"));
                None
            }
            (Some(own), file) if Some(own) > file => {
                self.values.remove(file_key);
                if own == OF_FILE {
                    self.secret_files.push(self.file_path.clone());
                }
                let secret = Secret::new(self.values[key].text.clone());
                if secret.is_empty() {
                    self.fault(key, "is empty");
                    return None;
                }
                Some(secret)
            }
            (_, Some(_)) => {
                self.values.remove(key);
                let path = self.path(file_key)?;
                self.secret_files.push(path.clone());
                match read_secret(&path) {
                    Ok(secret) => Some(secret),
                    Err(why) => {
                        self.fault(file_key, &why);
                        None
                    }
                }
            }
            _ => None,
        }
    }

    /// Folder that a relative path in the value of `key` is below
    pub(super) fn base(&self, key: &str) -> &Path {
        let file = format!("{key}_file");
        let value = self.values.get(key);
        let value = value.or_else(|| self.values.get(file.as_str()));
        value.map_or(&self.file_base, |value| &value.base)
    }

    /// The clients of the file; `good` checks a redirect URI
    pub(super) fn clients(
        &mut self,
        good: impl Fn(&str) -> Result<(), String>,
    ) -> Vec<StaticClient> {
        let mut clients: Vec<StaticClient> = Vec::new();
        for (at, raw) in std::mem::take(&mut self.clients) {
            let source = format!("{}: clients[{at}]", self.file);
            let secret = raw.secret_file.iter();
            let secret = secret.map(|file| self.file_base.join(file));
            self.secret_files.extend(secret);
            match StaticClient::read(raw, &self.file_base, &good) {
                Ok(client) if clients.iter().any(|c| c.id == client.id) => {
                    self.at(&source, &format!("there is another client `{}`", client.id));
                }
                Ok(client) => clients.push(client),
                Err(faults) => faults.iter().for_each(|why| self.at(&source, why)),
            }
        }
        clients
    }

    pub(super) fn finish(self) -> Result<(), Faults> {
        if self.faults.is_empty() {
            Ok(())
        } else {
            Err(Faults(self.faults))
        }
    }
}

fn as_text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(yes) => Some(if *yes { "on" } else { "off" }.to_owned()),
        toml::Value::Array(list) => {
            let words: Option<Vec<&str>> = list.iter().map(toml::Value::as_str).collect();
            words.map(|words| words.join(" "))
        }
        _ => None,
    }
}

pub(super) fn read_secret(path: &Path) -> Result<Secret, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("`{}` could not be read: {error}", path.display()))?;
    let secret = Secret::new(text);
    if secret.is_empty() {
        return Err(format!("`{}` is empty", path.display()));
    }
    if secret.expose().chars().any(char::is_control) {
        return Err(format!("`{}` holds more than one line", path.display()));
    }
    Ok(secret)
}
