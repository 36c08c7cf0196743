//! A picture for everybody: a coloured square, told apart by its name

use std::fmt::Write as _;

use axum::{
    extract::Path,
    response::{IntoResponse as _, Response},
};
use http::header;
use ring::digest;

/// `GET /avatars/{name}`
pub(in crate::web) async fn show(Path(name): Path<String>) -> Response {
    let hash = digest::digest(&digest::SHA256, name.as_bytes());
    let bytes = hash.as_ref();
    let hue = u32::from(bytes[0]) * 360 / 256;
    // Five by five, the right half a mirror of the left.
    let mut squares = String::new();
    for row in 0..5_usize {
        for column in 0..5_usize {
            let from_left = column.min(4 - column);
            if bytes[1 + row * 3 + from_left] & 1 == 1 {
                let _ = write!(squares, "<path d='M{column} {row}h1v1h-1z'/>");
            }
        }
    }
    let svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='-1 -1 7 7' shape-rendering='crispEdges'>\
         <path fill='#f0f0f0' d='M-1-1h7v7h-7z'/><g fill='hsl({hue} 55% 45%)'>{squares}</g></svg>"
    );
    let headers = [
        (header::CONTENT_TYPE, "image/svg+xml"),
        (header::CACHE_CONTROL, "max-age=3600"),
    ];
    (headers, svg).into_response()
}
