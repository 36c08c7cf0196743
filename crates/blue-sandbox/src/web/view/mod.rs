//! Pages as pure functions: what to show goes in, markup comes out

pub(super) mod commit;
pub(super) mod diff;
pub(super) mod files;
pub(super) mod home;
pub(super) mod pulls;
pub(super) mod refs;
pub(super) mod repo;
pub(super) mod runs;
