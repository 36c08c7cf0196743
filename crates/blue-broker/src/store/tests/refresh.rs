//! Sequences of refreshes: which reuse is forgiven, and which is theft

use std::collections::HashMap;

use super::*;

/// One step of a sequence, at a second
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The refresh token of the first pair gives the second pair
    Gives(i64, &'static str, &'static str),
    /// The access token of the pair is valid
    Opens(i64, &'static str),
    /// The access token of the pair is not valid any more
    Closed(i64, &'static str),
    /// The refresh token of the pair counts as stolen, and the grant is revoked
    Theft(i64, &'static str),
}

use Step::{Closed, Gives, Opens, Theft};

/// Name and steps of each sequence; it begins with the pair `t`, and the grace is 60 s
const SEQUENCES: &[(&str, &[Step])] = &[
    (
        "single use",
        &[Gives(100, "t", "a"), Gives(200, "a", "b"), Opens(201, "b")],
    ),
    (
        "the response was lost, and the client repeats its request",
        &[
            Gives(100, "t", "lost"),
            Gives(110, "t", "a"),
            Opens(111, "a"),
            Gives(5000, "a", "b"),
        ],
    ),
    (
        "the response was lost twice",
        &[
            Gives(100, "t", "lost"),
            Gives(110, "t", "lost too"),
            Gives(160, "t", "a"),
            Gives(170, "a", "b"),
            Opens(171, "b"),
        ],
    ),
    (
        "sent twice at once, and both responses are used",
        &[
            Gives(100, "t", "a"),
            Gives(100, "t", "b"),
            Opens(101, "a"),
            Opens(101, "b"),
            Gives(400, "a", "c"),
            Gives(400, "b", "d"),
            Opens(401, "c"),
            Opens(401, "d"),
        ],
    ),
    (
        "sent twice, and the second arrives when the first was used for a call",
        &[
            Gives(100, "t", "a"),
            Opens(101, "a"),
            Gives(159, "t", "b"),
            Opens(160, "b"),
        ],
    ),
    (
        "the clock of a replica is behind",
        &[Gives(100, "t", "a"), Gives(45, "t", "b"), Opens(101, "b")],
    ),
    (
        "two generations old, within the grace",
        &[
            Gives(100, "t", "a"),
            Gives(110, "a", "b"),
            Opens(111, "b"),
            Theft(112, "t"),
            Closed(113, "b"),
        ],
    ),
    (
        "two generations old, at once",
        &[
            Gives(100, "t", "a"),
            Gives(100, "a", "b"),
            Theft(100, "t"),
            Closed(100, "b"),
        ],
    ),
    (
        "two generations old, and no access token was used",
        &[Gives(100, "t", "a"), Gives(110, "a", "b"), Theft(120, "t")],
    ),
    (
        "two generations old, by the clock of a replica that is behind",
        &[Gives(100, "t", "a"), Gives(110, "a", "b"), Theft(90, "t")],
    ),
    (
        "three generations old",
        &[
            Gives(100, "t", "a"),
            Gives(101, "a", "b"),
            Gives(102, "b", "c"),
            Theft(103, "t"),
            Closed(104, "c"),
        ],
    ),
    (
        "one of two responses was refreshed",
        &[
            Gives(100, "t", "lost"),
            Gives(101, "t", "a"),
            Gives(110, "a", "b"),
            Theft(111, "t"),
            Closed(112, "b"),
        ],
    ),
    (
        "a lost response in the second generation does not excuse the first",
        &[
            Gives(100, "t", "a"),
            Gives(110, "a", "lost"),
            Gives(111, "a", "b"),
            Theft(112, "t"),
        ],
    ),
    (
        "after the grace, a successor was used for a call",
        &[
            Gives(100, "t", "a"),
            Opens(101, "a"),
            Theft(161, "t"),
            Closed(162, "a"),
        ],
    ),
    (
        "after the grace, nothing was used",
        &[
            Gives(100, "t", "lost"),
            Gives(5000, "t", "a"),
            Closed(5001, "lost"),
            Opens(5001, "a"),
        ],
    ),
    (
        "a revoked successor is presented after all",
        &[
            Gives(100, "t", "lost"),
            Gives(5000, "t", "a"),
            Theft(5001, "lost"),
            Closed(5002, "a"),
        ],
    ),
];

pub(super) async fn a_reused_refresh_token_follows_the_table(store: Store) {
    for (name, steps) in SEQUENCES {
        let (_, first) = opened(&store).await;
        let mut pairs = HashMap::from([("t", first)]);
        for step in *steps {
            let at_step = format!("{name}: {step:?}");
            match *step {
                Gives(now, from, to) => {
                    let (done, new) = refresh(&store, &pairs[from].refresh, now).await;
                    assert_eq!(done, Refresh::Issued, "{at_step}");
                    pairs.insert(to, new);
                }
                Opens(now, pair) => {
                    let access = &pairs[pair].access;
                    let checked = store.check_access(access, at(now)).await.unwrap();
                    let checked = checked.expect(&at_step);
                    store.access_used(&checked.pair, at(now)).await.unwrap();
                }
                Closed(now, pair) => {
                    let checked = store.check_access(&pairs[pair].access, at(now)).await;
                    assert_eq!(checked.unwrap(), None, "{at_step}");
                }
                Theft(now, pair) => {
                    let (done, _) = refresh(&store, &pairs[pair].refresh, now).await;
                    assert_eq!(done, Refresh::Replayed, "{at_step}");
                }
            }
        }
    }
}

pub(super) async fn a_revoked_grant_leaves_no_token_alive(store: Store) {
    let (_, first) = opened(&store).await;
    let (_, second) = refresh(&store, &first.refresh, 100).await;
    let (_, third) = refresh(&store, &second.refresh, 110).await;
    let (done, _) = refresh(&store, &first.refresh, 111).await;
    assert_eq!(done, Refresh::Replayed);
    for pair in [&first, &second, &third] {
        let open = store.check_access(&pair.access, at(112)).await.unwrap();
        assert_eq!(open, None);
        let (done, _) = refresh(&store, &pair.refresh, 112).await;
        assert_eq!(done, Refresh::Gone);
    }
    let (done, _) = refresh(&store, &random_hash(), 1).await;
    assert_eq!(done, Refresh::Gone);
}
