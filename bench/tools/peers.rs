//! The programs that are compared: how each is started and how it does each step

use serde_json::json;
use url::Url;

use crate::{
    forge::{FILE, base64},
    mcp::Launch,
    steps::{At, Call, Plan, Step, call},
};

/// Which forge a program can be pointed at
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    Gitea,
    GitHub,
    /// Its address is fixed in the program
    Nowhere,
}

/// Where a program finds the forge
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Root of the counting proxy
    pub(crate) url: Url,
    pub(crate) token: String,
    pub(crate) second_token: String,
}

/// One way through the loop
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub(crate) name: String,
    /// `None`: bare REST, no program
    pub(crate) launch: Option<Launch>,
    pub(crate) door: Door,
    /// Calls that have to come first in a new session
    pub(crate) first: Vec<Call>,
    pub(crate) plan: Planner,
}

type Planner = fn(Step, &At) -> Plan;
type Variables = Vec<(&'static str, String)>;

/// A program by its name in the list that `install` prints
pub(crate) fn known(
    name: &str,
    command: Vec<String>,
    gitea: &Place,
    github: &Place,
) -> Option<Peer> {
    let base = name.split(' ').next()?;
    let npm = name.ends_with("(npm)");
    let forge = gitea.url.as_str().trim_end_matches('/').to_owned();
    let (token, second) = (gitea.token.clone(), gitea.second_token.clone());
    let (door, env, plan, first): (_, Variables, Planner, _) = match base {
        "forgejo-mcp-rs" => (
            Door::Gitea,
            vec![
                ("FORGEJO_URL", forge),
                ("FORGEJO_TOKEN_READ_ONLY", token),
                ("FORGEJO_TOKEN_WRITE", second),
            ],
            forgejo_mcp_rs,
            vec![call("enable_write_mode", json!({}))],
        ),
        "gitea-mcp" if npm => (
            Door::Gitea,
            vec![("GITEA_HOST", forge), ("GITEA_ACCESS_TOKEN", token)],
            gitea_mcp_npm,
            vec![],
        ),
        "gitea-mcp" => (
            Door::Gitea,
            // Without these it asks a package registry for news at every start.
            vec![
                ("GITEA_URL", forge),
                ("GITEA_TOKEN", token),
                ("FASTMCP_CHECK_FOR_UPDATES", "off".to_owned()),
                ("FASTMCP_SHOW_CLI_BANNER", "false".to_owned()),
            ],
            gitea_mcp_pypi,
            vec![],
        ),
        "github-mcp-server" => (
            Door::GitHub,
            // It drops the port of the host it is given, so it is led to ours as to a web proxy.
            vec![
                ("GITHUB_HOST", "http://forge.example".to_owned()),
                ("HTTP_PROXY", github.url.to_string()),
                ("GITHUB_PERSONAL_ACCESS_TOKEN", github.token.clone()),
            ],
            github_mcp_server,
            vec![],
        ),
        "@modelcontextprotocol/server-github" => (
            Door::Nowhere,
            vec![("GITHUB_PERSONAL_ACCESS_TOKEN", token)],
            nothing,
            vec![],
        ),
        _ => return None,
    };
    Some(Peer {
        name: name.to_owned(),
        launch: Some(Launch { command, env }),
        door,
        first,
        plan,
    })
}

/// `blue mcp`, on either door
pub(crate) fn blue(program: &str, door: Door, place: &Place) -> Peer {
    let root = place.url.as_str().trim_end_matches('/').to_owned();
    let token = place.token.clone();
    let env = if door == Door::GitHub {
        vec![
            ("GITHUB_API_URL", format!("{root}/api/v3")),
            ("GITHUB_SERVER_URL", root),
            ("GITHUB_TOKEN", token),
        ]
    } else {
        vec![("FORGEJO_URL", root), ("FORGEJO_TOKEN", token)]
    };
    Peer {
        name: "blue".to_owned(),
        launch: Some(Launch {
            command: vec![program.to_owned(), "mcp".to_owned()],
            env,
        }),
        door,
        first: vec![],
        plan: blue_mcp,
    }
}

/// The forge's own API, one request per thing that is wanted
pub(crate) fn rest(door: Door) -> Peer {
    Peer {
        name: "bare REST".to_owned(),
        launch: None,
        door,
        first: vec![],
        plan: if door == Door::GitHub {
            rest_github
        } else {
            rest_gitea
        },
    }
}

fn one(tool: impl Into<String>, args: serde_json::Value) -> Plan {
    Plan::Calls(vec![call(tool, args)])
}

fn nothing(_: Step, _: &At) -> Plan {
    Plan::Lacks
}

fn blue_mcp(step: Step, at: &At) -> Plan {
    let (owner, name, branch) = (&at.owner, &at.repo, &at.branch);
    match step {
        Step::Repository => one("repo_status", json!({"owner": owner, "name": name})),
        Step::Branches | Step::Prs => Plan::Told,
        Step::Read => one(
            "file_read",
            json!({"owner": owner, "name": name, "path": FILE}),
        ),
        Step::Write => one(
            "file_write_branch",
            json!({"owner": owner, "name": name, "branch": branch, "path": FILE,
                "content": at.content, "message": at.title, "sha": at.file_sha}),
        ),
        Step::OpenPr => one(
            "pr_create",
            json!({"owner": owner, "name": name, "head": branch, "base": "main", "title": at.title}),
        ),
        Step::Verify => one(
            "pr_verify",
            json!({"owner": owner, "name": name, "index": at.number}),
        ),
        Step::Merge => one(
            "pr_merge",
            json!({"owner": owner, "name": name, "index": at.number, "head_sha": at.head_sha}),
        ),
        Step::Delete => one(
            "branch_delete",
            json!({"owner": owner, "name": name, "branch": branch}),
        ),
        Step::Tag => one(
            "tag_create",
            json!({"owner": owner, "name": name, "tag": at.tag, "target": "main"}),
        ),
    }
}

fn forgejo_mcp_rs(step: Step, at: &At) -> Plan {
    let (owner, repo, branch) = (&at.owner, &at.repo, &at.branch);
    match step {
        Step::Repository => one("get_repo", json!({"owner": owner, "repo": repo})),
        Step::Branches => one(
            "list_branches",
            json!({"owner": owner, "repo": repo, "limit": 30}),
        ),
        Step::Prs => one("list_pull_requests", json!({"owner": owner, "repo": repo})),
        Step::Read => one(
            "get_file_contents",
            json!({"owner": owner, "repo": repo, "path": FILE}),
        ),
        Step::Write => one(
            "create_or_update_file",
            json!({"owner": owner, "repo": repo, "path": FILE, "content": at.content,
                "sha": at.file_sha, "message": at.title, "branch": "main", "new_branch": branch}),
        ),
        Step::OpenPr => one(
            "create_pull_request",
            json!({"owner": owner, "repo": repo, "head": branch, "base": "main", "title": at.title}),
        ),
        Step::Verify => Plan::Calls(vec![
            call(
                "get_pull_request",
                json!({"owner": owner, "repo": repo, "index": at.number}),
            ),
            call(
                "get_combined_status",
                json!({"owner": owner, "repo": repo, "ref": branch}),
            ),
        ]),
        Step::Merge => one(
            "merge_pull_request",
            json!({"owner": owner, "repo": repo, "index": at.number, "head_sha": at.head_sha}),
        ),
        Step::Delete => one(
            "delete_branch",
            json!({"owner": owner, "repo": repo, "branch": branch}),
        ),
        // It makes tags only together with a release.
        Step::Tag => one(
            "create_release",
            json!({"owner": owner, "repo": repo, "tag_name": at.tag, "target_commitish": "main"}),
        ),
    }
}

fn gitea_mcp_npm(step: Step, at: &At) -> Plan {
    let (owner, repo) = (&at.owner, &at.repo);
    match step {
        Step::Prs => one(
            "pull_request__list",
            json!({"owner": owner, "repo": repo, "state": "open"}),
        ),
        Step::OpenPr => one(
            "pull_request__create",
            json!({"owner": owner, "repo": repo, "head": at.branch, "base": "main", "title": at.title}),
        ),
        Step::Verify => one(
            "pull_request__get",
            json!({"owner": owner, "repo": repo, "index": at.number}),
        ),
        _ => Plan::Lacks,
    }
}

fn gitea_mcp_pypi(step: Step, at: &At) -> Plan {
    let (owner, repo, branch) = (&at.owner, &at.repo, &at.branch);
    match step {
        Step::Repository | Step::Delete => Plan::Lacks,
        Step::Branches => one(
            "list_branches",
            json!({"owner": owner, "repo": repo, "limit": 30}),
        ),
        Step::Prs => one("list_pull_requests", json!({"owner": owner, "repo": repo})),
        Step::Read => one(
            "read_file",
            json!({"owner": owner, "repo": repo, "path": FILE}),
        ),
        Step::Write => Plan::Calls(vec![
            call(
                "create_branch",
                json!({"owner": owner, "repo": repo, "new_branch_name": branch}),
            ),
            call(
                "commit_changes",
                json!({"owner": owner, "repo": repo, "branch": branch, "path": FILE,
                    "content": at.content, "message": at.title}),
            ),
        ]),
        Step::OpenPr => one(
            "create_pr",
            json!({"owner": owner, "repo": repo, "head": branch, "base": "main", "title": at.title}),
        ),
        Step::Verify => one(
            "get_pull_request",
            json!({"owner": owner, "repo": repo, "pull_number": at.number}),
        ),
        Step::Merge => one(
            "merge_pr",
            json!({"owner": owner, "repo": repo, "pull_number": at.number}),
        ),
        // It makes tags only together with a release.
        Step::Tag => one(
            "create_release",
            json!({"owner": owner, "repo": repo, "tag_name": at.tag, "name": at.tag, "target_commitish": "main"}),
        ),
    }
}

fn github_mcp_server(step: Step, at: &At) -> Plan {
    let (owner, repo, branch) = (&at.owner, &at.repo, &at.branch);
    match step {
        Step::Repository | Step::Delete | Step::Tag => Plan::Lacks,
        Step::Branches => one(
            "list_branches",
            json!({"owner": owner, "repo": repo, "perPage": 30}),
        ),
        Step::Prs => one(
            "list_pull_requests",
            json!({"owner": owner, "repo": repo, "state": "open"}),
        ),
        Step::Read => one(
            "get_file_contents",
            json!({"owner": owner, "repo": repo, "path": FILE}),
        ),
        Step::Write => Plan::Calls(vec![
            call(
                "create_branch",
                json!({"owner": owner, "repo": repo, "branch": branch}),
            ),
            call(
                "create_or_update_file",
                json!({"owner": owner, "repo": repo, "branch": branch, "path": FILE,
                    "content": at.content, "message": at.title, "sha": at.file_sha}),
            ),
        ]),
        Step::OpenPr => one(
            "create_pull_request",
            json!({"owner": owner, "repo": repo, "head": branch, "base": "main", "title": at.title}),
        ),
        Step::Verify => Plan::Calls(
            ["get", "get_status"]
                .map(|method| {
                    let args = json!({"method": method, "owner": owner, "repo": repo, "pullNumber": at.number});
                    call("pull_request_read", args)
                })
                .to_vec(),
        ),
        Step::Merge => one(
            "merge_pull_request",
            json!({"owner": owner, "repo": repo, "pullNumber": at.number}),
        ),
    }
}

fn rest_gitea(step: Step, at: &At) -> Plan {
    let own = format!("api/v1/repos/{}/{}", at.owner, at.repo);
    let (branch, number) = (&at.branch, at.number);
    let get = |path: String| call(format!("GET {path}"), json!(null));
    match step {
        Step::Repository => Plan::Calls(vec![get(own)]),
        Step::Branches => Plan::Calls(vec![get(format!("{own}/branches?limit=30"))]),
        Step::Prs => Plan::Calls(vec![get(format!("{own}/pulls?state=open&limit=30"))]),
        Step::Read => Plan::Calls(vec![get(format!("{own}/contents/{FILE}"))]),
        Step::Write => one(
            format!("PUT {own}/contents/{FILE}"),
            json!({"content": base64(&at.content), "sha": at.file_sha, "message": at.title,
                "branch": "main", "new_branch": branch}),
        ),
        Step::OpenPr => one(
            format!("POST {own}/pulls"),
            json!({"head": branch, "base": "main", "title": at.title}),
        ),
        Step::Verify => Plan::Calls(vec![
            get(format!("{own}/pulls/{number}")),
            get(format!("{own}/commits/{}/status", at.head_sha)),
        ]),
        Step::Merge => one(
            format!("POST {own}/pulls/{number}/merge"),
            json!({"Do": "merge", "head_commit_id": at.head_sha}),
        ),
        Step::Delete => one(format!("DELETE {own}/branches/{branch}"), json!(null)),
        Step::Tag => one(
            format!("POST {own}/tags"),
            json!({"tag_name": at.tag, "target": "main"}),
        ),
    }
}

fn rest_github(step: Step, at: &At) -> Plan {
    let own = format!("api/v3/repos/{}/{}", at.owner, at.repo);
    let (branch, number) = (&at.branch, at.number);
    let get = |path: String| call(format!("GET {path}"), json!(null));
    match step {
        Step::Repository => Plan::Calls(vec![get(own)]),
        Step::Branches => Plan::Calls(vec![get(format!("{own}/branches?per_page=30"))]),
        Step::Prs => Plan::Calls(vec![get(format!("{own}/pulls?state=open&per_page=30"))]),
        Step::Read => Plan::Calls(vec![get(format!("{own}/contents/{FILE}"))]),
        Step::Write => Plan::Calls(vec![
            call(
                format!("POST {own}/git/refs"),
                json!({"ref": format!("refs/heads/{branch}"), "sha": at.main_sha}),
            ),
            call(
                format!("PUT {own}/contents/{FILE}"),
                json!({"content": base64(&at.content), "sha": at.file_sha, "message": at.title, "branch": branch}),
            ),
        ]),
        Step::OpenPr => one(
            format!("POST {own}/pulls"),
            json!({"head": branch, "base": "main", "title": at.title}),
        ),
        Step::Verify => Plan::Calls(vec![
            get(format!("{own}/pulls/{number}")),
            get(format!("{own}/commits/{}/status", at.head_sha)),
        ]),
        Step::Merge => one(
            format!("PUT {own}/pulls/{number}/merge"),
            json!({"sha": at.head_sha}),
        ),
        Step::Delete => one(format!("DELETE {own}/git/refs/heads/{branch}"), json!(null)),
        Step::Tag => one(
            format!("POST {own}/git/refs"),
            json!({"ref": format!("refs/tags/{}", at.tag), "sha": at.main_sha}),
        ),
    }
}
