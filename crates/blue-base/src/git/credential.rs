use std::{path::Path, time::Duration};

use url::Url;

use super::{Git, GitCredential, GitError, run};
use crate::secret::Secret;

/// Timeout of a credential helper: long enough for a key ring; a prompt would wait for ever
const PATIENCE: Duration = Duration::from_secs(10);

impl Git {
    /// Ask git's credential helpers for `url`; a helper that knows nothing is `None`
    ///
    /// Never prompts the user: terminal prompts and `askpass` windows are disabled.
    pub async fn credential(
        &self,
        dir: &Path,
        url: &Url,
        username: Option<&str>,
    ) -> Result<Option<GitCredential>, GitError> {
        let mut command = self.command_in(dir);
        command
            .args(["-c", "credential.interactive=false", "credential", "fill"])
            .env("GIT_TERMINAL_PROMPT", "0")
            // Empty, not absent: only so neither `core.askPass` nor `SSH_ASKPASS` is looked at.
            .env("GIT_ASKPASS", "")
            .env("GCM_INTERACTIVE", "never");
        let request = request(url, username);
        let out = run::collect("git credential", command, Some(request), PATIENCE).await?;
        if !out.ok {
            // The one way git has to say that no helper knows.
            return Ok(None);
        }
        let text = out.text("git credential")?;
        let value = |key: &str| {
            text.lines()
                .find_map(|l| l.strip_prefix(key)?.strip_prefix('='))
        };
        let Some(password) = value("password").map(Secret::new) else {
            return Ok(None);
        };
        if password.is_empty() {
            return Ok(None);
        }
        Ok(Some(GitCredential {
            username: value("username").map(str::to_owned),
            password,
        }))
    }
}

/// Git's own line protocol; a value with a line break would be another key
fn request(url: &Url, username: Option<&str>) -> Vec<u8> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map_or_else(String::new, |p| format!(":{p}"));
    let mut text = format!("protocol={}\nhost={host}{port}\n", url.scheme());
    if let Some(user) = username.filter(|u| !u.chars().any(char::is_control)) {
        text.push_str("username=");
        text.push_str(user);
        text.push('\n');
    }
    text.push('\n');
    text.into_bytes()
}
