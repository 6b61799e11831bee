//! The execution trace: it can be read, and shows what the program did.

mod bad_input;
mod beside;
mod course;
mod edit;
mod made_up;
mod mutations;
#[allow(dead_code, reason = "it tells all that there is")]
#[path = "../../common/trace/mod.rs"]
mod reader;
mod said;
mod summary;

use crate::harness::Test;

pub const TESTS: &[&[Test]] =
    &[bad_input::TESTS, beside::TESTS, course::TESTS, made_up::TESTS, mutations::TESTS, said::TESTS];
