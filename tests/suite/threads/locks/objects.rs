//! C's objects, as statics and in memory of their own.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::mem::{MaybeUninit, zeroed};
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use libc::{
    clockid_t, pthread_barrier_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, sem_t, timespec,
};

unsafe extern "C" {
    fn pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int;
    fn pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, time: *const timespec)
    -> c_int;
    fn pthread_cond_clockwait(
        cond: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
        clock: clockid_t,
        time: *const timespec,
    ) -> c_int;
    fn pthread_rwlock_clockrdlock(
        lock: *mut pthread_rwlock_t,
        clock: clockid_t,
        time: *const timespec,
    ) -> c_int;
    fn pthread_rwlock_clockwrlock(
        lock: *mut pthread_rwlock_t,
        clock: clockid_t,
        time: *const timespec,
    ) -> c_int;
    fn pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int;
    fn pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int;
    fn pthread_rwlockattr_setkind_np(attr: *mut libc::pthread_rwlockattr_t, kind: c_int) -> c_int;
    fn sem_clockwait(sem: *mut sem_t, clock: clockid_t, time: *const timespec) -> c_int;
}

unsafe extern "C-unwind" {
    fn pthread_once(control: *mut c_int, f: extern "C-unwind" fn()) -> c_int;
}

/// Returns the time that a clock will say after `rest`.
pub fn after(clock: clockid_t, rest: Duration) -> timespec {
    let mut now = MaybeUninit::uninit();
    // SAFETY: the kernel fills `now`.
    let now = unsafe {
        assert_eq!(libc::clock_gettime(clock, now.as_mut_ptr()), 0);
        now.assume_init()
    };
    let ns = now.tv_nsec + i64::from(rest.subsec_nanos());
    timespec { tv_sec: now.tv_sec + rest.as_secs() as i64 + ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 }
}

/// An object of C's. All zero is its initial value.
#[repr(transparent)]
pub struct Object<T>(UnsafeCell<T>);

// SAFETY: C's objects are made for threads.
unsafe impl<T> Sync for Object<T> {}
// SAFETY: the same, before they are in use.
unsafe impl<T> Send for Object<T> {}

impl<T> Object<T> {
    pub const fn new() -> Self {
        // SAFETY: C's static initializers are all zero.
        Object(UnsafeCell::new(unsafe { zeroed() }))
    }

    pub fn get(&self) -> *mut T {
        self.0.get()
    }
}

pub type Mutex = Object<pthread_mutex_t>;
pub type Cond = Object<pthread_cond_t>;
pub type RwLock = Object<pthread_rwlock_t>;
pub type Barrier = Object<pthread_barrier_t>;
pub type Sem = Object<sem_t>;
pub type Once = Object<c_int>;

/// A mutex's attributes: its kind, whether processes share it, its protocol.
pub fn mutex_of(kind: c_int, shared: c_int, protocol: c_int) -> Mutex {
    let mutex = Mutex::new();
    // SAFETY: objects of this function's.
    unsafe {
        let mut attr = zeroed();
        assert_eq!(libc::pthread_mutexattr_init(&mut attr), 0);
        assert_eq!(libc::pthread_mutexattr_settype(&mut attr, kind), 0);
        assert_eq!(libc::pthread_mutexattr_setpshared(&mut attr, shared), 0);
        assert_eq!(libc::pthread_mutexattr_setprotocol(&mut attr, protocol), 0);
        assert_eq!(libc::pthread_mutex_init(mutex.get(), &attr), 0);
    }
    mutex
}

impl Mutex {
    pub fn of_kind(kind: c_int) -> Self {
        mutex_of(kind, libc::PTHREAD_PROCESS_PRIVATE, libc::PTHREAD_PRIO_NONE)
    }

    pub fn lock(&self) -> c_int {
        // SAFETY: a mutex.
        unsafe { libc::pthread_mutex_lock(self.get()) }
    }

    pub fn try_lock(&self) -> c_int {
        // SAFETY: a mutex.
        unsafe { libc::pthread_mutex_trylock(self.get()) }
    }

    pub fn lock_until(&self, time: &timespec) -> c_int {
        // SAFETY: a mutex.
        unsafe { pthread_mutex_timedlock(self.get(), time) }
    }

    pub fn lock_by(&self, clock: clockid_t, time: &timespec) -> c_int {
        // SAFETY: a mutex.
        unsafe { pthread_mutex_clocklock(self.get(), clock, time) }
    }

    pub fn unlock(&self) -> c_int {
        // SAFETY: a mutex.
        unsafe { libc::pthread_mutex_unlock(self.get()) }
    }

    pub fn destroy(&self) -> c_int {
        // SAFETY: a mutex.
        unsafe { libc::pthread_mutex_destroy(self.get()) }
    }

    /// Whether a thread waits for the mutex, a normal one.
    pub fn has_waiters(&self) -> bool {
        // SAFETY: the first word of glibc's mutex, which other threads change atomically.
        let word = unsafe { &*self.get().cast::<AtomicU32>() };
        word.load(Ordering::Relaxed) > 1
    }

    /// Calls `f` with the mutex locked.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        assert_eq!(self.lock(), 0);
        let result = f();
        assert_eq!(self.unlock(), 0);
        result
    }
}

impl Cond {
    pub fn with_clock(clock: clockid_t, shared: c_int) -> Self {
        let cond = Cond::new();
        // SAFETY: objects of this function's.
        unsafe {
            let mut attr = zeroed();
            assert_eq!(libc::pthread_condattr_init(&mut attr), 0);
            assert_eq!(libc::pthread_condattr_setclock(&mut attr, clock), 0);
            assert_eq!(libc::pthread_condattr_setpshared(&mut attr, shared), 0);
            assert_eq!(libc::pthread_cond_init(cond.get(), &attr), 0);
        }
        cond
    }

    pub fn wait(&self, mutex: &Mutex) -> c_int {
        // SAFETY: both are objects of C's.
        unsafe { libc::pthread_cond_wait(self.get(), mutex.get()) }
    }

    pub fn wait_until(&self, mutex: &Mutex, time: &timespec) -> c_int {
        // SAFETY: both are objects of C's.
        unsafe { libc::pthread_cond_timedwait(self.get(), mutex.get(), time) }
    }

    pub fn wait_by(&self, mutex: &Mutex, clock: clockid_t, time: &timespec) -> c_int {
        // SAFETY: both are objects of C's.
        unsafe { pthread_cond_clockwait(self.get(), mutex.get(), clock, time) }
    }

    pub fn signal(&self) {
        // SAFETY: a condition.
        assert_eq!(unsafe { libc::pthread_cond_signal(self.get()) }, 0);
    }

    pub fn broadcast(&self) {
        // SAFETY: a condition.
        assert_eq!(unsafe { libc::pthread_cond_broadcast(self.get()) }, 0);
    }

    pub fn destroy(&self) {
        // SAFETY: a condition.
        assert_eq!(unsafe { libc::pthread_cond_destroy(self.get()) }, 0);
    }
}

impl RwLock {
    pub fn of_kind(kind: c_int) -> Self {
        let lock = RwLock::new();
        // SAFETY: objects of this function's.
        unsafe {
            let mut attr = zeroed();
            assert_eq!(libc::pthread_rwlockattr_init(&mut attr), 0);
            assert_eq!(pthread_rwlockattr_setkind_np(&mut attr, kind), 0);
            assert_eq!(libc::pthread_rwlock_init(lock.get(), &attr), 0);
        }
        lock
    }

    pub fn read(&self) -> c_int {
        // SAFETY: a lock.
        unsafe { libc::pthread_rwlock_rdlock(self.get()) }
    }

    pub fn write(&self) -> c_int {
        // SAFETY: a lock.
        unsafe { libc::pthread_rwlock_wrlock(self.get()) }
    }

    pub fn try_read(&self) -> c_int {
        // SAFETY: a lock.
        unsafe { libc::pthread_rwlock_tryrdlock(self.get()) }
    }

    pub fn try_write(&self) -> c_int {
        // SAFETY: a lock.
        unsafe { libc::pthread_rwlock_trywrlock(self.get()) }
    }

    pub fn read_until(&self, time: &timespec) -> c_int {
        // SAFETY: a lock.
        unsafe { pthread_rwlock_timedrdlock(self.get(), time) }
    }

    pub fn write_until(&self, time: &timespec) -> c_int {
        // SAFETY: a lock.
        unsafe { pthread_rwlock_timedwrlock(self.get(), time) }
    }

    pub fn read_by(&self, clock: clockid_t, time: &timespec) -> c_int {
        // SAFETY: a lock.
        unsafe { pthread_rwlock_clockrdlock(self.get(), clock, time) }
    }

    pub fn write_by(&self, clock: clockid_t, time: &timespec) -> c_int {
        // SAFETY: a lock.
        unsafe { pthread_rwlock_clockwrlock(self.get(), clock, time) }
    }

    pub fn unlock(&self) {
        // SAFETY: a lock.
        assert_eq!(unsafe { libc::pthread_rwlock_unlock(self.get()) }, 0);
    }
}

impl Barrier {
    /// Makes it a barrier for `n`.
    pub fn init(&self, n: usize) {
        // SAFETY: a place for a barrier.
        assert_eq!(unsafe { libc::pthread_barrier_init(self.get(), ptr::null(), n as u32) }, 0);
    }

    /// Returns whether this is the thread that gets the special value.
    pub fn wait(&self) -> bool {
        // SAFETY: a barrier.
        match unsafe { libc::pthread_barrier_wait(self.get()) } {
            0 => false,
            libc::PTHREAD_BARRIER_SERIAL_THREAD => true,
            error => panic!("{error}"),
        }
    }

    pub fn destroy(&self) {
        // SAFETY: a barrier.
        assert_eq!(unsafe { libc::pthread_barrier_destroy(self.get()) }, 0);
    }
}

/// Returns errno, if a function has failed.
fn errno(result: c_int) -> c_int {
    match result {
        0 => 0,
        // SAFETY: errno of this thread.
        _ => unsafe { *libc::__errno_location() },
    }
}

impl Sem {
    pub fn init(&self, value: u32) {
        // SAFETY: a place for a semaphore.
        assert_eq!(unsafe { libc::sem_init(self.get(), 0, value) }, 0);
    }

    pub fn wait(&self) -> c_int {
        // SAFETY: a semaphore.
        errno(unsafe { libc::sem_wait(self.get()) })
    }

    pub fn try_wait(&self) -> c_int {
        // SAFETY: a semaphore.
        errno(unsafe { libc::sem_trywait(self.get()) })
    }

    pub fn wait_until(&self, time: &timespec) -> c_int {
        // SAFETY: a semaphore.
        errno(unsafe { libc::sem_timedwait(self.get(), time) })
    }

    pub fn wait_by(&self, clock: clockid_t, time: &timespec) -> c_int {
        // SAFETY: a semaphore.
        errno(unsafe { sem_clockwait(self.get(), clock, time) })
    }

    pub fn post(&self) -> c_int {
        // SAFETY: a semaphore.
        errno(unsafe { libc::sem_post(self.get()) })
    }

    pub fn value(&self) -> c_int {
        let mut value = 0;
        // SAFETY: a semaphore.
        assert_eq!(unsafe { libc::sem_getvalue(self.get(), &mut value) }, 0);
        value
    }
}

impl Once {
    pub fn call(&self, f: extern "C-unwind" fn()) {
        // SAFETY: a word of pthread_once's.
        assert_eq!(unsafe { pthread_once(self.get(), f) }, 0);
    }
}

/// An object in pages of its own, which are unmapped at the end. A later access ends the process.
pub struct Mapped<T>(*mut T);

// SAFETY: the pages belong to this value.
unsafe impl<T> Send for Mapped<T> {}
// SAFETY: the pages belong to this value.
unsafe impl<T: Sync> Sync for Mapped<T> {}

const PAGE: usize = 64 << 10;

impl<T> Mapped<T> {
    pub fn new(value: T) -> Self {
        const { assert!(size_of::<T>() <= PAGE) };
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: maps new pages.
        let at = unsafe { libc::mmap(ptr::null_mut(), PAGE, prot, flags, -1, 0) };
        assert_ne!(at, libc::MAP_FAILED);
        // SAFETY: the pages are large enough.
        unsafe { at.cast::<T>().write(value) };
        Mapped(at.cast())
    }

    /// Returns a second owner. The pages are unmapped when either is unmapped.
    pub fn share(&self) -> Self {
        Mapped(self.0)
    }

    /// Unmaps the pages.
    pub fn unmap(self) {
        // SAFETY: nobody is to use the object any more.
        assert_eq!(unsafe { libc::munmap(self.0.cast(), PAGE) }, 0);
    }
}

impl<T> Deref for Mapped<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the pages are mapped, as long as the test does right.
        unsafe { &*self.0 }
    }
}
