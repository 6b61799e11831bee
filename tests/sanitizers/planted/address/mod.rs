//! For AddressSanitizer.

pub mod heap;
pub mod places;
pub mod stack;
