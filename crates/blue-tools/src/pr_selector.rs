//! Pull requests as users of the command line name them

use blue_base::git::Git;
use blue_forge::git_url::GitUrl;

use crate::{Cx, ErrorCode, ToolError, args::RepoArgs};

/// What stands before the number in the URL of a pull request: Gitea and Forgejo, GitHub
const URL_MARKS: &[&str] = &["/pulls/", "/pull/"];

// No doc comment: clap would show it as the help of the command that takes these.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PrSelector {
    /// Number of the pull request, `#12`, its URL or its branch [default: of the current branch]
    #[arg(id = "index", value_name = "PR")]
    typed: Option<String>,
}

impl PrSelector {
    /// Returns the number; a URL names the repository too, unless it was named otherwise
    pub(crate) async fn number(&self, cx: &Cx, repo: &mut RepoArgs) -> Result<u64, ToolError> {
        match &self.typed {
            Some(typed) => number_of(cx, repo, typed).await,
            None if repo.is_left_out() => {
                let branch = current_branch(cx).await?;
                number_of_branch(cx, repo, &branch).await
            }
            None => {
                let message = "no pull request was named".to_owned();
                Err(ToolError::new(ErrorCode::Usage, message)
                    .with_hint("give its number, its URL or its branch; pr_list lists them"))
            }
        }
    }
}

/// Reads a number, `#12`, the URL of a pull request or the name of a branch
pub(crate) async fn number_of(cx: &Cx, repo: &mut RepoArgs, typed: &str) -> Result<u64, ToolError> {
    let digits = typed.strip_prefix('#').unwrap_or(typed);
    if let Ok(number) = digits.parse() {
        return Ok(number);
    }
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let message = format!("`{typed}` is too large for the number of a pull request");
        return Err(ToolError::new(ErrorCode::Usage, message));
    }
    if typed.contains("://") {
        let (whole, number) = of_url(typed).ok_or_else(|| {
            ToolError::new(
                ErrorCode::Usage,
                format!("`{typed}` is not the URL of a pull request"),
            )
            .with_hint("it ends like `/OWNER/NAME/pulls/12`")
        })?;
        repo.name_whole(whole, typed)?;
        return Ok(number);
    }
    number_of_branch(cx, repo, typed).await
}

/// The URL of the repository and the number in the URL of a pull request, whatever follows it
fn of_url(text: &str) -> Option<(String, u64)> {
    let path = text.split(['?', '#']).next()?;
    let (whole, rest) = URL_MARKS.iter().find_map(|mark| path.rsplit_once(mark))?;
    let number = rest.split('/').next()?.parse().ok()?;
    let is_repository = matches!(GitUrl::parse(whole), Ok(GitUrl::Hosted(_)));
    is_repository.then(|| (whole.to_owned(), number))
}

async fn number_of_branch(cx: &Cx, repo: &RepoArgs, branch: &str) -> Result<u64, ToolError> {
    let repo = cx.repo(repo).await?;
    let open = repo.forge.open_prs_at(&repo.id, branch).await?;
    let own = |head: &Option<_>| head.as_ref().is_none_or(|head| *head == repo.id);
    let from: Vec<u64> = open
        .iter()
        .filter(|pr| pr.head.branch == branch && own(&pr.head.repo))
        .map(|pr| pr.number)
        .collect();
    match from[..] {
        [number] => Ok(number),
        [] => {
            let message = format!("there is no open pull request from branch `{branch}`");
            Err(ToolError::new(ErrorCode::NotFound, message)
                .with_hint("give its number: pr_list state=all lists the pull requests"))
        }
        _ => {
            let list: Vec<String> = from.iter().map(|number| format!("#{number}")).collect();
            let list = list.join(", ");
            let message = format!("branch `{branch}` has several open pull requests: {list}");
            Err(ToolError::new(ErrorCode::Ambiguous, message).with_hint("give the number of one"))
        }
    }
}

/// The branch that is checked out in the clone here
async fn current_branch(cx: &Cx) -> Result<String, ToolError> {
    let none = |message: &str| {
        ToolError::new(ErrorCode::Usage, message.to_owned())
            .with_hint("give the number of the pull request, its URL or its branch")
    };
    let git = Git::default();
    if !git.is_repository(cx.cwd()).await? {
        return Err(none(
            "no pull request was named, and this folder is no clone",
        ));
    }
    let branch = git.current_branch(cx.cwd()).await?;
    branch.ok_or_else(|| {
        none("no pull request was named, and no branch is checked out here (detached HEAD)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_repository_and_number() {
        for (url, whole, number) in [
            (
                "https://github.com/o/r/pull/12/files?w=1#d",
                "https://github.com/o/r",
                12,
            ),
            (
                "http://127.0.0.1:3000/a/b/pulls/3",
                "http://127.0.0.1:3000/a/b",
                3,
            ),
            (
                "https://h.example/git/a/pulls/pulls/4",
                "https://h.example/git/a/pulls",
                4,
            ),
        ] {
            assert_eq!(of_url(url), Some((whole.to_owned(), number)), "{url}");
        }
        for url in [
            "https://github.com/o/r",
            "https://github.com/o/r/issues/1",
            "https://github.com/o/r/pull/x",
            "https://github.com/pull/1",
        ] {
            assert_eq!(of_url(url), None, "{url}");
        }
    }
}
