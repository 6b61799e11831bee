//! The default size of a goroutine's stack, and what it suffices for.

use std::env;
use std::ffi::{OsStr, c_void};
use std::hint::black_box;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use gosched::capi::gosched_newproc_fixed;
use gosched::chan::{Receiver, Sender, bounded};
use gosched::iter::{Yielder, pull};
use gosched::{Builder, go, proc, run, scope, select, set_default_stack_size};

use crate::harness::panics::panics;
use crate::harness::{Test, tests};

tests! {
    large_values_go_in_and_out
    large_values_go_through_channels
    the_default_is_what_was_set
    stacks_of_many_sizes_take_turns
    a_default_that_cannot_be
    a_default_that_is_no_text
}

/// The setting.
const SIZE: &str = "GOSCHED_STACK_SIZE";

/// The default of a build with optimisation, whose frames are small.
const SMALL: usize = 256 << 10;

/// The most by which a goroutine's stack may exceed its room.
const MORE: usize = 64 << 10;

/// The most of the stack that the goroutine's thread-locals may take.
const LOCALS: usize = 16 << 10;

/// A value so large that a small stack has no room for nine copies.
type Large = [u8; 30_000];

fn large() -> Large {
    black_box([7; _])
}

fn check(value: &Large) {
    assert!(black_box(value).iter().all(|&byte| byte == 7));
}

/// The same without optimisation, although the stacks are no larger for that.
fn large_values_go_in_and_out(test: Test) {
    let process = || {
        test.process(|| {
            run(|| {
                let value = large();
                go(move || check(&value)).join().unwrap();
                check(&go(large).join().unwrap());
                drop(go(large));
                let made_and_joined = || check(&go(large).join().unwrap());
                go(made_and_joined).join().unwrap();
                go(|| {
                    let value = large();
                    go(move || check(&value)).join().unwrap();
                })
                .join()
                .unwrap();
                scope(|s| s.go(move || check(&value)).join().unwrap());
                scope(|s| check(&s.go(large).join().unwrap()));
                let mut values = pull(move |out: &Yielder<Large>| out.yield_(value));
                check(&values.next().unwrap());
            });
        })
    };
    process().end().with("exit status: 0");
    process().env(SIZE, &SMALL.to_string()).end().with("exit status: 0");
}

/// A use of a channel for large values.
type Use = fn(&Sender<Large>, &Receiver<Large>);

/// The same for channels. `select!` puts its parts into its caller's frame, and so needs the
/// default size.
fn large_values_go_through_channels(test: Test) {
    const MS: Duration = Duration::from_millis(1);
    /// Each use is in a function of its own, because a frame holds everything of its function at
    /// once.
    const USES: [Use; 6] = [
        |tx, _| tx.send(large()).unwrap(),
        |tx, _| assert!(tx.try_send(large()).is_err()),
        |tx, _| assert!(tx.send_timeout(large(), MS).is_err()),
        |_, rx| check(&rx.recv().unwrap()),
        |_, rx| assert!(rx.try_recv().is_err()),
        |_, rx| assert!(rx.recv_timeout(MS).is_err()),
    ];
    let process = || {
        test.process(|| {
            run(|| {
                let (tx, rx) = bounded(1);
                go(move || USES.iter().for_each(|it| it(&tx, &rx))).join().unwrap();
                let (tx, rx) = bounded(0);
                let waits = go(move || check(&rx.recv().unwrap()));
                tx.send(large()).unwrap();
                waits.join().unwrap();
                if env::var_os(SIZE).is_none() {
                    go(select_large).join().unwrap();
                }
            });
        })
    };
    process().end().with("exit status: 0");
    process().env(SIZE, &SMALL.to_string()).end().with("exit status: 0");
}

fn select_large() {
    let (tx, rx) = bounded(1);
    for _ in 0..2 {
        select! {
            biased;
            recv(rx) -> value => check(&value.unwrap()),
            send(tx, large()) -> sent => sent.unwrap(),
        }
    }
}

/// Returns the size of the running goroutine's stack.
fn size() -> usize {
    // SAFETY: the running goroutine's own G.
    let stack = unsafe { (*proc::getg()).stack.get() };
    stack.hi - stack.lo
}

unsafe extern "C" fn send_size(tx: *mut c_void) {
    // SAFETY: the test passes a sender, which stays until this has sent its value.
    unsafe { (*tx.cast::<Sender<usize>>()).send(size()).unwrap() }
}

/// Fails unless every kind of goroutine has a stack of this size by default.
fn expect(expected: usize) {
    let builder = Builder::new();
    run(move || {
        let (tx, rx) = bounded(1);
        let arg = (&raw const tx).cast_mut().cast();
        // SAFETY: the sender stays until it has been used.
        assert_eq!(unsafe { gosched_newproc_fixed(Some(send_size), arg, 0) }, 0);
        let sizes = [
            go(size).join().unwrap(),
            builder.go(size).unwrap().join().unwrap(),
            scope(|s| s.go(size).join().unwrap()),
            pull(|out| out.yield_(size())).next().unwrap(),
            rx.recv().unwrap(),
        ];
        // Thread-locals take the missing part.
        let fits = |size| (expected - LOCALS..=expected + MORE).contains(size);
        assert!(sizes.iter().all(fits), "{sizes:?} and not {expected}");
        assert!(fits(&go(size).join().unwrap()), "a stack that is used again");
        let error = set_default_stack_size(1 << 20).unwrap_err();
        assert_eq!(error.to_string(), "the runtime has started: call this before the first gosched::run");
    });
}

/// Each case has the environment's setting, the program's, and the result.
fn the_default_is_what_was_set(test: Test) {
    /// The environment variable with the program's setting and the expected result.
    const SET: &str = "GOSCHED_TEST_SET";

    let usual = if cfg!(debug_assertions) { 4 * SMALL } else { SMALL };
    for (said, set, expected) in [
        (None, 0, usual),
        (Some(2_usize << 20), 0, 2 << 20),
        (Some(64 << 10), 0, 64 << 10),
        (None, 100_000, 128 << 10),
        (Some(100_000), 1 << 20, 128 << 10),
    ] {
        let process = test.process(|| {
            let numbers = env::var(SET).unwrap();
            let (set, expected) = numbers.split_once(' ').unwrap();
            if set != "0" {
                set_default_stack_size(set.parse().unwrap()).unwrap();
            }
            expect(expected.parse().unwrap());
        });
        let process = process.env(SET, &format!("{set} {expected}"));
        let process = match said {
            Some(said) => process.env(SIZE, &said.to_string()),
            None => process,
        };
        process.end().with("exit status: 0");
    }
}

fn stacks_of_many_sizes_take_turns() {
    set_default_stack_size(3 << 20).unwrap();
    expect(4 << 20);
    run(|| {
        for i in 0..300 {
            let size = Builder::new().stack_size(SMALL << (i % 6)).go(size).unwrap().join().unwrap();
            assert!(size >= SMALL << (i % 6));
            let many: Vec<_> = (0..100).map(|_| go(self::size)).collect();
            many.into_iter().for_each(|handle| assert!(handle.join().unwrap() >= (4 << 20) - LOCALS));
        }
        proc::free_os_memory();
        assert!(go(size).join().unwrap() >= (4 << 20) - LOCALS);
    });
}

fn a_default_that_is_no_text(test: Test) {
    let process = test.process(|| {
        // SAFETY: there is no other thread that reads the environment.
        unsafe { env::set_var(SIZE, OsStr::from_bytes(b"4096\xff")) };
        eprintln!("{}", panics(|| run(|| ())));
    });
    let expected =
        "can't start: GOSCHED_STACK_SIZE=4096\u{fffd}: it takes a number of bytes, at most 1 GiB\n";
    process.end().with("exit status: 0").says(expected);
}

fn a_default_that_cannot_be(test: Test) {
    for size in ["", "much", "-1", "1073750000", "99999999999999999999"] {
        let process = test.process(|| {
            eprintln!("{}", panics(|| run(|| ())));
        });
        let expected = format!(
            "gosched::run: can't start: GOSCHED_STACK_SIZE={size}: it takes a number of bytes, at most 1 GiB\n"
        );
        process.env(SIZE, size).end().with("exit status: 0").says(&expected);
    }
    let error = set_default_stack_size((1 << 30) + 4096).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}
