//! Repositories

use serde_json::{Value, json};

use super::super::url::{Urls, node_id, segment};
use super::date;
use super::user::{self, extend};
use crate::store::{repos::Repo, users::User};

/// A repository with what a row of it does not tell
#[derive(Debug, Clone)]
pub(in crate::github) struct Shown {
    pub(in crate::github) row: Repo,
    pub(in crate::github) owner: User,
    pub(in crate::github) forks: i64,
    pub(in crate::github) open_pulls: i64,
    /// `[admin, push, pull]` of the caller
    pub(in crate::github) rights: [bool; 3],
    pub(in crate::github) ssh_url: String,
}

/// Addresses below a repository: the field and what follows its own address
const BELOW: &[(&str, &str)] = &[
    ("archive_url", "/{archive_format}{/ref}"),
    ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"),
    ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"),
    ("contributors_url", "/contributors"),
    ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"),
    ("events_url", "/events"),
    ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"),
    ("keys_url", "/keys{/key_id}"),
    ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"),
    ("merges_url", "/merges"),
    ("milestones_url", "/milestones{/number}"),
    (
        "notifications_url",
        "/notifications{?since,all,participating}",
    ),
    ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"),
    ("stargazers_url", "/stargazers"),
    ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("tags_url", "/tags"),
    ("teams_url", "/teams"),
    ("trees_url", "/git/trees{/sha}"),
];

impl Shown {
    /// `owner/name`, encoded for a path
    pub(in crate::github) fn at(&self) -> String {
        format!("{}/{}", segment(&self.owner.login), segment(&self.row.name))
    }

    pub(in crate::github) fn api(&self, urls: &Urls) -> String {
        format!("{}/repos/{}", urls.api, self.at())
    }

    pub(in crate::github) fn web(&self, urls: &Urls) -> String {
        format!("{}/{}", urls.web, self.at())
    }
}

/// As one row of a list, or at one end of a pull request
pub(in crate::github) fn simple(urls: &Urls, repo: &Shown) -> Value {
    let (api, web) = (repo.api(urls), repo.web(urls));
    let [admin, push, pull] = repo.rights;
    let row = &repo.row;
    let settings = &row.settings;
    let mut shown = json!({
        "id": row.id,
        "node_id": node_id("Repository", row.id),
        "name": row.name,
        "full_name": format!("{}/{}", repo.owner.login, row.name),
        "private": row.private,
        "owner": user::simple(urls, &repo.owner),
        "html_url": web,
        "description": (!settings.description.is_empty()).then_some(&settings.description),
        "fork": row.fork_of.is_some(),
        "url": api,
        "git_url": format!("{}.git", web.replacen("http", "git", 1)),
        "ssh_url": repo.ssh_url,
        "clone_url": format!("{web}.git"),
        "svn_url": web,
        "mirror_url": null,
        "homepage": (!settings.website.is_empty()).then_some(&settings.website),
    });
    extend(
        &mut shown,
        json!({
            "language": null,
            "forks_count": repo.forks,
            "stargazers_count": 0,
            "watchers_count": 0,
            "size": 0,
            "default_branch": row.default_branch,
            "open_issues_count": repo.open_pulls,
            "is_template": settings.template,
            "topics": [],
            "has_issues": settings.has_issues,
            "has_projects": false,
            "has_wiki": false,
            "has_pages": false,
            "has_downloads": false,
            "has_discussions": false,
            "has_pull_requests": settings.has_pull_requests,
            "archived": row.archived_at.is_some(),
            "disabled": false,
            "visibility": if row.private { "private" } else { "public" },
            "pushed_at": date(row.updated_at),
            "created_at": date(row.created_at),
            "updated_at": date(row.updated_at),
            "permissions": {"admin": admin, "maintain": admin, "push": push, "triage": push, "pull": pull},
            "allow_forking": true,
            "web_commit_signoff_required": false,
            "license": null,
            "forks": repo.forks,
            "open_issues": repo.open_pulls,
            "watchers": 0,
        }),
    );
    for (field, rest) in BELOW {
        shown[*field] = format!("{api}{rest}").into();
    }
    shown
}

/// As the answer about one repository
pub(in crate::github) fn full(urls: &Urls, repo: &Shown) -> Value {
    let mut shown = simple(urls, repo);
    let [_, push, _] = repo.rights;
    let settings = &repo.row.settings;
    extend(
        &mut shown,
        json!({"temp_clone_token": "", "subscribers_count": 0, "network_count": repo.forks}),
    );
    if repo.owner.is_org {
        shown["organization"] = user::simple(urls, &repo.owner);
    }
    // Only those who can push are told how merging is set up.
    if push {
        extend(
            &mut shown,
            json!({
                "allow_merge_commit": settings.allow_merge,
                "allow_squash_merge": settings.allow_squash,
                "allow_rebase_merge": settings.allow_rebase,
                "allow_auto_merge": false,
                "allow_update_branch": true,
                "delete_branch_on_merge": settings.delete_branch_after_merge,
                "use_squash_pr_title_as_default": true,
                "squash_merge_commit_title": "PR_TITLE",
                "squash_merge_commit_message": "COMMIT_MESSAGES",
                "merge_commit_title": "MERGE_MESSAGE",
                "merge_commit_message": "PR_TITLE",
            }),
        );
    }
    shown
}
