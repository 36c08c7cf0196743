//! Admin commands beside a running broker

use std::sync::Arc;

use blue_broker::{Admin, AdminError, SystemRng, key_ids};

use crate::{
    register::{native, register, token_error},
    setup::{self, Setup},
};

pub(crate) async fn admin(setup: &Setup) -> (Admin, blue_broker::config::Config) {
    let config = setup::config(setup.sandbox.url(), setup.dir());
    let rng = Arc::new(SystemRng::default());
    let admin = Admin::open(&config, Arc::clone(&setup.clock) as _, rng).await;
    (admin.unwrap(), config)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_listed_and_revoked() {
    let setup = Setup::start().await;
    let (_, body) = register(&setup, &native("Mine", 1)).await;
    let id = body["client_id"].as_str().unwrap();
    let (admin, _) = admin(&setup).await;
    let listed = admin.clients(10).await.unwrap();
    let clients = listed.rows;
    assert_eq!((clients.len(), listed.total), (1, 1));
    assert_eq!(
        (clients[0].id.as_str(), clients[0].name.as_str()),
        (id, "Mine")
    );
    assert_eq!(admin.revoke_client(id).await.unwrap(), 0);
    assert_eq!(token_error(&setup, id, None).await, "invalid_client");
    for error in [
        admin.revoke_client(id).await.unwrap_err(),
        admin.revoke_user("nobody").await.unwrap_err(),
        admin.revoke_grant("nothing").await.unwrap_err(),
    ] {
        assert!(matches!(error, AdminError::Unknown { .. }), "{error}");
    }
    assert_eq!(admin.users(10).await.unwrap().total, 0);
    assert_eq!(admin.grants(10).await.unwrap().total, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_master_key_is_used_and_the_old_one_kept() {
    let setup = Setup::start().await;
    let (admin, config) = admin(&setup).await;
    let before = key_ids(&config).unwrap();
    let rotated = admin.rotate_keys(&config).await.unwrap();
    assert_eq!(rotated.previous, before);
    assert!(!before.contains(&rotated.active));
    assert_eq!(key_ids(&config).unwrap()[0], rotated.active);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_database_is_made_by_looking() {
    let dir = tempfile::tempdir().unwrap();
    let config = setup::config("http://127.0.0.1:1", dir.path());
    let clock = Arc::new(blue_base::clock::SystemClock);
    let opened = Admin::open(&config, clock, Arc::new(SystemRng::default())).await;
    assert!(matches!(opened, Err(AdminError::NoDatabase(_))));
    assert!(!dir.path().join("data").exists());
}
