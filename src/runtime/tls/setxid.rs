//! `setuid` and the like: the C library makes every thread do such a call, by a signal of its own.
//! Its handler looks into the thread's control block, so the handler is called with the M's control
//! block.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::runtime::arch::syscall::syscall;
use crate::runtime::arch::{getg, thread_pointer, with_thread_pointer};
use crate::runtime::tls::glibc;

/// The signal, the second of those that the C library reserves for itself.
const SIGSETXID: c_int = 33;

/// The C library's handler.
static THEIRS: AtomicUsize = AtomicUsize::new(0);

/// The action of a signal, in the form of the kernel's own call.
#[repr(C)]
struct KernelSigaction {
    handler: usize,
    flags: usize,
    restorer: usize,
    mask: u64,
}

/// The arguments of a handler.
struct Call(c_int, *mut libc::siginfo_t, *mut c_void);

/// Installs a handler in front of the C library's, which is there when the first thread has been
/// made. If the kernel refuses, the C library's handler stays alone, and `setuid` would wait
/// forever for a thread that runs a goroutine with thread-locals of its own.
pub(in crate::runtime) fn init() {
    if glibc().is_none() {
        return;
    }
    let action = |new: *const KernelSigaction, old: *mut KernelSigaction| {
        // SAFETY: the kernel reads a whole action, or none, and writes one, or none. (The C
        // library's function refuses its own signal.)
        unsafe { syscall!(SYS_rt_sigaction, SIGSETXID, new, old, size_of::<u64>()) }
    };
    let mut theirs = MaybeUninit::<KernelSigaction>::uninit();
    if action(ptr::null(), theirs.as_mut_ptr()) != 0 {
        return;
    }
    // SAFETY: the kernel has written it.
    let theirs = unsafe { theirs.assume_init() };
    if theirs.handler == libc::SIG_DFL || theirs.handler == libc::SIG_IGN {
        return;
    }
    THEIRS.store(theirs.handler, Ordering::Relaxed);
    let ours = handle as unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
    action(&KernelSigaction { handler: ours as usize, ..theirs }, ptr::null_mut());
}

/// Calls the C library's handler with the thread-locals of this thread's M.
unsafe extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    unsafe extern "C" fn theirs(call: *mut c_void) {
        // SAFETY: the handler that the C library has installed, with what the kernel has passed.
        unsafe {
            let Call(signal, info, context) = *call.cast::<Call>();
            let handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                std::mem::transmute(THEIRS.load(Ordering::Relaxed));
            handler(signal, info, context);
        }
    }
    let mut call = Call(signal, info, context);
    let call = (&raw mut call).cast();
    let curg = getg().and_then(|gp| gp.m.get()).map(|mp| mp.ext.tp.get());
    match curg.filter(|&tp| tp != 0 && tp != thread_pointer()) {
        // SAFETY: it is the thread pointer of this thread's M, which no other thread has.
        Some(tp) => unsafe { with_thread_pointer(tp, theirs, call) },
        // SAFETY: with the arguments that the kernel has passed to this.
        None => unsafe { theirs(call) },
    }
}
