//! The locks of `<pthread.h>` and `<semaphore.h>`. glibc's functions that neither wait nor wake,
//! such as `sem_trywait`, are here only where they do more than glibc's function of that version.

use std::ffi::c_int;

use libc::{
    clockid_t, pthread_barrier_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, pthread_rwlock_t,
    sem_t, timespec,
};

use crate::runtime::arch::getg;
use crate::runtime::base::real;
use crate::runtime::threads::live::live;
use crate::runtime::threads::locks::rwlock::How;
use crate::runtime::threads::locks::{
    Limit, barrier, by_glibc, by_glibc_with_store, cond, mutex, of_threads, once, rwlock, semaphore,
};

/// Defines functions of these names, which take the same arguments and do the same.
macro_rules! functions {
    ($($($name:ident)+ ($($arg:ident: $type:ty),*) $body:block)*) => {$(
        functions! { @ [$($name)+] ($($arg: $type),*) $body }
    )*};
    (@ [$($name:ident)+] $args:tt $body:block) => {$(
        functions! { @@ $name $args $body }
    )+};
    (@@ $name:ident ($($arg:ident: $type:ty),*) $body:block) => {
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> c_int {
            // SAFETY: the program keeps to the C library's contract of this function.
            unsafe { $body }
        }
    };
}

functions! {
    pthread_mutex_lock __pthread_mutex_lock (mutex: *mut pthread_mutex_t) {
        if !live() {
            return real::pthread_mutex_lock(mutex);
        }
        if !mutex::is_ours(mutex) {
            return of_threads::lock(|| real::pthread_mutex_lock(mutex));
        }
        mutex::lock(mutex, Limit::NONE)
    }

    pthread_mutex_trylock __pthread_mutex_trylock (mutex: *mut pthread_mutex_t) {
        if live() && !mutex::is_ours(mutex) {
            return of_threads::lock(|| real::pthread_mutex_trylock(mutex));
        }
        real::pthread_mutex_trylock(mutex)
    }

    pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, time: *const timespec) {
        if !live() {
            return real::pthread_mutex_timedlock(mutex, time);
        }
        if !mutex::is_ours(mutex) {
            return of_threads::lock(|| real::pthread_mutex_timedlock(mutex, time));
        }
        mutex::lock(mutex, Limit::at(time))
    }

    pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, time: *const timespec) {
        if !live() {
            return real::pthread_mutex_clocklock(mutex, clock, time);
        }
        if !mutex::is_ours(mutex) {
            return of_threads::lock(|| real::pthread_mutex_clocklock(mutex, clock, time));
        }
        mutex::lock(mutex, Limit::by(clock, time))
    }

    pthread_mutex_unlock __pthread_mutex_unlock (mutex: *mut pthread_mutex_t) {
        if !live() {
            return by_glibc(&[mutex.addr()], || real::pthread_mutex_unlock(mutex));
        }
        if !mutex::is_ours(mutex) {
            return of_threads::unlock(|| real::pthread_mutex_unlock(mutex));
        }
        mutex::unlock(mutex)
    }

    pthread_mutex_consistent(mutex: *mut pthread_mutex_t) {
        if !live() {
            return real::pthread_mutex_consistent(mutex);
        }
        of_threads::as_thread(|| real::pthread_mutex_consistent(mutex))
    }

    // What was linked before 2003 calls the first version of this function and of the next one. It
    // is for another object. All functions here are for the new one.
    pthread_cond_init(cond: *mut pthread_cond_t, attr: *const pthread_condattr_t) {
        real::pthread_cond_init(cond, attr)
    }

    pthread_cond_destroy(cond: *mut pthread_cond_t) {
        real::pthread_cond_destroy(cond)
    }

    pthread_cond_wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) {
        let wait = if live() { cond::wait } else { cond::wait_early };
        wait(cond, mutex, Limit::NONE)
    }

    pthread_cond_timedwait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, time: *const timespec) {
        let wait = if live() { cond::wait } else { cond::wait_early };
        wait(cond, mutex, cond::limit_at(time))
    }

    pthread_cond_clockwait(
        cond: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
        clock: clockid_t,
        time: *const timespec
    ) {
        let wait = if live() { cond::wait } else { cond::wait_early };
        wait(cond, mutex, Limit::by(clock, time))
    }

    pthread_cond_signal(cond: *mut pthread_cond_t) {
        if !live() {
            return real::pthread_cond_signal(cond);
        }
        cond::signal(cond)
    }

    pthread_cond_broadcast(cond: *mut pthread_cond_t) {
        if !live() {
            return real::pthread_cond_broadcast(cond);
        }
        cond::broadcast(cond)
    }

    pthread_rwlock_rdlock __pthread_rwlock_rdlock (lock: *mut pthread_rwlock_t) {
        if !live() || !rwlock::is_ours(lock) {
            return real::pthread_rwlock_rdlock(lock);
        }
        rwlock::lock(lock, How::Read, Limit::NONE)
    }

    pthread_rwlock_wrlock __pthread_rwlock_wrlock (lock: *mut pthread_rwlock_t) {
        if !live() || !rwlock::is_ours(lock) {
            return real::pthread_rwlock_wrlock(lock);
        }
        rwlock::lock(lock, How::Write, Limit::NONE)
    }

    pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, time: *const timespec) {
        if !live() || !rwlock::is_ours(lock) {
            return by_glibc(&[lock.addr()], || real::pthread_rwlock_timedrdlock(lock, time));
        }
        rwlock::lock(lock, How::Read, Limit::at(time))
    }

    pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, time: *const timespec) {
        if !live() || !rwlock::is_ours(lock) {
            return by_glibc(&[lock.addr()], || real::pthread_rwlock_timedwrlock(lock, time));
        }
        rwlock::lock(lock, How::Write, Limit::at(time))
    }

    pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t, time: *const timespec) {
        if !live() || !rwlock::is_ours(lock) {
            return by_glibc(&[lock.addr()], || real::pthread_rwlock_clockrdlock(lock, clock, time));
        }
        rwlock::lock(lock, How::Read, Limit::by(clock, time))
    }

    pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t, time: *const timespec) {
        if !live() || !rwlock::is_ours(lock) {
            return by_glibc(&[lock.addr()], || real::pthread_rwlock_clockwrlock(lock, clock, time));
        }
        rwlock::lock(lock, How::Write, Limit::by(clock, time))
    }

    pthread_rwlock_tryrdlock __pthread_rwlock_tryrdlock (lock: *mut pthread_rwlock_t) {
        if !live() || !rwlock::is_ours(lock) {
            return real::pthread_rwlock_tryrdlock(lock);
        }
        rwlock::try_lock(lock, How::Read)
    }

    pthread_rwlock_unlock __pthread_rwlock_unlock (lock: *mut pthread_rwlock_t) {
        if !live() || !rwlock::is_ours(lock) {
            return by_glibc(&[lock.addr()], || real::pthread_rwlock_unlock(lock));
        }
        rwlock::unlock(lock)
    }

    pthread_barrier_wait(barrier: *mut pthread_barrier_t) {
        if !live() || !barrier::is_ours(barrier) {
            return by_glibc_with_store(&barrier::words(barrier), || real::pthread_barrier_wait(barrier));
        }
        barrier::wait(barrier)
    }

    pthread_barrier_destroy(barrier: *mut pthread_barrier_t) {
        if !live() || !barrier::is_ours(barrier) {
            return real::pthread_barrier_destroy(barrier);
        }
        barrier::destroy(barrier)
    }

    pthread_once __pthread_once (control: *mut c_int, function: unsafe extern "C-unwind" fn()) {
        if once::is_done(control) {
            return 0;
        }
        if !live() {
            return by_glibc_with_store(&[control.addr()], || real::pthread_once(control, function));
        }
        once::once(control, function)
    }

    sem_wait(sem: *mut sem_t) {
        if !live() || getg().is_none() || !semaphore::is_ours(sem) {
            return real::sem_wait(sem);
        }
        semaphore::wait(sem, Limit::NONE)
    }

    sem_timedwait(sem: *mut sem_t, time: *const timespec) {
        if !live() || getg().is_none() || !semaphore::is_ours(sem) {
            return real::sem_timedwait(sem, time);
        }
        semaphore::wait(sem, Limit::at(time))
    }

    sem_clockwait(sem: *mut sem_t, clock: clockid_t, time: *const timespec) {
        if !live() || getg().is_none() || !semaphore::is_ours(sem) {
            return real::sem_clockwait(sem, clock, time);
        }
        semaphore::wait(sem, Limit::by(clock, time))
    }

    sem_post(sem: *mut sem_t) {
        if !live() || !semaphore::is_ours(sem) {
            return by_glibc(&[sem.addr()], || real::sem_post(sem));
        }
        semaphore::post(sem)
    }
}
