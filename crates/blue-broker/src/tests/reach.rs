//! How far a token reaches is found out where something is closed

use blue_base::secret::Secret;

use super::World;
use crate::upstream::{self, ForgeAccount, Reach};

#[tokio::test(flavor = "multi_thread")]
async fn only_a_closed_door_proves_that_a_token_is_limited() {
    let world = World::start().await;
    let account = ForgeAccount {
        id: "1".to_owned(),
        login: "login-1".to_owned(),
    };
    let access = Secret::new("access-0");
    // By area: notifications, packages, organizations
    for (doors, reach) in [
        (vec![403], Some(Reach::AsAsked)),
        (vec![200], Some(Reach::Everything)),
        (vec![404, 403], Some(Reach::AsAsked)),
        (vec![404, 200], Some(Reach::Everything)),
        (vec![400, 404, 200], Some(Reach::Everything)),
        (vec![401], None),
        // A request that fails is retried.
        (vec![404, 500, 500, 403], Some(Reach::AsAsked)),
        (vec![404, 500, 500, 500, 500], None),
    ] {
        *world.forge.doors.lock().unwrap() = doors.clone();
        let granted = upstream::granted_scope(world.app(), &access).await.unwrap();
        let found = upstream::reach(world.app(), &access, &account, &granted).await;
        assert_eq!(found.ok(), reach, "{doors:?}");
    }
}
