//! The OAuth 2.1 server that will stand in front of an MCP back end
//!
//! The crate is here so that its border is drawn before its code is: of `blue-core` it may use
//! `clock`, `secret` and `http`, and of Blue's tools it knows nothing, because whoever checks the
//! login of other people's users must be able to read it alone. `tidy` in `crates/blue/tests`
//! keeps that border. There is no code yet, and the program does not link it.
