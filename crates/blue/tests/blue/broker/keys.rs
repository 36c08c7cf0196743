//! What is said of the key file when a broker starts

use std::os::unix::fs::PermissionsExt;

use super::{forge::Forge, process::Place};

#[tokio::test(flavor = "multi_thread")]
async fn a_key_file_that_others_can_read_is_told_at_the_start() {
    let forge = Forge::start("nobody").await;
    let place = Place::new(&forge).await;
    let warned = || {
        let log = std::fs::read_to_string(place.log()).unwrap();
        log.contains("others can read the key file")
    };
    drop(place.start().await);
    assert!(!warned());
    let file = place.data().join("keys");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    drop(place.start().await);
    assert!(warned());
}
