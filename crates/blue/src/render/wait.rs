//! A sign of life while a call takes its time
//!
//! Only on a terminal, only on stderr, and only after a call has run long enough to look stuck.

use std::{
    future::Future,
    io::{self, Write as _},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use blue_tools::Progress;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::layout::cut;

const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const PATIENCE: Duration = Duration::from_millis(400);
const FRAME: Duration = Duration::from_millis(100);

/// What is known of a call that runs
#[derive(Debug, Clone, Default)]
pub(crate) struct News(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The last thing it said about itself
    last: Option<Progress>,
    reads: bool,
}

impl News {
    pub(crate) fn tell(&self, progress: Progress) {
        self.state().last = Some(progress);
    }

    /// Runs `read`, which blocks on stdin; that time does not count as waiting for the forge
    pub(crate) fn while_reading<T>(&self, read: impl FnOnce() -> T) -> T {
        self.state().reads = true;
        let done = read();
        self.state().reads = false;
        done
    }

    /// Whether it still reads what it is to do
    pub(crate) fn reads(&self) -> bool {
        self.state().reads
    }

    fn last(&self) -> Option<Progress> {
        self.state().last.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Run a call to its end, with a line that moves where `width` says how wide it may be
pub(super) async fn watch<T>(
    call: impl Future<Output = T>,
    news: &News,
    width: Option<usize>,
) -> T {
    let Some(width) = width else {
        return call.await;
    };
    let mut started = Instant::now();
    let mut line = Line::default();
    let mut ticks = interval_at(started + PATIENCE, FRAME);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut call = pin!(call);
    loop {
        tokio::select! {
            done = &mut call => return done,
            now = ticks.tick() => {
                if let Some(waited) = waited(&mut started, now, news) {
                    line.draw(&text(waited, news.last().as_ref(), width));
                }
            }
        }
    }
}

/// A line that is taken away again, also when the call is dropped
#[derive(Debug, Default)]
struct Line {
    drawn: bool,
}

impl Line {
    // A terminal that cannot be written to is no reason to fail.
    fn draw(&mut self, text: &str) {
        self.drawn = true;
        let _ = write!(io::stderr().lock(), "\r\x1b[K{text}");
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.drawn {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// Returns how long the call has waited for the forge, once that reaches [`PATIENCE`]
fn waited(started: &mut Instant, now: Instant, news: &News) -> Option<Duration> {
    if news.reads() {
        *started = now;
    }
    Some(now - *started).filter(|waited| *waited >= PATIENCE)
}

fn text(waited: Duration, news: Option<&Progress>, width: usize) -> String {
    let at = waited.as_millis() / FRAME.as_millis();
    let frame = usize::try_from(at).map_or('⠋', |at| FRAMES[at % FRAMES.len()]);
    let said = news.map_or("waiting for the forge", |news| news.message.as_str());
    let time = match waited.as_secs() {
        0 => String::new(),
        seconds => format!(" ({seconds} s)"),
    };
    // The last column stays free: some terminals wrap there.
    let room = width.saturating_sub(3 + time.len());
    format!("{frame} {}{time}", cut(said, room))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_what_is_waited_for_and_fits() {
        let news = Progress {
            done: 1.0,
            total: None,
            message: "2 of 5 checks are done".to_owned(),
        };
        let at = |millis, news, width| text(Duration::from_millis(millis), news, width);
        assert_eq!(at(400, None, 80), "⠼ waiting for the forge");
        assert_eq!(
            at(12_000, Some(&news), 80),
            "⠋ 2 of 5 checks are done (12 s)"
        );
        assert_eq!(at(12_000, Some(&news), 20), "⠋ 2 of 5 ch… (12 s)");
    }

    #[test]
    fn who_types_does_not_wait_for_the_forge() {
        let news = News::default();
        let begin = Instant::now();
        let mut started = begin;
        let mut after = |millis| waited(&mut started, begin + Duration::from_millis(millis), &news);
        assert_eq!(after(300), None, "below the threshold");
        assert_eq!(after(500), Some(Duration::from_millis(500)));
        news.while_reading(|| assert_eq!(after(9_000), None));
        assert_eq!(after(9_100), None);
        assert_eq!(after(9_400), Some(Duration::from_millis(400)));
    }

    #[tokio::test]
    async fn without_a_terminal_a_call_just_runs() {
        assert_eq!(watch(async { 7 }, &News::default(), None).await, 7);
    }
}
