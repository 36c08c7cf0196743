//! The time that the sweep uses
//!
//! A sweep deletes for good, and a clock may be years ahead for a while: a machine that starts
//! without its time, a mistyped date. So the sweep stores how far it came, follows the clock as
//! long as that moves by less than a day between two sweeps, and after a longer jump advances by an
//! hour per sweep. A clock that is corrected within a day causes no loss; a broker that was off for
//! a month deletes expired rows some days later than it could.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    Store, StoreError,
    db::{reading, writing},
    ms, time,
};

/// Longest jump of the clock between two sweeps that is trusted at once
const BELIEVED_JUMP: Duration = Duration::from_hours(24);
/// How far each sweep advances after a longer jump
const STEP: Duration = Duration::from_hours(1);

impl Store {
    /// The time that this sweep uses; never later than `now`
    pub(crate) async fn sweep_time(&self, now: Timestamp) -> Result<Timestamp, StoreError> {
        // Before the first sweep, the newest audit event tells the time.
        const LAST: &str = "SELECT COALESCE((SELECT at FROM sweep_clock WHERE id = 1), \
            (SELECT MAX(at) FROM audit WHERE at <= $1))";
        const PUT: &str = "INSERT INTO sweep_clock (id, at) VALUES (1, $1) \
            ON CONFLICT (id) DO UPDATE SET at = excluded.at WHERE sweep_clock.at < excluded.at";
        let (last,): (Option<i64>,) = reading!(&self.db, |on| {
            sqlx::query_as(LAST).bind(ms(now)).fetch_one(on).await?
        });
        let trusted = last.map_or(now, |last| follow(time(last), now));
        // The stored time never goes back: after a clock that was behind for a moment, the right
        // time would look far ahead.
        writing!(&self.db, |on| {
            sqlx::query(PUT).bind(ms(trusted)).execute(on).await?;
        });
        Ok(trusted)
    }
}

fn follow(last: Timestamp, now: Timestamp) -> Timestamp {
    let after = |time: Duration| last.checked_add(time).unwrap_or(Timestamp::MAX);
    if now <= after(BELIEVED_JUMP) {
        return now;
    }
    tracing::warn!(%last, %now, "the clock is far ahead of the last sweep, which goes on in steps");
    after(STEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_jump_is_followed_in_steps_and_a_near_one_at_once() {
        let hour = |n: i64| Timestamp::from_second(1_800_000_000 + n * 3600).unwrap();
        assert_eq!(follow(hour(0), hour(24)), hour(24));
        assert_eq!(follow(hour(0), hour(25)), hour(1));
        assert_eq!(follow(hour(0), hour(100_000)), hour(1));
        assert_eq!(follow(hour(5), hour(0)), hour(0), "set back");
        assert_eq!(follow(Timestamp::MAX, Timestamp::MAX), Timestamp::MAX);
    }
}
