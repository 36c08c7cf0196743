//! `GET /`: what this service is, for users who open its address in a browser

use std::sync::Arc;

use axum::{Extension, extract::State, response::Response};

use super::{PageFrame, RequestId, pages};
use crate::app::App;

pub(super) async fn home(
    State(app): State<Arc<App>>,
    Extension(request): Extension<RequestId>,
) -> Response {
    let page = pages::home::HomePage {
        forge: &app.config.forge_name,
        forge_url: app.config.forge.url(),
        endpoint: &app.config.public_url.resource(),
    };
    page.show(&PageFrame::new(&app, &request))
}
