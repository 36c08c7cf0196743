//! `kill -9` at random moments, while people sign in and clients refresh
//!
//! A response that a client received is never lost. A forge that rotates refresh tokens may have
//! sent new ones to a broker that was killed before it stored them: then that user has to sign in
//! again, and no other user is affected.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    forge::Forge,
    process::Place,
    visitor::{Answer, BEGUN, Client, Visitor},
};

/// The forge's tokens of this one do not end during the test
const QUIET: &str = "carol";
/// Who holds connections, how many refreshes of each before a new sign-in
///
/// A grant takes 120 refreshes in ten minutes, and those whose answer was lost count.
const CONNECTIONS: &[(&str, usize)] = &[
    ("alice", 60),
    ("alice", 6),
    ("bob", 60),
    ("bob", 6),
    ("dan", 3),
    ("eve", 2),
    ("fay", 1),
    ("gus", 1),
    (QUIET, 60),
];

/// Of so many brokers one lives until everybody had their turn
const CALM: usize = 10;

struct World {
    forge: Forge,
    place: Place,
    stop: AtomicBool,
    /// How often each user had to sign in again
    again: Mutex<BTreeMap<String, usize>>,
    sign_ins: AtomicUsize,
    refreshes: AtomicUsize,
    calls: AtomicUsize,
    /// How many turns each connection had that ended with an answer
    turns: [AtomicUsize; CONNECTIONS.len()],
}

/// What a client holds: the last that it was answered
struct Held {
    access: String,
    refresh: String,
    refreshes: usize,
}

impl Held {
    fn of(answer: &Value) -> Self {
        let text = |key: &str| answer[key].as_str().unwrap().to_owned();
        Self {
            access: text("access_token"),
            refresh: text("refresh_token"),
            refreshes: 0,
        }
    }
}

/// Whether the answer is that the person has to sign in again
fn must_sign_in((status, body): &Answer) -> bool {
    let why = body["error_description"].as_str().unwrap_or_default();
    matches!(status, 400 | 401) && why.contains("sign in with the forge again")
}

/// Waits a moment for the broker to restart, or for another task to release its lock
async fn breathe() {
    tokio::time::sleep(Duration::from_millis(5)).await;
}

impl World {
    /// Sign in as often as it takes
    async fn sign_in(&self, client: &Client, visitor: &mut Visitor) -> Held {
        let until = Instant::now() + Duration::from_mins(2);
        loop {
            assert!(Instant::now() < until, "sign-ins fail for two minutes");
            if let Ok(code) = visitor.code(&self.place, &self.forge, &client.id).await {
                // A code that was answered is good after a kill, too; one that was used with its
                // answer is not, and the client begins anew.
                if let Ok((200, tokens)) = client.exchange(&self.place, &code).await {
                    self.sign_ins.fetch_add(1, Ordering::SeqCst);
                    return Held::of(&tokens);
                }
            }
            breathe().await;
        }
    }

    /// One refresh and one call with what is held
    async fn turn(
        &self,
        (login, most): (&str, usize),
        client: &Client,
        visitor: &mut Visitor,
        held: &mut Held,
    ) -> Result<(), ()> {
        if held.refreshes >= most {
            *held = self.sign_in(client, visitor).await;
        }
        match client.refresh(&self.place, &held.refresh).await {
            Ok((200, tokens)) => {
                let refreshes = held.refreshes + 1;
                *held = Held::of(&tokens);
                held.refreshes = refreshes;
                self.refreshes.fetch_add(1, Ordering::SeqCst);
            }
            Ok(answer) if must_sign_in(&answer) => {
                self.reconnect(login, client, visitor).await;
                return Ok(());
            }
            Ok(answer) => panic!("{login}: a refresh token was lost: {answer:?}"),
            Err(_) => return Err(()),
        }
        match client.call(&self.place, &held.access).await {
            Ok((200, _)) => {
                self.calls.fetch_add(1, Ordering::SeqCst);
            }
            Ok(answer) if must_sign_in(&answer) => {
                self.reconnect(login, client, visitor).await;
            }
            // The lease of a killed broker has not expired yet.
            Ok((503, _)) | Err(_) => return Err(()),
            Ok(answer) => panic!("{login}: an access token was lost: {answer:?}"),
        }
        Ok(())
    }

    /// Sign in again, as the person is told to; then the same tokens are good again
    async fn reconnect(&self, login: &str, client: &Client, visitor: &mut Visitor) {
        {
            let mut again = self.again.lock().unwrap();
            *again.entry(login.to_owned()).or_default() += 1;
        }
        assert_ne!(login, QUIET, "their tokens were not refreshed at the forge");
        self.sign_in(client, visitor).await;
    }

    async fn work(self: Arc<Self>, at: usize, client: Arc<Client>) -> (Held, Visitor) {
        let who = CONNECTIONS[at];
        let mut visitor = Visitor::new(who.0);
        let mut held = self.sign_in(&client, &mut visitor).await;
        while !self.stop.load(Ordering::SeqCst) {
            match self.turn(who, &client, &mut visitor, &mut held).await {
                Ok(()) => drop(self.turns[at].fetch_add(1, Ordering::SeqCst)),
                Err(()) => breathe().await,
            }
        }
        (held, visitor)
    }

    /// Wait until each connection had a whole turn, also one that first has to sign in again
    async fn everybody_had_a_turn(&self) {
        let before = self.turns.each_ref().map(|of| of.load(Ordering::SeqCst));
        let until = Instant::now() + Duration::from_mins(1);
        for (of, before) in self.turns.iter().zip(before) {
            while of.load(Ordering::SeqCst) == before {
                assert!(Instant::now() < until, "a connection makes no progress");
                breathe().await;
            }
        }
    }
}

#[expect(
    clippy::print_stdout,
    reason = "with `--nocapture` it says what there was"
)]
async fn killed(kills: usize) {
    let forge = Forge::start(QUIET).await;
    for login in ["dan", "eve", "fay", "gus"] {
        forge.add(login).await;
    }
    let place = Place::new(&forge).await;
    let world = Arc::new(World {
        forge,
        place,
        stop: AtomicBool::new(false),
        again: Mutex::default(),
        sign_ins: AtomicUsize::new(0),
        refreshes: AtomicUsize::new(0),
        calls: AtomicUsize::new(0),
        turns: Default::default(),
    });
    let running = world.place.start().await;
    let mut workers = Vec::new();
    for (at, who) in CONNECTIONS.iter().copied().enumerate() {
        let name = format!("Client {at}");
        let client = Arc::new(Client::register(&world.place, &name).await);
        let work = tokio::spawn(Arc::clone(&world).work(at, Arc::clone(&client)));
        workers.push((who.0, client, work));
    }
    let until = Instant::now() + Duration::from_mins(1);
    while world.sign_ins.load(Ordering::SeqCst) < CONNECTIONS.len() {
        assert!(Instant::now() < until, "not everybody came in");
        breathe().await;
    }
    drop(running);
    world.forge.killed().await;
    let mut seed = 0x5eed_u64;
    for kill in 1..=kills {
        assert!(workers.iter().all(|(_, _, work)| !work.is_finished()));
        let running = world.place.start().await;
        // xorshift: the same moments each time, as far as requests count; time depends on the machine.
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let goal = BEGUN.load(Ordering::SeqCst) + usize::try_from(seed % 60).unwrap();
        let until = Instant::now() + Duration::from_millis(300);
        while BEGUN.load(Ordering::SeqCst) < goal && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if kill % CALM == 0 {
            world.everybody_had_a_turn().await;
        }
        drop(running);
        world.forge.killed().await;
    }
    // No kills from here on: users that must sign in again do so, and then all calls work.
    let _running = world.place.start().await;
    world.stop.store(true, Ordering::SeqCst);
    for (login, client, work) in workers {
        let (mut held, mut visitor) = work.await.unwrap();
        let (place, forge) = (&world.place, &world.forge);
        let mut answer = client.refresh(place, &held.refresh).await.unwrap();
        if must_sign_in(&answer) {
            assert_ne!(login, QUIET);
            visitor.code(place, forge, &client.id).await.unwrap();
            answer = client.refresh(place, &held.refresh).await.unwrap();
        }
        assert_eq!(answer.0, 200, "{login} {answer:?}");
        held = Held::of(&answer.1);
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let answer = client.call(place, &held.access).await.unwrap();
            if must_sign_in(&answer) {
                assert_ne!(login, QUIET);
                visitor.code(place, forge, &client.id).await.unwrap();
            } else if answer.0 == 200 {
                break;
            }
            assert!(Instant::now() < until, "{login} {answer:?}");
            breathe().await;
        }
    }
    let again = world.again.lock().unwrap().clone();
    let count = |of: &AtomicUsize| of.load(Ordering::SeqCst);
    println!(
        "{kills} kills: {} sign-ins, {} refreshes, {} calls; signed in again: {again:?}",
        count(&world.sign_ins),
        count(&world.refreshes),
        count(&world.calls),
    );
    // There was something to kill, also where the machine has much else to do.
    for of in [&world.sign_ins, &world.refreshes, &world.calls] {
        assert!(count(of) > kills / 20);
    }
    // A user has to sign in again only if the forge sent their new tokens to a broker that was
    // killed, and each of their connections at most once for each such loss.
    let mut refusals = 0;
    let logins: BTreeSet<_> = CONNECTIONS.iter().map(|(login, _)| *login).collect();
    for login in logins {
        let died = world.forge.died(login);
        let times = again.get(login).copied().unwrap_or_default();
        println!("{login}: asked {times} times, {died} refusals");
        let connections = CONNECTIONS.iter().filter(|(who, _)| *who == login).count();
        assert!(times <= died * connections, "{login} {times} {died}");
        refusals += died;
    }
    let log = std::fs::read_to_string(world.place.log()).unwrap();
    let marked = log.matches("\"must sign in again\"").count();
    assert!(marked <= refusals, "{marked} {refusals}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_lose_no_token() {
    killed(10).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute; `make e2e` runs it"]
async fn two_hundred_kills_lose_no_token() {
    killed(200).await;
}
