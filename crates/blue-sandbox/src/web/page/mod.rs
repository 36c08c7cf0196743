//! One file per page: gather what is to be seen, hand it to the view

pub(super) mod avatar;
pub(super) mod code;
pub(super) mod commit;
pub(super) mod compare;
pub(super) mod home;
pub(super) mod pulls;
pub(super) mod raw;
pub(super) mod refs;
pub(super) mod runs;
