//! Set-up vocabulary: what a test arranges before it looks
//!
//! It speaks the Gitea REST API and git, nothing of the code under test. Every back end has that
//! door; the GitHub dialect of the sandbox shows the same repositories.

mod api;
mod git;
mod prs;
mod repos;
mod rules;
mod users;

pub use api::Answer;
pub(crate) use api::http_client;
pub use git::Import;
pub use repos::Repo;
pub use users::User;

use crate::Server;

/// One test's hands on a server
#[derive(Debug)]
pub struct Lab {
    server: &'static Server,
    client: reqwest::Client,
}

impl Lab {
    pub fn new(server: &'static Server) -> Self {
        Self {
            server,
            client: http_client(),
        }
    }

    pub fn server(&self) -> &'static Server {
        self.server
    }

    /// The site administrator
    pub fn admin(&self) -> &'static User {
        &self.server.admin
    }
}
