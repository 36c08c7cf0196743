//! The git command line, in one place
