//! The suite's programs with bugs, and the programs that are timed, built for shuttle.

#[path = "../../suite/explore/bugs/mod.rs"]
pub mod bugs;
pub mod steps;
