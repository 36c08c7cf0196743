//! The one task that makes things happen when their time comes

use std::time::Duration;

use crate::{app::App, ops::settle};

/// Look again at least this often, since a clock in a test may jump
const LONGEST: Duration = Duration::from_secs(5);

/// Settle what is due until the sandbox stops
pub(crate) async fn run(app: App) {
    loop {
        let next = app.blocking(settle::everything).await;
        let wait = next.map_or(LONGEST, |wait| wait.min(LONGEST));
        tokio::select! {
            () = app.stop.cancelled() => return,
            () = app.due.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}
