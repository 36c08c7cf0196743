//! Make one repository of a seed file, with its history

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;

use super::{
    format::{self, Content, Repository, ReviewState},
    plant::{People, someone},
};
use crate::{
    app::App,
    git::{self, Commit, Edit, Expect, Kind, Mode, Oid, Signature},
    ops::{self, push::RefChange, repos::Found},
    store::{
        protections::Rule,
        repos::{self, Repo, Settings},
        users::User,
    },
};

type Files = BTreeMap<String, Option<Content>>;

pub(super) fn make(app: &App, seed: &Repository, people: &People) -> Result<(), String> {
    let owner = ops::users::find(app, &seed.owner)
        .map_err(|_| format!("there is no user or organisation `{}`", seed.owner))?;
    let default_branch = seed.default_branch.as_deref().unwrap_or("main");
    let settings = Settings {
        description: seed.description.clone(),
        ..Settings::default()
    };
    let new = ops::repos::New {
        name: &seed.name,
        private: seed.private,
        default_branch,
        settings,
    };
    let Found { repo, .. } = ops::repos::create(app, &owner, &new).map_err(words)?;
    let maker = maker(app, &owner, people)?;
    let history = History {
        app,
        git: app.git(repo.id),
        repo: &repo,
        people,
        maker: &maker,
    };
    history.write(seed)?;
    collaborators(app, &repo, seed, people)?;
    for tag in &seed.tags {
        ops::tags::create(app, &repo, &maker, &tag.name, &tag.target, &tag.message)
            .map_err(|error| format!("tag `{}`: {error}", tag.name))?;
    }
    for rule in &seed.protections {
        protect(app, &repo, rule, people)
            .map_err(|error| format!("protection of `{}`: {error}", rule.branch))?;
    }
    for pull in &seed.pulls {
        open(app, &repo, pull, people, &maker)
            .map_err(|error| format!("pull request `{}`: {error}", pull.title))?;
    }
    if seed.archived {
        let after = Repo {
            archived_at: Some(app.now_ms()),
            ..repo.clone()
        };
        ops::repos::save(app, &repo, &after).map_err(words)?;
    }
    Ok(())
}

/// Returns the author of everything that names none: the owner, or the first member of the organisation
fn maker(app: &App, owner: &User, people: &People) -> Result<User, String> {
    if !owner.is_org {
        return Ok(owner.clone());
    }
    let members = app
        .store
        .read(|c| crate::store::users::members(c, owner.id))
        .map_err(|error| error.to_string())?;
    let first = members
        .into_iter()
        .find(|member| people.contains_key(&member.login));
    first.ok_or_else(|| "its organisation has no members".to_owned())
}

struct History<'a> {
    app: &'a App,
    git: git::Repo,
    repo: &'a Repo,
    people: &'a People,
    maker: &'a User,
}

impl History<'_> {
    fn write(&self, seed: &Repository) -> Result<(), String> {
        let main = self.repo.default_branch.as_str();
        if !seed.files.is_empty() {
            let author = self.signature(self.maker, None);
            self.commit(main, main, "Initial commit\n", author, &seed.files)?;
        }
        for commit in &seed.commits {
            let author = match &commit.author {
                Some(login) => someone(self.people, login)?,
                None => self.maker,
            };
            let author = self.signature(author, commit.date);
            let branch = commit.branch.as_deref().unwrap_or(main);
            let from = commit.from.as_deref().unwrap_or(main);
            let message = format!("{}\n", commit.message.trim_end());
            self.commit(branch, from, &message, author, &commit.files)
                .map_err(|error| format!("commit `{}`: {error}", commit.message.trim_end()))?;
        }
        for branch in &seed.branches {
            let at = |error: String| format!("branch `{}`: {error}", branch.name);
            let from = branch.from.as_deref().unwrap_or(main);
            if branch.files.is_empty() {
                let tip = self.tip(from).map_err(at)?;
                self.set(&branch.name, tip, Expect::Absent).map_err(at)?;
            } else {
                let message = branch
                    .message
                    .clone()
                    .unwrap_or_else(|| format!("Add {}", branch.name));
                let author = self.signature(self.maker, None);
                self.commit(
                    &branch.name,
                    from,
                    &format!("{message}\n"),
                    author,
                    &branch.files,
                )
                .map_err(at)?;
            }
        }
        let tips = self.git.refs("refs/heads/").map_err(words)?;
        let changes: Vec<RefChange> = tips
            .iter()
            .map(|(name, tip)| RefChange::branch(name, None, Some(*tip)))
            .collect();
        ops::push::received(self.app, self.repo, self.maker, &changes).map_err(words)
    }

    /// Put a commit on a branch; one that is not there begins at `from`
    fn commit(
        &self,
        branch: &str,
        from: &str,
        message: &str,
        author: Signature,
        files: &Files,
    ) -> Result<(), String> {
        let old = self.git.branch(branch).map_err(words)?;
        let parent = match old {
            Some(old) => Some(old),
            None if branch == from => None,
            None => Some(self.tip(from)?),
        };
        let tree = match parent {
            Some(parent) => self.git.commit(parent).map_err(words)?.tree,
            None => Oid::EMPTY_TREE,
        };
        let tree = self
            .git
            .edit_tree(tree, &self.edits(files)?)
            .map_err(words)?;
        let commit = Commit {
            tree,
            parents: parent.into_iter().collect(),
            committer: author.clone(),
            author,
            message: message.to_owned(),
            gpgsig: None,
        };
        let made = self.git.write_commit(&commit).map_err(words)?;
        self.set(branch, made, old.map_or(Expect::Absent, Expect::At))
    }

    fn edits(&self, files: &Files) -> Result<Vec<Edit>, String> {
        let mut edits = Vec::new();
        for (path, content) in files {
            let good = !path
                .split('/')
                .any(|part| matches!(part, "" | "." | ".." | ".git"));
            if !good {
                return Err(format!("`{path}` is not a path"));
            }
            let path = path.clone();
            let bytes = match content {
                None => {
                    edits.push(Edit::Remove { path });
                    continue;
                }
                Some(Content::Text(text)) => text.clone().into_bytes(),
                Some(Content::Base64(content)) => STANDARD
                    .decode(&content.base64)
                    .map_err(|_| format!("`{path}` is not base64"))?,
            };
            let oid = self.git.write(Kind::Blob, &bytes).map_err(words)?;
            edits.push(Edit::Put {
                path,
                mode: Mode::File,
                oid,
            });
        }
        Ok(edits)
    }

    fn tip(&self, branch: &str) -> Result<Oid, String> {
        let tip = self.git.branch(branch).map_err(words)?;
        tip.ok_or_else(|| format!("there is no branch `{branch}`"))
    }

    fn set(&self, branch: &str, to: Oid, expect: Expect) -> Result<(), String> {
        if !git::valid_branch_name(branch) {
            return Err(format!("`{branch}` is not a branch name"));
        }
        self.git
            .update_ref(&format!("refs/heads/{branch}"), Some(to), expect)
            .map_err(words)
    }

    fn signature(&self, user: &User, date: Option<Timestamp>) -> Signature {
        let name = if user.full_name.is_empty() {
            &user.login
        } else {
            &user.full_name
        };
        Signature::new(name, &user.email, date.unwrap_or_else(|| self.app.now()))
    }
}

fn collaborators(app: &App, repo: &Repo, seed: &Repository, people: &People) -> Result<(), String> {
    for (login, permission) in &seed.collaborators {
        let user = someone(people, login)?;
        app.store
            .write(|c| repos::set_permission(c, repo.id, user.id, permission.name()))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn protect(
    app: &App,
    repo: &Repo,
    seed: &format::Protection,
    people: &People,
) -> Result<(), String> {
    for login in seed.push.iter().flatten() {
        someone(people, login)?;
    }
    let rule = Rule {
        required_approvals: seed.approvals,
        enable_status_check: !seed.checks.is_empty(),
        status_check_contexts: seed.checks.clone(),
        enable_push: seed.push.is_some(),
        enable_push_whitelist: seed.push.is_some(),
        push_whitelist_usernames: seed.push.clone().unwrap_or_default(),
        ..Rule::default()
    };
    ops::protection::create(app, repo, &seed.branch, None, &rule).map_err(words)?;
    Ok(())
}

fn open(
    app: &App,
    repo: &Repo,
    seed: &format::Pull,
    people: &People,
    maker: &User,
) -> Result<(), String> {
    let author = match &seed.author {
        Some(login) => someone(people, login)?,
        None => maker,
    };
    let new = ops::pulls::New {
        title: &seed.title,
        body: &seed.body,
        head_repo: repo,
        head: &seed.head,
        base: seed.base.as_deref().unwrap_or(&repo.default_branch),
        maintainer_edit: false,
    };
    let pull = ops::pulls::create(app, repo, author, &new).map_err(words)?;
    for review in &seed.reviews {
        let reviewer = someone(people, &review.by)?;
        let state = match review.state {
            ReviewState::Approved => "APPROVED",
            ReviewState::Changes => "REQUEST_CHANGES",
            ReviewState::Comment => "COMMENT",
        };
        let say = ops::reviews::Say {
            state,
            body: review.body.clone(),
            commit: None,
            comments: Vec::new(),
        };
        ops::reviews::create(app, repo, &pull, reviewer, say).map_err(words)?;
    }
    Ok(())
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is the shape `map_err` wants"
)]
fn words(error: impl ToString) -> String {
    error.to_string()
}
