//! How a value travels through a channel without types.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};

use crate::runtime::{MAX_ALIGN, Received, Sent, Type};

/// How an [`Hchan`](crate::chan::hchan::Hchan) carries a `T`: as it is, or in a box if its size or its
/// alignment is more than an `Hchan` can have.
pub(super) struct Elem<T>(PhantomData<T>);

impl<T> Elem<T> {
    pub(crate) const BOXED: bool = size_of::<T>() > u16::MAX as usize || align_of::<T>() > MAX_ALIGN;

    pub(crate) const TYPE: Type = if Self::BOXED {
        Type { size_: size_of::<Box<T>>(), align_: align_of::<Box<T>>() }
    } else {
        Type { size_: size_of::<T>(), align_: align_of::<T>() }
    };

    /// Calls `send` with the address of the value, or of the box that it was put into; returns the value
    /// if it wasn't sent.
    #[inline(always)]
    pub(crate) fn send(value: T, send: impl FnOnce(*const c_void) -> Sent) -> Result<(), (Sent, T)> {
        if Self::BOXED {
            let value = ManuallyDrop::new(Box::new(value));
            match send((&raw const value).cast()) {
                Sent::Done => Ok(()),
                sent => Err((sent, *ManuallyDrop::into_inner(value))),
            }
        } else {
            let value = ManuallyDrop::new(value);
            match send((&raw const value).cast()) {
                Sent::Done => Ok(()),
                sent => Err((sent, ManuallyDrop::into_inner(value))),
            }
        }
    }

    /// Calls `recv` with a place for a value, or for its box; returns the value that was received.
    #[inline(always)]
    pub(crate) fn recv(recv: impl FnOnce(*mut c_void) -> Received) -> Result<T, Received> {
        if Self::BOXED {
            let mut place = MaybeUninit::<Box<T>>::uninit();
            match recv(place.as_mut_ptr().cast()) {
                // SAFETY: Done says that a value was written, which is a box.
                Received::Done => Ok(*unsafe { place.assume_init() }),
                received => Err(received),
            }
        } else {
            let mut place = MaybeUninit::<T>::uninit();
            match recv(place.as_mut_ptr().cast()) {
                // SAFETY: Done says that a value was written.
                Received::Done => Ok(unsafe { place.assume_init() }),
                received => Err(received),
            }
        }
    }
}
