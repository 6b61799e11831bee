//! The suite's programs with bugs, built for shuttle.

#[path = "../../suite/explore/bugs/mod.rs"]
pub mod bugs;
