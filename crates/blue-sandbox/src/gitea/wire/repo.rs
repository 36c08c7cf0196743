//! Repositories

use serde_json::{Value, json};

use super::{EPOCH, NEVER, View, time, user};
use crate::{
    app::App,
    config::Flavor,
    gitea::fail::Fail,
    ops::{
        access::Access,
        repos::{self, Found},
    },
    store::{
        pulls::{self, State},
        repos as rows,
    },
};

pub(in crate::gitea) fn repo(app: &App, found: &Found, access: Access) -> Result<Value, Fail> {
    shape(app, found, access, true)
}

#[expect(clippy::too_many_lines, reason = "one field a line")]
fn shape(app: &App, found: &Found, access: Access, with_parent: bool) -> Result<Value, Fail> {
    let (repo, settings, name) = (&found.repo, &found.repo.settings, found.full_name());
    let (root, git) = (&app.root_url, app.git(repo.id));
    let branches = git.refs("refs/heads/")?.len();
    // Forgejo 11 says of a pull mirror that it has pull requests, and then does not list them.
    let hides_pulls = !matches!(app.flavor, Flavor::Forgejo | Flavor::Forgejo7);
    let (open_pulls, forks) = app.store.read(|c| {
        let open = pulls::of_repo(c, repo.id)?
            .iter()
            .filter(|pull| pull.state == State::Open)
            .count();
        Ok::<_, crate::ops::Error>((open, rows::forks(c, repo.id)?.len()))
    })?;
    let mut value = json!({
        "id": repo.id,
        "owner": user(app, &found.owner, if access == Access::None { View::Public } else { View::Known }),
        "name": repo.name,
        "full_name": name,
        "description": settings.description,
        "empty": branches == 0 || app.still_called_empty(repo.id),
        "private": repo.private,
        "fork": repo.fork_of.is_some(),
        "template": settings.template,
        "mirror": settings.mirror,
        "size": 24,
        "language": "",
        "languages_url": format!("{root}/api/v1/repos/{name}/languages"),
        "html_url": format!("{root}/{name}"),
        "url": format!("{root}/api/v1/repos/{name}"),
        "link": "",
        "ssh_url": format!("git@localhost:{name}.git"),
        "clone_url": format!("{root}/{name}.git"),
        "original_url": "",
        "website": settings.website,
        "stars_count": 0,
        "forks_count": forks,
        "watchers_count": 1,
        "branch_count": branches,
        "open_issues_count": 0,
        "open_pr_counter": open_pulls,
        "release_counter": 0,
        "default_branch": repo.default_branch,
        "archived": repo.archived_at.is_some(),
        "created_at": time(repo.created_at),
        "updated_at": time(repo.updated_at),
        "archived_at": repo.archived_at.map_or(EPOCH.to_owned(), time),
        "permissions": {
            "admin": access >= Access::Admin,
            "push": access >= Access::Write,
            "pull": access >= Access::Read,
        },
        "has_code": true,
        "has_issues": settings.has_issues,
        "internal_tracker": {
            "enable_time_tracker": true,
            "allow_only_contributors_to_track_time": true,
            "enable_issue_dependencies": true,
        },
        "has_wiki": true,
        "has_pull_requests": settings.has_pull_requests && !(settings.mirror && hides_pulls),
        "has_projects": true,
        "projects_mode": "all",
        "has_releases": true,
        "has_packages": true,
        "has_actions": settings.has_actions,
        "ignore_whitespace_conflicts": settings.ignore_whitespace_conflicts,
        "allow_merge_commits": settings.allow_merge,
        "allow_rebase": settings.allow_rebase,
        "allow_rebase_explicit": settings.allow_rebase_merge,
        "allow_squash_merge": settings.allow_squash,
        "allow_fast_forward_only_merge": settings.allow_fast_forward_only,
        "allow_rebase_update": settings.allow_rebase_update,
        "allow_manual_merge": settings.allow_manual_merge,
        "autodetect_manual_merge": settings.autodetect_manual_merge,
        "default_delete_branch_after_merge": settings.delete_branch_after_merge,
        "default_merge_style": settings.default_merge_style,
        "default_allow_maintainer_edit": settings.default_allow_maintainer_edit,
        "avatar_url": "",
        "internal": false,
        "mirror_interval": "",
        "object_format_name": settings.object_format_name,
        "mirror_updated": NEVER,
        "topics": [],
        "licenses": [],
    });
    let fields = value.as_object_mut().expect("made as an object");
    // A fork starts with code and pull requests only.
    if repo.fork_of.is_some() {
        for unit in [
            "has_issues",
            "has_wiki",
            "has_projects",
            "has_releases",
            "has_packages",
            "has_actions",
        ] {
            fields.insert(unit.to_owned(), json!(false));
        }
    }
    if !settings.has_issues || repo.fork_of.is_some() {
        fields.shift_remove("internal_tracker");
    }
    if !settings.has_pull_requests {
        for style in [
            "allow_merge_commits",
            "allow_rebase",
            "allow_rebase_explicit",
            "allow_squash_merge",
            "allow_fast_forward_only_merge",
            "allow_rebase_update",
            "default_allow_maintainer_edit",
        ] {
            fields.insert(style.to_owned(), json!(false));
        }
        fields.insert("allow_manual_merge".to_owned(), json!(true));
    }
    if app.is_forgejo() {
        for newer in ["branch_count", "licenses", "has_code", "projects_mode"] {
            fields.shift_remove(newer);
        }
        fields.insert("wiki_branch".to_owned(), json!("main"));
        fields.insert("globally_editable_wiki".to_owned(), json!(false));
        fields.insert("default_update_style".to_owned(), json!("merge"));
    }
    if let Some(parent) = repo.fork_of.filter(|_| with_parent)
        && let Some(parent) = repos::by_id(app, parent)?
    {
        fields.insert("parent".to_owned(), shape(app, &parent, access, false)?);
    }
    Ok(value)
}
