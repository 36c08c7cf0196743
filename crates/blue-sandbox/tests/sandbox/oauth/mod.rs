//! The OAuth provider, walked through as a client and a browser do

mod flow;
mod tokens;

use std::sync::Arc;

use blue_base::clock::ManualClock;
use blue_sandbox::{Config, Flavor, Sandbox};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::visitor::{Answer, Visitor, encode, start};

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const CALLBACK: &str = "https://app.example/cb";

struct Scene {
    sandbox: Sandbox,
    clock: Arc<ManualClock>,
    web: Visitor,
}

struct App {
    id: i64,
    client_id: String,
    secret: String,
}

impl Scene {
    async fn new(flavor: Flavor, rotate: Option<bool>) -> Self {
        let clock = Arc::new(ManualClock::at(
            Timestamp::from_second(1_790_000_000).unwrap(),
        ));
        let config = Config {
            flavor,
            rotate_refresh: rotate,
            clock: Arc::<ManualClock>::clone(&clock),
            ..Config::default()
        };
        let sandbox = start(config).await;
        let web = Visitor::new(&sandbox);
        Self {
            sandbox,
            clock,
            web,
        }
    }

    async fn gitea() -> Self {
        Self::new(Flavor::Gitea, None).await
    }

    fn token(&self) -> String {
        self.sandbox.users()[0].token.expose().to_owned()
    }

    async fn api(&mut self, method: Method, path: &str, token: &str, body: Value) -> Answer {
        let request = self
            .web
            .request(method, &format!("/api/v1{path}"))
            .header("authorization", format!("token {token}"))
            .header("content-type", "application/json")
            .body(body.to_string());
        self.web.send(request).await
    }

    async fn app(&mut self, confidential: bool, uris: &[&str]) -> App {
        let body =
            json!({"name": "tester", "confidential_client": confidential, "redirect_uris": uris});
        let token = self.token();
        let made = self
            .api(Method::POST, "/user/applications/oauth2", &token, body)
            .await;
        assert_eq!(made.status, 201, "{made:?}");
        let made = made.json();
        App {
            id: made["id"].as_i64().unwrap(),
            client_id: made["client_id"].as_str().unwrap().to_owned(),
            secret: made["client_secret"].as_str().unwrap().to_owned(),
        }
    }

    async fn sign_in(&mut self) {
        let user = self.sandbox.users()[0].clone();
        self.web.sign_in(&user).await;
    }

    async fn authorize(&mut self, app: &App, more: &[(&str, &str)]) -> Answer {
        let mut fields = vec![("client_id", app.client_id.as_str())];
        for usual in [("response_type", "code"), ("redirect_uri", CALLBACK)] {
            if more.iter().all(|(name, _)| *name != usual.0) {
                fields.push(usual);
            }
        }
        fields.extend_from_slice(more);
        self.web
            .get(&format!("/login/oauth/authorize?{}", encode(&fields)))
            .await
    }

    async fn decide(&mut self, page: &Answer, granted: &str) -> Answer {
        assert_eq!(page.status, 200, "{page:?}");
        let names = [
            "client_id",
            "state",
            "scope",
            "nonce",
            "redirect_uri",
            "_csrf",
        ];
        let values: Vec<(&str, String)> = names
            .iter()
            .filter_map(|name| Some((*name, page.field(name)?)))
            .collect();
        let mut fields: Vec<(&str, &str)> = values
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        fields.push(("granted", granted));
        self.web.post("/login/oauth/grant", &fields).await
    }

    /// A code, by way of the consent page when it is shown
    async fn code(&mut self, app: &App, more: &[(&str, &str)]) -> String {
        let page = self.authorize(app, more).await;
        let back = if page.status == 200 {
            self.decide(&page, "true").await
        } else {
            page
        };
        assert_eq!(back.status, 303, "{back:?}");
        back.query("code")
            .unwrap_or_else(|| panic!("no code: {back:?}"))
    }

    async fn trade(&mut self, app: &App, more: &[(&str, &str)]) -> Answer {
        let mut fields = vec![("client_id", app.client_id.as_str())];
        if more.iter().all(|(name, _)| *name != "client_secret") {
            fields.push(("client_secret", &app.secret));
        }
        fields.extend_from_slice(more);
        self.web.post("/login/oauth/access_token", &fields).await
    }

    async fn tokens(&mut self, app: &App, scope: &str) -> (String, String) {
        let code = self.code(app, &[("scope", scope)]).await;
        pair(
            &self
                .trade(
                    app,
                    &[("grant_type", "authorization_code"), ("code", &code)],
                )
                .await,
        )
    }

    async fn refresh(&mut self, app: &App, token: &str) -> Answer {
        self.trade(
            app,
            &[("grant_type", "refresh_token"), ("refresh_token", token)],
        )
        .await
    }

    /// Status of an authenticated call that needs `read:user`
    async fn whoami(&mut self, token: &str) -> u16 {
        let request = self
            .web
            .request(Method::GET, "/api/v1/user/applications/oauth2")
            .bearer_auth(token);
        self.web.send(request).await.status
    }
}

fn pair(answer: &Answer) -> (String, String) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = answer.json();
    assert_eq!(body["token_type"], "bearer");
    assert_eq!(body["expires_in"], 3600);
    assert!(body.get("scope").is_none());
    let text = |name: &str| body[name].as_str().unwrap().to_owned();
    (text("access_token"), text("refresh_token"))
}

fn refused(answer: &Answer, error: &str, words: &str) {
    assert_eq!(answer.status, 400, "{answer:?}");
    assert_eq!(
        answer.json(),
        json!({"error": error, "error_description": words})
    );
}
