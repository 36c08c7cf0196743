//! blue-tools
