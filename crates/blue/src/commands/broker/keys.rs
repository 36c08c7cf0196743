//! `blue broker keys`

use blue_broker::{Rotated, config::Config, key_ids};
use serde::Serialize;

use super::admin;
use crate::{
    commands::{Cx, Stop},
    render::{Page, Report, Style},
};

/// See the master keys by their ids, and replace them
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List the ids of the master keys, the active one first
    List,
    /// Use a new master key and wrap everybody's data key with it
    ///
    /// A broker that runs notices by itself, and sign-ins under way go on. The older keys stay in
    /// the file.
    Rotate,
}

pub(super) async fn run(cx: &Cx, config: &Config, command: Command) -> Result<(), Stop> {
    let shown = match command {
        Command::List => {
            let keys = key_ids(config).map_err(|error| admin::failed(error.into()))?;
            cx.screen.show(&List { keys })
        }
        Command::Rotate => {
            let admin = admin::open(config).await?;
            let rotated = admin.rotate_keys(config).await;
            admin.close().await;
            let rotated = rotated.map_err(admin::failed)?;
            cx.screen.show(&Done { rotated })
        }
    };
    shown.map_err(Stop::Output)
}

#[derive(Debug, Serialize)]
struct List {
    keys: Vec<String>,
}

impl Report for List {
    fn page(&self, page: &mut Page) {
        for (at, key) in self.keys.iter().enumerate() {
            let style = if at == 0 { Style::Bold } else { Style::Plain };
            page.line(key, style);
        }
    }
}

#[derive(Debug, Serialize)]
struct Done {
    #[serde(flatten)]
    rotated: Rotated,
}

impl Report for Done {
    fn page(&self, page: &mut Page) {
        let Rotated {
            active, rewrapped, ..
        } = &self.rotated;
        page.line(&format!("Key {active} is used from now on."), Style::Good)
            .line(
                &match rewrapped {
                    1 => "1 data key was wrapped anew.".to_owned(),
                    n => format!("{n} data keys were wrapped anew."),
                },
                Style::Plain,
            )
            .line(
                "A broker that runs notices by itself, within ten minutes at most.",
                Style::Dim,
            );
    }
}
