//! People and organisations

use serde_json::{Value, json};

use super::super::url::{Urls, node_id, segment};
use super::date;
use crate::store::users::User;

fn kind(account: &User) -> &'static str {
    if account.is_org {
        "Organization"
    } else {
        "User"
    }
}

/// As an author, an owner or a reviewer
pub(in crate::github) fn simple(urls: &Urls, account: &User) -> Value {
    let login = &account.login;
    let (api, web) = (&urls.api, &urls.web);
    let at = format!("{api}/users/{}", segment(login));
    json!({
        "login": login,
        "id": account.id,
        "node_id": node_id(kind(account), account.id),
        "avatar_url": format!("{web}/avatars/{}", segment(login)),
        "gravatar_id": "",
        "url": at,
        "html_url": format!("{web}/{}", segment(login)),
        "followers_url": format!("{at}/followers"),
        "following_url": format!("{at}/following{{/other_user}}"),
        "gists_url": format!("{at}/gists{{/gist_id}}"),
        "starred_url": format!("{at}/starred{{/owner}}{{/repo}}"),
        "subscriptions_url": format!("{at}/subscriptions"),
        "organizations_url": format!("{at}/orgs"),
        "repos_url": format!("{at}/repos"),
        "events_url": format!("{at}/events{{/privacy}}"),
        "received_events_url": format!("{at}/received_events"),
        "type": kind(account),
        "user_view_type": "public",
        "site_admin": account.is_admin,
    })
}

/// A whole profile as others see it
pub(in crate::github) fn public(urls: &Urls, account: &User, public_repos: usize) -> Value {
    let mut shown = simple(urls, account);
    let name = (!account.full_name.is_empty()).then_some(&account.full_name);
    extend(
        &mut shown,
        json!({
            "name": name,
            "company": null,
            "blog": "",
            "location": null,
            "email": null,
            "hireable": null,
            "bio": null,
            "twitter_username": null,
            "public_repos": public_repos,
            "public_gists": 0,
            "followers": 0,
            "following": 0,
            "created_at": date(account.created_at),
            "updated_at": date(account.created_at),
        }),
    );
    shown
}

/// A whole profile as its owner sees it
pub(in crate::github) fn private(
    urls: &Urls,
    account: &User,
    public_repos: usize,
    private_repos: usize,
) -> Value {
    let mut shown = public(urls, account, public_repos);
    shown["user_view_type"] = "private".into();
    extend(
        &mut shown,
        json!({
            "email": (!account.email.is_empty()).then_some(&account.email),
            "private_gists": 0,
            "total_private_repos": private_repos,
            "owned_private_repos": private_repos,
            "disk_usage": 0,
            "collaborators": 0,
            "two_factor_authentication": false,
            "plan": {"name": "enterprise", "space": 976_562_499, "collaborators": 0, "private_repos": 999_999},
        }),
    );
    shown
}

pub(in crate::github) fn organization(urls: &Urls, account: &User, repos: usize) -> Value {
    let at = format!("{}/orgs/{}", urls.api, segment(&account.login));
    json!({
        "login": account.login,
        "id": account.id,
        "node_id": node_id("Organization", account.id),
        "url": at,
        "repos_url": format!("{at}/repos"),
        "events_url": format!("{at}/events"),
        "hooks_url": format!("{at}/hooks"),
        "issues_url": format!("{at}/issues"),
        "members_url": format!("{at}/members{{/member}}"),
        "public_members_url": format!("{at}/public_members{{/member}}"),
        "avatar_url": format!("{}/avatars/{}", urls.web, segment(&account.login)),
        "description": (!account.description.is_empty()).then_some(&account.description),
        "name": if account.full_name.is_empty() { &account.login } else { &account.full_name },
        "has_organization_projects": false,
        "has_repository_projects": false,
        "public_repos": repos,
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "html_url": format!("{}/{}", urls.web, segment(&account.login)),
        "type": "Organization",
        "created_at": date(account.created_at),
        "updated_at": date(account.created_at),
        "archived_at": null,
    })
}

pub(in crate::github) fn extend(shown: &mut Value, more: Value) {
    if let (Some(shown), Value::Object(more)) = (shown.as_object_mut(), more) {
        shown.extend(more);
    }
}
