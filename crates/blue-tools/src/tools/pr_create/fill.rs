//! What a person need not type: the branch, the title and the text

use blue_base::git::Git;
use blue_forge::{ForgeError, model::Commit};

use super::{Filled, Input, explained, given};
use crate::{Cx, ErrorCode, ToolError, path, rows};

pub(super) async fn complete(cx: &Cx, mut input: Input) -> Result<Input, ToolError> {
    let head = match path::head_if_given(input.head.take().as_deref()) {
        Some(head) => head,
        None => checked_out(cx).await?,
    };
    let file = input.body_file.take();
    if file.as_deref() == Some("-") || input.body.as_deref() == Some("-") {
        input.body = Some(cx.piped_text().await?);
    } else if let Some(file) = file {
        let path = cx.cwd().join(&file);
        let text = std::fs::read_to_string(path).map_err(|source| {
            ToolError::new(ErrorCode::Io, format!("could not read `{file}`")).with_source(source)
        })?;
        input.body = Some(text);
    }
    let (title, body) = if input.fill {
        all_commits(cx, &input, &head).await?
    } else if given(input.title.clone()).is_none() {
        apart(&last_commit(cx, &input, &head).await?)
    } else {
        Default::default()
    };
    input.filled = Filled {
        title: given(input.title.clone()).is_none(),
        body: input.body.is_none(),
    };
    input.title = given(input.title).or_else(|| given(Some(title)));
    input.body = input.body.or_else(|| given(Some(body)));
    input.head = Some(head);
    Ok(input)
}

async fn checked_out(cx: &Cx) -> Result<String, ToolError> {
    let none = |said: &str| {
        ToolError::new(ErrorCode::Usage, said.to_owned()).with_hint("name the branch with `--head`")
    };
    let git = Git::default();
    if !git.is_repository(cx.cwd()).await? {
        return Err(none("this folder is not a git repository"));
    }
    git.current_branch(cx.cwd())
        .await?
        .ok_or_else(|| none("no branch is checked out here (detached HEAD)"))
}

/// The message of the branch's last commit on the forge: what is not pushed is not in the request
async fn last_commit(cx: &Cx, input: &Input, head: &str) -> Result<String, ToolError> {
    let repo = cx.repo(&input.repo).await?;
    let commit = repo.forge.get_commit(&repo.id, head).await;
    let commit = commit.map_err(|error| match error {
        ForgeError::NotFound { .. } if head.contains(':') => {
            ToolError::from(error).with_hint("give a `title`")
        }
        error => explained(error, head),
    })?;
    compare_local(cx, input, head, &commit).await?;
    Ok(commit.message)
}

/// Say so where the branch of this clone is not what is on the forge
async fn compare_local(
    cx: &Cx,
    input: &Input,
    head: &str,
    there: &Commit,
) -> Result<(), ToolError> {
    let git = Git::default();
    // A repository that was named need not be the one of this folder.
    if !input.repo.is_left_out() || !git.is_repository(cx.cwd()).await.unwrap_or(false) {
        return Ok(());
    }
    if let Some(here) = git.branch_commit(cx.cwd(), head).await?
        && here != there.sha.as_str()
    {
        let (subject, _) = apart(&there.message);
        cx.note(format!(
            "the local `{head}` is at {}, and the forge's at {} ({subject}), which the pull request \
             is made of",
            rows::short(&here),
            rows::short(there.sha.as_str()),
        ));
    }
    Ok(())
}

/// One commit speaks for itself; of several the branch's name is the title, and they are listed
async fn all_commits(cx: &Cx, input: &Input, head: &str) -> Result<(String, String), ToolError> {
    let repo = cx.repo(&input.repo).await?;
    let base = match path::branch_if_given(input.base.as_deref()) {
        Some(base) => base.to_owned(),
        None => repo.forge.repository(&repo.id).await?.default_branch,
    };
    let compared = repo.forge.compare(&repo.id, &base, head).await;
    let commits = compared.map_err(|error| explained(error, head))?.commits;
    if let Some(last) = commits.last() {
        compare_local(cx, input, head, last).await?;
    }
    match &commits[..] {
        [] => Ok((spoken(head), String::new())),
        [one] => Ok(apart(&one.message)),
        several => {
            let subjects = several.iter().map(|commit| {
                let (subject, _) = apart(&commit.message);
                format!("- {subject}\n")
            });
            Ok((spoken(head), subjects.collect()))
        }
    }
}

/// Subject and body of a commit message
fn apart(message: &str) -> (String, String) {
    let message = message.trim();
    let (subject, body) = message.split_once("\n\n").unwrap_or((message, ""));
    // A subject over several lines is one sentence to git too.
    let subject: Vec<&str> = subject.lines().map(str::trim).collect();
    (subject.join(" "), body.trim().to_owned())
}

/// `fix/login-page` is "Login page"
fn spoken(branch: &str) -> String {
    let name = branch.rsplit(['/', ':']).next().unwrap_or(branch);
    let words = name.replace(['-', '_'], " ");
    let mut letters = words.trim().chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => branch.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_taken_apart() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(apart("one\n"), pair("one", ""));
        assert_eq!(apart("one\n\ntwo\n\nthree\n"), pair("one", "two\n\nthree"));
        assert_eq!(apart("one\nand more\n\ntwo"), pair("one and more", "two"));
        assert_eq!(apart(""), pair("", ""));
    }

    #[test]
    fn a_branch_is_spoken() {
        assert_eq!(spoken("fix/login-page"), "Login page");
        assert_eq!(spoken("alice:topic_1"), "Topic 1");
        assert_eq!(spoken("--"), "--");
    }
}
