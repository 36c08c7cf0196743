//! Everything the GitHub client sends is a request that GitHub's description knows

use std::{sync::Arc, time::Duration};

use blue_base::{
    host::Host,
    http::{AuthScheme, Credential, Http, HttpConfig},
};
use blue_forge::{
    Endpoint, Forge, ForgeError,
    github::GitHub,
    model::{
        CheckState, CommitOpts, CreatePrOpts, Expect, FileChange, MergeOpts, MergeStrategy, Page,
        PrFilter, PrStateFilter, RepoId, RunFilter, Sha, StatusOpts, TagOpts,
    },
};
use blue_sandbox::{Config, Sandbox, Seed, Timing};
use blue_testkit::{Result, ensure, eventually, openapi::Proxy};
use serde_json::{Value, json};

const SEED: &str = "
users:
  - { login: alice, admin: true }
  - { login: bob }
";

struct Tour {
    sandbox: Sandbox,
    proxy: Proxy,
    forge: Arc<dyn Forge>,
    repo: RepoId,
}

impl Tour {
    async fn start() -> Result<Self> {
        let seed = tempfile::NamedTempFile::new()?;
        std::fs::write(seed.path(), SEED)?;
        let proxy = Proxy::bind().await?;
        let sandbox = Sandbox::start(Config {
            root_url: Some(proxy.url.to_string()),
            seed: Seed::File(seed.path().to_owned()),
            timing: Timing::INSTANT,
            ..Config::default()
        })
        .await?;
        proxy.lead_to(sandbox.address());
        let host = Host::of_url(&proxy.url).expect("the proxy has a host");
        let credential = Credential {
            host: host.clone(),
            scheme: AuthScheme::Bearer,
            token: sandbox.users()[0].token.clone(),
        };
        let endpoint = Endpoint {
            host,
            api: proxy.url.join("api/v3/")?,
        };
        let http = Arc::new(Http::new(HttpConfig::default()));
        Ok(Self {
            forge: Arc::new(GitHub::new(http, endpoint, Some(credential))),
            repo: RepoId::parse("alice", "tour")?,
            sandbox,
            proxy,
        })
    }

    /// Arrange something the client has no call for
    async fn arrange(&self, who: usize, method: &str, path: &str, body: &Value) -> Result<()> {
        let url = format!("http://{}/api/v3{path}", self.sandbox.address());
        let answer = reqwest::Client::builder()
            .build()?
            .request(method.parse()?, url)
            .bearer_auth(self.sandbox.users()[who].token.expose())
            .body(body.to_string())
            .send()
            .await?;
        ensure!(
            answer.status().is_success(),
            "{method} {path}: {}",
            answer.text().await?
        );
        Ok(())
    }

    async fn write(&self, branch: &str, base: Option<&str>, path: &str, text: &str) -> Result<Sha> {
        let opts = CommitOpts {
            branch: branch.to_owned(),
            base: base.map(str::to_owned),
            message: format!("write {path}"),
            changes: vec![FileChange::Write {
                path: path.to_owned(),
                content: text.as_bytes().to_vec(),
                expect: Expect::Any,
            }],
            expected_head: None,
        };
        Ok(self.forge.commit_files(&self.repo, &opts).await?.sha)
    }

    async fn open(&self, branch: &str) -> Result<u64> {
        self.write(branch, Some("main"), &format!("{branch}.txt"), branch)
            .await?;
        let opts = CreatePrOpts {
            repo: self.repo.clone(),
            head: branch.to_owned(),
            base: "main".to_owned(),
            title: format!("Add {branch}"),
            body: Some("why".to_owned()),
            draft: false,
        };
        Ok(self.forge.create_pr(opts).await?.number)
    }
}

#[tokio::test]
async fn a_tour_of_every_call_sends_only_known_requests() -> Result<()> {
    drop(rustls::crypto::ring::default_provider().install_default());
    let tour = Tour::start().await?;
    let (forge, repo) = (&tour.forge, &tour.repo);
    tour.arrange(
        0,
        "POST",
        "/user/repos",
        &json!({"name": "tour", "auto_init": true}),
    )
    .await?;
    tour.arrange(0, "PUT", "/repos/alice/tour/collaborators/bob", &json!({}))
        .await?;

    forge.about().await?;
    ensure!(forge.whoami().await?.login == "alice");
    ensure!(forge.repository(repo).await?.default_branch == "main");
    let missing = RepoId::parse("alice", "missing")?;
    ensure!(matches!(
        forge.repository(&missing).await,
        Err(ForgeError::NotFound { .. })
    ));

    files(&tour).await?;
    pulls(&tour).await?;
    checks(&tour).await?;

    let tag = |name: &str, message: Option<&str>| TagOpts {
        name: name.to_owned(),
        target: "main".to_owned(),
        message: message.map(str::to_owned),
    };
    ensure!(
        forge
            .create_tag(repo, &tag("v1", Some("First")))
            .await?
            .annotated
    );
    ensure!(!forge.create_tag(repo, &tag("light", None)).await?.annotated);
    ensure!(forge.create_tag(repo, &tag("v1", None)).await.is_err());
    ensure!(forge.list_tags(repo, Page::default()).await?.items.len() == 2);
    ensure!(forge.get_tag(repo, "v1").await?.annotated);

    let faults = tour.proxy.take_faults();
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    let used = tour.proxy.operations();
    ensure!(used.len() >= 30, "only {} operations: {used:?}", used.len());
    Ok(())
}

async fn files(tour: &Tour) -> Result<()> {
    let (forge, repo) = (&tour.forge, &tour.repo);
    tour.write("feat/a-b#ü", Some("main"), "dir/a b#ü.txt", "one")
        .await?;
    forge.create_branch(repo, "other", "main").await?;
    ensure!(forge.create_branch(repo, "other", "main").await.is_err());
    ensure!(forge.list_branches(repo, Page::first(2)).await?.items.len() == 2);
    ensure!(forge.all_branches(repo).await?.len() == 3);
    let branch = forge.get_branch(repo, "feat/a-b#ü").await?;
    let file = forge
        .read_file(repo, "dir/a b#ü.txt", Some("feat/a-b#ü"), 1000)
        .await?;
    ensure!(file.content == b"one" && file.commit == Some(branch.sha));
    ensure!(forge.list_dir(repo, "dir", Some("feat/a-b#ü")).await?.len() == 1);
    ensure!(!forge.list_dir(repo, "", None).await?.is_empty());
    let many = CommitOpts {
        branch: "other".to_owned(),
        base: None,
        message: "many".to_owned(),
        changes: vec![
            FileChange::Write {
                path: "bin".to_owned(),
                content: vec![0, 159, 146],
                expect: Expect::Absent,
            },
            FileChange::Rename {
                from: "README.md".to_owned(),
                to: "docs/README.md".to_owned(),
                content: None,
                expect: Expect::Any,
            },
        ],
        expected_head: None,
    };
    let made = forge.commit_files(repo, &many).await?;
    let blob = &forge.read_file(repo, "bin", Some("other"), 1000).await?.sha;
    forge.delete_file(repo, "other", "bin", blob, "rm").await?;
    ensure!(
        forge
            .delete_file(repo, "other", "bin", blob, "rm")
            .await
            .is_err()
    );
    ensure!(forge.read_file(repo, "none", None, 1000).await.is_err());
    ensure!(forge.resolve(repo, "other").await? != made.sha);
    ensure!(forge.resolve(repo, "none").await.is_err());
    forge.get_commit(repo, made.sha.as_str()).await?;
    let log = forge.list_commits(repo, Some("other"), Some("docs/README.md"), Page::default());
    ensure!(log.await?.items.len() == 1);
    ensure!(forge.compare(repo, "main", "other").await?.ahead == 2);
    forge.delete_branch(repo, "other").await?;
    ensure!(forge.delete_branch(repo, "other").await.is_err());
    ensure!(forge.delete_branch(repo, "main").await.is_err());
    Ok(())
}

async fn pulls(tour: &Tour) -> Result<()> {
    let (forge, repo) = (&tour.forge, &tour.repo);
    ensure!(!forge.protection(repo, "main").await?.protected);
    let number = tour.open("one").await?;
    ensure!(forge.find_pr(repo, "one", "main").await?.is_some());
    let filter = PrFilter {
        state: PrStateFilter::All,
        head: Some("one".to_owned()),
        base: Some("main".to_owned()),
    };
    ensure!(
        forge
            .list_prs(repo, &filter, Page::default())
            .await?
            .items
            .len()
            == 1
    );
    forge.get_pr(repo, number).await?;
    ensure!(forge.pr_files(repo, number).await?.len() == 1);
    forge
        .mergeability(repo, number, Duration::from_secs(1))
        .await?;
    let rule = json!({
        "required_status_checks": {"strict": false, "contexts": ["ci"]},
        "enforce_admins": true,
        "required_pull_request_reviews": {"required_approving_review_count": 1},
        "restrictions": null,
    });
    tour.arrange(
        0,
        "PUT",
        "/repos/alice/tour/branches/main/protection",
        &rule,
    )
    .await?;
    let protection = forge.protection(repo, "main").await?;
    ensure!(protection.required_approvals == 1 && protection.required_checks == ["ci"]);
    let quick = MergeOpts {
        patience: Duration::ZERO,
        ..MergeOpts::default()
    };
    let refused = forge.merge_pr(repo, number, &quick).await;
    ensure!(
        matches!(refused, Err(ForgeError::NotMergeable { .. })),
        "{refused:?}"
    );
    let review = json!({"event": "APPROVE"});
    tour.arrange(
        1,
        "POST",
        &format!("/repos/alice/tour/pulls/{number}/reviews"),
        &review,
    )
    .await?;
    ensure!(forge.pr_reviews(repo, number).await?.len() == 1);
    let head = forge
        .get_pr(repo, number)
        .await?
        .head
        .sha
        .expect("an open one has a head");
    let status = StatusOpts {
        context: "ci".to_owned(),
        state: CheckState::Success,
        description: Some("green".to_owned()),
        target_url: Some("https://ci.example.org/1".to_owned()),
    };
    forge.set_status(repo, &head, &status).await?;
    let squash = MergeOpts {
        strategy: MergeStrategy::Squash,
        title: Some("One".to_owned()),
        message: Some("and only".to_owned()),
        head_sha: Some(head),
        delete_branch: true,
        ..MergeOpts::default()
    };
    forge.merge_pr(repo, number, &squash).await?;
    ensure!(forge.pr_is_merged(repo, number).await?);
    tour.arrange(
        0,
        "DELETE",
        "/repos/alice/tour/branches/main/protection",
        &json!({}),
    )
    .await?;
    let number = tour.open("two").await?;
    ensure!(!forge.pr_is_merged(repo, number).await?);
    forge
        .merge_pr(repo, number, &MergeStrategy::Rebase.into())
        .await?;
    Ok(())
}

async fn checks(tour: &Tour) -> Result<()> {
    let (forge, repo) = (&tour.forge, &tour.repo);
    let rules =
        "workflows: [{ name: ci.yaml, jobs: [{ name: build, log: fine, context: ci/build }] }]";
    let sha = tour.write("main", None, ".sandbox/ci.yaml", rules).await?;
    let status = StatusOpts {
        context: "extra".to_owned(),
        state: CheckState::Pending,
        description: None,
        target_url: None,
    };
    forge.set_status(repo, &sha, &status).await?;
    let filter = RunFilter {
        branch: Some("main".to_owned()),
        head_sha: Some(sha),
        event: Some("push".to_owned()),
    };
    let runs = forge.list_runs(repo, &filter, Page::default()).await?;
    let run = runs.items.first().expect("the push started a run").id;
    forge.get_run(repo, run).await?;
    let job = forge.list_jobs(repo, run).await?[0].id;
    eventually("the job has a log", Duration::from_secs(10), || async {
        let log = forge.job_log(repo, job, 1000).await?;
        Ok((log.text == "fine").then_some(()))
    })
    .await?;
    let checks = forge.checks(repo, "main").await?;
    let names: Vec<&str> = checks
        .items
        .iter()
        .map(|check| check.context.as_str())
        .collect();
    ensure!(
        names.contains(&"ci/build") && names.contains(&"extra"),
        "{names:?}"
    );
    Ok(())
}
