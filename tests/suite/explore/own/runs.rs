//! Runs of contexts, in many schedules.

use crate::context::run_storms::*;

explored! {
    every_wait_has_one_outcome
}
