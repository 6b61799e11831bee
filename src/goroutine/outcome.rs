//! What goroutines end with. Results go by their address: without optimisation each function that a
//! value is passed to has a copy of it on its stack, and goroutines' stacks are small.

use std::any::Any;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use crate::goroutine::current::Goexit;
use crate::runtime::fatal;

/// What a goroutine has panicked with.
pub(super) type Payload = Box<dyn Any + Send>;

/// What a goroutine ends with: its result, or what it panicked with.
pub(super) type Outcome<T> = Result<T, Payload>;

/// The message of a panic, if its payload is a string, as with `panic!`.
pub(crate) fn message(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

/// Calls `f`, and returns what it has panicked with; if it hasn't, its result is in `value`.
#[inline(always)]
pub(super) fn catch_into<T>(value: &mut MaybeUninit<T>, f: impl FnOnce() -> T) -> Option<Payload> {
    let place = value.as_mut_ptr();
    // SAFETY: a place for the result, which outlives the call.
    catch_unwind(AssertUnwindSafe(|| unsafe { ptr::write(place, f()) })).err()
}

/// Writes the outcome to `place`; without a payload, it is the result at `value`, which is moved.
///
/// # Safety
/// `place` is one for an outcome, and there is a payload or a result.
#[inline]
pub(super) unsafe fn put<T>(place: *mut Outcome<T>, payload: Option<Payload>, value: *const T) {
    // SAFETY: there is a place, and a result unless there is a payload, as the caller says.
    unsafe {
        place.write(match payload {
            Some(payload) => Err(payload),
            None => Ok(value.read()),
        });
    }
}

/// Drops the payload or, without one, the result at `value`, which nobody takes; says whether it
/// was a panic.
///
/// # Safety
/// There is a payload or a result.
pub(super) unsafe fn discard<T>(payload: Option<Payload>, value: *mut T) -> bool {
    let panicked = payload.as_ref().is_some_and(|payload| !payload.is::<Goexit>());
    let drop_it = move || match payload {
        Some(payload) => drop(payload),
        // SAFETY: there is a result, as the caller says, and nobody uses it afterwards.
        None => unsafe { ptr::drop_in_place(value) },
    };
    if catch_unwind(AssertUnwindSafe(drop_it)).is_err() {
        fatal("a goroutine's result panicked when it was dropped");
    }
    panicked
}

/// [`discard`] of an outcome as [`put`] has written it.
///
/// # Safety
/// The outcome is there, and nobody uses it afterwards.
pub(super) unsafe fn discard_in<T>(place: *mut Outcome<T>) -> bool {
    // SAFETY: it is there, as the caller says, and isn't used again.
    unsafe {
        match &mut *place {
            Ok(value) => discard(None, value),
            Err(payload) => discard::<T>(Some(ptr::read(payload)), ptr::null_mut()),
        }
    }
}
