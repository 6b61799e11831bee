//! Tries out a block, before any goroutine has one. Also finds the words that malloc keeps for a
//! thread.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use memmap2::MmapOptions;

use crate::runtime::arch::{init_thread_pointer, set_malloc_words, thread_pointer, with_thread_pointer};
use crate::runtime::base::real::pthread_sigmask;
use crate::runtime::tls::Failure;
use crate::runtime::tls::glibc::{Glibc, Module};

/// Notes the contents of a block. Fails, with the reason, if they aren't as expected, or for want
/// of memory.
pub(super) fn check(glibc: &mut Glibc) -> Result<(), Failure> {
    init_thread_pointer();
    let memory = MmapOptions::new().len(glibc.size()).map_anon().map_err(Failure::Error)?;
    let hi = memory.as_ptr().expose_provenance() + memory.len();
    let all_signals = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the memory belongs to this function. Signals are blocked while code runs with the
    // block, so no handler finds a thread that the runtime doesn't know.
    unsafe {
        let tp = glibc.make(hi, ptr::null_mut()).map_err(Failure::Error)?;
        glibc.note_modules(tp);
        // The thread keeps its number, so a recursive lock that it holds is still its own: that of
        // the dynamic linker, if the constructor of a library has started the runtime.
        glibc.copy_thread_number(tp);
        let (mut all, mut before) = (all_signals, all_signals);
        libc::sigfillset(all.as_mut_ptr());
        pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let words = malloc_words(glibc, tp);
        let outer = Thread::current();
        with_thread_pointer(tp, probe, ptr::from_ref(glibc).cast_mut().cast());
        let same = Thread::current() == outer;
        pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
        (glibc.deallocate_tls)(ptr::with_exposed_provenance_mut::<c_void>(tp), false);
        words.map_err(Failure::Unsupported)?;
        let inside = |addr: usize| (memory.as_ptr().addr()..hi).contains(&addr);
        let pthread = glibc.pthread(tp).addr();
        let expected = [
            (same, "the thread was another one afterwards"),
            (FOUND.tp.load(Ordering::Relaxed) == tp, "the thread pointer wasn't set"),
            (FOUND.pthread_self.load(Ordering::Relaxed) == pthread, "pthread_self isn't the block"),
            (inside(FOUND.errno.load(Ordering::Relaxed)), "errno isn't in the block"),
            (inside(FOUND.local.load(Ordering::Relaxed)), "a thread-local isn't in the block"),
            (FOUND.value.load(Ordering::Relaxed) == INITIAL, "a thread-local isn't as in a new thread"),
            (FOUND.dropped.load(Ordering::Relaxed) == 1, "a thread-local's destructor wasn't called once"),
            (FOUND.destroyed.load(Ordering::Relaxed) == 1, "a key's destructor wasn't called once"),
            (FOUND.left.load(Ordering::Relaxed) == 0, "a key's value was there after the end"),
            (FOUND.locked.load(Ordering::Relaxed) == 0, "a recursive mutex can't be locked twice"),
        ];
        expected
            .iter()
            .find(|(well, _)| !well)
            .map_or(Ok(()), |(_, why)| Err(Failure::Unsupported((*why).to_owned())))
    }
}

/// The values that tell one thread from another.
#[derive(PartialEq)]
struct Thread(usize, usize, usize);

impl Thread {
    fn current() -> Self {
        // SAFETY: both calls return values of this thread.
        let (thread, errno) = unsafe { (libc::pthread_self() as usize, libc::__errno_location().addr()) };
        Thread(thread_pointer(), thread, errno)
    }
}

/// The values that the probe has found.
#[derive(Default)]
struct Found {
    tp: AtomicUsize,
    pthread_self: AtomicUsize,
    errno: AtomicUsize,
    local: AtomicUsize,
    value: AtomicU32,
    dropped: AtomicU32,
    destroyed: AtomicU32,
    left: AtomicUsize,
    locked: AtomicU32,
}

static FOUND: Found = Found {
    tp: AtomicUsize::new(0),
    pthread_self: AtomicUsize::new(0),
    errno: AtomicUsize::new(0),
    local: AtomicUsize::new(0),
    value: AtomicU32::new(0),
    dropped: AtomicU32::new(0),
    destroyed: AtomicU32::new(0),
    left: AtomicUsize::new(0),
    locked: AtomicU32::new(0),
};

const INITIAL: u32 = 0x5eed;

struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        FOUND.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

thread_local! {
    static LOCAL: Cell<u32> = const { Cell::new(INITIAL) };
    static COUNTED: Counted = const { Counted };
}

unsafe extern "C" fn destroyed(_: *mut c_void) {
    FOUND.destroyed.fetch_add(1, Ordering::Relaxed);
}

/// Notes what it finds with the block's thread-locals, and ends as a goroutine does.
unsafe extern "C" fn probe(glibc: *mut c_void) {
    let Thread(tp, pthread, errno) = Thread::current();
    FOUND.tp.store(tp, Ordering::Relaxed);
    FOUND.pthread_self.store(pthread, Ordering::Relaxed);
    FOUND.errno.store(errno, Ordering::Relaxed);
    LOCAL.with(|local| {
        FOUND.local.store(ptr::from_ref(local).addr(), Ordering::Relaxed);
        FOUND.value.store(local.replace(0), Ordering::Relaxed);
    });
    COUNTED.with(|_| ());
    // SAFETY: check passes its glibc. The key is this function's, and its destructor doesn't touch
    // the value. The mutex is this function's, and is unlocked as often as it was locked.
    // Afterwards the block's thread ends.
    unsafe {
        let mut key = 0;
        let made = libc::pthread_key_create(&mut key, Some(destroyed)) == 0;
        if made {
            libc::pthread_setspecific(key, ptr::without_provenance(1));
        }
        FOUND.locked.store(lock_twice() as u32, Ordering::Relaxed);
        (*glibc.cast::<Glibc>()).run_destructors();
        if made {
            FOUND.left.store(libc::pthread_getspecific(key).addr(), Ordering::Relaxed);
            libc::pthread_key_delete(key);
        }
    }
}

/// Locks a recursive mutex twice; returns 0 or an error.
unsafe fn lock_twice() -> c_int {
    let mut mutex = MaybeUninit::uninit();
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: the mutex and its attributes are initialised here, and used only while they are
    // there.
    unsafe {
        libc::pthread_mutexattr_init(attributes.as_mut_ptr());
        libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), libc::PTHREAD_MUTEX_RECURSIVE);
        libc::pthread_mutex_init(mutex.as_mut_ptr(), attributes.as_ptr());
        let errors = [
            libc::pthread_mutex_lock(mutex.as_mut_ptr()),
            libc::pthread_mutex_lock(mutex.as_mut_ptr()),
            libc::pthread_mutex_unlock(mutex.as_mut_ptr()),
            libc::pthread_mutex_unlock(mutex.as_mut_ptr()),
        ];
        libc::pthread_mutex_destroy(mutex.as_mut_ptr());
        errors.into_iter().find(|&error| error != 0).unwrap_or(0)
    }
}

/// How many words of the C library's TLS are compared.
const WORDS: usize = 512;

/// Which words of the C library's TLS its malloc changes when a thread uses it for the first time.
struct FirstUse<'a> {
    module: &'a Module,
    changed: [bool; WORDS],
}

/// Uses malloc for the first time, as the block's thread. The memory that malloc keeps for this
/// thread is leaked: some hundred bytes, once.
unsafe extern "C" fn use_malloc(first_use: *mut c_void) {
    // SAFETY: malloc_words passes this.
    let first_use = unsafe { &mut *first_use.cast::<FirstUse<'_>>() };
    let at = thread_pointer().wrapping_add_signed(first_use.module.offset);
    let n = (first_use.module.size / size_of::<usize>()).min(WORDS);
    // SAFETY: words of this thread's TLS.
    let word = |i| unsafe { ptr::with_exposed_provenance::<usize>(at).add(i).read_volatile() };
    let before: [usize; WORDS] = std::array::from_fn(|i| if i < n { word(i) } else { 0 });
    // SAFETY: allocates and frees.
    unsafe { libc::free(black_box(libc::malloc(24))) };
    first_use.changed = std::array::from_fn(|i| i < n && word(i) != before[i]);
}

/// Finds the words that malloc keeps for each thread, as offsets from the thread pointer. There are
/// none if malloc keeps none there, as an allocator of the program's.
///
/// # Safety
/// `tp` is the thread pointer of a new block that no thread has; no signal handler runs.
unsafe fn malloc_words(glibc: &Glibc, tp: usize) -> Result<(), String> {
    let Some(module) = glibc.modules.iter().find(|module| module.is_libc) else {
        return Err("the C library has no TLS, or another name".to_owned());
    };
    set_malloc_words(&[]);
    let mut first_use = FirstUse { module, changed: [false; WORDS] };
    // SAFETY: no thread has the block, as the caller says.
    unsafe { with_thread_pointer(tp, use_malloc, (&raw mut first_use).cast()) };
    let changed = (0..WORDS).filter(|&i| first_use.changed[i]);
    let words: Vec<_> = changed.map(|i| module.offset + (i * size_of::<usize>()) as isize).collect();
    if !set_malloc_words(&words) {
        return Err(format!("malloc keeps {} words for each thread", words.len()));
    }
    Ok(())
}
