//! `.blue/config.yaml` after the remote of its clone

use std::fmt::Write as _;

use super::{
    Find, Forges, ReadsOnly,
    here::{Remote, WorkTree, is_web, unknown_keys},
};
use crate::project::{Cached, ForgeConfig};

impl Forges {
    /// Hold the file against what the remote says
    ///
    /// A file that git does not track is Blue's cache: it is written after the remote. One that is
    /// tracked belongs to the repository and is left alone; where it names another repository than
    /// the remote, nothing is written to either until the caller says which.
    pub(super) async fn reconcile(
        &self,
        tree: &WorkTree,
        find: &mut Find,
        remote: &Remote,
        file: Option<&ForgeConfig>,
    ) {
        let Some(host) = find.found.host.clone() else {
            return;
        };
        if let Some(file) = file {
            find.notices.extend(unknown_keys(file));
        }
        let agrees = file.is_none_or(|f| f.agrees_with(&host, remote.url.repo_id()));
        if file.is_some() && agrees && (!self.may_write() || tree.exclude.covers_config()) {
            return;
        }
        // In doubt it is the repository's.
        let tracked = self.git.is_tracked(tree.project.root(), ForgeConfig::PATH);
        let tracked = tracked.await.unwrap_or(true);
        match file {
            None if tracked => {}
            None => self.keep(tree, find, remote),
            Some(_) if agrees && tracked => {}
            // Written by a version that left it in sight.
            Some(_) if agrees => find.notices.extend(hide(tree)),
            Some(file) => self.settle(tree, find, remote, file, tracked),
        }
    }

    /// Deal with a file that names another repository than the remote
    fn settle(
        &self,
        tree: &WorkTree,
        find: &mut Find,
        remote: &Remote,
        file: &ForgeConfig,
        tracked: bool,
    ) {
        let host = find.found.host.as_ref();
        let host = host.map(ToString::to_string).unwrap_or_default();
        let (theirs, ours) = (file.names(), format!("{host} {}", remote.url.repo_id()));
        let name = &remote.name;
        if !tracked && self.may_write() && is_certain(find) {
            match tree.project.replace_forge(&cached(find, remote)) {
                Cached::Left { why } => find.standing.push(format!(
                    "`.blue/config.yaml` names {theirs}, and the remote `{name}` {ours}, which is \
                     used; the file could not be rewritten: {why}"
                )),
                Cached::Written | Cached::Present => {
                    find.notices.push(format!(
                        "`.blue/config.yaml` named {theirs}; it now names {ours}, as the remote \
                         `{name}` does"
                    ));
                    find.notices.extend(hide(tree));
                }
            }
            return;
        }
        let mut note = format!(
            "`.blue/config.yaml` names {theirs}, and the remote `{name}` {ours}, which is used"
        );
        if tracked {
            note += "; nothing is written until the call names the repository";
            find.reads_only = Some(ReadsOnly::FileDisagrees {
                file: theirs,
                remote: ours,
            });
        }
        let ssh = remote.url.host();
        if let Some(web) = &file.host
            && *web != ssh
            && !is_web(&remote.url)
        {
            let advice = self.ssh_host_advice(&ssh, Some(web));
            let _ = write!(note, "; if {ssh} is the ssh address of {web}, {advice}");
        }
        find.standing.push(note);
    }

    fn keep(&self, tree: &WorkTree, find: &mut Find, remote: &Remote) {
        if !self.may_write() || !is_certain(find) {
            return;
        }
        // Hidden first: a file that would be in sight is not written at all.
        let why = match tree.exclude.hide_config() {
            Ok(()) => match tree.project.cache_forge(&cached(find, remote)) {
                Cached::Left { why } => why,
                Cached::Written | Cached::Present => return,
            },
            Err(error) => error.to_string(),
        };
        find.notices.push(format!(
            "the forge was not saved to `.blue/config.yaml`: {why}"
        ));
    }

    /// Whether files of the working directory may be changed
    fn may_write(&self) -> bool {
        self.settings.cache && !self.settings.http.read_only
    }
}

/// Whether the type is what the server reported, or one that is known for sure
fn is_certain(find: &Find) -> bool {
    !find.found.guess && !find.found.family_only
}

fn hide(tree: &WorkTree) -> Option<String> {
    let error = tree.exclude.hide_config().err()?;
    Some(format!(
        "`.blue/config.yaml` could not be kept out of `git status`: {error}"
    ))
}

fn cached(find: &Find, remote: &Remote) -> ForgeConfig {
    ForgeConfig {
        kind: Some(find.found.kind),
        host: find.found.host.clone(),
        sub_path: remote.url.sub_path().map(str::to_owned),
        owner: find.found.owner.clone(),
        repo: find.found.repo.clone(),
        unknown: Vec::new(),
    }
}
