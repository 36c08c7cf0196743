//! People and organisations

use ring::digest;
use serde_json::{Value, json};

use super::{EPOCH, NEVER, time};
use crate::{app::App, hex, store::users::User};

/// How much of a person is shown
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::gitea) enum View {
    /// For anonymous callers: a placeholder instead of the mail address
    Public,
    /// For callers who may see the mail address
    Known,
    /// To the person or a site admin
    Full,
}

impl View {
    /// What a caller gets to see of someone
    pub(in crate::gitea) fn of(of: &User, caller: Option<&User>) -> Self {
        match caller {
            None => Self::Public,
            Some(caller) if caller.is_admin || caller.id == of.id => Self::Full,
            Some(_) => Self::Known,
        }
    }
}

pub(in crate::gitea) fn user(app: &App, user: &User, view: View) -> Value {
    let full = view == View::Full;
    let email = match view {
        View::Public => format!(
            "{}+{}@noreply.localhost",
            user.id,
            user.login.to_lowercase()
        ),
        _ => user.email.clone(),
    };
    json!({
        "id": user.id,
        "login": user.login,
        "login_name": "",
        "source_id": 0,
        "full_name": user.full_name,
        "email": email,
        "avatar_url": avatar(app, user),
        "html_url": format!("{}/{}", app.root_url, user.login),
        "language": "",
        "is_admin": full && user.is_admin,
        "last_login": if full { EPOCH } else { NEVER },
        "created": time(user.created_at),
        "restricted": false,
        "active": full && user.is_active,
        "prohibit_login": false,
        "location": "",
        "website": "",
        "description": user.description,
        "visibility": user.visibility,
        "followers_count": 0,
        "following_count": 0,
        "starred_repos_count": 0,
        "username": user.login,
    })
}

pub(in crate::gitea) fn org(app: &App, org: &User) -> Value {
    json!({
        "id": org.id,
        "name": org.login,
        "full_name": org.full_name,
        "email": org.email,
        "avatar_url": avatar(app, org),
        "description": org.description,
        "website": "",
        "location": "",
        "visibility": org.visibility,
        "repo_admin_change_team_access": false,
        "username": org.login,
    })
}

pub(crate) fn avatar(app: &App, user: &User) -> String {
    let seed = if user.email.is_empty() {
        &user.login
    } else {
        &user.email
    };
    let hash = digest::digest(&digest::SHA256, seed.as_bytes());
    let hex = hex::encode(&hash.as_ref()[..16]);
    format!("{}/avatars/{hex}", app.root_url)
}
