//! Reading an answer no further than wanted

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;

use super::Response;
use crate::load::{self, Busy, LIGHT_BYTES};

/// Most that is set aside on the word of a `Content-Length`
const TRUSTED_SIZE: u64 = 1024 * 1024;

#[derive(Debug)]
pub(super) enum BodyError {
    TooLarge,
    Busy(Busy),
    Failed(reqwest::Error),
}

/// Read the whole answer; past `limit` bytes, counted after decompression, it is refused
///
/// Where it `may_wait`, the rest of an answer of more than [`LIGHT_BYTES`] is read only once the call
/// may be heavy.
pub(super) async fn whole(
    answer: reqwest::Response,
    limit: u64,
    may_wait: bool,
) -> Result<Response, BodyError> {
    let expected = answer.content_length().unwrap_or_default();
    if expected > limit {
        return Err(BodyError::TooLarge);
    }
    let (status, mut answer) = (answer.status(), answer);
    let headers = std::mem::take(answer.headers_mut());
    let mut stream = answer.bytes_stream();
    let mut one: Option<Bytes> = None;
    let mut many = BytesMut::new();
    let mut read = 0;
    let mut large = None;
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(BodyError::Failed)?;
        read += chunk.len() as u64;
        if read > limit {
            return Err(BodyError::TooLarge);
        }
        if may_wait && large.is_none() && read.max(expected) > LIGHT_BYTES {
            large = Some(load::large_answer().await.map_err(BodyError::Busy)?);
        }
        // Most answers are one chunk, which needs no copy.
        match one.take() {
            None if many.is_empty() => one = Some(chunk),
            first => {
                if let Some(first) = first {
                    let size = expected.clamp(read, TRUSTED_SIZE.max(read));
                    many.reserve(usize::try_from(size).unwrap_or_default());
                    many.extend_from_slice(&first);
                }
                many.extend_from_slice(&chunk);
            }
        }
    }
    Ok(Response {
        status,
        headers,
        body: one.unwrap_or_else(|| many.freeze()),
        skipped: 0,
    })
}

/// Read all and keep the last `keep` bytes
pub(super) async fn tail(answer: reqwest::Response, keep: usize) -> Result<Response, BodyError> {
    let (status, headers) = (answer.status(), answer.headers().clone());
    let mut stream = answer.bytes_stream();
    let mut kept = BytesMut::new();
    let mut skipped = 0;
    while let Some(chunk) = stream.next().await {
        kept.extend_from_slice(&chunk.map_err(BodyError::Failed)?);
        // Cut only now and then: each cut may move what is kept.
        if kept.len() > keep.saturating_mul(2).max(64 * 1024) {
            skipped += cut(&mut kept, keep);
        }
    }
    skipped += cut(&mut kept, keep);
    Ok(Response {
        status,
        headers,
        body: kept.freeze(),
        skipped,
    })
}

fn cut(kept: &mut BytesMut, keep: usize) -> u64 {
    let extra = kept.len().saturating_sub(keep);
    let _ = kept.split_to(extra);
    extra as u64
}
