//! What a thread is made with, and what it is asked for later: its stack, and its name.

use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;
use std::ptr;

use libc::{cpu_set_t, pthread_attr_t, pthread_t, sched_param, sigset_t};

use crate::runtime::arch::page_size;
use crate::runtime::data::ext::Name;
use crate::runtime::data::runtime2::Mutex;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::sigmask::mask_of_set;
use crate::runtime::mem::home::home_stack;
use crate::runtime::threads::record::{Whose, record_of, whose};
use crate::runtime::threads::scheduling::has_policy;
use crate::runtime::tls::g_of_thread;

// `libc` has none of these.
unsafe extern "C" {
    fn pthread_attr_getdetachstate(attr: *const pthread_attr_t, state: *mut c_int) -> c_int;
    fn pthread_attr_getstack(attr: *const pthread_attr_t, lo: *mut usize, size: *mut usize) -> c_int;
    fn pthread_attr_setstack(attr: *mut pthread_attr_t, lo: usize, size: usize) -> c_int;
    fn pthread_attr_getinheritsched(attr: *const pthread_attr_t, inherit: *mut c_int) -> c_int;
    fn pthread_attr_getschedpolicy(attr: *const pthread_attr_t, policy: *mut c_int) -> c_int;
    fn pthread_attr_getsigmask_np(attr: *const pthread_attr_t, set: *mut sigset_t) -> c_int;
    fn pthread_attr_getschedparam(attr: *const pthread_attr_t, param: *mut sched_param) -> c_int;
}

/// `PTHREAD_EXPLICIT_SCHED`: `pthread.h`.
const PTHREAD_EXPLICIT_SCHED: c_int = 1;

/// The size of a name with its zero: `TASK_COMM_LEN` of the kernel.
const NAME_SIZE: usize = 16;

/// Held while a name is set, or read by the program. A leaf: no other lock is taken under it.
static NAMES: SharedMutex = SharedMutex(Mutex::new());

struct SharedMutex(Mutex);

// SAFETY: a lock is for use by many threads.
unsafe impl Sync for SharedMutex {}

/// The attributes that a goroutine can have.
pub(super) struct Wanted {
    /// The size of the stack in bytes, thread-locals included, as the C library counts it.
    pub(super) stack_size: usize,
    pub(super) detached: bool,
    /// The signal mask, if it isn't that of the maker.
    pub(super) mask: Option<u64>,
}

impl Wanted {
    /// Returns what the attributes want; none if they want what a goroutine can't have, a stack of
    /// the program's, a scheduling policy, or processors. Null stands for the default attributes.
    ///
    /// # Safety
    /// `attr` is null, or the address of attributes.
    pub(super) unsafe fn of(attr: *const pthread_attr_t) -> Option<Wanted> {
        if attr.is_null() {
            let mut usual = MaybeUninit::uninit();
            // SAFETY: the attributes are initialised before they are read, and destroyed once.
            unsafe {
                if libc::pthread_attr_init(usual.as_mut_ptr()) != 0 {
                    return None;
                }
                let wanted = Wanted::of(usual.as_ptr());
                libc::pthread_attr_destroy(usual.as_mut_ptr());
                return wanted;
            }
        }
        let (mut stack_size, mut detached, mut inherit, mut policy) = (0, 0, 0, 0);
        let (mut lo, mut size) = (0, 0);
        // SAFETY: all zero is a valid parameter.
        let mut param: sched_param = unsafe { std::mem::zeroed() };
        // SAFETY: the caller says that there are attributes; the rest is ours.
        unsafe {
            libc::pthread_attr_getstacksize(attr, &mut stack_size);
            pthread_attr_getdetachstate(attr, &mut detached);
            pthread_attr_getstack(attr, &mut lo, &mut size);
            pthread_attr_getinheritsched(attr, &mut inherit);
            pthread_attr_getschedpolicy(attr, &mut policy);
            pthread_attr_getschedparam(attr, &mut param);
        }
        // The C library keeps the upper end of the stack, which is null if there is none.
        let has_stack = lo.wrapping_add(size) != 0;
        let is_scheduled = if inherit == PTHREAD_EXPLICIT_SCHED {
            policy != libc::SCHED_OTHER || param.sched_priority != 0
        } else {
            has_policy()
        };
        // SAFETY: as above.
        let is_bound = unsafe { has_processors(attr) };
        let detached = detached == libc::PTHREAD_CREATE_DETACHED;
        // SAFETY: as above.
        let mask = unsafe { signal_mask(attr) };
        (!has_stack && !is_scheduled && !is_bound).then_some(Wanted { stack_size, detached, mask })
    }
}

/// Whether the attributes name processors. If they don't, the C library returns a set with all
/// bits.
///
/// # Safety
/// There are attributes at `attr`.
unsafe fn has_processors(attr: *const pthread_attr_t) -> bool {
    let mut set = MaybeUninit::<[u64; size_of::<cpu_set_t>() / 8]>::zeroed();
    // SAFETY: the C library writes to the set, at most its size, and the set is valid in any case.
    let set = unsafe {
        let got = libc::pthread_attr_getaffinity_np(attr, size_of::<cpu_set_t>(), set.as_mut_ptr().cast());
        if got != 0 {
            return true;
        }
        set.assume_init()
    };
    set.iter().any(|word| *word != u64::MAX)
}

/// Returns the signal mask in the attributes, if there is one.
///
/// # Safety
/// There are attributes at `attr`.
unsafe fn signal_mask(attr: *const pthread_attr_t) -> Option<u64> {
    let mut set = MaybeUninit::<sigset_t>::zeroed();
    // SAFETY: the C library writes to the set, which is valid in any case.
    let got = unsafe { pthread_attr_getsigmask_np(attr, set.as_mut_ptr()) };
    (got == 0).then(|| mask_of_set(set))
}

/// Writes the attributes of `thread`, if it is a goroutine. Returns the result of
/// `pthread_getattr_np`; none for a thread of the system.
///
/// # Safety
/// As `pthread_getattr_np`.
#[cold]
#[inline(never)]
pub(super) unsafe fn getattr(thread: pthread_t, attr: *mut pthread_attr_t) -> Option<c_int> {
    let (gp, detached) = match whose(thread) {
        Whose::Kernel => return None,
        Whose::Goroutine(gp) => (gp, true),
        Whose::Thread(gp) => (gp, record_of(gp).is_detached()),
    };
    // As the C library counts it, the thread-locals above the stack are a part of it.
    let (lo, hi) = (home_stack(gp).lo, gp.as_ptr().addr());
    // SAFETY: a place for attributes, as the caller says; they are initialised first.
    unsafe {
        match libc::pthread_attr_init(attr) {
            0 => {}
            error => return Some(error),
        }
        let state = if detached { libc::PTHREAD_CREATE_DETACHED } else { libc::PTHREAD_CREATE_JOINABLE };
        libc::pthread_attr_setdetachstate(attr, state);
        libc::pthread_attr_setguardsize(attr, page_size());
        Some(pthread_attr_setstack(attr, lo, hi - lo))
    }
}

/// Names `thread`, if it is a goroutine. Returns the result of `pthread_setname_np`; none for a
/// thread of the system.
///
/// # Safety
/// `name` is a C string.
#[cold]
#[inline(never)]
pub(super) unsafe fn set_name(thread: pthread_t, name: *const c_char) -> Option<c_int> {
    let gp = g_of_thread(thread)?;
    // SAFETY: as the caller says.
    let name = unsafe { CStr::from_ptr(name) };
    if name.count_bytes() >= NAME_SIZE {
        return Some(libc::ERANGE);
    }
    let name = Name::new(&name.to_string_lossy());
    lock(&NAMES.0);
    gp.ext.name.set(name);
    unlock(&NAMES.0);
    Some(0)
}

/// Writes the name of `thread`, if it is a goroutine. Returns the result of `pthread_getname_np`;
/// none for a thread of the system. A goroutine without a name has that of the process.
///
/// # Safety
/// `place` has room for `size` bytes.
#[cold]
#[inline(never)]
pub(super) unsafe fn get_name(thread: pthread_t, place: *mut c_char, size: usize) -> Option<c_int> {
    let gp = g_of_thread(thread)?;
    if size < NAME_SIZE {
        return Some(libc::ERANGE);
    }
    lock(&NAMES.0);
    let name = gp.ext.name.get();
    unlock(&NAMES.0);
    let name = name.as_str().as_bytes();
    // SAFETY: there is room for NAME_SIZE bytes, and a name with its zero has at most that. The
    // kernel writes as much.
    unsafe {
        if name.is_empty() {
            libc::prctl(libc::PR_GET_NAME, place);
        } else {
            let len = name.len().min(NAME_SIZE - 1);
            ptr::copy_nonoverlapping(name.as_ptr().cast(), place, len);
            place.add(len).write(0);
        }
    }
    Some(0)
}
