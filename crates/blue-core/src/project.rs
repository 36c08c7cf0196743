//! The `.blue` folder of a repository
