use std::{io::Write, time::Duration};

use super::{
    server::{Server, Then},
    *,
};

fn with_body(headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

async fn fetch(bytes: Vec<u8>, then: Then, config: HttpConfig) -> Result<Response, HttpError> {
    let server = Server::start(move |_| (bytes.clone(), then)).await;
    Http::new(config).send(get(&server.url("/"))).await
}

fn capped(max_body: u64) -> HttpConfig {
    HttpConfig {
        max_body,
        ..quick()
    }
}

#[tokio::test]
async fn a_body_of_just_the_limit_is_read_and_one_more_byte_is_not() {
    let body = |n| with_body("", &vec![b'x'; n]);
    let answer = fetch(body(1000), Then::Close, capped(1000)).await.unwrap();
    assert_eq!(answer.body.len(), 1000);
    let refused = fetch(body(1001), Then::Close, capped(1000))
        .await
        .unwrap_err();
    assert!(matches!(refused, HttpError::TooLarge { limit: 1000, .. }));
    assert!(
        refused.to_string().contains("larger than 1000 bytes"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_body_without_a_length_is_bounded_too() {
    let mut bytes = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec();
    bytes.resize(bytes.len() + 100_000, b'x');
    let refused = fetch(bytes, Then::Hang, capped(5000)).await.unwrap_err();
    assert!(matches!(refused, HttpError::TooLarge { .. }), "{refused}");
}

#[tokio::test]
async fn gzip_is_read_and_counted_unpacked() {
    let small = with_body("Content-Encoding: gzip\r\n", &gzip(b"hello"));
    let answer = fetch(small, Then::Close, capped(1000)).await.unwrap();
    assert_eq!(&answer.body[..], b"hello");
    let packed = gzip(&vec![0; 50_000_000]);
    assert!(packed.len() < 100_000);
    let bomb = with_body("Content-Encoding: gzip\r\n", &packed);
    let refused = fetch(bomb, Then::Close, capped(100_000)).await.unwrap_err();
    assert!(matches!(refused, HttpError::TooLarge { .. }), "{refused}");
}

#[tokio::test]
async fn a_truncated_body_is_an_error() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this".to_vec();
    let broken = fetch(bytes, Then::Close, quick()).await.unwrap_err();
    assert!(matches!(broken, HttpError::Broken { .. }), "{broken}");
    let mut cut = gzip(&vec![7; 10_000]);
    cut.truncate(cut.len() - 6);
    let bytes = with_body("Content-Encoding: gzip\r\n", &cut);
    let broken = fetch(bytes, Then::Close, quick()).await.unwrap_err();
    assert!(matches!(broken, HttpError::Broken { .. }), "{broken}");
}

#[tokio::test]
async fn a_body_that_never_ends_hits_the_time_limit() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this".to_vec();
    let config = HttpConfig {
        timeout: Duration::from_millis(150),
        ..quick()
    };
    let late = fetch(bytes, Then::Hang, config.clone()).await.unwrap_err();
    assert!(matches!(late, HttpError::Timeout { .. }), "{late}");
    assert!(
        late.to_string().ends_with("did not answer within 0.15 s"),
        "{late}"
    );
    let silent = fetch(Vec::new(), Then::Hang, config).await.unwrap_err();
    assert!(matches!(silent, HttpError::Timeout { .. }), "{silent}");
}

#[tokio::test]
async fn the_tail_of_a_long_answer_is_kept() {
    let body: Vec<u8> = (0..300_000_u32)
        .flat_map(|n| format!("{n}\n").into_bytes())
        .collect();
    let total = body.len();
    let server = Server::start(move |_| (with_body("", &body), Then::Close)).await;
    let http = Http::new(capped(10));
    let mut request = get(&server.url("/"));
    request.tail = Some(14);
    let answer = http.send(request).await.unwrap();
    assert_eq!(&answer.body[..], b"299998\n299999\n");
    assert_eq!(answer.skipped, total as u64 - 14);
    let mut request = get(&server.url("/"));
    request.tail = Some(total + 5);
    let answer = http.send(request).await.unwrap();
    assert_eq!((answer.body.len(), answer.skipped), (total, 0));
}
