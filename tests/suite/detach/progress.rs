//! Code that holds up its thread holds up no other goroutine, even with one P.

use std::arch::asm;
use std::hint::spin_loop;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::panic::resume_unwind;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;

use gosched::chan::bounded;
use gosched::time::{Ticker, sleep};
use gosched::{go, scope, yield_now};

use super::ends_well;
use crate::harness::polled::MS;
use crate::harness::{Test, rounds, tests};

tests! {
    a_loop_until_another_says_so
    a_loop_in_assembly
    a_loop_in_a_destructor_while_panicking
    a_locked_thread_loops
    a_lock_of_stds_whose_holder_is_parked
    a_thread_sleeps_and_a_ticker_ticks
    a_full_pipe
    an_empty_pipe
    an_empty_pipe_after_a_long_turn
    a_channel_of_stds
    a_condition_of_stds
    many_hogs
    many_hogs_on_two_ps
    a_timer_of_an_idle_p
}

/// Returns once `flag` is set.
fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        spin_loop();
    }
}

/// Makes a goroutine that sets `flag`.
fn set(flag: &'static AtomicBool) {
    drop(go(|| flag.store(true, Ordering::Release)));
}

fn a_loop_until_another_says_so(test: Test) {
    ends_well(test, "1", "", || {
        static FLAG: AtomicBool = AtomicBool::new(false);
        set(&FLAG);
        wait_for(&FLAG);
    });
}

/// The loop is like a function in C, of which the runtime knows nothing.
fn a_loop_in_assembly(test: Test) {
    ends_well(test, "1", "", || {
        static FLAG: AtomicBool = AtomicBool::new(false);
        set(&FLAG);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: reads the byte until it isn't 0.
        unsafe {
            asm!("2: cmp byte ptr [{}], 0", "je 2b", in(reg) FLAG.as_ptr(), options(nostack));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            asm!("2: ldrb {0:w}, [{1}]", "cbz {0:w}, 2b", out(reg) _, in(reg) FLAG.as_ptr(), options(nostack));
        }
        assert!(FLAG.load(Ordering::Acquire));
    });
}

fn a_loop_in_a_destructor_while_panicking(test: Test) {
    ends_well(test, "1", "", || {
        static FLAG: AtomicBool = AtomicBool::new(false);
        struct Waits;
        impl Drop for Waits {
            fn drop(&mut self) {
                set(&FLAG);
                wait_for(&FLAG);
                assert!(thread::panicking());
                yield_now();
                assert!(thread::panicking());
            }
        }
        let handle = go(|| {
            let _waits = Waits;
            resume_unwind(Box::new(7))
        });
        let payload = handle.join().unwrap_err().into_panic();
        assert_eq!(*payload.downcast::<i32>().unwrap(), 7);
        assert!(!thread::panicking());
    });
}

fn a_locked_thread_loops(test: Test) {
    ends_well(test, "1", "", || {
        static FLAGS: [AtomicBool; 20] = [const { AtomicBool::new(false) }; 20];
        let _locked = gosched::lock_os_thread();
        let here = thread::current().id();
        for flag in &FLAGS {
            set(flag);
            wait_for(flag);
            yield_now();
            assert_eq!(thread::current().id(), here);
        }
    });
}

fn a_lock_of_stds_whose_holder_is_parked(test: Test) {
    ends_well(test, "1", "", || {
        let mutex = Arc::new(Mutex::new(1));
        let (tx, rx) = bounded(1);
        let theirs = mutex.clone();
        let holder = go(move || {
            let mut held = theirs.lock().unwrap();
            tx.send(()).unwrap();
            sleep(20 * MS);
            *held *= 10;
        });
        rx.recv().unwrap();
        *mutex.lock().unwrap() += 1;
        holder.join().unwrap();
        assert_eq!(*mutex.lock().unwrap(), 11);
    });
}

fn a_thread_sleeps_and_a_ticker_ticks(test: Test) {
    ends_well(test, "1", "", || {
        static TICKS: AtomicUsize = AtomicUsize::new(0);
        static OVER: AtomicBool = AtomicBool::new(false);
        let ticking = go(|| {
            let ticker = Ticker::new(MS);
            while !OVER.load(Ordering::Relaxed) {
                ticker.c().recv().unwrap();
                TICKS.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Usually, the other goroutine waits for its first tick now.
        yield_now();
        let before = TICKS.load(Ordering::Relaxed);
        while TICKS.load(Ordering::Relaxed) < before + 5 {
            thread::sleep(20 * MS);
        }
        OVER.store(true, Ordering::Relaxed);
        ticking.join().unwrap();
    });
}

const MUCH: usize = 1 << 20;

fn a_full_pipe(test: Test) {
    ends_well(test, "1", "", || {
        let (mut rx, mut tx) = io::pipe().unwrap();
        let draining = go(move || {
            let mut read = Vec::new();
            rx.read_to_end(&mut read).unwrap();
            read
        });
        let much: Vec<u8> = (0..MUCH).map(|i| i as u8).collect();
        tx.write_all(&much).unwrap();
        drop(tx);
        assert!(draining.join().unwrap() == much);
    });
}

fn an_empty_pipe(test: Test) {
    ends_well(test, "1", "", || {
        let (mut rx, mut tx) = io::pipe().unwrap();
        let writing = go(move || (0..MUCH / 4096).for_each(|i| tx.write_all(&[i as u8; 4096]).unwrap()));
        let mut read = Vec::new();
        rx.read_to_end(&mut read).unwrap();
        writing.join().unwrap();
        assert_eq!(read.len(), MUCH);
        assert!(read.chunks(4096).enumerate().all(|(i, chunk)| chunk.iter().all(|&byte| byte == i as u8)));
    });
}

/// The thread sleeps once it has been asked to wait for its turn. Each signal takes time.
fn an_empty_pipe_after_a_long_turn(test: Test) {
    ends_well(test, "1", "", || {
        let (mut rx, mut tx) = io::pipe().unwrap();
        let filling = go(move || tx.write_all(b"x").unwrap());
        until_asked_in_the_c_library();
        assert_eq!(rx.read(&mut [0; 2]).unwrap(), 1);
        filling.join().unwrap();
    });
}

/// Computes until sysmon has sent a signal, which then arrives in the C library.
fn until_asked_in_the_c_library() {
    // SAFETY: the sets are initialised before they are used.
    unsafe {
        let mut set = MaybeUninit::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGURG);
        assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut()), 0);
        let mut pending = MaybeUninit::uninit();
        while {
            libc::sigpending(pending.as_mut_ptr());
            libc::sigismember(pending.as_ptr(), libc::SIGURG) == 0
        } {}
        assert_eq!(libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut()), 0);
    }
}

fn a_channel_of_stds(test: Test) {
    ends_well(test, "1", "", || {
        let (to, at_other) = mpsc::sync_channel(0);
        let (back, from_other) = mpsc::channel();
        let other = go(move || at_other.iter().for_each(|i: u32| back.send(i + 1).unwrap()));
        for i in 0..100 {
            to.send(i).unwrap();
            assert_eq!(from_other.recv(), Ok(i + 1));
        }
        drop(to);
        other.join().unwrap();
    });
}

fn a_condition_of_stds(test: Test) {
    ends_well(test, "1", "", || {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let theirs = pair.clone();
        let other = go(move || {
            for i in 0..50 {
                let (mutex, condvar) = &*theirs;
                let mut turn = condvar.wait_while(mutex.lock().unwrap(), |turn| *turn != 2 * i + 1).unwrap();
                *turn += 1;
                condvar.notify_all();
            }
        });
        let (mutex, condvar) = &*pair;
        for i in 0..50 {
            let mut turn = condvar.wait_while(mutex.lock().unwrap(), |turn| *turn != 2 * i).unwrap();
            *turn += 1;
            drop(turn);
            condvar.notify_all();
        }
        other.join().unwrap();
        assert_eq!(*mutex.lock().unwrap(), 100);
    });
}

/// No loop ends before all have had a turn. The time grows with the square of the number of loops.
fn hogs(test: Test, procs: &str) {
    ends_well(test, procs, "", || {
        let counts: Vec<AtomicUsize> = (0..rounds(100)).map(|_| AtomicUsize::new(0)).collect();
        scope(|s| {
            for mine in &counts {
                s.go(|| {
                    while counts.iter().any(|count| count.load(Ordering::Relaxed) == 0) {
                        mine.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) > 0));
    });
}

fn many_hogs(test: Test) {
    hogs(test, "1");
}

fn many_hogs_on_two_ps(test: Test) {
    hogs(test, "2");
}

/// The M that waited for the first timer runs a goroutine that blocks its thread until the later
/// timer has fired. Usually, that timer belongs to a P that is idle then.
fn a_timer_of_an_idle_p(test: Test) {
    ends_well(test, "2", "", || {
        for _ in 0..rounds(50) {
            let (mut rx, mut tx) = io::pipe().unwrap();
            let blocks = go(move || {
                sleep(MS);
                rx.read_exact(&mut [0]).unwrap();
            });
            // Both begin at the same time, so each is on a P of its own. The P that becomes idle
            // last is taken first.
            let here = Arc::new(AtomicUsize::new(0));
            let meet = |here: &AtomicUsize| {
                here.fetch_add(1, Ordering::Relaxed);
                while here.load(Ordering::Relaxed) < 2 {
                    spin_loop();
                }
            };
            let other = here.clone();
            let late = go(move || {
                meet(&other);
                sleep(15 * MS);
                tx.write_all(b"x").unwrap();
            });
            let last = go(move || {
                meet(&here);
                (0..10_000).for_each(|_| spin_loop());
            });
            [late, last, blocks].into_iter().for_each(|handle| handle.join().unwrap());
        }
    });
}
