//! The one line that adds `blue mcp` to an agent
//!
//! Each in the syntax of that agent. The token is that of a demo user of a sandbox: it is printed
//! above on purpose, and opens nothing but this sandbox.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::{Value, json};

use crate::render::quoted;

/// How agents start Blue
#[derive(Debug)]
pub(super) struct Server {
    /// Whole path: programs with windows do not see the shell's `PATH`
    pub(super) program: String,
    pub(super) url: String,
    pub(super) token: String,
}

/// A line for each agent, as it is pasted into a shell
#[derive(Debug, Serialize)]
pub(super) struct Lines {
    pub(super) claude_code: String,
    pub(super) codex: String,
    pub(super) cursor: String,
    pub(super) vscode: String,
}

impl Server {
    pub(super) fn lines(&self) -> Lines {
        Lines {
            claude_code: self.claude_code(),
            codex: self.codex(),
            cursor: self.cursor(),
            vscode: self.vscode(),
        }
    }

    /// The name comes first: `-e` takes every word up to the next option
    fn claude_code(&self) -> String {
        let env = self.pairs().map(|pair| format!("-e {pair}"));
        self.after_dashes("claude mcp add blue", &env)
    }

    fn codex(&self) -> String {
        let env = self.pairs().map(|pair| format!("--env {pair}"));
        self.after_dashes("codex mcp add blue", &env)
    }

    /// Cursor has links that add a server, and asks before it does
    fn cursor(&self) -> String {
        let open = if cfg!(target_os = "macos") {
            "open"
        } else {
            "xdg-open"
        };
        let config = STANDARD.encode(self.json().to_string());
        let config = config
            .replace('+', "%2B")
            .replace('/', "%2F")
            .replace('=', "%3D");
        let link =
            format!("cursor://anysphere.cursor-deeplink/mcp/install?name=blue&config={config}");
        format!("{open} {}", quoted(&link))
    }

    fn vscode(&self) -> String {
        let mut config = json!({ "name": "blue" });
        if let (Value::Object(whole), Value::Object(rest)) = (&mut config, self.json()) {
            whole.extend(rest);
        }
        format!("code --add-mcp {}", quoted(&config.to_string()))
    }

    fn after_dashes(&self, add: &str, env: &[String]) -> String {
        format!("{add} {} -- {} mcp", env.join(" "), quoted(&self.program))
    }

    fn pairs(&self) -> [String; 2] {
        self.env()
            .map(|(name, value)| quoted(&format!("{name}={value}")))
    }

    fn env(&self) -> [(&'static str, &str); 2] {
        [("FORGEJO_URL", &self.url), ("FORGEJO_TOKEN", &self.token)]
    }

    fn json(&self) -> Value {
        let env: serde_json::Map<_, _> = self
            .env()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .into_iter()
            .collect();
        json!({ "command": self.program, "args": ["mcp"], "env": env })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_has_its_own_syntax() {
        let server = Server {
            program: "/opt/my tools/blue".to_owned(),
            url: "http://127.0.0.1:3000".to_owned(),
            token: "a11ce".to_owned(),
        };
        let lines = server.lines();
        insta::assert_snapshot!(lines.claude_code, @"claude mcp add blue -e FORGEJO_URL=http://127.0.0.1:3000 -e FORGEJO_TOKEN=a11ce -- '/opt/my tools/blue' mcp");
        insta::assert_snapshot!(lines.codex, @"codex mcp add blue --env FORGEJO_URL=http://127.0.0.1:3000 --env FORGEJO_TOKEN=a11ce -- '/opt/my tools/blue' mcp");
        insta::assert_snapshot!(lines.vscode, @r#"code --add-mcp '{"name":"blue","command":"/opt/my tools/blue","args":["mcp"],"env":{"FORGEJO_URL":"http://127.0.0.1:3000","FORGEJO_TOKEN":"a11ce"}}'"#);
        let link = lines.cursor.split('\'').nth(1).unwrap();
        let config = link
            .strip_prefix("cursor://anysphere.cursor-deeplink/mcp/install?name=blue&config=")
            .unwrap();
        assert!(!config.contains(['+', '/', '=']), "{config}");
        let config = config
            .replace("%2B", "+")
            .replace("%2F", "/")
            .replace("%3D", "=");
        let config: Value = serde_json::from_slice(&STANDARD.decode(config).unwrap()).unwrap();
        assert_eq!(config, server.json());
    }
}
