//! Stand-ins for what the port adds to Go's structs.

use std::marker::PhantomData;

use crate::runtime::data::atomic::AtomicU32;
use crate::runtime::data::runtime2::G;
use crate::runtime::data::timer::Timer;

/// The words of a mutex, of which `lock/key.rs` is the protocol.
#[derive(Default)]
pub(crate) struct MutexKey {
    pub(crate) locked: AtomicU32,
    pub(crate) sleeping: AtomicU32,
}

pub(crate) struct FreeList<T>(PhantomData<T>);

pub(crate) struct Pool<T>(PhantomData<T>);

pub(crate) struct MExt {
    pub(crate) g0: G,
}

#[derive(Default)]
pub(crate) struct PExt {
    pub(crate) timers: FreeList<Timer>,
}

#[derive(Default)]
pub(crate) struct SchedtExt {
    pub(crate) timers: Pool<Timer>,
}

impl<T> Default for FreeList<T> {
    fn default() -> Self {
        FreeList(PhantomData)
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool(PhantomData)
    }
}
