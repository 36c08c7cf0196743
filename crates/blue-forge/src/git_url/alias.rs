use super::{GitUrl, HostedUrl, Scheme};
use blue_base::git::{Git, GitError};

impl HostedUrl {
    /// Ask `ssh -G` which host an alias of the user's ssh configuration stands for
    ///
    /// A URL that is not for ssh stays as it is.
    pub async fn resolve_alias(self, git: &Git) -> Result<Self, GitError> {
        if self.scheme != Scheme::Ssh {
            return Ok(self);
        }
        let Some(real) = git.ssh_hostname(self.name.name()).await? else {
            return Ok(self);
        };
        let sub = self
            .sub_path
            .as_ref()
            .map_or_else(String::new, |s| format!("{s}/"));
        let real = if real.contains(':') {
            format!("[{real}]")
        } else {
            real
        };
        match GitUrl::parse(&format!("ssh://{real}/{sub}{}", self.repo)) {
            Ok(GitUrl::Hosted(found)) => Ok(Self {
                user: self.user,
                ..found
            }),
            // A name that no URL can carry is no forge's.
            _ => Ok(self),
        }
    }
}
