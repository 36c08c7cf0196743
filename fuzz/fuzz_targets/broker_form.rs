#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| blue_broker::fuzz::form(data));
