//! What a goroutine that is made of a closure runs: the closure comes and goes by the slot of the
//! G.

use std::any::Any;
use std::ffi::c_void;
use std::mem::{MaybeUninit, needs_drop};
use std::ptr;

use crate::goroutine::Goexit;
use crate::goroutine::outcome::{Outcome, Payload, catch_into, discard, discard_in, message, put};
use crate::runtime::runtime2::G;
use crate::runtime::{Inherited, begin_locals, detached, end_locals, finish, note_panic, unseen, unwire};

/// Moves the value of `from`, which is there, to `to`: by its address, since without optimisation
/// each function that a value is passed to has a copy of it on its stack.
///
/// # Safety
/// `to` is a place for a `V`.
#[inline]
pub(crate) unsafe fn move_out<V>(from: &mut Option<V>, to: *mut V) {
    let Some(value) = from else { unreachable!("a value is moved once") };
    // SAFETY: `to` is a place for a `V`, as the caller says. The value is moved: `from` is
    // overwritten, and doesn't drop it.
    unsafe {
        ptr::copy_nonoverlapping(value, to, 1);
        ptr::write(from, None);
    }
}

/// Gives a new G what its body takes: the function in `f`, and `then`.
///
/// # Safety
/// The caller has made the G, for `body::<F, T, N>` with any `T`, and it can't run yet: its slot is
/// empty, and the caller's alone.
#[inline(always)]
pub(super) unsafe fn fill<F, N>(gp: &G, f: &mut Option<F>, then: N, inherited: Inherited) {
    inherited.give(gp);
    // SAFETY: as the caller says.
    unsafe {
        unseen(|| {
            let place = gp.ext.slot.place::<(F, N)>();
            move_out(f, &raw mut (*place).0);
            ptr::write(&raw mut (*place).1, then);
        });
    }
    gp.sched.ctxt.set(gp.as_ptr().cast());
}

/// The function of a goroutine that [`fill`] was called for.
pub(super) unsafe extern "C" fn body<F, T, N>(gp: *mut c_void)
where
    F: FnOnce() -> T,
    N: FnOnce(&'static G, bool),
{
    // SAFETY: fill has set the argument to the G itself, and G's are never freed.
    let gp: &'static G = unsafe { &*gp.cast::<G>() };
    // SAFETY: fill put an (F, N) there, and nobody else uses the slot before its end. Both are
    // moved out, once.
    let both = unsafe { gp.ext.slot.value::<(F, N)>() };
    // SAFETY: as above.
    let then = unsafe { ptr::read(&raw const (*both).1) };
    let mut value = MaybeUninit::<T>::uninit();
    let payload = catch_into(&mut value, || {
        // SAFETY: as above; nobody looks there afterwards.
        let f = unsafe {
            let f = ptr::read(&raw const (*both).0);
            gp.ext.slot.clear::<(F, N)>();
            f
        };
        begin_locals(gp);
        f()
    });
    // As a rule nobody has the handle, and there is nothing to drop.
    let panicked = if payload.is_none() && !needs_drop::<T>() && detached(gp) {
        unwire(gp);
        end_locals(gp);
        false
    } else {
        // SAFETY: the function has ended; the slot is empty.
        unsafe { end(gp, payload, value.as_mut_ptr()) }
    };
    then(gp, panicked);
}

/// The goroutine's function has ended, with a payload or the result at `value`: leaves that to the
/// handle, or drops it if there is none, and ends what is the goroutine's own. Says whether there
/// was a panic that nobody takes. (The same for all functions that return a `T`, and so compiled
/// once for these.)
///
/// # Safety
/// There is a payload or a result, and the slot is empty. `gp` is the caller.
#[inline(never)]
unsafe fn end<T>(gp: &'static G, payload: Option<Payload>, value: *mut T) -> bool {
    if let Some(payload) = payload.as_deref() {
        note_end(payload);
    }
    unwire(gp);
    if detached(gp) {
        // SAFETY: as the caller says.
        let panicked = unsafe { discard(payload, value) };
        end_locals(gp);
        return panicked;
    }
    // SAFETY: as the caller says; nobody else uses the slot before the goroutine's end.
    unsafe { put(gp.ext.slot.place(), payload, value) };
    // If the handle was dropped after the look at `detached`, nobody takes the result.
    // SAFETY: the outcome is as it was put there, and is this goroutine's, as finish says.
    finish(gp, || unsafe {
        let panicked = discard_in(gp.ext.slot.value::<Outcome<T>>());
        gp.ext.slot.clear::<Outcome<T>>();
        panicked
    })
}

/// The goroutine's function has ended by unwinding, with this.
#[cold]
#[inline(never)]
fn note_end(payload: &(dyn Any + Send)) {
    if !payload.is::<Goexit>() {
        note_panic(message(payload));
    }
}
