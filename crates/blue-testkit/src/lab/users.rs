//! Users and their tokens

use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result, bail};
use blue_base::{http::Method, secret::Secret};
use serde_json::json;

use super::Lab;

/// A user of the server, with a token
#[derive(Debug, Clone)]
pub struct User {
    pub login: String,
    pub password: Secret,
    pub token: Secret,
}

impl User {
    /// Returns a copy of the user with another token
    #[must_use]
    pub fn with_token(&self, token: Secret) -> Self {
        Self {
            token,
            ..self.clone()
        }
    }
}

impl Lab {
    /// Creates a user for this test alone, with a token that has every scope
    pub async fn user(&self, hint: &str) -> Result<User> {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        let login = format!("{hint}-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let password = "Long-pass-1";
        let body = json!({
            "username": login,
            "password": password,
            "email": format!("{login}@example.org"),
            "must_change_password": false,
        });
        self.post(self.admin(), &["admin", "users"], &body).await?;
        let user = User {
            login,
            password: Secret::new(password),
            token: Secret::new(""),
        };
        let token = self.token(&user, &["all"]).await?;
        Ok(user.with_token(token))
    }

    /// Make another token for a user
    pub async fn token(&self, user: &User, scopes: &[&str]) -> Result<Secret> {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        let name = format!("token-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let request = self
            .client()
            .request(Method::POST, self.url(&["users", &user.login, "tokens"])?)
            .basic_auth(&user.login, Some(user.password.expose()));
        let body = json!({"name": name, "scopes": scopes});
        let answer = self.send(request, Some(&body)).await?;
        if answer.status != 201 {
            bail!("set-up: no token: {} {}", answer.status, answer.text);
        }
        let token = answer.body["sha1"].as_str().context("a token has `sha1`")?;
        Ok(Secret::new(token))
    }
}
