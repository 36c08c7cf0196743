//! What a new sandbox starts with

mod format;
mod plant;
mod repository;

use std::fs;

use crate::{app::App, config::Seed, ops};

const DEMO: &str = include_str!("demo.yaml");

/// Fill a new folder; the error is words for a person
///
/// Who was made is written down last, so a folder whose seeding was cut short is seeded anew.
pub(crate) fn plant(app: &App, seed: &Seed) -> Result<(), String> {
    let file = match seed {
        Seed::Empty => None,
        Seed::Demo => Some(format::File::parse(DEMO)?),
        Seed::DemoWithRandomSecrets => {
            let mut file = format::File::parse(DEMO)?;
            for user in &mut file.users {
                user.password = Some(format!("{}-{}", user.login, app.random_hex(6)));
                // One that is left out is made up at random.
                user.token = None;
            }
            Some(file)
        }
        Seed::File(path) => {
            let name = path.display();
            let text = fs::read_to_string(path)
                .map_err(|error| format!("cannot read `{name}`: {error}"))?;
            Some(format::File::parse(&text).map_err(|error| format!("`{name}`: {error}"))?)
        }
    };
    plant::clear(app).map_err(|error| error.to_string())?;
    match file {
        Some(file) => plant::plant(app, &file),
        None => ops::users::hand_out(app, "admin", true)
            .map(drop)
            .map_err(|error| error.to_string()),
    }
}
