//! Values travel through an untyped channel by their address. Without optimisation each function
//! that gets a value would have a copy of it on its stack, and goroutines' stacks are small.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr;

use crate::runtime::{MAX_ALIGN, Received, Sent, Type};

/// How an [`Hchan`](crate::chan::hchan::Hchan) carries a `T`: as it is, or in a box if its size or
/// its alignment is more than an `Hchan` can have.
pub(super) struct Elem<T>(PhantomData<T>);

impl<T> Elem<T> {
    pub(crate) const BOXED: bool = size_of::<T>() > u16::MAX as usize || align_of::<T>() > MAX_ALIGN;

    pub(crate) const TYPE: Type = if Self::BOXED {
        Type { size_: size_of::<Box<T>>(), align_: align_of::<Box<T>>() }
    } else {
        Type { size_: size_of::<T>(), align_: align_of::<T>() }
    };

    /// Calls `send` with `value`, or with the address of a box that has the value meanwhile.
    ///
    /// # Safety
    /// There is a value. `send` moves it if it returns `Done`, and then it is gone.
    #[inline(always)]
    pub(super) unsafe fn send(value: *mut T, send: impl FnOnce(*const c_void) -> Sent) -> Sent {
        if !Self::BOXED {
            return send(value.cast());
        }
        let mut boxed = ManuallyDrop::new(Box::<T>::new_uninit());
        // SAFETY: there is a value, as the caller says, and room for one; it is back there unless
        // it was sent.
        unsafe { ptr::copy_nonoverlapping(value, boxed.as_mut_ptr(), 1) };
        let sent = send((&raw const boxed).cast());
        if sent != Sent::Done {
            // SAFETY: as above.
            unsafe { ptr::copy_nonoverlapping(boxed.as_ptr(), value, 1) };
            drop(ManuallyDrop::into_inner(boxed));
        }
        sent
    }

    /// Calls `recv` with `place`, or with a place for a box, whose value is moved to `place`.
    ///
    /// # Safety
    /// `place` is a place for a value. If `recv` returns `Done`, it has written a value of the type
    /// [`TYPE`](Self::TYPE).
    #[inline(always)]
    pub(super) unsafe fn recv(place: *mut T, recv: impl FnOnce(*mut c_void) -> Received) -> Received {
        if !Self::BOXED {
            return recv(place.cast());
        }
        let mut boxed = MaybeUninit::<Box<MaybeUninit<T>>>::uninit();
        let received = recv(boxed.as_mut_ptr().cast());
        if received == Received::Done {
            // SAFETY: Done says that a box was written, with a value, which is moved out. The box
            // ends here.
            unsafe { ptr::copy_nonoverlapping(boxed.assume_init().as_ptr(), place, 1) };
        }
        received
    }
}
