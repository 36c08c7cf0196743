//! `blue broker audit`

use blue_broker::{EventLine, config::Config};
use serde::Serialize;

use super::admin::{self, left_out, when};
use crate::{
    commands::{Cx, Stop},
    render::{Cell, Page, Report, Style},
};

/// See what happened: sign-ins, tokens given, replays, revocations
///
/// Events are kept as long as `audit_ttl` says, of registrations the newest 10,000. Where there are
/// more events than are shown, registrations are at most a quarter of them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show at most so many, the newest first
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

pub(super) async fn run(cx: &Cx, config: &Config, args: Args) -> Result<(), Stop> {
    let admin = admin::open(config).await?;
    let events = admin.audit(args.limit).await;
    admin.close().await;
    let events = events.map_err(admin::failed)?;
    let list = List {
        events: events.rows,
        total: events.total,
    };
    cx.screen.show(&list).map_err(Stop::Output)
}

#[derive(Debug, Serialize)]
struct List {
    events: Vec<EventLine>,
    /// How many there are, shown or not
    total: u64,
}

impl Report for List {
    fn page(&self, page: &mut Page) {
        if self.events.is_empty() {
            page.line("Nothing happened yet.", Style::Plain);
            return;
        }
        let or_nothing = |text: &Option<String>| Cell::from(text.as_deref().unwrap_or_default());
        let row = |event: &EventLine| {
            let detail = match &event.detail {
                serde_json::Value::Null => String::new(),
                detail => detail.to_string(),
            };
            vec![
                Cell::from(when(event.at)),
                Cell::new(&event.event, Style::Bold),
                or_nothing(&event.user),
                or_nothing(&event.client_id),
                or_nothing(&event.grant),
                Cell::from(detail),
            ]
        };
        page.table(
            &["When", "What", "User", "Client", "Grant", "Detail"],
            self.events.iter().map(row).collect(),
        );
        left_out(page, self.events.len(), self.total, "events");
    }
}
