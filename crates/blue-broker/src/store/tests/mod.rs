//! One suite, run on every kind of database there is

mod bounds;
mod erase;
mod keyed;
mod opening;
mod refresh;

use std::{sync::Arc, time::Duration};

use blue_base::secret::Secret;
use jiff::Timestamp;
use serde_json::json;

use self::{bounds::*, erase::*, keyed::*, refresh::*};
use super::{db::together, *};
use crate::{
    config::Database,
    crypto::{KeyRing, WrappedKey},
    rng::{self, SystemRng},
    token::TokenHash,
};

/// A code that opened its grant, and displaced no other
const ISSUED: CodeUse = CodeUse::Issued {
    displaced: Vec::new(),
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn id() -> String {
    rng::id(&SystemRng::default())
}

fn random_hash() -> TokenHash {
    TokenHash::of(&id())
}

/// Open a database as a broker does, with master keys that are the same each time
async fn open(database: &Database) -> Result<Store, StoreError> {
    let (keys, random) = (KeyRing::fixed(), SystemRng::default());
    let by = Wrapping {
        ring: &keys,
        rng: &random,
    };
    Store::connect(database).await?.open(by).await
}

/// Make the first steps of a schema
async fn migrate_to(db: &Db, steps: &[migrate::Step]) -> Result<(), StoreError> {
    let (keys, random) = (KeyRing::fixed(), SystemRng::default());
    let by = Wrapping {
        ring: &keys,
        rng: &random,
    };
    migrate::run(db, steps, by).await
}

async fn sqlite(dir: &tempfile::TempDir) -> Store {
    let database = Database::Sqlite(dir.path().join("broker.db"));
    open(&database).await.unwrap()
}

/// Run every test on SQLite, each by itself, and all of them on one PostgreSQL
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let dir = tempfile::tempdir().unwrap();
                super::$name(super::sqlite(&dir).await).await;
            })*
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn all_of_it_on_postgres() {
            let Some(server) = blue_testkit::Postgres::start() else {
                return;
            };
            $({
                let url = server.database(stringify!($name)).unwrap();
                let database = Database::Postgres(Secret::new(url));
                let store = open(&database).await.unwrap();
                $name(store.clone()).await;
                // Again: every step is there already.
                store.close().await;
                open(&database).await.unwrap().close().await;
            })*
        }
    };
}

on_both!(
    clients_are_kept_and_deduplicated,
    an_authorization_leaves_each_stage_once,
    a_code_opens_one_grant,
    fifty_uses_of_a_code_open_one_grant,
    a_reused_refresh_token_follows_the_table,
    a_revoked_grant_leaves_no_token_alive,
    a_clock_that_is_set_back_makes_no_grace_longer,
    a_lost_answer_is_forgiven_while_nothing_was_used,
    what_was_dropped_and_comes_after_all_is_a_replay,
    fifty_refreshes_are_limited_and_all_alive,
    revoking_ends_all_tokens_at_once,
    revoking_ends_what_would_become_a_grant,
    a_code_that_is_used_while_its_person_is_revoked_opens_nothing,
    forge_tokens_are_changed_by_one_at_a_time,
    the_last_end_erases_what_the_forge_gave,
    two_last_ends_at_once_erase_what_the_forge_gave,
    what_nobody_uses_any_more_is_erased_by_the_sweep,
    a_client_is_forgotten_long_after_its_last_grant,
    sweeping_forgets_what_is_over,
    pages_and_events_are_kept,
    the_longest_unused_of_51_grants_is_revoked,
    codes_of_one_client_at_once_leave_50_grants,
    clients_that_were_never_used_are_bounded_in_number,
    registrations_push_no_other_event_out,
    lists_count_in_the_database,
    a_clock_far_ahead_sweeps_nothing_away,
    a_planted_hash_opens_nothing,
);

fn client(name: &str, fingerprint: Option<TokenHash>) -> Client {
    Client {
        id: id(),
        kind: ClientKind::Dynamic,
        name: name.to_owned(),
        redirect_uris: vec!["http://127.0.0.1/cb".to_owned()],
        auth_method: AuthMethod::None,
        secret: None,
        metadata: json!({ "client_uri": "https://example.org" }),
        fingerprint,
        created_at: at(0),
        last_used_at: None,
    }
}

async fn clients_are_kept_and_deduplicated(store: Store) {
    let fingerprint = random_hash();
    let first = client("A", Some(fingerprint));
    assert!(store.put_client(&first).await.unwrap());
    assert!(
        !store
            .put_client(&client("B", Some(fingerprint)))
            .await
            .unwrap()
    );
    let found = store.client_by_fingerprint(&fingerprint).await.unwrap();
    assert_eq!(found.unwrap().id, first.id);
    let mut secret = client("C", None);
    secret.auth_method = AuthMethod::Basic;
    secret.secret = Some(store.keyed(&random_hash()).unwrap());
    assert!(store.put_client(&secret).await.unwrap());
    let read = store.client(&secret.id).await.unwrap().unwrap();
    assert_eq!(read.secret, secret.secret);
    assert_eq!(read.metadata, secret.metadata);
    assert_eq!(read.created_at, at(0));
    assert_eq!(store.clients(10).await.unwrap().len(), 2);
    store.client_used(&secret.id, at(5)).await.unwrap();
    let forgotten = store.forget_unused_clients(at(10), at(5)).await.unwrap();
    assert_eq!(forgotten, 1);
    assert!(store.client(&first.id).await.unwrap().is_none());
    assert!(store.delete_client(&secret.id).await.unwrap());
    assert!(!store.delete_client(&secret.id).await.unwrap());
}

fn authorization() -> Authorization {
    Authorization {
        id: id(),
        ask: Ask {
            client_id: Some("c".to_owned()),
            redirect_uri: "http://127.0.0.1:1/cb".to_owned(),
            client_state: Some("s".to_owned()),
            scope: "mcp".to_owned(),
            resource: "https://b/mcp".to_owned(),
            challenge: "x".to_owned(),
        },
        stage: Stage::Asked,
        browser: random_hash(),
        form: random_hash(),
        expires_at: at(600),
    }
}

async fn an_authorization_leaves_each_stage_once(store: Store) {
    let asked = authorization();
    store.begin(&asked, at(0)).await.unwrap();
    let read = store
        .authorization(&asked.id, at(1))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((&read.ask, &read.stage), (&asked.ask, &Stage::Asked));
    assert!(read.browser.matches(&asked.browser) && read.form.matches(&asked.form));
    assert!(
        store
            .authorization(&asked.id, at(600))
            .await
            .unwrap()
            .is_none()
    );

    let state = random_hash();
    assert!(
        store
            .came_back(asked.clone(), at(1))
            .await
            .unwrap()
            .is_none()
    );
    let approved = store.approve(asked.clone(), &state, at(1)).await.unwrap();
    let approved = approved.unwrap();
    let again = store.approve(asked, &random_hash(), at(1)).await.unwrap();
    assert!(again.is_none(), "approved twice");
    let found = store.authorization_by_state(&state, at(2)).await.unwrap();
    assert_eq!(found.unwrap().id, approved.id);
    assert!(
        store
            .came_back(approved.clone(), at(600))
            .await
            .unwrap()
            .is_none()
    );
    let returned = store
        .came_back(approved.clone(), at(2))
        .await
        .unwrap()
        .unwrap();
    assert!(
        store
            .came_back(approved.clone(), at(2))
            .await
            .unwrap()
            .is_none()
    );
    assert!(store.deny(approved, at(2)).await.unwrap().is_none());
    let granted = store.granted(returned.clone(), "u").await.unwrap().unwrap();
    assert!(store.granted(returned, "v").await.unwrap().is_none());
    let read = store
        .authorization(&granted.id, at(3))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        read.stage,
        Stage::Granted {
            user: "u".to_owned()
        }
    );

    let asked = authorization();
    store.begin(&asked, at(0)).await.unwrap();
    let denied = store.deny(asked.clone(), at(1)).await.unwrap().unwrap();
    assert_eq!(denied.stage, Stage::Denied);

    // A refusal counts after a consent that was not used, and invalidates it.
    let changed = authorization();
    store.begin(&changed, at(0)).await.unwrap();
    let later = Authorization {
        expires_at: at(900),
        ..changed
    };
    let yes = store.approve(later, &random_hash(), at(1)).await.unwrap();
    let yes = yes.unwrap();
    let read = store.authorization(&yes.id, at(899)).await.unwrap();
    assert_eq!(read.unwrap().expires_at, at(900), "it got more time");
    assert!(store.deny(yes.clone(), at(2)).await.unwrap().is_some());
    assert!(store.came_back(yes, at(3)).await.unwrap().is_none());
    assert!(
        store
            .approve(asked, &random_hash(), at(1))
            .await
            .unwrap()
            .is_none()
    );
}

fn code() -> Code {
    Code {
        client_id: "c".to_owned(),
        user: "u".to_owned(),
        redirect_uri: "http://127.0.0.1:1/cb".to_owned(),
        challenge: "x".to_owned(),
        resource: "https://b/mcp".to_owned(),
        scope: "mcp".to_owned(),
        expires_at: at(60),
    }
}

fn grant() -> Grant {
    Grant {
        id: id(),
        user: "u".to_owned(),
        client_id: "c".to_owned(),
        scope: "mcp".to_owned(),
        resource: "https://b/mcp".to_owned(),
        created_at: at(1),
        last_used_at: at(1),
    }
}

fn pair(now: i64) -> NewPair {
    NewPair {
        id: id(),
        access: random_hash(),
        refresh: random_hash(),
        access_expires_at: at(now + 3600),
        refresh_expires_at: at(now + 86400),
    }
}

fn event() -> AuditRow {
    AuditRow {
        id: id(),
        at: at(1),
        event: "issued".to_owned(),
        client_id: None,
        user: None,
        grant: None,
        request_id: None,
        detail: serde_json::json!({}),
    }
}

/// A grant with its first pair
async fn opened(store: &Store) -> (Grant, NewPair) {
    let (hash, grant, pair) = (random_hash(), grant(), pair(1));
    store.put_code(&hash, &code(), at(0)).await.unwrap();
    let used = store
        .use_code(&hash, &grant, &pair, &event(), at(1))
        .await
        .unwrap();
    assert_eq!(used, ISSUED);
    (grant, pair)
}

async fn a_code_opens_one_grant(store: Store) {
    let (hash, first) = (random_hash(), pair(1));
    store.put_code(&hash, &code(), at(0)).await.unwrap();
    assert_eq!(store.code(&hash).await.unwrap(), Some(code()));
    let late = store
        .use_code(&hash, &grant(), &pair(1), &event(), at(60))
        .await
        .unwrap();
    assert_eq!(late, CodeUse::Gone);
    let opened = grant();
    let used = store
        .use_code(&hash, &opened, &first, &event(), at(59))
        .await
        .unwrap();
    assert_eq!(used, ISSUED);
    let checked = store.check_access(&first.access, at(59)).await.unwrap();
    assert_eq!(checked.unwrap().grant, opened.id);
    // Even after it expired: the issued tokens must be revoked.
    let again = store
        .use_code(&hash, &grant(), &pair(1), &event(), at(70))
        .await
        .unwrap();
    assert_eq!(again, CodeUse::Replayed { grant: opened.id });
    assert!(
        store
            .check_access(&first.access, at(70))
            .await
            .unwrap()
            .is_none()
    );
    let never = store
        .use_code(&random_hash(), &grant(), &pair(1), &event(), at(1))
        .await
        .unwrap();
    assert_eq!(never, CodeUse::Gone);
    // A change that did not happen leaves no event.
    assert_eq!(store.audit(10).await.unwrap().len(), 1);
}

async fn fifty_uses_of_a_code_open_one_grant(store: Store) {
    let (store, hash) = (Arc::new(store), random_hash());
    store.put_code(&hash, &code(), at(0)).await.unwrap();
    let tries = (0..50).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            store
                .use_code(&hash, &grant(), &pair(1), &event(), at(1))
                .await
                .unwrap()
        })
    });
    let mut issued = 0;
    for one in tries.collect::<Vec<_>>() {
        issued += u32::from(one.await.unwrap() == ISSUED);
    }
    assert_eq!(issued, 1);
    assert!(
        store.grants(10).await.unwrap().is_empty(),
        "the replays ended it"
    );
}

const RULES: RefreshRules = RefreshRules {
    grace: Duration::from_mins(1),
    most: 20,
    window: Duration::from_mins(1),
};

/// Use a refresh token
async fn refresh(store: &Store, old: &TokenHash, now: i64) -> (Refresh, NewPair) {
    let new = pair(now);
    let Some(of) = store.refresh_token(old).await.unwrap() else {
        return (Refresh::Gone, new);
    };
    let done = store
        .refresh(old, &of, &new, &RULES, &event(), at(now))
        .await
        .unwrap();
    (done, new)
}

async fn a_clock_that_is_set_back_makes_no_grace_longer(store: Store) {
    let (_, first) = opened(&store).await;
    let (_, second) = refresh(&store, &first.refresh, 5000).await;
    refresh(&store, &second.refresh, 5001).await;
    let (done, _) = refresh(&store, &first.refresh, 100).await;
    assert_eq!(done, Refresh::Replayed);
}

async fn a_lost_answer_is_forgiven_while_nothing_was_used(store: Store) {
    let (_, first) = opened(&store).await;
    let (_, lost) = refresh(&store, &first.refresh, 100).await;
    let (done, second) = refresh(&store, &first.refresh, 5000).await;
    assert_eq!(done, Refresh::Issued);
    assert!(
        store
            .check_access(&lost.access, at(200))
            .await
            .unwrap()
            .is_none()
    );
    let checked = store
        .check_access(&second.access, at(5001))
        .await
        .unwrap()
        .unwrap();
    assert!(!checked.used);
    store.access_used(&checked.pair, at(5001)).await.unwrap();
    assert!(
        store
            .check_access(&second.access, at(5002))
            .await
            .unwrap()
            .unwrap()
            .used
    );
    assert_eq!(
        refresh(&store, &first.refresh, 5100).await.0,
        Refresh::Replayed
    );

    let (_, first) = opened(&store).await;
    assert_eq!(
        refresh(&store, &first.refresh, 86401).await.0,
        Refresh::Gone
    );
}

async fn what_was_dropped_and_comes_after_all_is_a_replay(store: Store) {
    let (_, first) = opened(&store).await;
    let (_, rightful) = refresh(&store, &first.refresh, 100).await;
    // A thief comes first, and looks like a client whose response was lost.
    let (done, thief) = refresh(&store, &first.refresh, 162).await;
    assert_eq!(done, Refresh::Issued);
    let (done, _) = refresh(&store, &rightful.refresh, 170).await;
    assert_eq!(done, Refresh::Replayed);
    let open = store.check_access(&thief.access, at(171)).await.unwrap();
    assert!(open.is_none(), "the thief is out, too");
    assert_eq!(refresh(&store, &thief.refresh, 171).await.0, Refresh::Gone);

    // Two pairs that were issued at the same moment do not revoke each other.
    let (_, first) = opened(&store).await;
    let (_, one) = refresh(&store, &first.refresh, 100).await;
    let (_, two) = refresh(&store, &first.refresh, 160).await;
    for pair in [&one, &two] {
        let (done, _) = refresh(&store, &pair.refresh, 400).await;
        assert_eq!(done, Refresh::Issued);
    }
}

async fn fifty_refreshes_are_limited_and_all_alive(store: Store) {
    let (_, first) = opened(&store).await;
    let store = Arc::new(store);
    let tries = (0..50).map(|_| {
        let (store, old) = (Arc::clone(&store), first.refresh);
        tokio::spawn(async move { refresh(&store, &old, 120).await })
    });
    let mut issued = 0;
    for one in tries.collect::<Vec<_>>() {
        let (done, new) = one.await.unwrap();
        match done {
            Refresh::Issued => {
                issued += 1;
                assert!(
                    store
                        .check_access(&new.access, at(121))
                        .await
                        .unwrap()
                        .is_some()
                );
            }
            other => assert_eq!(other, Refresh::Limited),
        }
    }
    assert_eq!(issued, 20);
}

async fn revoking_ends_all_tokens_at_once(store: Store) {
    let (first, pair) = opened(&store).await;
    let (_, second) = refresh(&store, &pair.refresh, 100).await;
    let (other, _) = opened(&store).await;
    let owner = store.token_owner(&second.refresh).await.unwrap();
    assert_eq!(owner, Some((first.id.clone(), "c".to_owned())));
    let ended = store
        .revoke(Revoked::Grant(&first.id), "asked", at(101))
        .await
        .unwrap();
    let [one] = ended.as_slice() else {
        panic!("{ended:?}");
    };
    let told = (one.id.as_str(), one.user.as_str(), one.client_id.as_str());
    assert_eq!(told, (first.id.as_str(), "u", "c"));
    for pair in [&pair, &second] {
        assert!(
            store
                .check_access(&pair.access, at(101))
                .await
                .unwrap()
                .is_none()
        );
        assert_eq!(refresh(&store, &pair.refresh, 101).await.0, Refresh::Gone);
    }
    let again = store
        .revoke(Revoked::Grant(&first.id), "asked", at(102))
        .await
        .unwrap();
    assert!(again.is_empty());
    assert_eq!(store.grants_of("u").await.unwrap().len(), 1);
    let connection = Revoked::Connection {
        user: "u",
        client: "d",
    };
    assert!(
        store
            .revoke(connection, "asked", at(103))
            .await
            .unwrap()
            .is_empty()
    );
    let connection = Revoked::Connection {
        user: "u",
        client: "c",
    };
    let ended = store.revoke(connection, "asked", at(103)).await.unwrap();
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].id, other.id);
    opened(&store).await;
    assert_eq!(
        store
            .revoke(Revoked::Client("c"), "admin", at(9))
            .await
            .unwrap()
            .len(),
        1
    );
    opened(&store).await;
    assert_eq!(
        store
            .revoke(Revoked::User("u"), "admin", at(9))
            .await
            .unwrap()
            .len(),
        1
    );
}

async fn revoking_ends_what_would_become_a_grant(store: Store) {
    let connection = Revoked::Connection {
        user: "u",
        client: "c",
    };
    // Which codes are left, of this person and client, of this person, and of this client
    for (what, left) in [
        (Revoked::Grant("g"), [true, true, true]),
        (connection, [false, true, true]),
        (Revoked::User("u"), [false, false, true]),
        (Revoked::Client("c"), [false, true, false]),
    ] {
        let mut made = Vec::new();
        for (user, client) in [("u", "c"), ("u", "d"), ("v", "c")] {
            let (hash, open) = (random_hash(), authorization());
            let code = Code {
                user: user.to_owned(),
                client_id: client.to_owned(),
                ..code()
            };
            store.put_code(&hash, &code, at(0)).await.unwrap();
            let open = Authorization {
                ask: Ask {
                    client_id: Some(client.to_owned()),
                    ..open.ask
                },
                ..open
            };
            store.begin(&open, at(0)).await.unwrap();
            let state = random_hash();
            let open = store.approve(open, &state, at(0)).await.unwrap().unwrap();
            let open = store.came_back(open, at(0)).await.unwrap().unwrap();
            let granted = store.granted(open, user).await.unwrap().unwrap();
            made.push((hash, granted.id));
        }
        store.revoke(what, "asked", at(1)).await.unwrap();
        for ((hash, asked), left) in made.into_iter().zip(left) {
            let used = store
                .use_code(&hash, &grant(), &pair(1), &event(), at(1))
                .await;
            assert_eq!(used.unwrap() == ISSUED, left, "{what:?}");
            let asked = store.authorization(&asked, at(1)).await.unwrap();
            assert_eq!(asked.is_some(), left, "{what:?}");
        }
    }
    // A used code is kept for longer, so that its replay is noticed.
    let (opened, first, hash) = (grant(), pair(1), random_hash());
    store.put_code(&hash, &code(), at(0)).await.unwrap();
    store
        .use_code(&hash, &opened, &first, &event(), at(1))
        .await
        .unwrap();
    let ended = store.revoke(Revoked::User("u"), "asked", at(1)).await;
    assert!(ended.unwrap().iter().any(|ended| ended.id == opened.id));
    let again = store
        .use_code(&hash, &grant(), &pair(1), &event(), at(2))
        .await;
    assert_eq!(again.unwrap(), CodeUse::Replayed { grant: opened.id });
}

/// In whatever order the two run, the tokens are invalid afterwards
async fn a_code_that_is_used_while_its_person_is_revoked_opens_nothing(store: Store) {
    for _ in 0..20 {
        let (hash, grant, pair, event) = (random_hash(), grant(), pair(1), event());
        store.put_code(&hash, &code(), at(0)).await.unwrap();
        let used = store.use_code(&hash, &grant, &pair, &event, at(1));
        let ended = store.revoke(Revoked::User("u"), "asked", at(1));
        let (used, ended) = tokio::join!(used, ended);
        assert!(used.is_ok() && ended.is_ok(), "{used:?} {ended:?}");
        let checked = store.check_access(&pair.access, at(2)).await.unwrap();
        assert!(checked.is_none());
    }
}

fn sealed(word: &str) -> UpstreamTokens {
    UpstreamTokens {
        access: word.as_bytes().to_vec(),
        refresh: word.as_bytes().to_vec(),
        access_expires_at: at(3600),
    }
}

async fn forge_tokens_are_changed_by_one_at_a_time(store: Store) {
    let key = WrappedKey {
        key_id: "k1".to_owned(),
        sealed: vec![1, 2, 3],
    };
    let new = NewUser {
        id: id(),
        forge: "https://git/".to_owned(),
        account: "7".to_owned(),
        login: "ada".to_owned(),
        key: key.clone(),
        tokens: sealed("one"),
        scope: "read:user".to_owned(),
    };
    assert!(store.add_user(&new, at(0)).await.unwrap());
    let twin = NewUser {
        id: id(),
        ..new.clone()
    };
    assert!(!store.add_user(&twin, at(0)).await.unwrap());
    let user = store
        .user_at_forge("https://git/", "7")
        .await
        .unwrap()
        .unwrap();
    assert_eq!((user.id.as_str(), user.version), (new.id.as_str(), 1));
    assert_eq!(user.tokens, Some(sealed("one")));

    let long = Duration::from_hours(1);
    let lease = store.lease(&user, "a", Duration::ZERO).await.unwrap();
    let lease = lease.unwrap();
    assert!(store.extend(&lease, long).await.unwrap());
    let other = store.lease(&user, "b", long).await.unwrap();
    assert!(other.is_none(), "it was kept for longer");
    let new = sealed("two");
    assert!(store.refreshed(&user.id, 1, &new, at(1)).await.unwrap());
    assert!(!store.refreshed(&user.id, 1, &new, at(1)).await.unwrap());
    assert!(!store.extend(&lease, long).await.unwrap(), "it is over");
    let older = store.lease(&user, "b", long).await.unwrap();
    assert!(older.is_none(), "older version");
    let user = store.user(&user.id).await.unwrap().unwrap();
    assert_eq!(
        (user.version, user.tokens.clone()),
        (2, Some(sealed("two")))
    );

    // After a process died holding the lease, another takes it.
    let dead = store.lease(&user, "a", Duration::ZERO).await.unwrap();
    let lease = store.lease(&user, "b", long).await.unwrap();
    assert!(!store.extend(&dead.unwrap(), long).await.unwrap());
    store.release(lease.unwrap()).await.unwrap();
    let next = store.lease(&user, "c", long).await.unwrap();
    assert!(next.is_some());

    // A new sign-in wins over the holder of the lease.
    assert!(
        store
            .signed_in(&user, "ada2", "read:user", None, &sealed("three"), at(5))
            .await
            .unwrap()
    );
    assert!(
        !store
            .signed_in(&user, "ada3", "read:user", None, &sealed("four"), at(5))
            .await
            .unwrap()
    );
    assert!(
        !store.must_reconnect(&user.id, 2, at(6)).await.unwrap(),
        "there is a newer version"
    );
    assert!(store.must_reconnect(&user.id, 3, at(6)).await.unwrap());
    let user = store.user(&user.id).await.unwrap().unwrap();
    assert_eq!(
        (user.state, user.tokens.clone()),
        (UserState::Reconnect, None)
    );
    assert!(store.lease(&user, "c", long).await.unwrap().is_none());
    // Tokens that arrive late are better than none.
    let late = sealed("late");
    assert!(store.refreshed(&user.id, 4, &late, at(7)).await.unwrap());
    let row = store.user(&user.id).await.unwrap().unwrap();
    assert_eq!((row.state, row.version), (UserState::Connected, 5));
    assert!(
        store
            .signed_in(&row, "ada", "read:user", None, &sealed("five"), at(5))
            .await
            .unwrap()
    );

    let other = WrappedKey {
        key_id: "k2".to_owned(),
        sealed: vec![9],
    };
    assert!(store.rewrap(&user.id, &key, &other).await.unwrap());
    assert!(!store.rewrap(&user.id, &key, &other).await.unwrap());
    let token_key = store.wrapped_token_key().await.unwrap().key_id;
    assert_eq!(store.key_ids().await.unwrap(), [token_key, "k2".to_owned()]);
    assert_eq!(store.users(10).await.unwrap().len(), 1);
    assert!(store.forget_user(&user.id).await.unwrap());
    assert!(store.user(&user.id).await.unwrap().is_none());
}

async fn sweeping_forgets_what_is_over(store: Store) {
    store.begin(&authorization(), at(0)).await.unwrap();
    assert_eq!(store.sweep_authorizations(at(599)).await.unwrap(), 0);
    assert_eq!(store.sweep_authorizations(at(600)).await.unwrap(), 1);
    store
        .put_code(&random_hash(), &code(), at(0))
        .await
        .unwrap();
    assert_eq!(store.sweep_codes(at(60)).await.unwrap(), 1);
    let (grant, last) = opened(&store).await;
    // With it, more than one transaction deletes.
    let more = async || -> Result<(), StoreError> {
        db::together!(&store.db, |on| {
            for _ in 0..grants::SWEPT {
                let next = pair(1);
                let next = store.keyed_pair(&next)?;
                tokens::insert!(on, next, &grant.id, None::<&str>, at(1));
            }
        });
        Ok(())
    };
    more().await.unwrap();
    assert_eq!(store.sweep_grants(at(86400)).await.unwrap(), 0);
    assert!(store.refresh_token(&last.refresh).await.unwrap().is_some());
    assert_eq!(store.sweep_grants(at(86401)).await.unwrap(), 1);
    assert!(store.refresh_token(&last.refresh).await.unwrap().is_none());
}

async fn pages_and_events_are_kept(store: Store) {
    let cookie = random_hash();
    let session = PageSession {
        user: "u".to_owned(),
        form: random_hash(),
        expires_at: at(100),
    };
    store.open_page(&cookie, &session, at(0)).await.unwrap();
    assert_eq!(
        store.page_session(&cookie, at(99)).await.unwrap(),
        Some(session)
    );
    assert_eq!(store.page_session(&cookie, at(100)).await.unwrap(), None);
    assert_eq!(store.sweep_pages(at(99)).await.unwrap(), 0);
    store.close_page(&cookie).await.unwrap();
    assert_eq!(store.page_session(&cookie, at(1)).await.unwrap(), None);

    let row = AuditRow {
        id: id(),
        at: at(3),
        event: AuditEvent::Replayed.name().to_owned(),
        client_id: Some("c".to_owned()),
        user: None,
        grant: None,
        request_id: Some("r".to_owned()),
        detail: json!({ "kind": "code" }),
    };
    store.write_audit(&row).await.unwrap();
    assert_eq!(store.sweep_audit(at(3)).await.unwrap(), 0);
    assert_eq!(store.audit(10).await.unwrap(), [row]);
    assert_eq!(store.sweep_audit(at(4)).await.unwrap(), 1);
    assert!(store.audit(10).await.unwrap().is_empty());
    store.ping().await.unwrap();
    store.close().await;
}
