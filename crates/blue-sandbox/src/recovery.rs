//! Make the folder whole after a killed run

use std::{collections::HashSet, fs};

use crate::{
    app::App,
    git::{Expect, Oid},
    ops::{Result, merge},
    store::{pulls, repos},
};

/// Bring rows and refs together again
pub(crate) fn run(app: &App) -> Result<()> {
    let rows = app.store.read(repos::all)?;
    let known: HashSet<String> = rows.iter().map(|repo| format!("{}.git", repo.id)).collect();
    for entry in fs::read_dir(app.dir.join("repos"))? {
        let entry = entry?;
        if !known.contains(entry.file_name().to_string_lossy().as_ref()) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    for repo in &rows {
        let git = app.git(repo.id);
        git.clear_locks()?;
        if git.head()? != repo.default_branch {
            git.set_head(&repo.default_branch)?;
        }
        remove_half_made(app, repo)?;
    }
    finish_merges(app)?;
    for repo in &rows {
        follow_moved(app, repo)?;
    }
    Ok(())
}

/// A pull request's ref is written before its row; without the row it never was
fn remove_half_made(app: &App, repo: &repos::Repo) -> Result<()> {
    let git = app.git(repo.id);
    for (name, _) in git.refs("refs/pull/")? {
        let number = name
            .split('/')
            .next()
            .and_then(|number| number.parse().ok());
        let row = match number {
            Some(number) => app.store.read(|c| pulls::by_number(c, repo.id, number))?,
            None => None,
        };
        if row.is_none() {
            git.update_ref(&format!("refs/pull/{name}"), None, Expect::Anything)?;
        }
    }
    for (name, _) in git.refs("refs/sandbox/")? {
        git.update_ref(&format!("refs/sandbox/{name}"), None, Expect::Anything)?;
    }
    Ok(())
}

/// A merge was begun: it happened if its commit is in the base
fn finish_merges(app: &App) -> Result<()> {
    for mut pull in app.store.read(pulls::with_intent)? {
        let Some(intent) = pull.intent.take() else {
            continue;
        };
        let git = app.git(pull.repo_id);
        let tip = git.branch(&pull.base_branch)?;
        match (Oid::parse(&intent.new), tip) {
            (Some(new), Some(tip)) if git.has(new) && git.is_ancestor(new, tip)? => {
                merge::finish(app, &mut pull, new, intent.by)?;
            }
            _ => app.store.write(|tx| pulls::save(tx, &pull))?,
        }
    }
    Ok(())
}

/// A branch may have moved without its pull requests being told
fn follow_moved(app: &App, repo: &repos::Repo) -> Result<()> {
    let git = app.git(repo.id);
    for mut pull in app.store.read(|c| pulls::of_repo(c, repo.id))? {
        if pull.state != pulls::State::Open {
            continue;
        }
        let head = match pull.head_repo_id {
            Some(id) => app.git(id).branch(&pull.head_branch)?,
            None => None,
        };
        match head {
            Some(head) if head != pull.head_sha && git.has(head) => {
                git.update_ref(
                    &format!("refs/pull/{}/head", pull.number),
                    Some(head),
                    Expect::Anything,
                )?;
                pull.head_sha = head;
            }
            Some(_) => {}
            None => {
                pull.state = pulls::State::Closed;
                pull.closed_at = Some(app.now_ms());
            }
        }
        if let Some(base) = git.branch(&pull.base_branch)? {
            pull.base_sha = base;
        }
        pull.merge_base = git
            .merge_base(pull.base_sha, pull.head_sha)?
            .unwrap_or(pull.base_sha);
        app.store.write(|tx| pulls::save(tx, &pull))?;
    }
    Ok(())
}
