//! `blue broker grants`

use blue_broker::{GrantLine, config::Config};
use serde::Serialize;

use super::admin::{self, Ended, ListArgs, Sure, left_out, when};
use crate::{
    commands::{Cx, Stop},
    render::{Cell, Page, Report, Style},
};

/// See what people allowed their clients, and end it
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List the grants that hold, the last used first
    List(ListArgs),
    /// End a grant: none of its tokens opens anything any more
    Revoke {
        /// Id of the grant
        // It may begin with a dash.
        #[arg(allow_hyphen_values = true)]
        id: String,
        #[command(flatten)]
        sure: Sure,
    },
}

pub(super) async fn run(cx: &Cx, config: &Config, command: Command) -> Result<(), Stop> {
    let admin = admin::open(config).await?;
    let shown = match command {
        Command::List(args) => {
            let listed = admin.grants(args.limit).await.map_err(admin::failed)?;
            cx.screen.show(&List {
                grants: listed.rows,
                total: listed.total,
            })
        }
        Command::Revoke { id, sure } => {
            sure.ask(cx, "revoke grant", &id)?;
            admin.revoke_grant(&id).await.map_err(admin::failed)?;
            cx.screen.show(&Ended {
                revoked: id,
                grants: 1,
            })
        }
    };
    admin.close().await;
    shown.map_err(Stop::Output)
}

#[derive(Debug, Serialize)]
struct List {
    grants: Vec<GrantLine>,
    /// How many there are, shown or not
    total: u64,
}

impl Report for List {
    fn page(&self, page: &mut Page) {
        if self.grants.is_empty() {
            page.line("There are no grants.", Style::Plain);
            return;
        }
        let row = |grant: &GrantLine| {
            vec![
                Cell::new(&grant.user, Style::Bold),
                Cell::from(grant.client.as_ref().unwrap_or(&grant.client_id)),
                Cell::from(&grant.scope),
                Cell::from(when(grant.created_at)),
                Cell::from(when(grant.last_used_at)),
                Cell::from(&grant.id),
            ]
        };
        page.table(
            &["User", "Client", "Scope", "Since", "Last used", "Id"],
            self.grants.iter().map(row).collect(),
        );
        left_out(page, self.grants.len(), self.total, "grants");
    }
}
