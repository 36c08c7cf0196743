//! The program from outside, and the tree it is made from

mod tidy;
