//! Whether glibc's objects have the fields that are used here, in this version of glibc: each is
//! made by glibc, and looked at. Also what is different in each process or version.

use std::ffi::c_int;
use std::io;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::atomic::Ordering;

use libc::{
    pthread_barrier_t, pthread_barrierattr_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t,
    pthread_mutexattr_t, pthread_rwlock_t, pthread_rwlockattr_t, sem_t,
};

use crate::runtime::base::real;
use crate::runtime::threads::locks::{NUMBER_AT, cond, me, once, rwlock};
use crate::runtime::tls;

unsafe extern "C" {
    fn pthread_rwlockattr_setkind_np(attr: *mut pthread_rwlockattr_t, kind: c_int) -> c_int;
}

/// Notes what the functions of this room need to know of glibc. Fails if glibc's objects aren't as
/// expected. Called before threads are goroutines, by one thread.
pub(in crate::runtime::threads) fn prepare() -> io::Result<()> {
    NUMBER_AT.store(tls::thread_number_offset()?, Ordering::Relaxed);
    let parts = [
        ("mutexes", check_mutex as fn() -> bool),
        ("conditions", check_cond),
        ("read-write locks", check_rwlock),
        ("barriers", check_barrier),
        ("semaphores", check_semaphore),
        ("pthread_once", check_once),
    ];
    match parts.iter().find(|(_, check)| !check()) {
        None => Ok(()),
        Some((what, _)) => {
            let error =
                format!("threads can't be goroutines here: this C library's {what} aren't as expected");
            Err(io::Error::new(io::ErrorKind::Unsupported, error))
        }
    }
}

/// Returns the words of an object.
fn words<T, const N: usize>(object: &T) -> [u32; N] {
    const { assert!(size_of::<T>() >= N * size_of::<u32>()) };
    // SAFETY: the object was made by glibc in zeroed memory, so all of it is initialized.
    unsafe { ptr::from_ref(object).cast::<[u32; N]>().read() }
}

fn zeroed<T>() -> T {
    // SAFETY: the C library's types are of integers, and all zero is a value of each.
    unsafe { mem::zeroed() }
}

/// The word, count, owner, users and kind of a recursive mutex that is locked.
fn check_mutex() -> bool {
    let (mut attr, mut mutex) = (zeroed::<pthread_mutexattr_t>(), zeroed::<pthread_mutex_t>());
    // SAFETY: objects of this function's.
    unsafe {
        libc::pthread_mutexattr_init(&mut attr);
        libc::pthread_mutexattr_settype(&mut attr, libc::PTHREAD_MUTEX_RECURSIVE);
        libc::pthread_mutex_init(&mut mutex, &attr);
        real::pthread_mutex_lock(&mut mutex);
        let found: [u32; 5] = words(&mutex);
        real::pthread_mutex_unlock(&mut mutex);
        let free: [u32; 5] = words(&mutex);
        libc::pthread_mutexattr_destroy(&mut attr);
        let kind = libc::PTHREAD_MUTEX_RECURSIVE as u32;
        found == [1, 1, me() as u32, 1, kind] && free == [0, 0, 0, 0, kind]
    }
}

/// The word with a condition's clock, which also counts its waits.
fn check_cond() -> bool {
    let (mut attr, mut monotonic) = (zeroed::<pthread_condattr_t>(), zeroed::<pthread_cond_t>());
    // SAFETY: objects of this function's.
    unsafe {
        libc::pthread_condattr_init(&mut attr);
        libc::pthread_condattr_setclock(&mut attr, libc::CLOCK_MONOTONIC);
        libc::pthread_cond_init(&mut monotonic, &attr);
        libc::pthread_condattr_destroy(&mut attr);
    }
    let at = cond::offset_of_references(&monotonic);
    cond::REFERENCES_AT.store(at.unwrap_or(0), Ordering::Relaxed);
    at.is_some()
}

/// The writer of a lock, its kind, and the word that glibc doesn't use.
fn check_rwlock() -> bool {
    let mut attr = MaybeUninit::<pthread_rwlockattr_t>::zeroed();
    let mut lock = zeroed::<pthread_rwlock_t>();
    // SAFETY: objects of this function's.
    unsafe {
        libc::pthread_rwlockattr_init(attr.as_mut_ptr());
        pthread_rwlockattr_setkind_np(attr.as_mut_ptr(), rwlock::PREFERS_WRITERS);
        libc::pthread_rwlock_init(&mut lock, attr.as_ptr());
        real::pthread_rwlock_trywrlock(&mut lock);
        let found: [u32; 13] = words(&lock);
        real::pthread_rwlock_unlock(&mut lock);
        let free: [u32; 13] = words(&lock);
        real::pthread_rwlock_tryrdlock(&mut lock);
        let read: [u32; 13] = words(&lock);
        real::pthread_rwlock_unlock(&mut lock);
        libc::pthread_rwlockattr_setpshared(attr.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED);
        libc::pthread_rwlock_init(&mut lock, attr.as_ptr());
        let shared: [u32; 13] = words(&lock);
        libc::pthread_rwlockattr_destroy(attr.as_mut_ptr());
        let kind = rwlock::PREFERS_WRITERS as u32;
        found[4..8] == [0, 0, me() as u32, 0]
            && found[0] == 3
            && free[4..8] == [0; 4]
            && read[0] == 8
            && shared[4..7] == [0; 3]
            && shared[7] != 0
            && [found, free, shared].iter().all(|words| words[12] == kind)
    }
}

/// The words of a barrier that nobody has entered.
fn check_barrier() -> bool {
    let (mut attr, mut barrier) = (zeroed::<pthread_barrierattr_t>(), zeroed::<pthread_barrier_t>());
    // SAFETY: objects of this function's.
    unsafe {
        libc::pthread_barrier_init(&mut barrier, ptr::null(), 3);
        let private: [u32; 5] = words(&barrier);
        libc::pthread_barrierattr_init(&mut attr);
        libc::pthread_barrierattr_setpshared(&mut attr, libc::PTHREAD_PROCESS_SHARED);
        libc::pthread_barrier_init(&mut barrier, &attr, 3);
        let shared: [u32; 5] = words(&barrier);
        libc::pthread_barrierattr_destroy(&mut attr);
        private == [0, 0, 3, 0, 0] && shared[..3] == [0, 0, 3] && shared[3] != 0
    }
}

/// The value of a semaphore, and whether it is shared.
fn check_semaphore() -> bool {
    let semaphore = |shared| {
        let mut sem = zeroed::<sem_t>();
        // SAFETY: an object of this function's.
        unsafe { libc::sem_init(&mut sem, shared, 5) };
        words::<_, 3>(&sem)
    };
    semaphore(0) == [5, 0, 0] && semaphore(1)[2] != 0
}

/// The word of `pthread_once` while the function runs, and afterwards.
fn check_once() -> bool {
    static mut CONTROL: c_int = 0;

    unsafe extern "C-unwind" fn note() {
        // SAFETY: one thread at a time prepares.
        once::RUNS.store(unsafe { ptr::read(&raw const CONTROL) } as u32, Ordering::Relaxed);
    }

    let control = &raw mut CONTROL;
    // SAFETY: one thread at a time prepares.
    unsafe {
        control.write(0);
        real::pthread_once(control, note);
        once::RUNS.load(Ordering::Relaxed) & 3 == 1 && control.read() == 2
    }
}
