//! Waiting for a final state, with an end

use std::{future::Future, time::Duration};

use blue_base::load;
use tokio::time::Instant;

use super::State;
use crate::ToolError;

/// First pause between two looks; it grows
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How long something may take to appear at all after a push
pub(super) const APPEARS: Duration = Duration::from_secs(30);

/// What tells the time and lets it pass
pub(super) trait Timer {
    /// Since the waiting began
    fn elapsed(&self) -> Duration;
    fn pause(&self, time: Duration) -> impl Future<Output = ()> + Send;
}

/// The machine's own
#[derive(Debug)]
pub(super) struct Real(Instant);

impl Real {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }
}

impl Timer for Real {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    async fn pause(&self, time: Duration) {
        // Others need the place of a heavy call more than one that sleeps.
        load::rest().await;
        tokio::time::sleep(time).await;
    }
}

/// Something with a state that may still change
pub(super) trait Stateful {
    fn state(&self) -> State;

    /// Whether only a person can make it go on
    fn needs_approval(&self) -> bool {
        false
    }
}

/// Look again until the state is final, at most for `patience`
///
/// `appears` is asked once, when nothing has been reported: how long a first report may still take.
/// `tell` hears of each look.
pub(super) async fn until_final<T: Stateful, Fut, Absence>(
    timer: &impl Timer,
    patience: Duration,
    mut look: impl FnMut() -> Fut,
    appears: impl Fn() -> Absence,
    tell: impl Fn(Duration, &T),
) -> Result<T, ToolError>
where
    Fut: Future<Output = Result<T, ToolError>>,
    Absence: Future<Output = Duration>,
{
    let mut pause = FIRST_PAUSE;
    let mut limit = patience;
    let mut appears_by = None;
    let mut first = true;
    loop {
        let seen = look().await;
        match &seen {
            Ok(now) => {
                limit = match now.state() {
                    State::Success | State::Failure => return seen,
                    State::Pending if now.needs_approval() => return seen,
                    State::Pending => patience,
                    State::None if patience.is_zero() => patience,
                    State::None => {
                        let by = match appears_by {
                            Some(by) => by,
                            None => timer.elapsed() + appears().await,
                        };
                        appears_by = Some(by);
                        patience.min(by)
                    }
                };
                tell(timer.elapsed(), now);
            }
            // A forge that is away for a moment does not end a long wait.
            Err(error) if first || !error.retryable => return seen,
            Err(_) => {}
        }
        first = false;
        let left = limit.saturating_sub(timer.elapsed());
        if left.is_zero() {
            return seen;
        }
        timer.pause(pause.min(left)).await;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, sync::Mutex};

    use super::*;
    use crate::ErrorCode;

    #[derive(Default)]
    struct Fake(Mutex<Duration>);

    impl Timer for Fake {
        fn elapsed(&self) -> Duration {
            *self.0.lock().unwrap()
        }

        async fn pause(&self, time: Duration) {
            *self.0.lock().unwrap() += time;
        }
    }

    struct Held;

    impl Stateful for Held {
        fn state(&self) -> State {
            State::Pending
        }

        fn needs_approval(&self) -> bool {
            true
        }
    }

    #[tokio::test]
    async fn approval_is_not_waited_for() {
        let timer = Fake::default();
        let look = || std::future::ready(Ok(Held));
        let absent = || std::future::ready(Duration::ZERO);
        let end = until_final(&timer, Duration::from_mins(5), look, absent, |_, _| {}).await;
        assert!(end.is_ok());
        assert_eq!(timer.elapsed(), Duration::ZERO);
    }

    impl Stateful for State {
        fn state(&self) -> State {
            *self
        }
    }

    /// Follow a story of states, the last of which stays; gives looks and seconds too
    async fn follow(
        patience: u64,
        story: Vec<Result<State, bool>>,
    ) -> (Result<State, ToolError>, usize, u64) {
        follow_until(patience, APPEARS, story).await
    }

    async fn follow_until(
        patience: u64,
        appears: Duration,
        story: Vec<Result<State, bool>>,
    ) -> (Result<State, ToolError>, usize, u64) {
        let (timer, told) = (Fake::default(), RefCell::new(0));
        let mut looks = 0;
        let end = until_final(
            &timer,
            Duration::from_secs(patience),
            || {
                let now = story[looks.min(story.len() - 1)];
                looks += 1;
                std::future::ready(now.map_err(|retryable| {
                    let mut error = ToolError::new(ErrorCode::Unreachable, "away");
                    error.retryable = retryable;
                    error
                }))
            },
            || std::future::ready(appears),
            |_, _| *told.borrow_mut() += 1,
        )
        .await;
        (end, looks, timer.elapsed().as_secs())
    }

    #[tokio::test]
    async fn a_final_state_ends_it_early() {
        use State::{Failure, None, Pending, Success};
        let (end, looks, _) = follow(300, vec![Ok(Success)]).await;
        assert_eq!((end.unwrap(), looks), (Success, 1));
        let (end, looks, time) = follow(300, vec![Ok(None), Ok(Pending), Ok(Failure)]).await;
        assert_eq!((end.unwrap(), looks, time), (Failure, 3, 2));
    }

    #[tokio::test]
    async fn patience_ends_it_too() {
        use State::{None, Pending};
        let (end, looks, _) = follow(0, vec![Ok(Pending)]).await;
        assert_eq!((end.unwrap(), looks), (Pending, 1));
        let (end, looks, time) = follow(300, vec![Ok(Pending)]).await;
        assert_eq!((end.unwrap(), time), (Pending, 300));
        assert!((30..45).contains(&looks), "{looks} looks");
        let (end, _, time) = follow(300, vec![Ok(None)]).await;
        assert_eq!((end.unwrap(), time), (None, 30));
        let (end, _, time) = follow(5, vec![Ok(None)]).await;
        assert_eq!((end.unwrap(), time), (None, 5));
    }

    #[tokio::test]
    async fn a_wait_for_a_first_report_ends_with_the_time_that_is_left() {
        use State::{None, Pending, Success};
        let left = Duration::from_secs;
        let (end, looks, time) = follow_until(300, left(0), vec![Ok(None)]).await;
        assert_eq!((end.unwrap(), looks, time), (None, 1, 0));
        let (end, _, time) = follow_until(300, left(7), vec![Ok(None)]).await;
        assert_eq!((end.unwrap(), time), (None, 7));
        let story = vec![Ok(None), Ok(Pending), Ok(Success)];
        let (end, looks, _) = follow_until(300, left(7), story).await;
        assert_eq!((end.unwrap(), looks), (Success, 3));
    }

    #[tokio::test]
    async fn an_error_ends_it_unless_it_may_pass() {
        use State::{Pending, Success};
        assert!(follow(300, vec![Err(true)]).await.0.is_err());
        let (end, looks, _) = follow(300, vec![Ok(Pending), Err(true), Ok(Success)]).await;
        assert_eq!((end.unwrap(), looks), (Success, 3));
        assert!(follow(300, vec![Ok(Pending), Err(false)]).await.0.is_err());
        assert!(follow(9, vec![Ok(Pending), Err(true)]).await.0.is_err());
    }
}
