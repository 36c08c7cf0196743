//! `blue broker users`

use blue_broker::{UserLine, config::Config};
use serde::Serialize;

use super::admin::{self, Ended, ListArgs, Sure, left_out, when};
use crate::{
    commands::{Cx, Stop},
    render::{Cell, Page, Report, Style},
};

/// See the people who signed in, and end what they allowed
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List the people who signed in, by login
    List(ListArgs),
    /// End all grants of a person and erase their forge tokens
    Revoke {
        /// Login or id of the person
        // An id may begin with a dash.
        #[arg(allow_hyphen_values = true)]
        user: String,
        #[command(flatten)]
        sure: Sure,
    },
}

pub(super) async fn run(cx: &Cx, config: &Config, command: Command) -> Result<(), Stop> {
    let admin = admin::open(config).await?;
    let shown = match command {
        Command::List(args) => {
            let listed = admin.users(args.limit).await.map_err(admin::failed)?;
            cx.screen.show(&List {
                users: listed.rows,
                total: listed.total,
            })
        }
        Command::Revoke { user, sure } => {
            sure.ask(cx, "revoke user", &user)?;
            let grants = admin.revoke_user(&user).await.map_err(admin::failed)?;
            cx.screen.show(&Ended {
                revoked: user,
                grants,
            })
        }
    };
    admin.close().await;
    shown.map_err(Stop::Output)
}

#[derive(Debug, Serialize)]
struct List {
    users: Vec<UserLine>,
    /// How many there are, shown or not
    total: u64,
}

impl Report for List {
    fn page(&self, page: &mut Page) {
        if self.users.is_empty() {
            page.line("Nobody signed in yet.", Style::Plain);
            return;
        }
        let row = |user: &UserLine| {
            vec![
                Cell::new(&user.login, Style::Bold),
                Cell::from(user.state),
                Cell::from(when(user.created_at)),
                Cell::from(&user.forge),
                Cell::from(&user.id),
            ]
        };
        page.table(
            &["Login", "State", "Since", "Forge", "Id"],
            self.users.iter().map(row).collect(),
        );
        left_out(page, self.users.len(), self.total, "users");
    }
}
