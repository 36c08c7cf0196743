//! What a new sandbox starts with

use crate::{app::App, config::Seed, ops};

/// Fill a new folder; the error is words for a person
pub(crate) fn plant(app: &App, _seed: &Seed) -> Result<(), String> {
    ops::users::hand_out(app, "admin", true).map_err(|error| error.to_string())?;
    Ok(())
}
