//! `repo_status`

use blue_base::host::Host;
use blue_forge::model::{Listing, Overview, Protection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::branch_protection_get::Output as Demands;
use crate::{
    Cell, Cx, Effect, Page, Reply, Style, Tool, ToolError,
    args::RepoArgs,
    path, reply,
    rows::{BranchRow, OpenPrRow, PrRow, count},
};

/// Rows of each list: enough to begin with, and the rest has tools of its own
const SHOWN: usize = 30;
/// Bytes of each list
const ROOM: usize = 20_000;

#[derive(Debug)]
pub struct RepoStatus;

/// Show branches, open pull requests and protection at once
///
/// Call it first: `workflow` says whether to use a feature branch or to commit to trunk.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[command(after_help = EXAMPLES)]
pub struct Input {
    #[command(flatten)]
    #[serde(flatten)]
    pub repo: RepoArgs,
    /// Branch whose protection is shown [default: the default branch]
    #[arg(long)]
    #[schemars(description = "")]
    pub branch: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  blue repo status
  blue repo status -R acme/storefront --branch main";

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    pub host: String,
    pub owner: String,
    /// Name of the repository
    pub name: String,
    pub default_branch: String,
    pub branches: Vec<BranchRow>,
    /// How many there are, when not all are shown and the forge tells
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branches_total: Option<u64>,
    #[schemars(with = "Vec<Loose>")]
    pub open_prs: Vec<OpenPrRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_prs_total: Option<u64>,
    #[schemars(with = "Loose")]
    pub protection: Demands,
    pub workflow: Workflow,
    /// Why this workflow
    pub reason: String,
    /// There is no commit yet
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub empty: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// It takes changes from its source only
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mirror: bool,
    /// What is shown of the branch that was asked for; for people
    #[serde(skip)]
    #[schemars(skip)]
    shown: Shown,
}

/// An object whose fields the schema of another tool tells
#[derive(JsonSchema)]
struct Loose {}

#[derive(Debug, Default)]
struct Shown {
    repository: String,
    url: String,
    branch: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Workflow {
    FeatureBranch,
    Trunk,
    // Nothing can be committed.
    None,
}

impl Tool for RepoStatus {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "repo_status";
    const EFFECT: Effect = Effect::Read;

    async fn run(&self, cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        let repo = cx.repo(&input.repo).await?;
        let branch = path::branch_if_given(input.branch.as_deref());
        let found = repo.forge.overview(&repo.id, branch).await?;
        if found.prs_unreadable {
            let why = if found.repository.mirror {
                "the repository is a mirror"
            } else {
                "this account may read the code only"
            };
            cx.note(format!(
                "the pull requests of `{}` cannot be read: {why}",
                repo.id
            ));
        }
        Ok(reply(found, repo.forge.host()))
    }

    fn page(output: &Output, page: &mut Page) {
        let shown = &output.shown;
        let mut state = String::new();
        for (is_so, word) in [
            (output.empty, " (empty)"),
            (output.archived, " (archived)"),
            (output.mirror, " (mirror)"),
        ] {
            if is_so {
                state.push_str(word);
            }
        }
        let name = format!("{}{state}", shown.repository);
        let mut fields = vec![
            (
                "Repository",
                Cell::new(&name, Style::Bold).linked(&shown.url),
            ),
            ("Branch", Cell::from(&shown.branch)),
        ];
        fields.extend(output.protection.fields());
        let workflow = match output.workflow {
            Workflow::FeatureBranch => "feature branch",
            Workflow::Trunk => "trunk",
            Workflow::None => "none",
        };
        let workflow = format!("{workflow}: {}", output.reason);
        fields.push(("Workflow", Cell::from(workflow)));
        page.fields(&fields);
        if !output.branches.is_empty() {
            page.blank();
            let rows = output.branches.iter().map(BranchRow::cells);
            page.table(BranchRow::HEAD, rows.collect());
            rest(page, output.branches_total, "branches", "branch list");
        }
        if !output.open_prs.is_empty() {
            page.blank();
            let rows = output.open_prs.iter().map(OpenPrRow::cells);
            page.table(PrRow::HEAD, rows.collect());
            rest(page, output.open_prs_total, "pull requests", "pr list");
        }
    }
}

fn rest(page: &mut Page, total: Option<u64>, what: &str, command: &str) {
    if let Some(total) = total {
        let text = format!("{total} {what} in all; `blue {command}` shows them");
        page.line(&text, Style::Dim);
    }
}

fn reply(found: Overview, host: &Host) -> Reply<Output> {
    let Overview {
        repository,
        mut branches,
        prs,
        prs_unreadable,
        branch,
        tip,
        protection,
    } = found;
    let has_prs = prs.is_some();
    let writable = !repository.archived
        && !repository.mirror
        && repository.permissions.is_none_or(|may| may.push);
    let no_prs = match (has_prs, prs_unreadable) {
        (true, _) => "",
        (false, true) => ", but pull requests cannot be read",
        (false, false) => ", but pull requests are switched off",
    };
    let (workflow, reason) = if repository.archived {
        let reason = "the repository is archived: it takes no commits".to_owned();
        (Workflow::None, reason)
    } else if repository.mirror {
        let reason = format!("`{}` is a mirror: its source takes changes", repository.id);
        (Workflow::None, reason)
    } else {
        choose(&branch, &protection, no_prs)
    };
    let is_default = branch == repository.default_branch;
    let advice = advice(&branch, is_default, &protection, workflow, has_prs);
    // What was asked about comes first, also when the forge lists it far down.
    let first = |name: &str| name == branch || name == repository.default_branch;
    if let Some(tip) = tip
        && !branches.items.iter().any(|row| row.name == tip.name)
    {
        branches.items.insert(0, tip);
    }
    branches.items.sort_by_key(|row| !first(&row.name));
    let (branches, branches_total, more_branches) = cut(branches);
    let prs = prs.unwrap_or(Listing::of_all(
        Vec::new(),
        blue_forge::model::Page::default(),
    ));
    let (open_prs, open_prs_total, more_prs) = cut(prs);
    let open_prs: Vec<OpenPrRow> = open_prs;
    let default = &repository.default_branch;
    let open_prs = open_prs.into_iter().map(|row| row.beside_default(default));
    let open_prs = open_prs.collect();
    let shown = Shown {
        repository: repository.id.to_string(),
        url: repository.html_url,
        branch,
    };
    let empty = repository.empty;
    Reply::from(Output {
        host: host.to_string(),
        owner: repository.id.owner().to_owned(),
        name: repository.id.name().to_owned(),
        default_branch: repository.default_branch,
        branches,
        branches_total,
        open_prs,
        open_prs_total,
        protection: protection.into(),
        workflow,
        reason,
        empty,
        archived: repository.archived,
        mirror: repository.mirror,
        shown,
    })
    .next_if(
        empty && writable,
        "The repository is empty: file_write_branch makes its first commit",
    )
    .next_if(!empty && writable, advice)
    .next_if(more_branches, "See the other branches with branch_list")
    .next_if(more_prs, "See the other pull requests with pr_list")
}

/// The rows to show, the total if that is not all, and whether it is not
fn cut<T, R: From<T> + Serialize>(list: Listing<T>) -> (Vec<R>, Option<u64>, bool) {
    let here = list.items.len();
    let total = match list.total {
        // A row that was put in from elsewhere is one of the total already.
        Some(total) => Some(total),
        None => list.next_page.is_none().then_some(here as u64),
    };
    let mut rows: Vec<R> = list.items.into_iter().take(SHOWN).map(R::from).collect();
    reply::fit(&mut rows, ROOM);
    let shown = rows.len() as u64;
    let cut = total.is_none_or(|total| total > shown);
    (rows, total.filter(|_| cut), cut)
}

/// Review is what a branch of one's own is for; so is a branch that takes no push
fn choose(branch: &str, demands: &Protection, no_prs: &str) -> (Workflow, String) {
    let approvals = demands.required_approvals;
    if demands.protected && approvals > 0 {
        let approvals = count(approvals.into(), "approval", "approvals");
        let reason = format!("`{branch}` is protected and needs {approvals}{no_prs}");
        (Workflow::FeatureBranch, reason)
    } else if let Some(why) = shut(demands) {
        (Workflow::FeatureBranch, format!("`{branch}` {why}"))
    } else if demands.protected {
        let reason = format!("`{branch}` is protected, but needs no approval");
        (Workflow::Trunk, reason)
    } else {
        (Workflow::Trunk, format!("`{branch}` is not protected"))
    }
}

/// Why a commit to the branch itself would be, or may well be, refused
fn shut(demands: &Protection) -> Option<&'static str> {
    let list_is_empty = || demands.push_whitelist.as_ref().is_some_and(Vec::is_empty);
    if demands.requires_pr {
        Some("takes changes by pull request only")
    } else if demands.protected && demands.can_push.map_or_else(list_is_empty, |can| !can) {
        Some("needs no approval, but takes no push from you")
    } else if demands.partial && demands.can_push.is_none() {
        Some(if demands.protected {
            "is protected by a rule that this token cannot read"
        } else {
            "may have rules that this token cannot read"
        })
    } else {
        None
    }
}

fn advice(
    branch: &str,
    is_default: bool,
    demands: &Protection,
    workflow: Workflow,
    has_prs: bool,
) -> String {
    let shut = shut(demands).is_some();
    match (workflow, has_prs) {
        (Workflow::FeatureBranch, true) => {
            "Commit to a new branch with file_write_branch, then pr_create".to_owned()
        }
        (_, false) if shut => "Commit to a new branch with file_write_branch".to_owned(),
        // A push to the default branch reaches everyone at once, without a review.
        _ if is_default => format!(
            "Commit with file_write_branch, branch \"{branch}\" if the user wants a push to the \
             default branch, else a new one"
        ),
        _ => format!("Commit with file_write_branch, branch \"{branch}\""),
    }
}
