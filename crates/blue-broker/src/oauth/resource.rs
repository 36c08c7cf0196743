//! What tokens are for (RFC 8707): us, and nothing else

use crate::app::App;

/// The resource as we write it, if the one that was asked for is ours; absent means ours
pub(crate) fn accept(app: &App, given: Option<&str>) -> Option<String> {
    let ours = app.config.public_url.resource();
    let Some(given) = given else {
        return Some(ours);
    };
    let bare = given.strip_suffix('/').unwrap_or(given);
    // Clients make the scheme and the host small or not, and some name the server as a whole.
    let canonical = url::Url::parse(bare).ok()?;
    let text = canonical.as_str();
    let text = text.strip_suffix('/').unwrap_or(text);
    let whole = app.config.public_url.origin();
    (text == ours || text == whole).then_some(ours)
}
