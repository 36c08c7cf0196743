//! `branch_list`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Cx, Effect, Page, Reply, Style, Tool, ToolError,
    args::{self, RepoArgs},
    reply::{MAX_BYTES, fit},
    rows::{BranchRow, more},
};

#[derive(Debug)]
pub struct BranchList;

/// List branches
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[command(after_help = EXAMPLES)]
pub struct Input {
    #[command(flatten)]
    #[serde(flatten)]
    pub repo: RepoArgs,
    /// Page, from 1
    #[arg(long, value_parser = args::page)]
    pub page: Option<u32>,
    /// Rows per page, at most 100 [default: 30]
    #[arg(long, short = 'L', value_parser = args::limit)]
    pub limit: Option<u32>,
}

const EXAMPLES: &str = "\
Examples:
  blue branch list
  blue branch list -R acme/storefront --page 2 --limit 50";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    pub branches: Vec<BranchRow>,
    /// The page to ask for next; absent on the last
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page: Option<u32>,
    /// All branches, where the forge tells
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

impl Tool for BranchList {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "branch_list";
    const EFFECT: Effect = Effect::Read;

    async fn run(&self, cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        let part = args::part(input.page, input.limit)?;
        let repo = cx.repo(&input.repo).await?;
        let list = repo.forge.list_branches(&repo.id, part).await?;
        let empty = list.items.is_empty() && part.number == 1;
        let mut branches: Vec<BranchRow> = list.items.into_iter().map(BranchRow::from).collect();
        let cut = fit(&mut branches, MAX_BYTES - 1_000);
        let advice = format!(
            "{cut} rows of this page were left out: call branch_list with a smaller `limit`"
        );
        Ok(Reply::from(Output {
            branches,
            next_page: list.next_page,
            total: list.total,
        })
        .next_if(cut > 0, advice)
        .next_if(
            empty,
            "The repository is empty: file_write_branch makes its first commit",
        ))
    }

    fn page(output: &Output, page: &mut Page) {
        let rows = output.branches.iter().map(BranchRow::cells);
        if output.branches.is_empty() {
            page.line("no branches here", Style::Dim);
            return;
        }
        page.table(BranchRow::HEAD, rows.collect());
        more(page, output.branches.len(), output.total, output.next_page);
    }
}
