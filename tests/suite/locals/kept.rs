//! What a goroutine keeps of its thread's state across a park.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::ptr;
use std::sync::Mutex;

use gosched::chan::bounded;
use gosched::{go, yield_now};

use super::{each, moves, own, with_procs};
use crate::harness::{Test, tests};

tests! {
    a_list_that_is_pushed_to
    a_borrow
    an_address
    errors_of_the_system
    a_lock_of_stds
    the_lock_of_stdout
    a_recursive_mutex
    memory_of_others
    goroutines_without_beside_them
    how_it_rounds
}

thread_local! {
    static SEEN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static LAZY: RefCell<String> = RefCell::new("lazily".to_owned());
}

#[inline(always)]
fn note(n: usize) {
    SEEN.with(|seen| seen.borrow_mut().push(n));
    COUNT.set(COUNT.get() + 1);
}

/// A loop that crashes if goroutines use their threads' thread-locals: the address of a
/// thread-local stays in a register.
fn a_list_that_is_pushed_to(test: Test) {
    with_procs(test, || {
        each(50, |i| {
            for n in 0..500 {
                note(i + n);
                yield_now();
            }
            let seen = SEEN.take();
            assert!(seen.iter().copied().eq(i..i + 500), "{seen:?}");
            assert_eq!(COUNT.get(), 500);
        });
    });
}

fn a_borrow(test: Test) {
    with_procs(test, || {
        each(50, |i| {
            for _ in 0..50 {
                SEEN.with(|seen| {
                    let mut seen = seen.borrow_mut();
                    seen.push(i);
                    moves();
                    assert!(seen.iter().all(|&n| n == i));
                });
                LAZY.with(|lazy| {
                    let mut lazy = lazy.borrow_mut();
                    moves();
                    lazy.push('.');
                });
            }
            assert_eq!(LAZY.take(), format!("lazily{}", ".".repeat(50)));
        });
    });
}

fn an_address(test: Test) {
    with_procs(test, || {
        let addresses = each(20, |_| {
            let before = COUNT.with(ptr::from_ref).addr();
            moves();
            assert_eq!(COUNT.with(ptr::from_ref).addr(), before);
            before
        });
        assert!(!addresses.contains(&COUNT.with(ptr::from_ref).addr()));
    });
}

fn errors_of_the_system(test: Test) {
    with_procs(test, || {
        each(20, |i| {
            // SAFETY: closes no descriptor; errno is this goroutine's.
            unsafe {
                *libc::__errno_location() = i as i32 + 1;
                moves();
                assert_eq!(io::Error::last_os_error().raw_os_error(), Some(i as i32 + 1));
                assert_eq!(libc::close(-1), -1);
                moves();
                assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
            }
        });
    });
}

fn a_lock_of_stds(test: Test) {
    static TOTAL: Mutex<usize> = Mutex::new(0);
    with_procs(test, || {
        *TOTAL.lock().unwrap() = 0;
        each(8, |_| {
            for _ in 0..5 {
                let mut total = TOTAL.lock().unwrap();
                let before = *total;
                yield_now();
                *total = before + 1;
            }
        });
        assert_eq!(*TOTAL.lock().unwrap(), 40);
    });
}

/// A goroutine holds it, by its thread's number: the goroutine may lock it again, and no other may.
fn the_lock_of_stdout(test: Test) {
    with_procs(test, || {
        each(4, |i| {
            for _ in 0..5 {
                let mut out = io::stdout().lock();
                write!(out, "[{i} ").unwrap();
                yield_now();
                println!("inside");
                writeln!(out, "{i}]").unwrap();
            }
        });
    });
}

fn a_recursive_mutex(test: Test) {
    struct Shared(libc::pthread_mutex_t);
    with_procs(test, || {
        // SAFETY: made here, and used before it is dropped. Only one goroutine at a time locks it,
        // and unlocks it as often.
        unsafe {
            let mut attributes = std::mem::zeroed();
            libc::pthread_mutexattr_init(&mut attributes);
            libc::pthread_mutexattr_settype(&mut attributes, libc::PTHREAD_MUTEX_RECURSIVE);
            let mut mutex = Shared(std::mem::zeroed());
            libc::pthread_mutex_init(&mut mutex.0, &attributes);
            let at = ptr::from_mut(&mut mutex).expose_provenance();
            each(4, move |_| {
                let mutex = || ptr::with_exposed_provenance_mut::<libc::pthread_mutex_t>(at);
                for _ in 0..5 {
                    assert_eq!(libc::pthread_mutex_lock(mutex()), 0);
                    yield_now();
                    assert_eq!(libc::pthread_mutex_lock(mutex()), 0);
                    yield_now();
                    assert_eq!(libc::pthread_mutex_unlock(mutex()), 0);
                    assert_eq!(libc::pthread_mutex_unlock(mutex()), 0);
                }
            });
        }
    });
}

/// One goroutine allocates it, and another frees it, on any thread.
fn memory_of_others(test: Test) {
    with_procs(test, || {
        let (tx, rx) = bounded::<Vec<u8>>(100);
        let makers: Vec<_> = (0..10)
            .map(|i| {
                let tx = tx.clone();
                own(move || {
                    for n in 0..300 {
                        tx.send(vec![i; (n * 37 + usize::from(i)) % 3_000]).unwrap();
                        let mut text = String::new();
                        write!(text, "{n}").unwrap();
                        yield_now();
                        assert_eq!(text, n.to_string());
                    }
                })
            })
            .collect();
        drop(tx);
        let takers: Vec<_> = (0..5)
            .map(|_| {
                let rx = rx.clone();
                own(move || rx.iter().filter(|bytes| bytes.iter().all(|&byte| byte == bytes[0])).count())
            })
            .collect();
        makers.into_iter().for_each(|maker| maker.join().unwrap());
        assert_eq!(takers.into_iter().map(|taker| taker.join().unwrap()).sum::<usize>(), 3_000);
    });
}

fn goroutines_without_beside_them(test: Test) {
    with_procs(test, || {
        let (tx, rx) = bounded(0);
        let without = go(move || (0..200).for_each(|n: usize| tx.send(n).unwrap()));
        let with = own(move || {
            for n in rx {
                note(n);
            }
            SEEN.take()
        });
        without.join().unwrap();
        assert!(with.join().unwrap().into_iter().eq(0..200));
    });
}

/// The switch compares the control words and the thread-locals together.
fn how_it_rounds(test: Test) {
    unsafe extern "C" {
        fn fesetround(mode: i32) -> i32;
        fn fegetround() -> i32;
    }
    const STEP: i32 = if cfg!(target_arch = "x86_64") { 0x400 } else { 0x40_0000 };
    fn rounds(mode: i32) {
        // SAFETY: sets how this goroutine rounds, which computes nothing with it.
        unsafe {
            assert_eq!(fesetround(mode * STEP), 0);
            for _ in 0..100 {
                yield_now();
                assert_eq!(fegetround(), mode * STEP);
            }
            fesetround(0);
        }
    }
    with_procs(test, || {
        let others: Vec<_> = (0..20).map(|i| go(move || rounds(i % 4))).collect();
        each(20, |i| {
            COUNT.set(i);
            rounds(i as i32 % 4);
            assert_eq!(COUNT.get(), i);
        });
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}
