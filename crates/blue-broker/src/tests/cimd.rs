//! Clients with a metadata document, while its host cannot be reached

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::{REDIRECT, World};
use crate::{
    limits::CountedAs,
    oauth::{
        cimd::MetadataError,
        clients::{self, ClientError},
    },
    store::{AuthMethod, Client, ClientKind, ms},
};

/// No name server knows it
const ID: &str = "https://client.invalid/metadata.json";

fn client(id: &str, until: Timestamp, used: Option<Timestamp>) -> Client {
    Client {
        id: id.to_owned(),
        kind: ClientKind::Metadata,
        name: "A client".to_owned(),
        redirect_uris: vec![REDIRECT.to_owned()],
        auth_method: AuthMethod::None,
        secret: None,
        metadata: json!({ "document_good_until": ms(until) }),
        fingerprint: None,
        created_at: until,
        last_used_at: used,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_do_not_delay_a_client_that_a_user_consented_to() {
    let world = World::start().await;
    let app = world.app();
    let long_ago = Timestamp::UNIX_EPOCH;
    for (name, used) in [("used", Some(long_ago)), ("seen", None)] {
        let id = format!("https://{name}.invalid/metadata.json");
        let row = client(&id, long_ago, used);
        assert!(app.store.put_client(&row).await.unwrap());
    }
    let limit = &app.limits.documents;
    let mut strangers = 0;
    while limit
        .take(Some(&CountedAs::host(&strangers.to_string())), app.now())
        .is_ok()
    {
        strangers += 1;
    }
    let found = async |name: &str| {
        let id = format!("https://{name}.invalid/metadata.json");
        match clients::find(app, &id).await {
            Err(ClientError::Metadata(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    // The name has no address; a busy resolver may also take longer than the timeout to say so.
    let attempted = found("used").await;
    assert!(!matches!(attempted, MetadataError::Busy), "{attempted:?}");
    for name in ["seen", "new"] {
        assert!(matches!(found(name).await, MetadataError::Busy), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_was_read_counts_until_it_is_too_old() {
    let world = World::start().await;
    let app = world.app();
    let until = app.now() + Duration::from_hours(1);
    let client = client(ID, until, None);
    assert!(app.store.put_client(&client).await.unwrap());
    let user = world.sign_in("1").await;
    for (later, status) in [(0, 200), (2, 200), (25, 503)] {
        world.clock.advance(Duration::from_hours(later));
        let code = world.code(ID, &user).await;
        let (answered, body) = world.exchange(ID, &code).await;
        assert_eq!(answered, status, "after {later} more hours: {body}");
    }
    // The page in a browser says the same.
    let url = app.config.public_url.at("/oauth/authorize");
    let query = format!("{url}?client_id={ID}&redirect_uri={REDIRECT}");
    let page = world.http.get(query).send().await.unwrap();
    assert_eq!(page.status(), 503);
    let text = page.text().await.unwrap();
    assert!(text.contains("This app could not be checked"), "{text}");
    assert!(!text.contains("client.invalid"), "no map of our network");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_cannot_be_read_is_not_kept() {
    let world = World::start().await;
    for n in 0..40 {
        let id = format!("https://client.invalid/{n}.json");
        let (status, body) = world.exchange(&id, "bbac_x").await;
        assert_eq!(status, 503, "{body}");
        let row = world.app().store.client(&id).await.unwrap();
        assert!(row.is_none(), "an error is not kept");
    }
}
