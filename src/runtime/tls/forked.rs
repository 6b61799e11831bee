//! A child of `fork` that a goroutine with thread-locals of its own has made: the goroutine is the
//! child's first thread to the C library, which may use the memory of the M's thread again.

use std::ptr;

use crate::runtime::arch::syscall::syscall;
use crate::runtime::arch::thread_pointer;
use crate::runtime::base::this::this_m;
use crate::runtime::tls::glibc;

/// The flag and the signature with which an rseq area is taken from the kernel: `linux/rseq.h`, and
/// glibc's `bits/rseq.h`.
const RSEQ_FLAG_UNREGISTER: usize = 1;
const RSEQ_SIG: usize = if cfg!(target_arch = "x86_64") { 0x5305_3053 } else { 0xd428_bc00 };

/// The size of the first version of the area.
const RSEQ_SIZE: usize = 32;

/// In the auxiliary vector: the size of the area that this kernel knows.
const AT_RSEQ_FEATURE_SIZE: u64 = 27;

/// Makes each child of `fork` leave the M's thread.
pub(super) fn leave_m_in_children() {
    // SAFETY: the handler makes a system call. If there is no memory to register it, children don't
    // leave the thread.
    unsafe { libc::pthread_atfork(None, None, Some(leave_m)) };
}

/// Takes the rseq area of the M's thread from the kernel, if a goroutine runs. The area is in the
/// control block of that thread. In the child the C library gives the block to a new thread, or
/// unmaps it, and the kernel would end the process when it can't write there.
unsafe extern "C" fn leave_m() {
    let Some(tp) = this_m().map(|mp| mp.ext.tp.get()) else { return };
    let Some(offset) = glibc().and_then(|glibc| glibc.rseq) else { return };
    if tp == 0 || tp == thread_pointer() {
        return;
    }
    let area: *mut u8 = ptr::with_exposed_provenance_mut(tp.wrapping_add_signed(offset));
    // SAFETY: errno is this thread's. The kernel writes to the area if it is registered. It knows
    // the area by its size, too; the second one is that of newer versions of glibc.
    unsafe {
        let errno = *libc::__errno_location();
        let known = (libc::getauxval(AT_RSEQ_FEATURE_SIZE) as usize).next_multiple_of(RSEQ_SIZE);
        for size in [RSEQ_SIZE, known] {
            if syscall!(SYS_rseq, area, size, RSEQ_FLAG_UNREGISTER, RSEQ_SIG) == 0 {
                break;
            }
        }
        *libc::__errno_location() = errno;
    }
}
