//! The C library's own functions, where the program's functions of these names are ours
//! (`src/runtime/threads`). The runtime calls these here: its own threads are threads, whatever the
//! program has said.
//!
//! The functions are found by name, all of them at once and before `main`. So a call takes no lock
//! of the dynamic linker's, and a signal handler may make it. A call that comes earlier, from the
//! constructor of a library, looks for them itself.

#[cfg(not(pthreads))]
pub(in crate::runtime) use libc::{
    pthread_create, pthread_getattr_np, pthread_join, pthread_sigmask, sigaltstack,
};

/// As below. Here the process ends with its first thread, or not at all.
#[cfg(not(pthreads))]
pub(in crate::runtime) fn count_thread() {}

/// As below.
#[cfg(not(pthreads))]
pub(in crate::runtime) fn uncount_thread() -> bool {
    false
}

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
    use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
    use std::mem;
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

    use libc::{
        clockid_t, cpu_set_t, epoll_event, fd_set, id_t, idtype_t, iovec, mmsghdr, msghdr, nfds_t, pid_t,
        pollfd, pthread_attr_t, pthread_barrier_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t,
        pthread_rwlock_t, pthread_t, rusage, sched_param, sem_t, siginfo_t, sigset_t, sigval, size_t,
        sockaddr, socklen_t, ssize_t, stack_t, timespec, timeval,
    };

    use crate::runtime::base::fatal::throw;

    /// The function of a thread.
    type Start = extern "C" fn(*mut c_void) -> *mut c_void;

    /// The function of a thread of `<threads.h>`.
    type IntStart = extern "C" fn(*mut c_void) -> c_int;

    /// The function of `pthread_once`.
    type Init = unsafe extern "C-unwind" fn();

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
        pthread_create(
            thread: *mut pthread_t, attr: *const pthread_attr_t, start: Start, arg: *mut c_void
        ) -> c_int;
        pthread_getattr_np(thread: pthread_t, attr: *mut pthread_attr_t) -> c_int;
        pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int;
        pthread_tryjoin_np(thread: pthread_t, result: *mut *mut c_void) -> c_int;
        pthread_timedjoin_np(thread: pthread_t, result: *mut *mut c_void, until: *const timespec) -> c_int;
        pthread_clockjoin_np(
            thread: pthread_t, result: *mut *mut c_void, clock: clockid_t, until: *const timespec
        ) -> c_int;
        pthread_detach(thread: pthread_t) -> c_int;
        pthread_exit(result: *mut c_void) -> !;
        pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int;
        pthread_getname_np(thread: pthread_t, name: *mut c_char, size: usize) -> c_int;
        pthread_sigmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int;
        sigaltstack(new: *const stack_t, old: *mut stack_t) -> c_int;
        sigpending(set: *mut sigset_t) -> c_int;
        raise(signal: c_int) -> c_int;
        sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int;
        sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int;
        sigtimedwait(set: *const sigset_t, info: *mut siginfo_t, time: *const timespec) -> c_int;
        sigsuspend(set: *const sigset_t) -> c_int;
        pause() -> c_int;
        pthread_kill(thread: pthread_t, signal: c_int) -> c_int;
        pthread_sigqueue(thread: pthread_t, signal: c_int, value: sigval) -> c_int;
        pthread_cancel(thread: pthread_t) -> c_int;
        pthread_testcancel();
        pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
        pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int;
        pthread_setaffinity_np(thread: pthread_t, size: usize, set: *const cpu_set_t) -> c_int;
        pthread_getaffinity_np(thread: pthread_t, size: usize, set: *mut cpu_set_t) -> c_int;
        pthread_setschedparam(thread: pthread_t, policy: c_int, param: *const sched_param) -> c_int;
        pthread_getschedparam(thread: pthread_t, policy: *mut c_int, param: *mut sched_param) -> c_int;
        pthread_setschedprio(thread: pthread_t, priority: c_int) -> c_int;
        pthread_getcpuclockid(thread: pthread_t, clock: *mut clockid_t) -> c_int;
        nanosleep(request: *const timespec, rest: *mut timespec) -> c_int;
        clock_nanosleep(
            clock: clockid_t, flags: c_int, request: *const timespec, rest: *mut timespec
        ) -> c_int;
        usleep(us: c_uint) -> c_int;
        sleep(seconds: c_uint) -> c_uint;
        read(fd: c_int, buf: *mut c_void, len: size_t) -> ssize_t;
        readv(fd: c_int, buffers: *const iovec, n: c_int) -> ssize_t;
        write(fd: c_int, buf: *const c_void, len: size_t) -> ssize_t;
        writev(fd: c_int, buffers: *const iovec, n: c_int) -> ssize_t;
        fsync(fd: c_int) -> c_int;
        fdatasync(fd: c_int) -> c_int;
        recv(fd: c_int, buf: *mut c_void, len: size_t, flags: c_int) -> ssize_t;
        recvfrom(
            fd: c_int, buf: *mut c_void, len: size_t, flags: c_int, addr: *mut sockaddr,
            addr_len: *mut socklen_t
        ) -> ssize_t;
        recvmsg(fd: c_int, msg: *mut msghdr, flags: c_int) -> ssize_t;
        recvmmsg(fd: c_int, msgs: *mut mmsghdr, n: c_uint, flags: c_int, limit: *mut timespec) -> c_int;
        send(fd: c_int, buf: *const c_void, len: size_t, flags: c_int) -> ssize_t;
        sendto(
            fd: c_int, buf: *const c_void, len: size_t, flags: c_int, addr: *const sockaddr,
            addr_len: socklen_t
        ) -> ssize_t;
        sendmsg(fd: c_int, msg: *const msghdr, flags: c_int) -> ssize_t;
        sendmmsg(fd: c_int, msgs: *mut mmsghdr, n: c_uint, flags: c_int) -> c_int;
        accept(fd: c_int, addr: *mut sockaddr, addr_len: *mut socklen_t) -> c_int;
        accept4(fd: c_int, addr: *mut sockaddr, addr_len: *mut socklen_t, flags: c_int) -> c_int;
        connect(fd: c_int, addr: *const sockaddr, len: socklen_t) -> c_int;
        poll(fds: *mut pollfd, n: nfds_t, ms: c_int) -> c_int;
        ppoll(fds: *mut pollfd, n: nfds_t, limit: *const timespec, mask: *const sigset_t) -> c_int;
        select(
            n: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, limit: *mut timeval
        ) -> c_int;
        pselect(
            n: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, limit: *const timespec,
            mask: *const sigset_t
        ) -> c_int;
        epoll_wait(fd: c_int, events: *mut epoll_event, n: c_int, ms: c_int) -> c_int;
        epoll_pwait(
            fd: c_int, events: *mut epoll_event, n: c_int, ms: c_int, mask: *const sigset_t
        ) -> c_int;
        waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t;
        wait4(pid: pid_t, status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t;
        waitid(kind: idtype_t, id: id_t, info: *mut siginfo_t, options: c_int) -> c_int;
        __read_chk(fd: c_int, buf: *mut c_void, len: size_t, room: size_t) -> ssize_t;
        __recv_chk(fd: c_int, buf: *mut c_void, len: size_t, room: size_t, flags: c_int) -> ssize_t;
        __recvfrom_chk(
            fd: c_int, buf: *mut c_void, len: size_t, room: size_t, flags: c_int, addr: *mut sockaddr,
            addr_len: *mut socklen_t
        ) -> ssize_t;
        __poll_chk(fds: *mut pollfd, n: nfds_t, ms: c_int, room: size_t) -> c_int;
        __ppoll_chk(
            fds: *mut pollfd, n: nfds_t, limit: *const timespec, mask: *const sigset_t, room: size_t
        ) -> c_int;
        thrd_create(thread: *mut pthread_t, start: IntStart, arg: *mut c_void) -> c_int;
        thrd_join(thread: pthread_t, result: *mut c_int) -> c_int;
        thrd_detach(thread: pthread_t) -> c_int;
        thrd_exit(result: c_int) -> !;
        thrd_sleep(time: *const timespec, rest: *mut timespec) -> c_int;
        thrd_yield();
        pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int;
        pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int;
        pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int;
        pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, time: *const timespec) -> c_int;
        pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int;
        pthread_mutex_consistent(mutex: *mut pthread_mutex_t) -> c_int;
        pthread_cond_init(cond: *mut pthread_cond_t, attr: *const pthread_condattr_t) -> c_int;
        pthread_cond_destroy(cond: *mut pthread_cond_t) -> c_int;
        pthread_cond_wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int;
        pthread_cond_timedwait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int;
        pthread_cond_clockwait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, time: *const timespec) -> c_int;
        pthread_cond_signal(cond: *mut pthread_cond_t) -> c_int;
        pthread_cond_broadcast(cond: *mut pthread_cond_t) -> c_int;
        pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) -> c_int;
        pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) -> c_int;
        pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int;
        pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int;
        pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t, time: *const timespec) -> c_int;
        pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t, time: *const timespec) -> c_int;
        pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int;
        pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) -> c_int;
        pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int;
        pthread_barrier_wait(barrier: *mut pthread_barrier_t) -> c_int;
        pthread_barrier_destroy(barrier: *mut pthread_barrier_t) -> c_int;
        pthread_once(control: *mut c_int, function: Init) -> c_int;
        sem_wait(sem: *mut sem_t) -> c_int;
        sem_timedwait(sem: *mut sem_t, time: *const timespec) -> c_int;
        sem_clockwait(sem: *mut sem_t, clock: clockid_t, time: *const timespec) -> c_int;
        sem_post(sem: *mut sem_t) -> c_int;
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

    /// Returns the version of a function of which glibc has an older one, too. Before 2.36,
    /// `dlsym(RTLD_NEXT, ..)` finds the oldest, which expects other objects or arguments.
    fn version(name: &CStr) -> Option<&'static CStr> {
        if cfg!(not(target_arch = "x86_64")) {
            return None;
        }
        match name.to_bytes() {
            b"pthread_setaffinity_np" | b"pthread_getaffinity_np" => Some(c"GLIBC_2.3.4"),
            // It is newer than the change.
            b"pthread_cond_clockwait" => None,
            name if name.starts_with(b"pthread_cond_") => Some(c"GLIBC_2.3.2"),
            _ => None,
        }
    }

    /// Looks for all functions. A search that fails calls `malloc`, which may be the program's and
    /// call a function of these. So none fails.
    #[cold]
    #[inline(never)]
    extern "C" fn find_all() {
        for (name, place) in NAMES.iter().zip(&FOUND) {
            // SAFETY: each name ends in a zero, and has no other.
            let address = unsafe {
                let name = CStr::from_bytes_with_nul_unchecked(name.as_bytes());
                match version(name) {
                    Some(version) => libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr()),
                    None => libc::dlsym(libc::RTLD_NEXT, name.as_ptr()),
                }
            };
            if address.is_null() {
                throw("threads: a function of the C library is missing");
            }
            place.store(address, Ordering::Relaxed);
        }
        // SAFETY: the name is a C string.
        let count = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__nptl_nthreads".as_ptr()) };
        COUNT.store(count.cast(), Ordering::Relaxed);
    }

    /// glibc's count of the process's threads; null until it was looked for, and if there is none.
    static COUNT: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

    /// Returns glibc's count of the process's threads, the first one included. The thread that
    /// makes it 0 ends the process.
    fn count() -> Option<&'static AtomicU32> {
        // SAFETY: a variable of the C library's, which stays. The C library changes it by atomic
        // instructions.
        unsafe { COUNT.load(Ordering::Relaxed).as_ref() }
    }

    /// Counts a goroutine that is a thread; or a thread of the runtime's that is about to end, as
    /// glibc then takes it off the count.
    pub(in crate::runtime) fn count_thread() {
        if let Some(count) = count() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes a thread off the count: a goroutine that has ended, or a new thread of the runtime's,
    /// which isn't one of the program's. Returns whether none is left, so the process has to end.
    pub(in crate::runtime) fn uncount_thread() -> bool {
        // Acquire and release: the last thread sees what the others have done.
        count().is_some_and(|count| count.fetch_sub(1, Ordering::AcqRel) == 1)
    }

    /// Called by the dynamic linker before `main`.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static AT_START: extern "C" fn() = find_all;
}
