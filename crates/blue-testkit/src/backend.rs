//! The forges a behaviour is tried on

use std::sync::Arc;

use blue_base::{
    host::Host,
    http::{AuthScheme, Credential, Http},
    secret::Secret,
};
use blue_forge::{Endpoint, Flavor, Forge, allow::Allow, forgejo::Forgejo, github::GitHub};

use crate::{Server, server};

/// One forge of the contract suite
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    SandboxGitea,
    SandboxForgejo,
    /// The GitHub dialect of the sandbox
    SandboxGithub,
    /// The real one
    Gitea,
    /// The real one, where `BLUE_TEST_FORGEJO_BIN` names it
    Forgejo,
}

impl Backend {
    pub fn name(self) -> &'static str {
        match self {
            Self::SandboxGitea => "sandbox-gitea",
            Self::SandboxForgejo => "sandbox-forgejo",
            Self::SandboxGithub => "sandbox-github",
            Self::Gitea => "gitea",
            Self::Forgejo => "forgejo",
        }
    }

    /// The program whose behaviour is expected
    pub fn flavor(self) -> Flavor {
        match self {
            Self::SandboxGitea | Self::Gitea => Flavor::Gitea,
            Self::SandboxForgejo | Self::Forgejo => Flavor::Forgejo,
            Self::SandboxGithub => Flavor::GitHub,
        }
    }

    pub fn is_github(self) -> bool {
        self.flavor() == Flavor::GitHub
    }

    pub fn is_forgejo(self) -> bool {
        self.flavor() == Flavor::Forgejo
    }

    pub(crate) fn server(self) -> &'static Result<Server, server::StartError> {
        match self {
            // One server speaks both dialects, but GitHub's is judged on the way.
            Self::SandboxGithub => self.sandbox(server::Kind::Judged),
            Self::SandboxGitea | Self::SandboxForgejo => self.sandbox(server::Kind::Plain),
            Self::Gitea => server::gitea(),
            Self::Forgejo => server::forgejo(),
        }
    }

    pub(crate) fn sandbox(self, kind: server::Kind) -> &'static Result<Server, server::StartError> {
        let flavor = if self.is_forgejo() {
            blue_sandbox::Flavor::Forgejo
        } else {
            blue_sandbox::Flavor::Gitea
        };
        server::sandbox(flavor, kind)
    }

    /// The code under test, pointed at this back end
    pub(crate) fn forge(
        self,
        server: &Server,
        http: Arc<Http>,
        token: Option<&Secret>,
        allow: Allow,
    ) -> Arc<dyn Forge> {
        let host = Host::of_url(&server.url).expect("a server's URL has a host");
        let (api, scheme) = if self.is_github() {
            ("api/v3/", AuthScheme::Bearer)
        } else {
            ("api/v1/", AuthScheme::Token)
        };
        let credential = token.map(|token| Credential {
            host: host.clone(),
            scheme,
            token: token.clone(),
        });
        let api = server.url.join(api).expect("a server's URL is a base");
        let endpoint = Endpoint { host, api };
        if self.is_github() {
            Arc::new(GitHub::new(http, endpoint, credential).allowing(allow))
        } else {
            Arc::new(Forgejo::new(http, endpoint, credential).allowing(allow))
        }
    }
}
