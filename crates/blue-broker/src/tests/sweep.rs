//! What is over is forgotten

use std::time::Duration;

use super::World;
use crate::{audit::Fields, store::AuditEvent, sweep};

const DAY: Duration = Duration::from_hours(24);

#[tokio::test(flavor = "multi_thread")]
async fn audit_events_are_kept_as_long_as_the_settings_say() {
    let world = World::start().await;
    let app = world.app();
    app.audit(AuditEvent::Denied, Fields::default()).await;
    world.clock.advance(80 * DAY);
    app.audit(AuditEvent::Issued, Fields::default()).await;
    for (days, left) in [(9, 2), (2, 1), (80, 0)] {
        world.clock.advance(days * DAY);
        sweep::once(app).await.unwrap();
        assert_eq!(app.store.audit(10).await.unwrap().len(), left, "{days}");
    }
}
