//! What users and strangers can fill is bounded

use super::*;

/// Open a grant of user `u` for client `c`
async fn open_grant(store: &Store, second: i64) -> (Grant, Vec<String>) {
    let (hash, grant) = (random_hash(), grant());
    let code = Code {
        expires_at: at(second + 60),
        ..code()
    };
    store.put_code(&hash, &code, at(second)).await.unwrap();
    let used = store
        .use_code(&hash, &grant, &pair(second), &event(), at(second))
        .await;
    match used.unwrap() {
        CodeUse::Issued { displaced } => {
            let ids = displaced.into_iter().map(|ended| ended.id).collect();
            (grant, ids)
        }
        other => panic!("{other:?}"),
    }
}

pub(super) async fn the_longest_unused_of_51_grants_is_revoked(store: Store) {
    let mut grants = Vec::new();
    for second in 0..50 {
        let (grant, displaced) = open_grant(&store, second).await;
        assert!(displaced.is_empty(), "{second}");
        grants.push(grant.id);
    }
    // The oldest is in use.
    store.grant_used(&grants[0], at(100)).await.unwrap();
    let (newest, displaced) = open_grant(&store, 101).await;
    assert_eq!(displaced, [grants[1].clone()]);
    let live = store.grants_of("u").await.unwrap();
    assert_eq!(live.len(), 50);
    let is_live = |id: &String| live.iter().any(|grant| grant.id == *id);
    assert!(is_live(&newest.id) && is_live(&grants[0]) && !is_live(&grants[1]));
    // Another client and another user have their own.
    for (user, client) in [("u", "other"), ("other", "c")] {
        let (hash, mut grant) = (random_hash(), grant());
        let mut code = code();
        (grant.user, code.user) = (user.to_owned(), user.to_owned());
        (grant.client_id, code.client_id) = (client.to_owned(), client.to_owned());
        store.put_code(&hash, &code, at(0)).await.unwrap();
        let used = store
            .use_code(&hash, &grant, &pair(1), &event(), at(1))
            .await;
        assert_eq!(used.unwrap(), ISSUED);
    }
}

pub(super) async fn codes_of_one_client_at_once_leave_50_grants(store: Store) {
    let all = (0..70).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { open_grant(&store, 1).await })
    });
    let mut displaced = Vec::new();
    for one in all.collect::<Vec<_>>() {
        displaced.extend(one.await.unwrap().1);
    }
    assert_eq!(displaced.len(), 20);
    assert_eq!(store.grants_of("u").await.unwrap().len(), 50);
}

pub(super) async fn clients_that_were_never_used_are_bounded_in_number(store: Store) {
    let mut ids = Vec::new();
    for n in 0..6 {
        let mut new = client("x", None);
        new.created_at = at(n);
        store.put_client(&new).await.unwrap();
        ids.push(new.id);
    }
    // Used once, and written down by an admin: neither counts, however old.
    store.client_used(&ids[0], at(1)).await.unwrap();
    let mut named = client("admin's", None);
    (named.kind, named.created_at) = (ClientKind::Static, at(-100));
    store.put_client(&named).await.unwrap();
    assert_eq!(store.forget_surplus_clients(5).await.unwrap(), 0);
    assert_eq!(store.forget_surplus_clients(2).await.unwrap(), 3);
    for (n, id) in ids.iter().enumerate() {
        let is_there = store.client(id).await.unwrap().is_some();
        assert_eq!(is_there, matches!(n, 0 | 4 | 5), "{n}");
    }
    // What was used is listed first.
    let listed = store.clients(1).await.unwrap();
    assert_eq!(listed[0].id, ids[0]);
}

fn event_at(second: i64, event: AuditEvent) -> AuditRow {
    AuditRow {
        at: at(second),
        event: event.name().to_owned(),
        ..self::event()
    }
}

pub(super) async fn registrations_push_no_other_event_out(store: Store) {
    let write = async |second, event| {
        let row = event_at(second, event);
        store.write_audit(&row).await.unwrap();
    };
    for second in 0..8 {
        write(second, AuditEvent::Revoked).await;
    }
    for second in 8..40 {
        write(second, AuditEvent::Registered).await;
    }
    let count = |rows: &[AuditRow], event: AuditEvent| {
        rows.iter().filter(|row| row.event == event.name()).count()
    };
    // Fewer others than fit: registrations fill the rest.
    let listed = store.audit(20).await.unwrap();
    assert_eq!(listed.len(), 20);
    assert_eq!(count(&listed, AuditEvent::Revoked), 8);
    assert!(listed.is_sorted_by(|a, b| a.at >= b.at));
    // More than fit: they are a quarter at most.
    let listed = store.audit(8).await.unwrap();
    assert_eq!(listed.len(), 8);
    assert_eq!(count(&listed, AuditEvent::Registered), 2);
    assert_eq!(store.audit(1).await.unwrap().len(), 1);
    // And they are forgotten among themselves.
    assert_eq!(store.forget_surplus_registrations(30).await.unwrap(), 2);
    assert_eq!(store.forget_surplus_registrations(0).await.unwrap(), 30);
    let left = store.audit(100).await.unwrap();
    assert_eq!((left.len(), count(&left, AuditEvent::Revoked)), (8, 8));
}

pub(super) async fn lists_count_in_the_database(store: Store) {
    for n in 0..3 {
        store
            .put_client(&client(&format!("c{n}"), None))
            .await
            .unwrap();
    }
    open_grant(&store, 1).await;
    assert_eq!(store.count_clients().await.unwrap(), 3);
    assert_eq!(store.count_grants().await.unwrap(), 1);
    assert_eq!(store.count_users().await.unwrap(), 0);
    assert_eq!(store.count_audit().await.unwrap(), 1);
    let clients = store.clients(2).await.unwrap();
    assert_eq!(clients.len(), 2);
    let ids: Vec<&str> = clients.iter().map(|client| client.id.as_str()).collect();
    let names = store.client_names(&[&ids[..], &["gone"]].concat()).await;
    let names = names.unwrap();
    assert_eq!(names.len(), 2);
    assert_eq!(names[ids[0]], clients[0].name);
    assert!(store.logins(&[]).await.unwrap().is_empty());
}

pub(super) async fn a_clock_far_ahead_sweeps_nothing_away(store: Store) {
    const DAY: i64 = 24 * 3600;
    let trusted = async |second| {
        let time = store.sweep_time(at(second)).await.unwrap();
        time.as_second() - at(0).as_second()
    };
    // No sweep was made yet: what happened last tells the time.
    store
        .write_audit(&event_at(0, AuditEvent::Issued))
        .await
        .unwrap();
    assert_eq!(trusted(10 * 365 * DAY).await, 3600);
    assert_eq!(trusted(10 * 365 * DAY).await, 2 * 3600);
    // It is set right, and goes on; set back for a moment it is not believed ahead afterwards.
    assert_eq!(trusted(3 * 3600).await, 3 * 3600);
    assert_eq!(trusted(-1000 * DAY).await, -1000 * DAY);
    assert_eq!(trusted(DAY).await, DAY);
}
