use std::sync::Arc;

use url::Url;

use super::{Ask, Find, Forges, OpenError, known::Known, trust::confirmed};
use crate::{
    Endpoint, Forge, ForgeType,
    allow::Allow,
    detect::{Detection, ProbeFailure, ask_host},
    forgejo::Forgejo,
    github::GitHub,
    token::{Places, TokenError, TokenSource, Want, resolve},
};
use blue_base::http::{Credential, Http};

/// A forge as far as it could be found out: the repository and the token may be missing
#[derive(Debug)]
pub struct Survey {
    pub family: ForgeType,
    pub endpoint: Endpoint,
    pub found: Detection,
    pub http: Arc<Http>,
    /// Where the pages of the forge begin
    web: Url,
    pub token: Result<TokenFound, TokenError>,
    /// The owners and repositories that may be touched
    pub allow: Allow,
    /// To be said once, in this order
    pub notices: Vec<String>,
}

/// The token for a host, if there is one
#[derive(Debug, Clone, Default)]
pub struct TokenFound {
    pub credential: Option<Credential>,
    pub source: Option<TokenSource>,
}

impl Forges {
    /// Find out what can be found out, without insisting on a repository or a token
    pub async fn survey(&self, ask: &Ask) -> Result<Survey, OpenError> {
        let known = self.known()?;
        let find = self.choose(&known, ask).await?;
        self.look(&known, find).await
    }

    /// Add endpoint and token to a find
    pub(super) async fn look(&self, known: &Known, find: Find) -> Result<Survey, OpenError> {
        let (Some(family), Some(endpoint)) = (find.found.kind.forge_type(), find.found.endpoint())
        else {
            return Err(OpenError::NoForge);
        };
        let confirmed = confirmed(&find, known);
        let want = Want {
            host: endpoint.host.clone(),
            kind: find.found.kind,
            family,
            api: endpoint.api.clone(),
            web: find.base.clone(),
            username: find.username,
            confirmed,
            named_by: find.source.words(),
            guess: find.found.guess,
        };
        let places = Places {
            vars: &self.settings.vars,
            hosts: &self.hosts,
            git: self.settings.git_credentials.then_some(&self.git),
            dir: &self.cwd,
            now: self.clock.now(),
        };
        let web = want.web.clone();
        let mut notices = [find.notices, find.standing].concat();
        let token = resolve(places, &want).await.map(|token| {
            notices.extend(token.notice);
            TokenFound {
                credential: token.credential,
                source: token.source,
            }
        });
        Ok(Survey {
            family,
            http: self.http_for(known, &endpoint.host),
            endpoint,
            found: find.found,
            web,
            token,
            allow: self.settings.allow.clone(),
            notices,
        })
    }
}

impl Survey {
    /// Ask the host, without a token, whether it is a forge at all; why not, if it is none
    pub async fn probe_failure(&self) -> Option<ProbeFailure> {
        let asked = ask_host(&self.http, &self.endpoint.host, &self.web, true);
        asked.await.err()
    }

    /// The forge, without a token where there is none to use
    pub fn forge(&self) -> Arc<dyn Forge> {
        let credential = self.token.as_ref().ok().and_then(|t| t.credential.clone());
        connect(
            self.family,
            self.http.clone(),
            self.endpoint.clone(),
            credential,
            self.allow.clone(),
        )
    }

    /// The forge as everybody sees it
    pub fn anonymous(&self) -> Arc<dyn Forge> {
        connect(
            self.family,
            self.http.clone(),
            self.endpoint.clone(),
            None,
            self.allow.clone(),
        )
    }
}

impl super::Located {
    /// The forge as the owner of the token sees it
    pub fn forge(&self) -> Arc<dyn Forge> {
        let credential = self.credential.clone();
        connect(
            self.family,
            self.http.clone(),
            self.endpoint.clone(),
            credential,
            self.allow.clone(),
        )
    }
}

fn connect(
    family: ForgeType,
    http: Arc<Http>,
    endpoint: Endpoint,
    credential: Option<Credential>,
    allow: Allow,
) -> Arc<dyn Forge> {
    match family {
        ForgeType::GitHub => Arc::new(GitHub::new(http, endpoint, credential).allowing(allow)),
        ForgeType::Forgejo => Arc::new(Forgejo::new(http, endpoint, credential).allowing(allow)),
    }
}
