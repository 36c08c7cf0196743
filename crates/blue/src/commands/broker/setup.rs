//! `blue broker setup`

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use blue_base::{
    host::Host,
    http::{AuthScheme, Credential, HeaderName, HeaderValue, Http, Method, Request},
    secret::Secret,
};
use blue_broker::config::{Config, ForgeUrl, Given, Kind, PublicUrl, SETTINGS};
use blue_tools::{ErrorCode, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{flags::Flags, wrong_settings};
use crate::{
    commands::{Cx, Stop},
    render::{Cell, Page, Report, Style},
};

/// Create the OAuth application at the forge, and write a config for the broker
///
/// The application belongs to the account of the token, which needs the scope `write:user`; it
/// ends with that account. The secret is written to a file of its own that only you can read.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The Forgejo or Gitea that people sign in with
    #[arg(long, value_name = "URL")]
    forge: String,
    /// File with a token of the account that shall own the application
    #[arg(long, value_name = "FILE")]
    admin_token_file: PathBuf,
    /// Config to write; the secret goes beside it
    #[arg(long, value_name = "FILE", default_value = "broker.toml")]
    out: PathBuf,
    /// Name of the application, which people see at the forge
    #[arg(long, default_value = "Blue broker")]
    name: String,
}

const EXAMPLES: &str = "\
Examples:
  blue broker setup --forge https://git.example.org --admin-token-file token \\
    --public-url https://broker.example.org
  blue broker --config broker.toml --check";

/// Make the application and the files; settings that are given as flags go into the config
pub(super) async fn run(
    cx: &Cx,
    args: Args,
    flags: &Flags,
    config: Option<&Path>,
) -> Result<(), Stop> {
    let out = cx.env.cwd().join(&args.out);
    let secret_file = out.with_extension("secret");
    let mut faults = Vec::new();
    if config.is_some() {
        faults.push("--config: leave it out: `--out` says where the config goes".to_owned());
    }
    if secret_file == out {
        faults.push("--out: the secret itself goes into a file of that name".to_owned());
    }
    let (forge, public) = check(cx, &args.forge, flags, faults)?;
    let token = read_token(&cx.env.cwd().join(&args.admin_token_file))?;
    let http = Http::new(cx.env.http()?);
    // Both files are there before the application is: its secret is shown only once.
    let files = Files::make(&out, &secret_file)?;
    let made = match create(&http, &forge, token, &args.name, &public).await {
        Ok(made) => made,
        Err(error) => {
            files.remove();
            return Err(error.into());
        }
    };
    let name = secret_file.file_name().unwrap_or_default();
    let mut settings = vec![
        ("public_url", public.origin().to_owned()),
        ("forge_url", forge.url().to_string()),
        ("client_id", made.client_id.clone()),
        ("client_secret_file", name.to_string_lossy().into_owned()),
    ];
    for (key, value) in also(cx.env.cwd(), flags, &public) {
        if settings.iter().all(|(known, _)| *known != key) {
            settings.push((key, value));
        }
    }
    let line = |(key, value): (&str, String)| format!("{key} = {}\n", json!(value));
    let text: String = settings.into_iter().map(line).collect();
    files.fill(&text, &made.client_secret)?;
    let done = Done {
        config: out,
        client_secret_file: secret_file,
        client_id: made.client_id,
        redirect_uri: public.at("/oauth/callback"),
    };
    cx.screen.show(&done).map_err(Stop::Output)
}

/// The token alone: a forge would only say that it does not know whatever else is in the file
fn read_token(path: &Path) -> Result<Secret, ToolError> {
    let failed = |what: &str| {
        let message = format!("`{}` {what}", path.display());
        ToolError::new(ErrorCode::Config, message)
    };
    let text = fs::read_to_string(path)
        .map_err(|source| failed("could not be read").with_source(source))?;
    let token = text.trim();
    if token.is_empty() {
        return Err(failed("is empty").with_hint("put the token of the forge into it"));
    }
    if !token.chars().all(|c| c.is_ascii_graphic()) {
        return Err(failed("holds more than a token")
            .with_hint("put the token of the forge into it, and nothing else"));
    }
    Ok(Secret::new(token))
}

/// Where to listen, if clients come without a proxy in between
fn listen(public: &PublicUrl) -> Option<String> {
    let plain = public.origin().strip_prefix("http://")?;
    let has_port = plain
        .rsplit(':')
        .next()
        .is_some_and(|port| port.parse::<u16>().is_ok());
    let address = plain.replace("localhost", "127.0.0.1");
    has_port.then_some(address)
}

/// Read all that will be in the config as the broker will: later the application is there already
fn check(
    cx: &Cx,
    forge: &str,
    flags: &Flags,
    mut faults: Vec<String>,
) -> Result<(ForgeUrl, PublicUrl), ToolError> {
    const MADE: &[&str] = &["forge_url", "client_id", "client_secret_file"];
    for (key, _) in flags
        .0
        .iter()
        .filter(|(key, _)| MADE.contains(&key.as_str()))
    {
        let why = match key.as_str() {
            "forge_url" => "`--forge` says where the forge is",
            _ => "it comes with the application, which is made here",
        };
        faults.push(format!("--{}: leave it out: {why}", key.replace('_', "-")));
    }
    let mut given = Given {
        flags: flags.0.clone(),
        cwd: cx.env.cwd().to_owned(),
        ..Given::default()
    };
    given.flags.retain(|(key, _)| !MADE.contains(&key.as_str()));
    given.flags.push(("forge_url".to_owned(), forge.to_owned()));
    // Stand for what the forge will give.
    given.flags.push(("client_id".to_owned(), "x".to_owned()));
    given
        .vars
        .push(("BLUE_BROKER_CLIENT_SECRET".to_owned(), "x".to_owned()));
    let vars = cx.env.broker().into_iter();
    given
        .vars
        .extend(vars.filter(|(name, _)| name == "BLUE_BROKER_PUBLIC_URL"));
    match Config::read(&given, cx.env.cwd()) {
        Ok(config) if faults.is_empty() => return Ok((config.forge, config.public_url)),
        Ok(_) => {}
        Err(found) => faults.extend(found.0.iter().map(|fault| {
            let line = fault.to_string();
            match line.strip_prefix("--forge-url:") {
                Some(why) => format!("--forge:{why}"),
                None => line,
            }
        })),
    }
    Err(wrong_settings(&faults))
}

/// Settings beside those of the application: what was given, and a port that fits the public URL
fn also(cwd: &Path, flags: &Flags, public: &PublicUrl) -> Vec<(&'static str, String)> {
    let mut found: Vec<(&'static str, String)> = Vec::new();
    for setting in SETTINGS {
        let given = flags.0.iter().find(|(key, _)| key == setting.key);
        let Some((_, value)) = given else { continue };
        // Paths of the file are below its folder, which may be another.
        let value = match setting.kind {
            Kind::Path => cwd.join(value).display().to_string(),
            Kind::Text | Kind::Secret => value.clone(),
        };
        found.push((setting.key, value));
    }
    let told = found.iter().any(|(key, _)| *key == "listen");
    if let Some(address) = listen(public).filter(|_| !told) {
        found.push(("listen", address));
    }
    found
}

/// What the forge says of the new application
#[derive(Deserialize)]
pub(super) struct Made {
    pub(super) client_id: String,
    pub(super) client_secret: String,
}

/// Create the application at the forge
pub(super) async fn create(
    http: &Http,
    forge: &ForgeUrl,
    token: Secret,
    name: &str,
    public: &PublicUrl,
) -> Result<Made, ToolError> {
    const SCOPE: &str = "the token needs the scope `write:user`";
    const FORGE: &str = "see that this is the address of a Forgejo or Gitea, and that OAuth is \
                         enabled there";
    let url = forge.at("api/v1/user/applications/oauth2");
    let host = Host::of_url(&url)
        .ok_or_else(|| ToolError::new(ErrorCode::Config, "the forge's URL has no host"))?;
    let mut request = Request::new(Method::POST, url);
    request.credential = Some(Credential {
        host,
        scheme: AuthScheme::Token,
        token,
    });
    request.headers.insert(
        HeaderName::from_static("content-type"),
        HeaderValue::from_static("application/json"),
    );
    let body = json!({
        "name": name,
        "redirect_uris": [public.at("/oauth/callback")],
        "confidential_client": true,
    });
    request.body = Some(body.to_string().into());
    let answer = http.send(request).await.map_err(ToolError::from)?;
    let (code, hint) = match answer.status.as_u16() {
        201 => {
            return serde_json::from_slice(&answer.body).map_err(|source| {
                let message = "the forge's answer holds no client id and secret";
                ToolError::new(ErrorCode::UnexpectedAnswer, message).with_source(source)
            });
        }
        401 => (
            ErrorCode::Unauthorized,
            "see that the file holds a token of this forge, and that it was not deleted",
        ),
        403 => (ErrorCode::Forbidden, SCOPE),
        404 => (ErrorCode::NotFound, FORGE),
        _ => (ErrorCode::UnexpectedAnswer, FORGE),
    };
    let said: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let said = said["message"].as_str().unwrap_or_default();
    let message = format!(
        "the forge did not create the application: {} {said}",
        answer.status.as_u16()
    );
    Err(ToolError::new(code, message.trim_end()).with_hint(hint))
}

/// The two new files
struct Files {
    config: (PathBuf, fs::File),
    secret: (PathBuf, fs::File),
}

impl Files {
    /// Make both, for their owner only; what is there is not touched
    fn make(config: &Path, secret: &Path) -> Result<Self, ToolError> {
        let failed = |path: &Path, source: io::Error| {
            let message = format!("`{}` could not be made", path.display());
            ToolError::new(ErrorCode::Io, message)
                .with_source(source)
                .with_hint("choose another file with `--out`")
        };
        let secret_file = private(secret).map_err(|error| failed(secret, error))?;
        let config_file = private(config).map_err(|error| {
            let _ = fs::remove_file(secret);
            failed(config, error)
        })?;
        Ok(Self {
            config: (config.to_owned(), config_file),
            secret: (secret.to_owned(), secret_file),
        })
    }

    fn fill(mut self, config: &str, secret: &str) -> Result<(), ToolError> {
        let failed = |path: &Path, source: io::Error| {
            let message = format!("`{}` could not be written", path.display());
            ToolError::new(ErrorCode::Io, message).with_source(source)
        };
        let (path, file) = &mut self.secret;
        writeln!(file, "{secret}").map_err(|error| failed(path, error))?;
        let (path, file) = &mut self.config;
        file.write_all(config.as_bytes())
            .map_err(|error| failed(path, error))
    }

    fn remove(self) {
        let _ = fs::remove_file(self.config.0);
        let _ = fs::remove_file(self.secret.0);
    }
}

fn private(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Empty is what a run that was interrupted leaves.
    if path
        .metadata()
        .is_ok_and(|found| found.is_file() && found.len() == 0)
    {
        fs::remove_file(path)?;
    }
    options.open(path)
}

#[derive(Debug, Serialize)]
struct Done {
    config: PathBuf,
    client_secret_file: PathBuf,
    client_id: String,
    redirect_uri: String,
}

impl Report for Done {
    fn page(&self, page: &mut Page) {
        page.line("The application is there.", Style::Good)
            .fields(&[
                ("Client id", Cell::from(&self.client_id)),
                ("Redirect URI", Cell::from(&self.redirect_uri)),
                ("Config", Cell::from(self.config.display().to_string())),
                (
                    "Secret",
                    Cell::from(self.client_secret_file.display().to_string()),
                ),
            ])
            .blank()
            .line("Start the broker:", Style::Plain)
            .code(&format!("blue broker --config {}", self.config.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_listens_where_clients_come_to() {
        for (public, address) in [
            ("http://127.0.0.1:8399", Some("127.0.0.1:8399")),
            ("http://localhost:8399", Some("127.0.0.1:8399")),
            ("http://[::1]:8399", Some("[::1]:8399")),
            ("http://localhost", None),
            ("http://[::1]", None),
            ("https://broker.example.org", None),
            ("https://broker.example.org:8443", None),
        ] {
            let public = PublicUrl::parse(public).unwrap();
            assert_eq!(listen(&public).as_deref(), address, "{public:?}");
        }
    }

    #[test]
    fn what_was_given_goes_into_the_config_and_the_port_fits() {
        let of = |flags: &[(&str, &str)], public: &str| {
            let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
            let flags = Flags(flags.iter().map(owned).collect());
            also(
                Path::new("/srv"),
                &flags,
                &PublicUrl::parse(public).unwrap(),
            )
        };
        let local = "http://127.0.0.1:8081";
        assert_eq!(of(&[], local), [("listen", "127.0.0.1:8081".to_owned())]);
        assert_eq!(
            of(&[("listen", "[::1]:9")], local),
            [("listen", "[::1]:9".to_owned())]
        );
        assert_eq!(of(&[], "https://broker.example.org"), []);
        assert_eq!(
            of(&[("data", "broker")], "https://broker.example.org"),
            [("data", "/srv/broker".to_owned())]
        );
    }
}
