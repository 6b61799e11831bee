//! The P that an M has, as a field of the M.

use std::fmt;

use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::P;

/// The P of an M. A signal handler on the M's own thread takes the P from a goroutine that runs for
/// long. So a P that is read here may be gone at the next instruction, unless the reader keeps it.
///
/// On a goroutine's stack the P stays while [`locks`](crate::runtime2::M::locks) isn't 0, that is,
/// between [`acquirem`](crate::proc::acquirem) and [`releasem`](crate::proc::releasem), and under
/// each lock of the runtime's. On g0 it always stays, but there is none if the last goroutine had
/// lost its P.
#[repr(transparent)]
#[derive(Default)]
pub struct HeldP(Link<P>);

impl HeldP {
    /// Returns the P at this moment.
    #[inline(always)]
    pub fn peek(&self) -> Option<&'static P> {
        self.0.get()
    }

    /// Whether there is no P at this moment.
    #[inline(always)]
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Sets the P. Called on the M's own thread.
    #[inline(always)]
    pub(in crate::runtime) fn set(&self, pp: Option<&'static P>) {
        self.0.set(pp);
    }
}

impl fmt::Debug for HeldP {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
