//! One behaviour on one back end

use std::sync::Arc;

use anyhow::{Result, bail};
use blue_base::{
    http::{Http, HttpConfig},
    secret::Secret,
};
use blue_forge::{Forge, allow::Allow};
use blue_sandbox::Flavor;

use crate::{
    Backend, Lab, Repo, Server, Settings, Skip, User,
    openapi::Proxy,
    report,
    server::{self, Kind, StartError},
};

/// Make a test of each behaviour for each back end
#[macro_export]
macro_rules! on_every_forge {
    ($($name:ident),+ $(,)?) => {
        $crate::on_every_forge!(@ sandbox_gitea SandboxGitea $($name)+);
        $crate::on_every_forge!(@ sandbox_forgejo SandboxForgejo $($name)+);
        $crate::on_every_forge!(@ sandbox_github SandboxGithub $($name)+);
        $crate::on_every_forge!(@ gitea Gitea $($name)+);
        $crate::on_every_forge!(@ forgejo Forgejo $($name)+);
    };
    (@ $module:ident $backend:ident $($name:ident)+) => {
        mod $module {
            $(
                #[test]
                fn $name() {
                    let name = stringify!($name);
                    let backend = $crate::Backend::$backend;
                    $crate::run(backend, module_path!(), name, super::$name);
                }
            )+
        }
    };
}

/// What the body of a behaviour works with
#[derive(Debug)]
pub struct Cx {
    pub backend: Backend,
    pub lab: Lab,
    server: &'static Server,
}

impl Cx {
    /// The forge as a user sees it
    pub fn forge(&self, user: &User) -> Arc<dyn Forge> {
        self.forge_with(Some(&user.token), HttpConfig::default())
    }

    /// The forge without a token
    pub fn anonymous(&self) -> Arc<dyn Forge> {
        self.forge_with(None, HttpConfig::default())
    }

    pub fn forge_with(&self, token: Option<&Secret>, http: HttpConfig) -> Arc<dyn Forge> {
        let http = Arc::new(Http::new(http));
        self.backend
            .forge(self.server, http, token, Allow::everything())
    }

    /// The forge as a user sees it who may touch only what is allowed
    pub fn forge_allowing(&self, user: &User, allow: Allow) -> Arc<dyn Forge> {
        let http = Arc::new(Http::new(HttpConfig::default()));
        self.backend
            .forge(self.server, http, Some(&user.token), allow)
    }

    /// Returns the context on a sandbox that injects faults on request
    pub fn faulty(&self) -> Result<Self> {
        self.special(Kind::Faulty, "faults cannot be ordered from a real server")
    }

    /// Returns the context on a sandbox whose links name a host that does not exist
    pub fn elsewhere(&self) -> Result<Self> {
        self.special(Kind::Elsewhere, "the real server has one name only")
    }

    /// Returns the same context on a sandbox that answers as another version of Forgejo does
    pub fn forgejo(&self, version: Flavor) -> Result<Self> {
        if self.backend != Backend::SandboxForgejo {
            return Err(
                Skip::new("only the sandbox has versions of Forgejo to choose from").into(),
            );
        }
        self.on(server::sandbox(version, Kind::Plain))
    }

    fn special(&self, kind: Kind, why: &str) -> Result<Self> {
        if matches!(self.backend, Backend::Gitea | Backend::Forgejo) {
            return Err(Skip::new(why).into());
        }
        self.on(self.backend.sandbox(kind))
    }

    fn on(&self, started: &'static Result<Server, StartError>) -> Result<Self> {
        match started {
            Ok(server) => Ok(Self {
                backend: self.backend,
                lab: Lab::new(server),
                server,
            }),
            Err(StartError::Skip(skip)) => Err(skip.clone().into()),
            Err(StartError::Broken(why)) => bail!("the sandbox did not start: {why}"),
        }
    }

    /// A new user, a repository with a `README.md`, and the forge as that user sees it
    pub async fn start(&self) -> Result<(Arc<dyn Forge>, Repo)> {
        let owner = self.lab.user("owner").await?;
        let repo = self.lab.repo(&owner).await?;
        Ok((self.forge(&owner), repo))
    }
}

/// Run a behaviour, or count it as skipped; `module` is the test's `module_path!()`
pub fn run<F, Fut>(backend: Backend, module: &str, name: &str, body: F)
where
    F: FnOnce(Cx) -> Fut,
    Fut: Future<Output = Result<()>>,
{
    let settings = Settings::get();
    let concern = module.split("::").nth(1).unwrap_or(module);
    let behaviour = format!("{concern}::{name}");
    let tell = |outcome: &str| {
        report::append(
            settings.report.as_deref(),
            backend.name(),
            &behaviour,
            outcome,
        );
    };
    let server = match backend.server() {
        Ok(server) => server,
        Err(StartError::Skip(skip)) => {
            assert!(
                !settings.requires(backend.name()),
                "BLUE_TEST_REQUIRE names {}, but it is {skip}",
                backend.name()
            );
            report::say_once(backend.name(), skip);
            return tell(&skip.to_string());
        }
        Err(StartError::Broken(why)) => {
            tell("failed");
            panic!("{} did not start: {why}", backend.name());
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be made");
    let failed = OnDrop(|| tell("failed"));
    let outcome = runtime.block_on(async {
        body(Cx {
            backend,
            lab: Lab::new(server),
            server,
        })
        .await
    });
    // Other behaviours run beside this one: the path in a fault tells whose it is.
    let faults = server.judge.as_ref().map(Proxy::take_faults);
    let faults = faults.unwrap_or_default().join("\n");
    assert!(faults.is_empty(), "not as GitHub describes it:\n{faults}");
    match outcome {
        Ok(()) => {
            std::mem::forget(failed);
            tell("ok");
        }
        Err(error) => match error.downcast::<Skip>() {
            Ok(skip) => {
                std::mem::forget(failed);
                report::say_once(&format!("{} {behaviour}", backend.name()), &skip);
                tell(&skip.to_string());
            }
            Err(error) => panic!("{behaviour} on {}: {error:?}", backend.name()),
        },
    }
}

/// Runs on a panic too
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
