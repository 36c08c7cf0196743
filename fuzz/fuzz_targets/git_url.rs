#![no_main]

#[path = "../git_url_body.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::check(data));
