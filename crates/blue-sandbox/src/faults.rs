//! Faults on request

use axum::Router;

use crate::app::App;

/// The faults that were ordered and not yet used up
#[derive(Debug)]
pub(crate) struct Faults {
    #[expect(dead_code, reason = "read by the admin route")]
    allowed: bool,
}

impl Faults {
    pub(crate) fn new(allowed: bool) -> Self {
        Self { allowed }
    }
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
}

/// Put the faults in front of every door
pub(crate) fn wrap(router: Router<App>, _app: &App) -> Router<App> {
    router
}
