//! `blue broker` as a process of its own, in front of a forge that counts

mod forge;
mod keys;
mod kill;
mod process;
mod story;
mod visitor;
