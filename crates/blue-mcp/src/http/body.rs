//! Messages as they arrive, within the limits of their user

use axum::body::{Body, Bytes, HttpBody as _};
use blue_base::load::{self, Busy, HeavyRequest, Permit, UserLoad};
use http::request::Parts;
use http_body_util::BodyExt as _;

use super::super::{
    MAX_MESSAGE,
    wire::{self, Incoming, Refusal},
};

/// Largest message that is read without waiting; most calls are far smaller
const LIGHT_MESSAGE_BYTES: usize = 256 * 1024;
/// Most values of a message that is read without waiting
const LIGHT_MESSAGE_VALUES: usize = 5_000;

/// Why a body was not read
#[derive(Debug)]
pub(super) enum BodyError {
    TooLarge,
    /// It ended early
    Broken,
    Busy(Busy),
}

/// A message that was read, and the place that a large one takes
#[derive(Debug)]
pub(super) struct Message {
    pub(super) bytes: Bytes,
    _place: Option<Permit>,
}

/// Reads a body; what is beyond [`LIGHT_MESSAGE_BYTES`] only once its user may send a large one
pub(super) async fn read(body: Body, user: Option<&UserLoad>) -> Result<Message, BodyError> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > MAX_MESSAGE {
        return Err(BodyError::TooLarge);
    }
    let (mut body, mut read, mut place) = (body, Vec::new(), None);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| BodyError::Broken)?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if read.len() + data.len() > MAX_MESSAGE {
            return Err(BodyError::TooLarge);
        }
        let size = announced.max(read.len() + data.len());
        if let (Some(user), None, true) = (user, &place, size > LIGHT_MESSAGE_BYTES) {
            place = Some(user.large_message().await.map_err(BodyError::Busy)?);
            read.reserve(size - read.len());
        }
        read.extend_from_slice(&data);
    }
    Ok(Message {
        bytes: read.into(),
        _place: place,
    })
}

/// Reads a message as JSON; a large one waits until its request may be heavy, and is read on a
/// thread of its own
pub(super) async fn parse(
    bytes: &Bytes,
    user: Option<&UserLoad>,
    parts: &mut Parts,
) -> Result<Result<Incoming, Refusal>, Busy> {
    let is_large = bytes.len() > LIGHT_MESSAGE_BYTES;
    if let Some(user) = user
        && (is_large || wire::value_count(bytes) > LIGHT_MESSAGE_VALUES)
    {
        let request: HeavyRequest = user.heavy_request().await?;
        parts.extensions.insert(request);
    }
    if !is_large {
        return Ok(wire::read(bytes));
    }
    let text = bytes.clone();
    Ok(load::offload(move || wire::read(&text)).await)
}
