//! Write access to the database is not enough to make a token

use super::*;
use crate::{Admin, StartError, StoreError, crypto};

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_was_planted_in_the_database_opens_nothing() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    world.tokens("tool", &user).await;
    let [access, refresh] =
        [Kind::Access, Kind::Refresh].map(|kind| Token::new(kind, &*world.app().rng));
    // A hash that anyone can compute, in a row of a valid grant.
    let plant = "INSERT INTO pairs (id, grant_id, access_hash, refresh_hash, created_at, \
        access_expires_at, refresh_expires_at) SELECT 'planted', id, $1, $2, 0, \
        9000000000000, 9000000000000 FROM grants";
    let planted = sqlx::query(plant)
        .bind(access.hash().unkeyed_bytes().to_vec())
        .bind(refresh.hash().unkeyed_bytes().to_vec())
        .execute(&mut world.database().await)
        .await;
    assert_eq!(planted.unwrap().rows_affected(), 1);
    assert_eq!(world.call(&json!(access.expose())).await.0, 401);
    let (status, said) = world.refresh("tool", &json!(refresh.expose())).await;
    assert_eq!((status, &said["error"]), (400, &json!("invalid_grant")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_keeps_tokens_valid_without_the_old_master_key() {
    let mut world = World::start().await;
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    let config = world.app().config.clone();
    let rng = Arc::new(SystemRng::default());
    let admin = Admin::open(&config, Arc::clone(&world.clock) as _, rng);
    let admin = admin.await.unwrap();
    let rotated = admin.rotate_keys(&config).await.unwrap();
    assert_eq!(admin.keys_in_use().await.unwrap(), [rotated.active]);
    admin.close().await;
    assert_eq!(world.call(&tokens["access_token"]).await.0, 200);

    let path = config.key_file.path();
    let only = crypto::read(path).unwrap().only_active();
    crypto::write(path, &only).unwrap();
    let (forge, dir) = (config.forge.url().as_str(), world.dir.path());
    // Another broker on the same file is refused as long as the first runs.
    let (config, parts) = settings(forge, dir, &world.clock, &world.echo);
    let second = Broker::build(config, parts).await;
    let is_locked = matches!(second, Err(StartError::Store(StoreError::Locked { .. })));
    assert!(is_locked, "{second:?}");
    let spare = tempfile::tempdir().unwrap();
    let spare = broker(forge, spare.path(), &world.clock, &world.echo).await;
    std::mem::replace(&mut world.broker, spare).shutdown().await;
    let started = broker(forge, dir, &world.clock, &world.echo).await;
    std::mem::replace(&mut world.broker, started)
        .shutdown()
        .await;
    // It has another port now, and tokens are for the address that they were given at.
    let access = Token::parse(Kind::Access, tokens["access_token"].as_str().unwrap());
    let (hash, app) = (access.unwrap().hash(), world.app());
    let found = app.store.check_access(&hash, app.now()).await.unwrap();
    assert_eq!(found.unwrap().user, user);
}
