//! Tests of the public modules that need the test kit

mod git;
