//! blue-sandbox
