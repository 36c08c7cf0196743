//! blue-broker
