//! Things that happen by themselves when their time comes

use std::time::Duration;

use crate::app::App;

/// Do all that is due and say when to look again
pub(crate) fn everything(_app: &App) -> Option<Duration> {
    None
}
