//! Panics that are expected.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Returns the message of a panic.
pub fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).expect("a panic with a message").to_owned()
}

/// Returns the message with which `f` panics.
#[track_caller]
pub fn panics<R>(f: impl FnOnce() -> R) -> String {
    text(&*catch_unwind(AssertUnwindSafe(f)).err().expect("a panic"))
}

/// Panics without a message on stderr.
pub fn unwind<T>(f: impl FnOnce() -> T) {
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _kept = f();
        resume_unwind(Box::new(()))
    }));
    assert!(unwound.is_err());
}
