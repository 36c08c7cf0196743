//! `pr_list`

use blue_forge::model::{PrFilter, PrStateFilter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Cx, Effect, Page, Reply, Style, Tool, ToolError,
    args::{self, RepoArgs},
    path,
    reply::{MAX_BYTES, fit},
    rows::{PrRow, more},
};

#[derive(Debug)]
pub struct PrList;

/// List pull requests
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[command(after_help = EXAMPLES)]
pub struct Input {
    #[command(flatten)]
    #[serde(flatten)]
    pub repo: RepoArgs,
    /// State to list; merged counts as closed
    #[arg(long, short, value_enum, default_value_t)]
    #[serde(default)]
    #[schemars(description = "", extend("default" = "open"))]
    pub state: State,
    /// Only from this branch, or from `owner:branch` of a fork
    #[arg(long, short = 'H', value_name = "BRANCH")]
    #[schemars(description = "branch, or owner:branch of a fork")]
    pub head: Option<String>,
    /// Only into this branch
    #[arg(long, short = 'B', value_name = "BRANCH")]
    #[schemars(description = "")]
    pub base: Option<String>,
    /// Page, from 1
    #[arg(long, value_parser = args::page)]
    pub page: Option<u32>,
    /// Rows per page, at most 100 [default: 30]
    #[arg(long, short = 'L', value_parser = args::limit)]
    pub limit: Option<u32>,
}

const EXAMPLES: &str = "\
Examples:
  blue pr list
  blue pr list --state closed --base main";

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    #[default]
    Open,
    Closed,
    All,
}

impl From<State> for PrStateFilter {
    fn from(state: State) -> Self {
        match state {
            State::Open => Self::Open,
            State::Closed => Self::Closed,
            State::All => Self::All,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    pub prs: Vec<PrRow>,
    /// The page to ask for next; absent on the last
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page: Option<u32>,
    /// All that fit, where the forge tells
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

impl Tool for PrList {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "pr_list";
    const EFFECT: Effect = Effect::Read;

    async fn run(&self, cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        let filter = PrFilter {
            state: input.state.into(),
            head: path::head_if_given(input.head.as_deref()),
            base: path::branch_if_given(input.base.as_deref()).map(str::to_owned),
        };
        let part = args::part(input.page, input.limit)?;
        let repo = cx.repo(&input.repo).await?;
        let list = repo.forge.list_prs(&repo.id, &filter, part).await?;
        let mut prs: Vec<PrRow> = list.items.into_iter().map(PrRow::from).collect();
        let cut = fit(&mut prs, MAX_BYTES - 1_000);
        let reply = Reply::from(Output {
            prs,
            next_page: list.next_page,
            total: list.total,
        });
        let advice =
            format!("{cut} rows of this page were left out: call pr_list with a smaller `limit`");
        Ok(reply.next_if(cut > 0, advice))
    }

    fn page(output: &Output, page: &mut Page) {
        if output.prs.is_empty() {
            page.line("no pull requests", Style::Dim);
            return;
        }
        let rows = output.prs.iter().map(PrRow::cells);
        page.table(PrRow::HEAD, rows.collect());
        more(page, output.prs.len(), output.total, output.next_page);
    }
}
