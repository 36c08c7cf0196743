//! blue-testkit
