//! The name that was probably meant by one that does not exist

/// Longest name that is compared: comparing takes time, and no real name is long
const MAX_NAME_BYTES: usize = 100;

/// Returns the name that differs from `word` by a slip of the finger, if there is one
///
/// A word may differ in one letter of four, and a short one in one letter. Names that only begin alike are not proposed, since
/// `pr_comment` is not `pr_create`: a wrong proposal is obeyed.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_NAME_BYTES {
        return None;
    }
    let plain = |text: &str| text.replace('-', "_").to_lowercase();
    let word = plain(word);
    let slips = (word.chars().count() / 4).clamp(1, 3);
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&word, &plain(name)), name))
        .filter(|(distance, _)| *distance <= slips)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_another_word_is_not() {
        let names = [
            "pr_create",
            "pr_list",
            "branch_list",
            "branch_delete",
            "verbose",
            "branch",
            "what",
            "owner",
            "base",
            "body",
            "read_only",
        ];
        for (word, meant) in [
            ("branch_lst", Some("branch_list")),
            ("branches", Some("branch")),
            ("pr-craete", Some("pr_create")),
            ("Wat", Some("what")),
            ("ownr", Some("owner")),
            ("read-onyl", Some("read_only")),
            ("pr_comment", None),
            ("pr_close", None),
            ("pr_get", None),
            ("branch_create", None),
            ("tag_delete", None),
            ("rebase", None),
            ("squash", None),
            ("bass", Some("base")),
        ] {
            assert_eq!(nearest(word, names), meant, "{word}");
        }
        assert_eq!(nearest(&"x".repeat(200), ["x"]), None);
    }
}
