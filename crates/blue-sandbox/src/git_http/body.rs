//! The request body as bytes to read, unpacked when the client sent it gzipped

use std::io::{self, Write as _};

use axum::body::Body;
use bytes::Bytes;
use flate2::write::GzDecoder;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use http::{HeaderMap, header};
use tokio::io::AsyncBufRead;
use tokio_util::io::StreamReader;

/// Small enough that even a bomb unpacks to a few megabytes at a time
const PIECE: usize = 8 << 10;

/// A request body, unpacked as it comes in; holds one piece at a time
pub(super) fn reader(headers: &HeaderMap, body: Body) -> Box<dyn AsyncBufRead + Send + Unpin> {
    let chunks = body.into_data_stream().map_err(io::Error::other);
    if headers
        .get(header::CONTENT_ENCODING)
        .is_some_and(|encoding| encoding == "gzip")
    {
        Box::new(StreamReader::new(Box::pin(gunzip(chunks))))
    } else {
        Box::new(StreamReader::new(chunks))
    }
}

fn gunzip(
    chunks: impl Stream<Item = io::Result<Bytes>> + Send,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let pieces = chunks.flat_map(|chunk| stream::iter(split(chunk)));
    stream::unfold(
        Some((Box::pin(pieces), GzDecoder::new(Vec::new()))),
        |state| async move {
            let (mut pieces, mut decoder) = state?;
            loop {
                let step = match pieces.next().await {
                    Some(Ok(piece)) => decoder.write_all(&piece),
                    Some(Err(error)) => Err(error),
                    None => {
                        let rest = decoder.try_finish().map(|()| take(&mut decoder));
                        return match rest {
                            Ok(rest) if rest.is_empty() => None,
                            rest => Some((rest, None)),
                        };
                    }
                };
                if let Err(error) = step {
                    return Some((Err(error), None));
                }
                if !decoder.get_ref().is_empty() {
                    return Some((Ok(take(&mut decoder)), Some((pieces, decoder))));
                }
            }
        },
    )
}

fn take(decoder: &mut GzDecoder<Vec<u8>>) -> Bytes {
    std::mem::take(decoder.get_mut()).into()
}

fn split(chunk: io::Result<Bytes>) -> Vec<io::Result<Bytes>> {
    match chunk {
        Ok(chunk) => (0..chunk.len())
            .step_by(PIECE)
            .map(|from| Ok(chunk.slice(from..chunk.len().min(from + PIECE))))
            .collect(),
        error => vec![error],
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::GzEncoder};
    use http::HeaderValue;
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn read(encoding: &'static str, body: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
        let mut all = Vec::new();
        reader(&headers, Body::from(body))
            .read_to_end(&mut all)
            .await?;
        Ok(all)
    }

    #[tokio::test]
    async fn unpacks_what_is_packed() {
        let text: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&text).unwrap();
        let packed = encoder.finish().unwrap();
        assert!(read("gzip", packed.clone()).await.unwrap() == text);
        assert!(read("identity", text.clone()).await.unwrap() == text);
        assert!(
            read("gzip", packed[..packed.len() / 2].to_vec())
                .await
                .is_err()
        );
        assert!(read("gzip", b"not gzip at all".to_vec()).await.is_err());
    }
}
