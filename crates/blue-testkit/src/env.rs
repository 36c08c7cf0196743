//! The environment of a test run, read here and nowhere else

use std::{path::PathBuf, sync::OnceLock};

/// What the person or the build asks of a test run
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// `BLUE_TEST_CACHE`: where real servers are kept, `~/.cache/blue-test` if unset
    pub cache: Option<PathBuf>,
    /// `BLUE_TEST_GITEA`: use the real Gitea too
    pub gitea: bool,
    /// `BLUE_TEST_FORGEJO_BIN`: a real Forgejo
    pub forgejo_bin: Option<PathBuf>,
    /// `BLUE_TEST_FORGEJO_STATIC`: its templates and locales, if they are not in the program
    pub forgejo_static: Option<PathBuf>,
    /// `BLUE_TEST_REQUIRE`: parts that must not be skipped, with commas between
    pub require: Vec<String>,
    /// `BLUE_TEST_REPORT`: a file that gets one line per behaviour and back end
    pub report: Option<PathBuf>,
    /// `PATH`, for child processes that get no other variable
    pub(crate) path: Option<String>,
}

impl Settings {
    pub fn get() -> &'static Self {
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| Self::read(&variable))
    }

    fn read(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let path = |name| variable(name).map(PathBuf::from);
        let require: Vec<String> = variable("BLUE_TEST_REQUIRE")
            .unwrap_or_default()
            .split([',', ' '])
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        Self {
            cache: path("BLUE_TEST_CACHE")
                .or_else(|| path("HOME").map(|home| home.join(".cache/blue-test"))),
            gitea: variable("BLUE_TEST_GITEA").is_some_and(|v| v != "0")
                || require.iter().any(|part| part == "gitea"),
            forgejo_bin: path("BLUE_TEST_FORGEJO_BIN"),
            forgejo_static: path("BLUE_TEST_FORGEJO_STATIC"),
            require,
            report: path("BLUE_TEST_REPORT"),
            path: variable("PATH"),
        }
    }

    pub fn requires(&self, part: &str) -> bool {
        self.require.iter().any(|name| name == part)
    }

    /// The `PATH` that child processes get
    pub(crate) fn path(&self) -> &str {
        self.path
            .as_deref()
            .unwrap_or("/usr/local/bin:/usr/bin:/bin")
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one reader of a test run's environment"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_required_gitea_is_also_wanted() {
        let settings = Settings::read(&|name| {
            (name == "BLUE_TEST_REQUIRE").then(|| "gitea, clients".to_owned())
        });
        assert!(settings.gitea);
        assert!(settings.requires("clients"));
        assert!(!settings.requires("forgejo"));
    }

    #[test]
    fn nothing_set_asks_for_nothing() {
        let settings = Settings::read(&|_| None);
        assert!(!settings.gitea);
        assert!(settings.require.is_empty() && settings.report.is_none());
    }
}
