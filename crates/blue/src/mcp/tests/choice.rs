//! Which tools are served, and what models are told first

use blue_tools::{ErrorCode, tools};

use super::super::{Choice, Toolbox};

fn chosen(tools: &[&str], sets: &[&str], exclude: &[&str], read_only: bool) -> Choice {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Choice {
        tools: owned(tools),
        sets: owned(sets),
        exclude: owned(exclude),
        read_only,
    }
}

fn names(choice: &Choice) -> Vec<String> {
    let toolbox = Toolbox::new(tools::ALL, choice).unwrap();
    let described = toolbox.described().iter();
    described.map(|tool| tool.name.to_string()).collect()
}

#[test]
fn tools_are_chosen_by_name_and_by_noun() {
    let all: Vec<_> = tools::ALL.iter().map(|tool| tool.name()).collect();
    assert_eq!(names(&Choice::default()), all);
    assert_eq!(
        names(&chosen(&["branch_list"], &[], &[], false)),
        ["branch_list"]
    );
    assert_eq!(
        names(&chosen(&["blue_branch_list"], &[], &[], false)),
        ["branch_list"],
        "the long form"
    );
    let branches = names(&chosen(&[], &["branch"], &[], false));
    assert!(branches.iter().all(|name| name.starts_with("branch_")));
    let without = names(&chosen(&[], &[], &["branch"], false));
    assert_eq!(without.len() + branches.len(), all.len());
}

#[test]
fn a_name_that_means_nothing_is_refused_with_the_nearest() {
    let refused = |choice: &Choice| Toolbox::new(tools::ALL, choice).unwrap_err();
    let error = refused(&chosen(&["branch_lst"], &[], &[], false));
    assert_eq!(error.code, ErrorCode::Usage);
    assert_eq!(error.message, "--tools: there is no tool `branch_lst`");
    assert_eq!(error.hint.as_deref(), Some("did you mean `branch_list`?"));
    let error = refused(&chosen(&[], &["branches"], &[], false));
    assert_eq!(error.hint.as_deref(), Some("did you mean `branch`?"));
    let error = refused(&chosen(&[], &[], &["zzz"], false));
    assert!(error.hint.unwrap().starts_with("there are "));
    let error = refused(&chosen(&["branch_list"], &[], &["branch"], false));
    assert_eq!(error.message, "no tool is left to serve");
}

#[test]
fn read_only_serves_what_reads() {
    for tool in Toolbox::new(tools::ALL, &chosen(&[], &[], &[], true))
        .unwrap()
        .described()
    {
        let hints = tool.annotations.clone().unwrap();
        assert_eq!(hints.read_only_hint, Some(true), "{}", tool.name);
    }
}

#[test]
fn hints_follow_from_effects() {
    let toolbox = Toolbox::new(tools::ALL, &Choice::default()).unwrap();
    for (tool, real) in toolbox.described().iter().zip(tools::ALL) {
        let hints = tool.annotations.clone().unwrap();
        let reads = real.effect() == blue_tools::Effect::Read;
        assert_eq!(hints.read_only_hint, Some(reads));
        assert_eq!(hints.open_world_hint, Some(true));
        let destroys = real.effect() == blue_tools::Effect::Destroy;
        assert_eq!(hints.destructive_hint, (!reads).then_some(destroys));
    }
}

#[test]
fn instructions_are_short_and_name_what_is_there() {
    for choice in [
        Choice::default(),
        chosen(&[], &[], &[], true),
        chosen(&["branch_list"], &[], &[], false),
    ] {
        let toolbox = Toolbox::new(tools::ALL, &choice).unwrap();
        let text = toolbox.instructions();
        assert!(text.len() <= 600, "{} bytes: {text}", text.len());
        let served = names(&choice);
        for tool in tools::ALL {
            let named = text.contains(tool.name());
            let there = served.iter().any(|name| name == tool.name());
            assert!(there || !named, "{} in: {text}", tool.name());
        }
        assert!(text.contains("Inside a clone"), "{text}");
        let text = toolbox.without_folder().instructions();
        assert!(text.len() <= 600, "{} bytes: {text}", text.len());
        assert!(
            text.contains("Always name") && !text.contains("clone"),
            "{text}"
        );
    }
}
