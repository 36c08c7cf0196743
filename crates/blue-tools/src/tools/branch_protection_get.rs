//! `branch_protection_get`

use blue_forge::{ForgeError, model::Protection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cell, Cx, Effect, Page, Reply, Tool, ToolError, args::RepoArgs, path};

#[derive(Debug)]
pub struct BranchProtectionGet;

/// Show the protection rules of a branch
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[command(visible_alias = "protection", after_help = EXAMPLES)]
pub struct Input {
    #[command(flatten)]
    #[serde(flatten)]
    pub repo: RepoArgs,
    /// Name of the branch
    #[schemars(description = "")]
    pub branch: String,
}

const EXAMPLES: &str = "\
Examples:
  blue branch protection-get main";

/// An unprotected branch is `{"protected": false}` and no more
#[derive(Debug, Default, Serialize, JsonSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own that a forge tells"
)]
pub struct Output {
    pub protected: bool,
    /// False when there is no such branch yet; a rule may cover it all the same
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_approvals: Option<u32>,
    /// A direct push is refused, also where no approval is needed
    #[serde(skip_serializing_if = "is_false")]
    pub requires_pr: bool,
    /// Who may push; null when there is no such list, empty when nobody may, absent when unknown
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = true))]
    pub push_whitelist: Option<Whitelist>,
    /// Who may merge, likewise
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = true))]
    pub merge_whitelist: Option<Whitelist>,
    /// Checks that must pass; globs on Gitea and Forgejo
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required_checks: Vec<String>,
    /// Name of the rule
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// A pull request must contain the newest commit of the branch
    #[serde(skip_serializing_if = "is_false")]
    pub require_up_to_date: bool,
    /// Also the commit that a merge makes must be signed
    #[serde(skip_serializing_if = "is_false")]
    pub requires_signatures: bool,
    /// A review that asks for changes blocks
    #[serde(skip_serializing_if = "is_false")]
    pub block_on_rejected_reviews: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub merge_queue: bool,
    /// What the caller may do, where the forge tells
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_push: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_merge: Option<bool>,
    /// The token may not see the whole rule
    #[serde(skip_serializing_if = "is_false")]
    pub partial: bool,
}

/// Names of users, and of teams with `@` before them; none where everyone may
type Whitelist = Option<Vec<String>>;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(fact: &bool) -> bool {
    !fact
}

impl From<Protection> for Output {
    fn from(found: Protection) -> Self {
        if !found.protected {
            return Self {
                partial: found.partial,
                ..Self::default()
            };
        }
        // Who may not see the rule does not know that there is no list.
        let told = |list: Whitelist| (list.is_some() || !found.partial).then_some(list);
        Self {
            protected: true,
            exists: None,
            required_approvals: Some(found.required_approvals),
            requires_pr: found.requires_pr,
            push_whitelist: told(found.push_whitelist),
            merge_whitelist: told(found.merge_whitelist),
            required_checks: found.required_checks,
            rule: found.rule,
            require_up_to_date: found.require_up_to_date,
            requires_signatures: found.requires_signatures,
            block_on_rejected_reviews: found.block_on_rejected_reviews,
            merge_queue: found.merge_queue,
            can_push: found.can_push,
            can_merge: found.can_merge,
            partial: found.partial,
        }
    }
}

impl Output {
    pub(crate) fn fields(&self) -> Vec<(&'static str, Cell)> {
        let mut fields = Vec::new();
        let mut add = |name, text: String| fields.push((name, Cell::from(text)));
        if !self.protected {
            let missing = self.exists == Some(false);
            let text = if missing {
                "none, and the branch does not exist"
            } else {
                "none"
            };
            add("Protection", text.to_owned());
            return fields;
        }
        add(
            "Protection",
            self.rule
                .as_ref()
                .map_or("yes".to_owned(), |rule| format!("rule `{rule}`")),
        );
        add(
            "Approvals",
            self.required_approvals.unwrap_or_default().to_string(),
        );
        if !self.required_checks.is_empty() {
            add("Checks", self.required_checks.join(", "));
        }
        let who = |names: &Vec<String>| match names.len() {
            0 => "nobody".to_owned(),
            _ => names.join(", "),
        };
        if let Some(Some(names)) = &self.push_whitelist {
            add("May push", who(names));
        }
        if let Some(Some(names)) = &self.merge_whitelist {
            add("May merge", who(names));
        }
        for (is_so, name, text) in [
            (self.requires_pr, "Changes", "by pull request only"),
            (self.require_up_to_date, "Up to date", "before a merge"),
            (self.requires_signatures, "Commits", "signed only"),
            (self.merge_queue, "Merges", "through a queue"),
            (self.partial, "Note", "the token cannot see the whole rule"),
        ] {
            if is_so {
                add(name, text.to_owned());
            }
        }
        fields
    }
}

impl Tool for BranchProtectionGet {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "branch_protection_get";
    const EFFECT: Effect = Effect::Read;

    async fn run(&self, cx: &Cx, input: Input) -> Result<Reply<Output>, ToolError> {
        let branch = path::of_branch(&input.branch)?;
        let repo = cx.repo(&input.repo).await?;
        match repo.forge.protection(&repo.id, branch).await {
            Ok(found) => Ok(Reply::from(Output::from(found))),
            // Also a branch that is yet to come has no rules; a missing repository is an error.
            Err(ForgeError::NotFound { .. }) => {
                let found = repo.forge.repository(&repo.id).await?;
                Ok(Reply::from(Output {
                    exists: Some(false),
                    partial: found.permissions.is_none_or(|may| !may.admin),
                    ..Output::default()
                }))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn page(output: &Output, page: &mut Page) {
        page.fields(&output.fields());
    }
}
