//! `blue broker` as a process of its own, in front of a forge that counts

mod alone;
mod forge;
mod keys;
mod kill;
mod load;
mod process;
mod story;
mod visitor;
