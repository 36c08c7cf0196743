//! Copies of the metadata documents of well-known clients
//!
//! Without them, a broker that cannot reach the internet would lock these clients out, and one that
//! can would depend on hosts that answer machines with a bot challenge.

/// What the document of a client says
#[derive(Debug, Clone, Copy)]
pub(super) struct Builtin {
    /// Its address, which is the client's id
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) redirect_uris: &'static [&'static str],
}

const ALL: &[Builtin] = &[
    Builtin {
        id: "https://claude.ai/oauth/mcp-oauth-client-metadata",
        name: "Claude",
        redirect_uris: &[
            "https://claude.ai/api/mcp/auth_callback",
            "https://claude.com/api/mcp/auth_callback",
        ],
    },
    Builtin {
        id: "https://claude.ai/oauth/claude-code-client-metadata",
        name: "Claude Code",
        redirect_uris: &["http://localhost/callback", "http://127.0.0.1/callback"],
    },
    Builtin {
        id: "https://chatgpt.com/oauth/codex/client.json",
        name: "Codex",
        redirect_uris: &["http://127.0.0.1/callback", "http://localhost/callback"],
    },
    Builtin {
        id: "https://vscode.dev/oauth/client-metadata.json",
        name: "Visual Studio Code",
        redirect_uris: &[
            "http://127.0.0.1/",
            "http://localhost/",
            "https://vscode.dev/redirect",
            "https://insiders.vscode.dev/redirect",
        ],
    },
];

pub(super) fn find(id: &str) -> Option<&'static Builtin> {
    ALL.iter().find(|client| client.id == id)
}

#[cfg(test)]
pub(super) const fn all() -> &'static [Builtin] {
    ALL
}
