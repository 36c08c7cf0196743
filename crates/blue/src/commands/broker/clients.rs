//! `blue broker clients`

use blue_broker::{ClientLine, config::Config};
use serde::Serialize;

use super::admin::{self, Ended, ListArgs, Sure, left_out, when};
use crate::{
    commands::{Cx, Stop},
    render::{Cell, Page, Report, Style},
};

/// See the clients that are known, and end what they were given
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List the clients, those in use first, each the newest first
    List(ListArgs),
    /// End all grants of a client; one that registered itself must register again
    Revoke {
        /// Id of the client
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
            let listed = admin.clients(args.limit).await.map_err(admin::failed)?;
            cx.screen.show(&List {
                clients: listed.rows,
                total: listed.total,
            })
        }
        Command::Revoke { id, sure } => {
            sure.ask(cx, "revoke client", &id)?;
            let grants = admin.revoke_client(&id).await.map_err(admin::failed)?;
            cx.screen.show(&Ended {
                revoked: id,
                grants,
            })
        }
    };
    admin.close().await;
    shown.map_err(Stop::Output)
}

#[derive(Debug, Serialize)]
struct List {
    clients: Vec<ClientLine>,
    /// How many there are, shown or not
    total: u64,
}

impl Report for List {
    fn page(&self, page: &mut Page) {
        if self.clients.is_empty() {
            page.line("No client is known yet.", Style::Plain);
            return;
        }
        let row = |client: &ClientLine| {
            let used = client.last_used_at;
            vec![
                Cell::new(&client.name, Style::Bold),
                Cell::from(client.kind),
                Cell::from(when(client.created_at)),
                Cell::from(used.map_or_else(|| "never".to_owned(), when)),
                Cell::from(&client.id),
            ]
        };
        page.table(
            &["Name", "Kind", "Since", "Last used", "Id"],
            self.clients.iter().map(row).collect(),
        );
        left_out(page, self.clients.len(), self.total, "clients");
    }
}
