//! Redirects to a file on another server, which is fetched without the token

use url::Url;

use super::{Answer, Rest};
use crate::{ForgeError, Result};
use blue_base::{
    host::Host,
    http::{Method, Request},
    text::clean_line,
};

impl Rest {
    /// Fetches the last `keep` bytes of the file that `redirect`, an answer to `asked`, points at
    ///
    /// The forge chooses the URL, and Blue may stand in a network that the forge cannot reach. So
    /// the target is the forge's own server, a host that the user allows to be private
    /// (`HttpConfig::private_hosts`), or a host with public addresses only. The link itself is what
    /// lets its bearer read the file, so it is sent over plain HTTP only to the forge's own server,
    /// where that is plain HTTP too, and to loopback.
    pub(crate) async fn fetch_redirected_tail(
        &self,
        redirect: &Answer,
        asked: &Url,
        keep: usize,
        what: &str,
    ) -> Result<Answer> {
        let refused = |why: &str| ForgeError::Unexpected {
            host: self.endpoint.host.clone(),
            status: redirect.status.as_u16(),
            message: format!("the {what} is at {why}, which is not asked"),
        };
        let Some((url, host)) = redirect
            .location(asked)
            .and_then(|url| Host::of_url(&url).map(|host| (url, host)))
        else {
            return Err(refused("no address"));
        };
        let shown = format!("`{}`", clean_line(host.as_str()));
        let own = url.origin() == asked.origin()
            || (url.scheme() == "https" && host == self.endpoint.host);
        let listed = self.http.may_be_private(&host);
        let encrypted = url.scheme() == "https";
        let own_machine = listed && host.is_loopback() && url.scheme() == "http";
        if !(own || encrypted || own_machine) {
            return Err(refused(&format!("{shown} without encryption")));
        }
        let mut request = Request::new(Method::GET, url);
        request.tail = Some(keep);
        request.public_only = !own && !listed;
        self.transmit(request, what).await
    }
}
