//! The C library's own functions, where the program's functions of these names are ours
//! (`src/runtime/threads`). The runtime calls these here: its own threads are threads, whatever the
//! program has said.
//!
//! The functions are found by name, all of them at once and before `main`. So a call takes no lock
//! of the dynamic linker's, and a signal handler may make it. A call that comes earlier, from the
//! constructor of a library, looks for them itself.

#[cfg(not(pthreads))]
pub(in crate::runtime) use libc::{pthread_create, pthread_getattr_np, pthread_sigmask};

#[cfg(pthreads)]
pub(in crate::runtime) use found::*;

#[cfg(pthreads)]
thread_local! {
    /// Whether the caller of `pthread_create` wants a thread of the system.
    static BY_SYSTEM: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Calls `f`, which makes a thread by std's functions. The thread is one of the system, also where
/// threads are goroutines.
pub(crate) fn with_system_threads<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(pthreads)]
    {
        struct Restore(bool);
        impl Drop for Restore {
            fn drop(&mut self) {
                BY_SYSTEM.set(self.0);
            }
        }

        let _restore = Restore(BY_SYSTEM.replace(true));
        f()
    }
    #[cfg(not(pthreads))]
    f()
}

/// Whether the caller is in [`with_system_threads`].
#[cfg(pthreads)]
pub(in crate::runtime) fn wants_system_thread() -> bool {
    BY_SYSTEM.get()
}

#[cfg(pthreads)]
mod found {
    use std::ffi::{CStr, c_char, c_int, c_void};
    use std::mem;
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, Ordering};

    use libc::{
        clockid_t, cpu_set_t, pthread_attr_t, pthread_t, sched_param, siginfo_t, sigset_t, sigval, timespec,
    };

    use crate::runtime::base::fatal::throw;

    /// The function of a thread.
    type Start = extern "C" fn(*mut c_void) -> *mut c_void;

    /// The function of a thread of `<threads.h>`.
    type IntStart = extern "C" fn(*mut c_void) -> c_int;

    /// Declares functions of the C library's.
    macro_rules! functions {
        ($($name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?;)*) => {
            /// The place of each function in the table.
            #[allow(non_camel_case_types)]
            enum Place { $($name),* }

            /// The functions' names.
            const NAMES: &[&str] = &[$(concat!(stringify!($name), "\0")),*];

            /// The functions' addresses; null until they were looked for.
            static FOUND: [AtomicPtr<c_void>; NAMES.len()] =
                [const { AtomicPtr::new(ptr::null_mut()) }; NAMES.len()];

            $(
                /// The C library's function of this name.
                ///
                /// # Safety
                /// As the C library's.
                #[inline(always)]
                pub(in crate::runtime) unsafe fn $name($($arg: $type),*) $(-> $ret)? {
                    type Function = unsafe extern "C-unwind" fn($($type),*) $(-> $ret)?;
                    // SAFETY: the address of a function of this type; the rest as the caller says.
                    unsafe {
                        mem::transmute::<*mut c_void, Function>(address(Place::$name))($($arg),*)
                    }
                }
            )*
        };
    }

    functions! {
        pthread_create(thread: *mut pthread_t, attr: *const pthread_attr_t, start: Start, arg: *mut c_void) -> c_int;
        pthread_getattr_np(thread: pthread_t, attr: *mut pthread_attr_t) -> c_int;
        pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int;
        pthread_tryjoin_np(thread: pthread_t, result: *mut *mut c_void) -> c_int;
        pthread_timedjoin_np(thread: pthread_t, result: *mut *mut c_void, until: *const timespec) -> c_int;
        pthread_clockjoin_np(thread: pthread_t, result: *mut *mut c_void, clock: clockid_t, until: *const timespec) -> c_int;
        pthread_detach(thread: pthread_t) -> c_int;
        pthread_exit(result: *mut c_void) -> !;
        pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int;
        pthread_getname_np(thread: pthread_t, name: *mut c_char, size: usize) -> c_int;
        pthread_sigmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int;
        sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int;
        sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int;
        sigtimedwait(set: *const sigset_t, info: *mut siginfo_t, time: *const timespec) -> c_int;
        sigsuspend(set: *const sigset_t) -> c_int;
        pause() -> c_int;
        pthread_kill(thread: pthread_t, signal: c_int) -> c_int;
        pthread_sigqueue(thread: pthread_t, signal: c_int, value: sigval) -> c_int;
        pthread_cancel(thread: pthread_t) -> c_int;
        pthread_setaffinity_np(thread: pthread_t, size: usize, set: *const cpu_set_t) -> c_int;
        pthread_getaffinity_np(thread: pthread_t, size: usize, set: *mut cpu_set_t) -> c_int;
        pthread_setschedparam(thread: pthread_t, policy: c_int, param: *const sched_param) -> c_int;
        pthread_getschedparam(thread: pthread_t, policy: *mut c_int, param: *mut sched_param) -> c_int;
        pthread_setschedprio(thread: pthread_t, priority: c_int) -> c_int;
        pthread_getcpuclockid(thread: pthread_t, clock: *mut clockid_t) -> c_int;
        thrd_create(thread: *mut pthread_t, start: IntStart, arg: *mut c_void) -> c_int;
        thrd_join(thread: pthread_t, result: *mut c_int) -> c_int;
        thrd_detach(thread: pthread_t) -> c_int;
        thrd_exit(result: c_int) -> !;
        thrd_sleep(time: *const timespec, rest: *mut timespec) -> c_int;
        thrd_yield();
    }

    /// Returns the address of a function.
    #[inline(always)]
    fn address(place: Place) -> *mut c_void {
        let found = &FOUND[place as usize];
        let address = found.load(Ordering::Relaxed);
        if !address.is_null() {
            return address;
        }
        find_all();
        found.load(Ordering::Relaxed)
    }

    /// Looks for all functions.
    #[cold]
    #[inline(never)]
    extern "C" fn find_all() {
        for (name, place) in NAMES.iter().zip(&FOUND) {
            // SAFETY: each name ends in a zero, and has no other.
            let address = unsafe {
                let name = CStr::from_bytes_with_nul_unchecked(name.as_bytes());
                libc::dlsym(libc::RTLD_NEXT, name.as_ptr())
            };
            if address.is_null() {
                throw("threads: a function of the C library is missing");
            }
            place.store(address, Ordering::Relaxed);
        }
    }

    /// Called by the dynamic linker before `main`.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static AT_START: extern "C" fn() = find_all;
}
