//! Real forges, fixtures and skips for Blue's tests

pub mod openapi;
