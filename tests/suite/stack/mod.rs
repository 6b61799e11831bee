//! Stacks: how they grow, what guards them, and how their memory is freed.

mod dead_stack;
mod frame_maps;
mod grow;
mod guards;
mod limits;
mod mapping_names;
mod memory_again;
mod memory_back;
mod morestack;
mod overflow;
mod probes;
mod scan;
mod scan_beyond;
mod shrink;
mod sizes;
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
mod stack_limit;

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[
    overflow::TESTS,
    dead_stack::TESTS,
    frame_maps::TESTS,
    grow::TESTS,
    guards::TESTS,
    limits::TESTS,
    mapping_names::TESTS,
    memory_again::TESTS,
    memory_back::TESTS,
    morestack::TESTS,
    probes::TESTS,
    scan::TESTS,
    scan_beyond::TESTS,
    shrink::TESTS,
    sizes::TESTS,
    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    stack_limit::TESTS,
];
