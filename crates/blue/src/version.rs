//! Which build this is

use std::sync::LazyLock;

use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct Build {
    pub(crate) version: &'static str,
    /// Absent when it was not built from a checkout
    pub(crate) commit: Option<&'static str>,
    /// Day of that commit
    pub(crate) date: Option<&'static str>,
}

pub(crate) const BUILD: Build = Build {
    version: env!("CARGO_PKG_VERSION"),
    commit: option_env!("BLUE_BUILD_COMMIT"),
    date: option_env!("BLUE_BUILD_DATE"),
};

/// For `--version`
pub(crate) static LINE: LazyLock<String> = LazyLock::new(|| BUILD.line());

impl Build {
    /// `0.1.0 (0123456789 2026-11-15)`
    fn line(&self) -> String {
        let built: Vec<_> = [self.commit, self.date].into_iter().flatten().collect();
        if built.is_empty() {
            self.version.to_owned()
        } else {
            format!("{} ({})", self.version, built.join(" "))
        }
    }
}
