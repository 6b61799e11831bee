//! How much of a stack a function uses: painted before, read after.

use std::arch::asm;
use std::ptr;

use gosched::proc::getg;

const PAINT: u64 = 0x7a17_ed00_7a17_ed00;

/// Bytes below a frame that aren't painted: what painting itself calls is there.
const UNPAINTED: usize = if cfg!(debug_assertions) { 512 } else { 128 };

/// Calls `f`, and returns how many bytes of stack it has used, the frame of this function not among
/// them.
///
/// # Safety
/// On a goroutine with a copying stack, near its base; `f` may be called there.
#[inline(never)]
pub unsafe fn bytes_used(f: unsafe fn()) -> usize {
    let sp: usize;
    // SAFETY: a copy of a register; and the words from `lo` up to some way below sp are this
    // goroutine's and not in use. On a goroutine, so getg isn't null.
    unsafe {
        asm!("mov {}, rsp", out(reg) sp);
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
