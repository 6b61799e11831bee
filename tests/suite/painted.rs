//! Measures how much of a stack functions use: the stack is painted before, and read afterwards.

use std::arch::asm;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::proc::getg;

const PAINT: u64 = 0x7a17_ed00_7a17_ed00;

/// Bytes below a frame that aren't painted: the functions that paint use them.
const UNPAINTED: usize = if cfg!(debug_assertions) { 512 } else { 128 };

/// A function under test, with the stack that it took and may take; 0 until it has run.
pub struct Case {
    name: &'static str,
    f: unsafe fn(),
    took: AtomicUsize,
    limit: AtomicUsize,
}

impl Case {
    pub const fn new(name: &'static str, f: unsafe fn()) -> Self {
        Case { name, f, took: AtomicUsize::new(0), limit: AtomicUsize::new(0) }
    }

    /// Runs the function, and notes the stack that it took. It may take `limit(guard)`, where
    /// `guard` is the bytes below the goroutine's guard.
    ///
    /// # Safety
    /// As [`bytes_used`].
    pub unsafe fn measure(&self, limit: impl FnOnce(usize) -> usize) {
        // SAFETY: the caller's; on a goroutine, so getg isn't null.
        let (took, gp) = unsafe { (bytes_used(self.f), &*getg()) };
        let guard = gp.stackguard0.load(Ordering::Relaxed) - gp.stack.get().lo;
        self.limit.store(limit(guard), Ordering::Relaxed);
        self.took.store(took, Ordering::Release);
    }

    /// Returns whether the function has run.
    pub fn measured(&self) -> bool {
        self.took.load(Ordering::Acquire) != 0
    }

    /// Fails if the function took more than it may, or than `most`.
    pub fn check(&self, most: usize) {
        let (name, took) = (self.name, self.took.load(Ordering::Relaxed));
        let limit = self.limit.load(Ordering::Relaxed).min(most);
        println!("{name}: {took} of {limit} bytes");
        assert!(took <= limit, "{name} took {took} bytes of stack, more than {limit}");
    }
}

/// Calls `f`, and returns how many bytes of stack it has used, without the frame of this function.
///
/// # Safety
/// On a goroutine with a copying stack, near its base; `f` may be called there.
#[inline(never)]
unsafe fn bytes_used(f: unsafe fn()) -> usize {
    let sp: usize;
    // SAFETY: a copy of a register; and the words from `lo` up to some way below sp belong to this
    // goroutine and aren't in use. On a goroutine, so getg isn't null.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("mov {}, rsp", out(reg) sp);
        #[cfg(target_arch = "aarch64")]
        asm!("mov {}, sp", out(reg) sp);
        let lo = (*getg()).stack.get().lo;
        let mut at = lo;
        while at < sp - UNPAINTED {
            ptr::with_exposed_provenance_mut::<u64>(at).write_volatile(PAINT);
            at += size_of::<u64>();
        }
        f();
        let mut at = lo;
        while at < sp - UNPAINTED && ptr::with_exposed_provenance::<u64>(at).read_volatile() == PAINT {
            at += size_of::<u64>();
        }
        assert_eq!((*getg()).stack.get().lo, lo, "it has grown, and the paint is elsewhere");
        sp - at
    }
}
