use std::fs;

use super::*;
use crate::detect::DetectedType;
use blue_base::host::Host;

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn with(text: &str) -> Self {
        let place = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(place.root().join(".blue")).unwrap();
        fs::write(place.project().config_path(), text).unwrap();
        place
    }

    fn empty() -> Self {
        let place = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(place.root()).unwrap();
        place
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    fn project(&self) -> Project {
        Project::at(self.root())
    }

    fn text(&self) -> String {
        fs::read_to_string(self.project().config_path()).unwrap()
    }
}

fn found() -> ForgeConfig {
    ForgeConfig {
        kind: Some(DetectedType::Gitea),
        host: Some(Host::parse("127.0.0.1:3000").unwrap()),
        sub_path: None,
        owner: Some("alice".into()),
        repo: Some("demo".into()),
        unknown: Vec::new(),
    }
}

#[test]
fn what_is_kept_can_be_read_again() {
    let place = Place::empty();
    assert_eq!(place.project().forge().unwrap(), None);
    assert_eq!(place.project().cache_forge(&found()), Cached::Written);
    assert_eq!(
        place.text(),
        "forge:\n  type: gitea\n  host: \"127.0.0.1:3000\"\n  owner: alice\n  repo: demo\n"
    );
    assert_eq!(place.project().forge().unwrap(), Some(found()));
    assert_eq!(place.project().cache_forge(&found()), Cached::Present);
    let left: Vec<_> = fs::read_dir(place.root().join(".blue")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn every_other_byte_stays() {
    let text = "# ours\r\nrealm:\r\n  name: x   # why\r\n\r\n\r\nlist: [ a,b ]\r\n# end";
    let place = Place::with(text);
    assert_eq!(place.project().cache_forge(&found()), Cached::Written);
    assert!(place.text().starts_with(text));
    assert!(place.text()[text.len()..].starts_with("\r\nforge:\r\n  type: gitea\r\n"));
}

#[test]
fn what_a_person_wrote_is_never_rewritten() {
    for text in [
        "forge:\n",
        "forge: {type: github}\n",
        "forge:\n  owner: bob # mine\n",
    ] {
        let place = Place::with(text);
        assert_eq!(place.project().cache_forge(&found()), Cached::Present);
        assert_eq!(place.text(), text);
    }
    let text = "{realm: x}\n";
    let place = Place::with(text);
    assert!(matches!(
        place.project().cache_forge(&found()),
        Cached::Left { .. }
    ));
    assert_eq!(place.text(), text);
}

#[test]
fn a_part_of_the_block_is_enough() {
    let config = Place::with("forge:\n  owner: 1234\n  ownr: x\n")
        .project()
        .forge()
        .unwrap()
        .unwrap();
    assert_eq!(config.owner.as_deref(), Some("1234"));
    assert_eq!(config.kind, None);
    assert_eq!(config.unknown, ["ownr"]);
}

#[test]
fn a_broken_file_is_an_error_with_its_line() {
    for (text, line) in [
        ("a: 1\nforge:\n  type: gitlab\n", 3),
        ("forge:\n  type: gitea\n  host: https://x.example\n", 3),
        ("forge:\n  owner: a/b\n", 2),
        ("forge:\n  repo: ..\n", 2),
        ("forge:\n  sub_path: a/../b\n", 2),
        ("a: 1\nb: [\n", 2),
        ("a: 1\na: 2\n", 2),
        ("- a\n", 1),
        ("forge: text\n", 1),
    ] {
        let error = Place::with(text).project().forge().unwrap_err();
        let shown = error.to_string();
        assert!(
            shown.contains(&format!("config.yaml` line {line}: ")),
            "{text:?}: {shown}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_repository_is_not_followed() {
    let place = Place::empty();
    let outside = place.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("config.yaml"), "a: 1\n").unwrap();
    let blue = place.root().join(".blue");
    std::os::unix::fs::symlink(&outside, &blue).unwrap();
    assert!(matches!(
        place.project().forge(),
        Err(ConfigError::Unusable { .. })
    ));
    assert!(matches!(
        place.project().cache_forge(&found()),
        Cached::Left { .. }
    ));
    fs::remove_file(&blue).unwrap();
    fs::create_dir(&blue).unwrap();
    std::os::unix::fs::symlink(outside.join("config.yaml"), blue.join("config.yaml")).unwrap();
    assert!(matches!(
        place.project().forge(),
        Err(ConfigError::Unusable { .. })
    ));
    assert!(matches!(
        place.project().cache_forge(&found()),
        Cached::Left { .. }
    ));
    // One that dangles would be made by writing through it.
    fs::remove_file(blue.join("config.yaml")).unwrap();
    std::os::unix::fs::symlink(outside.join("new"), blue.join("config.yaml")).unwrap();
    assert!(matches!(
        place.project().cache_forge(&found()),
        Cached::Left { .. }
    ));
    assert!(!outside.join("new").exists());
    assert_eq!(
        fs::read_to_string(outside.join("config.yaml")).unwrap(),
        "a: 1\n"
    );
}

#[test]
fn what_is_no_file_is_not_opened() {
    let place = Place::empty();
    fs::create_dir_all(place.project().config_path()).unwrap();
    assert!(matches!(
        place.project().forge(),
        Err(ConfigError::Unusable { .. })
    ));
    fs::remove_dir(place.project().config_path()).unwrap();
    fs::write(place.project().config_path(), vec![b'#'; 2_000_000]).unwrap();
    assert!(matches!(
        place.project().forge(),
        Err(ConfigError::Unusable { .. })
    ));
}
