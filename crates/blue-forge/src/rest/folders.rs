//! Folders of a server in its messages

/// First parts of the absolute paths that servers keep their files under
const ROOTS: &[&str] = &[
    "app", "data", "etc", "home", "mnt", "opt", "private", "root", "run", "srv", "tmp", "usr",
    "Users", "var", "Volumes",
];

/// Cuts absolute paths of the server's disk out of a message
///
/// Git names the folder that it worked in. Users can do nothing with it, and it tells strangers how
/// the server is set up. Paths inside of a repository never begin with a slash.
pub(super) fn without_folders(text: &str) -> String {
    if !text.contains('/') {
        return text.to_owned();
    }
    let is_end = |c: char| c.is_whitespace() || "'\"`,;()[]<>".contains(c);
    text.split_inclusive(is_end)
        .map(|part| {
            let word = part.trim_end_matches(is_end).trim_end_matches(':');
            if is_folder(word) {
                format!("…{}", &part[word.len()..])
            } else {
                part.to_owned()
            }
        })
        .collect()
}

fn is_folder(word: &str) -> bool {
    let Some(path) = word.strip_prefix('/') else {
        return false;
    };
    let Some((first, rest)) = path.split_once('/') else {
        return false;
    };
    !rest.is_empty() && (ROOTS.contains(&first) || path.contains(".git"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_are_cut() {
        for (text, cut) in [
            (
                "error: refused To /srv/git/a/b.git ! [remote rejected]",
                "error: refused To … ! [remote rejected]",
            ),
            (
                "is outside repository at '/data/x/y'",
                "is outside repository at '…'",
            ),
            ("fatal: /var/lib/gitea/tmp/local: no", "fatal: …: no"),
            (
                "see https://h/api/swagger or docs/a.md",
                "see https://h/api/swagger or docs/a.md",
            ),
            ("GET /api/v1/repos/a/b", "GET /api/v1/repos/a/b"),
            ("a/b and 1/2", "a/b and 1/2"),
        ] {
            assert_eq!(without_folders(text), cut);
        }
    }
}
