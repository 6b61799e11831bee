//! A goroutine that waits for a second gives back the pages below its frames.

use std::hint::{self, black_box};
use std::mem::{MaybeUninit, zeroed};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;
use std::{ptr, thread};

use gosched::chan::{Receiver, bounded};
use gosched::proc;
use gosched::runtime2::{GSCAN, GWAITING};
use gosched::time::sleep;
use gosched::{Builder, JoinHandle, go, run, scope, yield_now};

use crate::harness::goroutines::wait_until;
use crate::harness::pages::page_size;
use crate::harness::rng::Rng;
use crate::harness::storm::storm;
use crate::harness::{Test, tests};

tests! {
    it_goes_back
    of_one_that_shares_thread_locals
    of_the_last_one_that_waits
    while_another_reads_it
    frames_stay
    it_stays_while_a_goroutine_runs
    it_stays_while_a_goroutine_is_on_another
    while_goroutines_wait_for_moments
}

/// The stack that a goroutine uses once.
const DEEP: usize = 128 << 10;

/// Writes to that much stack. Returns its whole pages.
#[inline(never)]
fn use_stack(byte: u8) -> Range<usize> {
    let mut bytes = [byte; DEEP];
    assert!(black_box(&mut bytes).iter().all(|&at| at == byte));
    let lo = bytes.as_ptr().addr().next_multiple_of(page_size());
    lo..(bytes.as_ptr().addr() + DEEP) / page_size() * page_size()
}

/// Returns how many of these pages have memory.
fn resident(pages: &Range<usize>) -> usize {
    let mut each = vec![0_u8; pages.len() / page_size()];
    // SAFETY: the pages belong to a stack, which stays mapped. The kernel writes a byte for each.
    let asked = unsafe {
        libc::mincore(std::ptr::with_exposed_provenance_mut(pages.start), pages.len(), each.as_mut_ptr())
    };
    assert_eq!(asked, 0);
    each.iter().filter(|&&byte| byte & 1 != 0).count()
}

/// Makes a goroutine that has used stack once, and waits. Its frames take a page or two of the
/// returned pages.
fn used_once(builder: Builder, rx: Receiver<()>) -> (Range<usize>, JoinHandle<()>) {
    let (tx, pages) = bounded(1);
    let handle = builder.go(move || {
        let pages = use_stack(7);
        assert_eq!(resident(&pages), pages.len() / page_size());
        tx.send(pages).unwrap();
        _ = rx.recv();
    });
    (pages.recv().unwrap(), handle.unwrap())
}

fn goes_back(test: Test, builder: fn() -> Builder) {
    let process = test.process(move || {
        run(|| {
            let (tx, rx) = bounded::<()>(0);
            let waiting: Vec<_> = (0..100).map(|_| used_once(builder(), rx.clone())).collect();
            for (pages, _) in &waiting {
                wait_until(|| resident(pages) <= 4);
            }
            drop(tx);
            waiting.into_iter().for_each(|(_, handle)| handle.join().unwrap());
        });
    });
    process.env("GODEBUG", "period=1").end().with("exit status: 0");
}

fn it_goes_back(test: Test) {
    goes_back(test, Builder::new);
}

fn of_one_that_shares_thread_locals(test: Test) {
    // SAFETY: the goroutines have no thread-locals.
    goes_back(test, || unsafe { Builder::new().shared_locals() });
}

/// The goroutine computes while passes go on, then waits. After that, nothing runs any more.
fn of_the_last_one_that_waits(test: Test) {
    let process = test.process(|| {
        let ((said, pages), (tx, rx)) = (mpsc::channel(), bounded::<()>(0));
        let looks = thread::spawn(move || {
            let pages: Range<usize> = pages.recv().unwrap();
            while resident(&pages) > 4 {
                thread::sleep(Duration::from_millis(1));
            }
            drop(tx);
        });
        run(move || {
            let (_tx, never) = bounded::<()>(0);
            let (other, _) = used_once(Builder::new(), never);
            let pages = use_stack(1);
            while resident(&other) > 4 {
                hint::spin_loop();
            }
            said.send(pages).unwrap();
            _ = rx.recv();
        });
        looks.join().unwrap();
    });
    process.env("GODEBUG", "period=1,asyncpreemptoff=1,detach=0").end().with("exit status: 0");
}

/// The other goroutine reads for some passes. After that, nothing runs any more.
fn while_another_reads_it(test: Test) {
    let process = test.process(|| {
        let (said, pages) = mpsc::channel();
        let (tx, rx) = bounded::<()>(0);
        let reads = thread::spawn(move || {
            let (pages, gp): (Range<usize>, usize) = pages.recv().unwrap();
            let gp = ptr::with_exposed_provenance_mut(gp);
            // SAFETY: G's are never freed. The stack doesn't move, because the goroutine waits
            // until this is dropped.
            unsafe {
                while !proc::castogscanstatus(gp, GWAITING, GWAITING | GSCAN) {
                    hint::spin_loop();
                }
                thread::sleep(Duration::from_millis(100));
                proc::casfrom_gscanstatus(gp, GWAITING | GSCAN, GWAITING);
            }
            while resident(&pages) > 4 {
                thread::sleep(Duration::from_millis(1));
            }
            drop(tx);
        });
        run(move || {
            said.send((use_stack(1), proc::getg().expose_provenance())).unwrap();
            _ = rx.recv();
        });
        reads.join().unwrap();
    });
    process.env("GODEBUG", "period=1").end().with("exit status: 0");
}

/// A waiting goroutine's frames are still there when it goes on, again and again.
fn frames_stay(test: Test) {
    /// Waits below some frames, each of which keeps a value.
    fn wait_below(frames: usize, rx: &Receiver<()>) {
        let kept = black_box([frames; 64]);
        match frames {
            0 => _ = rx.recv(),
            _ => wait_below(frames - 1, rx),
        }
        assert_eq!(black_box(kept), [frames; 64]);
    }

    let process = test.process(|| {
        run(|| {
            let (tx, rx) = bounded::<()>(0);
            let (said, pages) = bounded(1);
            let goroutine = go(move || {
                for round in 0..10 {
                    said.send(use_stack(round as u8)).unwrap();
                    wait_below(round, &rx);
                }
            });
            for _ in 0..10 {
                let pages = pages.recv().unwrap();
                // The waiting frames are above the lower half, or near it.
                let lower = pages.start..pages.start + DEEP / 4;
                wait_until(|| resident(&lower) == 0);
                tx.send(()).unwrap();
            }
            goroutine.join().unwrap();
        });
    });
    process.env("GODEBUG", "period=1").end().with("exit status: 0");
}

/// A goroutine that never waits that long keeps its pages, while others give theirs back.
fn it_stays_while_a_goroutine_runs(test: Test) {
    let process = test.process(|| {
        run(|| {
            static DONE: AtomicBool = AtomicBool::new(false);
            let (tx, rx) = bounded::<()>(0);
            let running = go(|| {
                let pages = use_stack(1);
                while !DONE.load(Ordering::Relaxed) {
                    yield_now();
                }
                resident(&pages) == pages.len() / page_size()
            });
            for _ in 0..10 {
                let (pages, _) = used_once(Builder::new(), rx.clone());
                wait_until(|| resident(&pages) <= 4);
            }
            DONE.store(true, Ordering::Relaxed);
            assert!(running.join().unwrap());
            drop(tx);
        });
    });
    process.env("GODEBUG", "period=1").end().with("exit status: 0");
}

/// A goroutine waits on a stack that it has made itself, as crates for coroutines do.
fn it_stays_while_a_goroutine_is_on_another(test: Test) {
    static RX: OnceLock<Receiver<()>> = OnceLock::new();
    extern "C" fn wait() {
        _ = RX.get().unwrap().recv();
    }

    let process = test.process(|| {
        // This stack is mapped before the goroutine's, and so usually lies above it.
        let stack = vec![0_u8; 1 << 20].leak();
        run(|| {
            let (tx, rx) = bounded::<()>(0);
            RX.set(rx.clone()).unwrap();
            let goroutine = go(move || {
                let pages = use_stack(3);
                let kept = black_box([3_u8; 10_000]);
                // SAFETY: both contexts, and the stack, outlive the calls.
                unsafe {
                    let (mut here, mut there) = (zeroed(), zeroed::<libc::ucontext_t>());
                    assert_eq!(libc::getcontext(&mut there), 0);
                    there.uc_stack.ss_sp = stack.as_mut_ptr().cast();
                    there.uc_stack.ss_size = stack.len();
                    there.uc_link = &mut here;
                    libc::makecontext(&mut there, wait, 0);
                    assert_eq!(libc::swapcontext(&mut here, &there), 0);
                }
                assert_eq!(black_box(kept), [3; 10_000]);
                resident(&pages) == pages.len() / page_size()
            });
            // Others give their pages back meanwhile.
            for _ in 0..10 {
                let (pages, _) = used_once(Builder::new(), rx.clone());
                wait_until(|| resident(&pages) <= 4);
            }
            drop(tx);
            assert!(goroutine.join().unwrap());
        });
    });
    process.env("GODEBUG", "period=1").end().with("exit status: 0");
}

/// Dead stack is given back all the time, even while its goroutines are made ready.
fn while_goroutines_wait_for_moments(test: Test) {
    /// Writes a byte to each page of a deep stack, and checks the bytes.
    #[inline(never)]
    fn touch_stack(byte: u8) {
        let mut bytes = MaybeUninit::<[u8; DEEP]>::uninit();
        let first = black_box(&mut bytes).as_mut_ptr().cast::<u8>();
        for at in (0..DEEP).step_by(4096) {
            // SAFETY: within the array.
            unsafe { first.add(at).write_volatile(byte) };
        }
        for at in (0..DEEP).step_by(4096) {
            // SAFETY: written above.
            assert_eq!(unsafe { first.add(at).read_volatile() }, byte);
        }
    }

    for procs in ["1", "2", "8"] {
        let process = test.process(|| {
            let mut rng = Rng::seeded();
            run(|| {
                scope(|s| {
                    let senders: Vec<_> = (0..64)
                        .map(|_| {
                            let (tx, rx) = bounded(1);
                            s.go(move || rx.iter().for_each(touch_stack));
                            tx
                        })
                        .collect();
                    for byte in storm(20_000) {
                        senders[rng.below(64)].send(byte as u8).unwrap();
                        yield_now();
                        if rng.below(16) == 0 {
                            // By the time of a pass, some goroutines have waited long enough.
                            sleep(Duration::from_millis(1));
                        }
                    }
                });
            });
        });
        process.env("GOMAXPROCS", procs).env("GODEBUG", "period=0").end().with("exit status: 0");
    }
}
