//! Sign-in, consent and what was granted, as markup

use maud::{Markup, html};

#[derive(Debug)]
pub(super) struct LoginView<'a> {
    pub error: Option<&'a str>,
    pub name: &'a str,
    pub redirect_to: &'a str,
    /// A hidden field against forged forms, where the flavour has one
    pub csrf: Option<&'a str>,
}

pub(super) fn login(view: &LoginView<'_>) -> Markup {
    html! {
        h1 { "Sign in" }
        @if let Some(error) = view.error { p.note.bad role="alert" { (error) } }
        form action="/user/login" method="post" {
            (csrf(view.csrf))
            @if !view.redirect_to.is_empty() {
                input type="hidden" name="redirect_to" value=(view.redirect_to);
            }
            label for="user_name" { "User name or mail address" }
            input #user_name type="text" name="user_name" value=(view.name)
                autocomplete="username" autofocus required;
            label for="password" { "Password" }
            input #password type="password" name="password"
                autocomplete="current-password" required;
            div.actions { button.main type="submit" { "Sign in" } }
        }
    }
}

#[derive(Debug)]
pub(super) struct ConsentView<'a> {
    pub app: &'a str,
    pub owner: &'a str,
    pub user: &'a str,
    pub limited: bool,
    pub client_id: &'a str,
    pub state: &'a str,
    pub scope: &'a str,
    pub nonce: &'a str,
    pub redirect_uri: &'a str,
    pub csrf: Option<&'a str>,
}

pub(super) fn consent(view: &ConsentView<'_>) -> Markup {
    html! {
        h1 { "Authorize \"" (view.app) "\" to access your account?" }
        p {
            "Signed in as " b { (view.user) } ". The application was made by "
            a href={ "/" (view.owner) } { "@" (view.owner) } "."
        }
        @if !view.limited {
            p.note.wait {
                "If you grant the access, it will be able to access and write to all your account \
                 information, including private repos and organisations."
            }
        }
        @if !view.scope.is_empty() { p { "With scopes: " b { (view.scope) } "." } }
        p { "You will be redirected to " strong { (view.redirect_uri) } " if you authorize it." }
        form method="post" action="/login/oauth/grant" {
            (csrf(view.csrf))
            input type="hidden" name="client_id" value=(view.client_id);
            input type="hidden" name="state" value=(view.state);
            input type="hidden" name="scope" value=(view.scope);
            input type="hidden" name="nonce" value=(view.nonce);
            input type="hidden" name="redirect_uri" value=(view.redirect_uri);
            div.actions {
                button.main #authorize-app type="submit" name="granted" value="true" {
                    "Authorize Application"
                }
                button type="submit" name="granted" value="false" { "Cancel" }
            }
        }
    }
}

pub(super) fn refused(error: &str, description: &str) -> Markup {
    html! {
        h1 { "Authorization failed" }
        p {
            "The authorization failed because we detected an invalid request. Please contact the \
             maintainer of the app you have tried to authorize."
        }
        p.note.bad { (description) }
        p.dim { code { (error) } }
    }
}

/// One line of the page of grants
#[derive(Debug)]
pub(super) struct GrantRow {
    pub app_id: i64,
    pub grant_id: i64,
    pub app: String,
    pub scope: String,
    pub since: String,
}

#[derive(Debug)]
pub(super) struct AppRow {
    pub name: String,
    pub client_id: String,
    pub redirect_uris: Vec<String>,
}

pub(super) fn applications(
    grants: &[GrantRow],
    apps: &[AppRow],
    csrf_token: Option<&str>,
) -> Markup {
    html! {
        h1 { "Applications" }
        h2 { "Authorized applications" }
        div.box {
            ul.rows {
                @for grant in grants {
                    li {
                        div.grow {
                            b { (grant.app) }
                            div.dim {
                                @if grant.scope.is_empty() { "everything" } @else { (grant.scope) }
                                " · since " (grant.since)
                            }
                        }
                        form.line method="post" action={
                            "/user/settings/applications/oauth2/" (grant.app_id)
                            "/revoke/" (grant.grant_id)
                        } {
                            (csrf(csrf_token))
                            button.danger type="submit" { "Revoke" }
                        }
                    }
                }
                @if grants.is_empty() { li.dim { "No application may act for you" } }
            }
        }
        h2 { "Your own applications" }
        div.box {
            ul.rows {
                @for app in apps {
                    li {
                        div.grow {
                            b { (app.name) }
                            @for uri in &app.redirect_uris { div.dim { (uri) } }
                        }
                        code.dim { (app.client_id) }
                    }
                }
                @if apps.is_empty() { li.dim { "None; they are made by API" } }
            }
        }
        form method="post" action="/user/logout" {
            (csrf(csrf_token))
            button type="submit" { "Sign out" }
        }
    }
}

fn csrf(token: Option<&str>) -> Markup {
    html! {
        @if let Some(token) = token { input type="hidden" name="_csrf" value=(token); }
    }
}
