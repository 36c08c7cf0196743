//! Forge tokens are erased with the last connection

use super::*;

/// A user with tokens, to whom the grants of [`opened`] belong
fn person() -> NewUser {
    NewUser {
        id: "u".to_owned(),
        forge: "https://git/".to_owned(),
        account: "7".to_owned(),
        login: "ada".to_owned(),
        key: WrappedKey {
            key_id: "k1".to_owned(),
            sealed: vec![1, 2, 3],
        },
        tokens: sealed("one"),
        scope: "read:user".to_owned(),
    }
}

async fn add_person(store: &Store) {
    assert!(store.add_user(&person(), at(0)).await.unwrap());
}

/// State of the one user, and whether a token of theirs is left
async fn left(store: &Store) -> (UserState, bool) {
    let user = store.user("u").await.unwrap().unwrap();
    let key = !user.key.sealed.is_empty() || !user.key.key_id.is_empty();
    assert_eq!(key, user.state != UserState::Disconnected);
    (user.state, user.tokens.is_some())
}

const ERASED: (UserState, bool) = (UserState::Disconnected, false);
const KEPT: (UserState, bool) = (UserState::Connected, true);

pub(super) async fn the_last_end_erases_what_the_forge_gave(store: Store) {
    add_person(&store).await;
    let (first, _) = opened(&store).await;
    let (second, _) = opened(&store).await;
    let end = |grant: Grant| {
        let store = store.clone();
        async move {
            let ended = store.revoke(Revoked::Grant(&grant.id), "asked", at(10));
            assert_eq!(ended.await.unwrap().len(), 1);
        }
    };
    end(first).await;
    assert_eq!(left(&store).await, KEPT, "there is another grant");
    // A new grant of the user is on its way: a code was issued.
    let (hash, third, pair) = (random_hash(), grant(), pair(11));
    store.put_code(&hash, &code(), at(9)).await.unwrap();
    end(second).await;
    assert_eq!(left(&store).await, KEPT, "a code waits");
    let used = store.use_code(&hash, &third, &pair, &event(), at(11)).await;
    assert_eq!(used.unwrap(), ISSUED);
    let person = store.user("u").await.unwrap().unwrap();
    let lease = store.lease(&person, "a", Duration::from_mins(1)).await;
    assert!(lease.unwrap().is_some());
    // The code is replayed: the grant that it opened is revoked.
    let again = store
        .use_code(&hash, &grant(), &pair, &event(), at(12))
        .await;
    assert!(matches!(again.unwrap(), CodeUse::Replayed { .. }));
    assert_eq!(left(&store).await, ERASED);
    assert!(store.key_ids_of_users().await.unwrap().is_empty());
    let late = sealed("late");
    for version in [person.version, person.version + 1] {
        let late = store.refreshed("u", version, &late, at(13));
        assert!(!late.await.unwrap(), "what the forge gives now is too late");
    }

    // A user who signs in again gets a new data key.
    let (key, two) = (person_key(), sealed("two"));
    let gone = store.user("u").await.unwrap().unwrap();
    let back = store.signed_in(&gone, "ada", "x", Some(&key), &two, at(14));
    assert!(back.await.unwrap());
    let again = store.user("u").await.unwrap().unwrap();
    assert_eq!(again.key.sealed, key.sealed);
    assert_eq!(left(&store).await, KEPT);

    // A replayed refresh token revokes the last grant, too.
    let (_, first) = opened(&store).await;
    let (_, second) = refresh(&store, &first.refresh, 100).await;
    refresh(&store, &second.refresh, 110).await;
    assert_eq!(left(&store).await, KEPT);
    let (done, _) = refresh(&store, &first.refresh, 200).await;
    assert_eq!(done, Refresh::Replayed);
    assert_eq!(left(&store).await, ERASED);
    assert!(!store.erase_unless_connected("u", at(300)).await.unwrap());
}

pub(super) async fn two_last_ends_at_once_erase_what_the_forge_gave(store: Store) {
    add_person(&store).await;
    let mut grants = Vec::new();
    for _ in 0..20 {
        grants.push(opened(&store).await.0.id);
    }
    let ends = grants.into_iter().map(|id| {
        let store = store.clone();
        tokio::spawn(async move {
            let ended = store.revoke(Revoked::Grant(&id), "asked", at(10)).await;
            ended.unwrap().len()
        })
    });
    for end in ends.collect::<Vec<_>>() {
        assert_eq!(end.await.unwrap(), 1);
    }
    assert_eq!(left(&store).await, ERASED);
}

pub(super) async fn what_nobody_uses_any_more_is_erased_by_the_sweep(store: Store) {
    // A user who signed in, and whose client never exchanged the code.
    add_person(&store).await;
    store
        .put_code(&random_hash(), &code(), at(0))
        .await
        .unwrap();
    for (before, now, erased) in [(-1, 100, 0), (0, 59, 0), (0, 60, 1), (0, 61, 0)] {
        let done = store.erase_unused(at(before), at(now)).await.unwrap();
        assert_eq!(done, erased, "{before} {now}");
    }
    assert_eq!(left(&store).await, ERASED);
    // A user whose last token expires.
    let user = store.user("u").await.unwrap().unwrap();
    let key = person_key();
    let two = sealed("two");
    let back = store.signed_in(&user, "ada", "x", Some(&key), &two, at(0));
    assert!(back.await.unwrap());
    opened(&store).await;
    assert_eq!(store.erase_unused(at(0), at(86400)).await.unwrap(), 0);
    assert_eq!(left(&store).await, KEPT);
    assert_eq!(store.erase_unused(at(0), at(86401)).await.unwrap(), 1);
    assert_eq!(left(&store).await, ERASED);
}

fn person_key() -> WrappedKey {
    WrappedKey {
        key_id: "k2".to_owned(),
        sealed: vec![4, 5],
    }
}

pub(super) async fn a_client_is_forgotten_long_after_its_last_grant(store: Store) {
    let known = Client {
        id: "c".to_owned(),
        ..client("A", None)
    };
    store.put_client(&known).await.unwrap();
    store.client_used("c", at(0)).await.unwrap();
    let (grant, _) = opened(&store).await;
    store.grant_used(&grant.id, at(5000)).await.unwrap();
    let forget = |idle| store.forget_unused_clients(at(1_000_000), at(idle));
    assert_eq!(forget(900_000).await.unwrap(), 0, "it has a grant");
    assert_eq!(store.sweep_grants(at(86401)).await.unwrap(), 1);
    let read = store.client("c").await.unwrap().unwrap();
    assert_eq!(read.last_used_at, Some(at(5000)), "as its grant was");
    assert_eq!(forget(5000).await.unwrap(), 0);
    // A client that registered again is kept.
    store.client_seen("c", at(200_000)).await.unwrap();
    assert_eq!(forget(200_000).await.unwrap(), 0);
    let read = store.client("c").await.unwrap().unwrap();
    assert_eq!(read.created_at, at(0));
    assert_eq!(forget(200_001).await.unwrap(), 1);
    assert!(store.client("c").await.unwrap().is_none());
}

/// The names of files below `dir` that hold `bytes`
fn holding(dir: &std::path::Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        let all = std::fs::read(&path).unwrap();
        if all.windows(bytes.len()).any(|part| part == bytes) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Random bytes, as long as sealed tokens really are
fn noise(length: usize) -> Vec<u8> {
    let rng = SystemRng::default();
    let parts = (0..length.div_ceil(32)).flat_map(|_| rng::bytes::<32>(&rng));
    parts.take(length).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_erased_is_in_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = sqlite(&dir).await;
    // Like an admin command that runs beside a broker.
    let admin = sqlite(&dir).await;
    let tokens = || UpstreamTokens {
        access: noise(300),
        refresh: noise(300),
        access_expires_at: at(3600),
    };
    let mut people = Vec::new();
    for number in 0..60 {
        let new = NewUser {
            id: id(),
            forge: "https://git/".to_owned(),
            account: number.to_string(),
            login: format!("login-{number}"),
            key: WrappedKey {
                key_id: "k1".to_owned(),
                sealed: noise(72),
            },
            tokens: tokens(),
            scope: "read:user".to_owned(),
        };
        assert!(store.add_user(&new, at(0)).await.unwrap());
        people.push(new);
    }
    for new in &mut people {
        let user = store.user(&new.id).await.unwrap().unwrap();
        new.tokens = tokens();
        let again = store.signed_in(&user, "x", "x", None, &new.tokens, at(1));
        assert!(again.await.unwrap());
    }
    let blobs = |new: &NewUser| {
        let tokens = &new.tokens;
        [
            new.key.sealed.clone(),
            tokens.access.clone(),
            tokens.refresh.clone(),
        ]
    };
    for (number, new) in people.iter().enumerate() {
        for blob in blobs(new) {
            assert!(!holding(dir.path(), &blob).is_empty(), "it was there");
        }
        match number % 3 {
            0 => assert!(admin.forget_user(&new.id).await.unwrap()),
            1 => assert!(store.must_reconnect(&new.id, 2, at(2)).await.unwrap()),
            _ => assert!(store.erase_unless_connected(&new.id, at(2)).await.unwrap()),
        }
        let [key, access, refresh] = blobs(new);
        for blob in [&access, &refresh] {
            assert_eq!(holding(dir.path(), blob), [""; 0], "{number}");
        }
        if number % 3 != 1 {
            assert_eq!(holding(dir.path(), &key), [""; 0], "{number}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_holds_up_the_emptying_of_the_log_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let store = sqlite(&dir).await;
    let new = NewUser {
        tokens: UpstreamTokens {
            access: noise(300),
            refresh: noise(300),
            access_expires_at: at(3600),
        },
        ..person()
    };
    assert!(store.add_user(&new, at(0)).await.unwrap());
    let backup = sqlite(&dir).await;
    let Db::Sqlite { read, .. } = &backup.db else {
        unreachable!()
    };
    let mut reading = read.begin().await.unwrap();
    let seen: (i64,) = sqlx::query_as("SELECT COUNT(*) FROM users")
        .fetch_one(&mut *reading)
        .await
        .unwrap();
    assert_eq!(seen, (1,));
    assert!(store.forget_user("u").await.unwrap());
    assert!(!store.settle().await);
    assert!(!holding(dir.path(), &new.tokens.access).is_empty());
    store.put_client(&client("A", None)).await.unwrap();
    reading.rollback().await.unwrap();
    assert!(store.settle().await);
    assert_eq!(holding(dir.path(), &new.tokens.access), [""; 0]);
}
