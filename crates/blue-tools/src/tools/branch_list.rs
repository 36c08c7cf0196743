//! `branch_list`

use blue_core::forge::model::Page as Part;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cx, Effect, Page, Reply, Tool, ToolError, args::RepoArgs, rows::BranchRow};

#[derive(Debug)]
pub struct BranchList;

/// List branches
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
pub struct Input {
    #[command(flatten)]
    #[serde(flatten)]
    pub repo: RepoArgs,
    /// Page, from 1
    #[arg(long)]
    pub page: Option<u32>,
    /// Rows per page, 30 if left out
    #[arg(long)]
    pub limit: Option<u32>,
}

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
        let repo = cx.repo(&input.repo).await?;
        let part = Part::new(input.page.unwrap_or(1), input.limit.unwrap_or(30));
        let list = repo.forge.list_branches(&repo.id, part).await?;
        Ok(Reply::from(Output {
            branches: list.items.into_iter().map(BranchRow::from).collect(),
            next_page: list.next_page,
            total: list.total,
        }))
    }

    fn page(output: &Output, page: &mut Page) {
        let rows = output.branches.iter().map(BranchRow::cells);
        page.table(BranchRow::HEAD, rows.collect());
    }
}
