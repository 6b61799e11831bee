//! Suspending goroutines that run, wait, or are in a queue: none moves while it is suspended, and a
//! collector finds the words on its stack.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use gosched::chan::hchan::{Hchan, Type, chanrecv1, chansend1, makechan};
use gosched::proc;
use gosched::runtime2::{G, GRUNNING, GSCAN, GSCANRUNNABLE, GSCANWAITING, GWAITING, WaitReason};
use gosched::{go, morestack_check, run, yield_now};

use crate::harness::asked::run_asked;
use crate::harness::goroutines::others_ended;
use crate::harness::rng::Rng;
use crate::harness::{Test, rounds, tests};

tests! {
    whoever_is_suspended_stands_still
    so_it_does_when_stacks_always_move
    goroutines_suspend_each_other
    the_stack_of_one_that_works_on_g0_stays
    a_dead_one_stays_dead
    a_running_goroutine_suspends_nobody
}

const GOROUTINES: usize = 8;

/// The G of each goroutine, once it runs, and the count that it has reached.
static GS: [AtomicPtr<G>; GOROUTINES] = [const { AtomicPtr::new(ptr::null_mut()) }; GOROUTINES];
static STEPS: [AtomicU64; GOROUTINES] = [const { AtomicU64::new(0) }; GOROUTINES];

/// The channel of the last two goroutines.
static CHANNEL: AtomicPtr<Hchan> = AtomicPtr::new(ptr::null_mut());
static WORD: Type = Type { size_: size_of::<u64>(), align_: align_of::<u64>() };

/// Returns a number that is only on the stack of goroutine `i`.
fn marker(i: usize) -> u64 {
    0x5a5a_0000_c3c3_0000 + i as u64
}

#[inline(never)]
fn nothing() {}

/// Counts forever: all goroutines check their stacks, some yield, and the last two wait for each
/// other.
unsafe extern "C" fn count(i: *mut c_void) {
    let i = i.addr();
    let kept = black_box([marker(i); 2]);
    let channel = NonNull::new(CHANNEL.load(Ordering::Acquire));
    GS[i].store(proc::getg(), Ordering::Release);
    loop {
        let step = STEPS[i].fetch_add(1, Ordering::Relaxed);
        morestack_check!(if step.is_multiple_of(64) { 6000 } else { 100 }, nothing);
        let mut word = step;
        // SAFETY: on a goroutine; words of the channel's type.
        unsafe {
            match i {
                6 => _ = chansend1(channel, (&raw const word).cast()),
                7 => chanrecv1(channel, (&raw mut word).cast()),
                3..6 if step.is_multiple_of(100) => proc::gosched(),
                _ => {}
            }
        }
        black_box(&kept);
    }
}

/// Suspends `gp`, checks that it stands still and has its marker, and resumes it. Counts in which
/// state it was found: running, in a queue, waiting.
///
/// # Safety
/// Where [`proc::suspend_g`] may be called. It is goroutine `i`, and hasn't ended.
unsafe fn look(i: usize, gp: *mut G, rng: &mut Rng, found: &[AtomicUsize; 3]) {
    // SAFETY: the caller's.
    unsafe {
        let state = proc::suspend_g(gp);
        assert!(!state.dead && state.g == gp);
        let status = proc::readgstatus(gp);
        assert_ne!(status & GSCAN, 0);
        let kind = match status {
            _ if state.stopped => 0,
            GSCANRUNNABLE => 1,
            GSCANWAITING => 2,
            _ => panic!("suspended in state {status:#x}"),
        };
        found[kind].fetch_add(1, Ordering::Relaxed);
        let steps = STEPS[i].load(Ordering::Relaxed);
        let mut markers = [0; GOROUTINES];
        proc::scan_stack(gp, |range| {
            for at in range.step_by(size_of::<u64>()) {
                let word = ptr::with_exposed_provenance::<u64>(at).read_volatile();
                if let Some(count) = markers.get_mut(word.wrapping_sub(marker(0)) as usize) {
                    *count += 1;
                }
            }
        });
        let wrong: usize = (0..GOROUTINES).filter(|&other| other != i).map(|other| markers[other]).sum();
        assert!(markers[i] >= 2 && wrong == 0, "the stack of {i} has {markers:?}");
        (0..rng.below(2000)).for_each(|_| std::hint::spin_loop());
        assert_eq!(STEPS[i].load(Ordering::Relaxed), steps, "goroutine {i} went on");
        proc::resume_g(state);
    }
}

/// Makes foreign threads suspend goroutines, at least `least` times, and until each kind was found.
fn suspend_from_threads(least: usize) {
    let mut seeds = Rng::seeded();
    let channel = makechan(&WORD, 0).unwrap();
    CHANNEL.store(channel.as_ptr(), Ordering::Release);
    for i in 0..GOROUTINES {
        // SAFETY: it checks its stack and doesn't panic.
        unsafe { proc::newproc(Some(count), ptr::without_provenance_mut(i)) };
    }
    while GS.iter().any(|gp| gp.load(Ordering::Acquire).is_null()) {
        yield_now();
    }
    let found = [const { AtomicUsize::new(0) }; 3];
    let looking = AtomicUsize::new(2);
    thread::scope(|s| {
        for _ in 0..2 {
            let (found, looking, mut rng) = (&found, &looking, seeds.fork());
            s.spawn(move || {
                let missing = || found.iter().any(|times| times.load(Ordering::Relaxed) == 0);
                for _ in (0..).take_while(|round| *round < least || missing()) {
                    let i = rng.below(GOROUTINES);
                    // SAFETY: on a foreign thread. The goroutines end after this.
                    unsafe { look(i, GS[i].load(Ordering::Acquire), &mut rng, found) };
                }
                looking.fetch_sub(1, Ordering::Release);
            });
        }
        while looking.load(Ordering::Acquire) != 0 {
            yield_now();
        }
    });
    eprintln!("found running, in a queue, waiting: {found:?}");
}

fn whoever_is_suspended_stands_still(test: Test) {
    test.process(|| run_asked(|| suspend_from_threads(rounds(2000))))
        .env("GOMAXPROCS", "3")
        .end()
        .with("exit status: 0");
}

fn so_it_does_when_stacks_always_move(test: Test) {
    let process = test.process(|| run_asked(|| suspend_from_threads(rounds(500))));
    process.env("GOMAXPROCS", "3").env("GODEBUG", "stackforcemove=1").end().with("exit status: 0");
}

/// On g0, calls `f` for the running goroutine, which waits meanwhile.
///
/// # Safety
/// On a goroutine; `f` doesn't park.
unsafe fn while_it_waits(f: impl FnOnce()) {
    // SAFETY: the caller's. Nobody makes it ready.
    unsafe {
        let gp = proc::getg();
        proc::systemstack(|| {
            proc::cas_g_to_waiting(gp, GRUNNING, WaitReason::GarbageCollectionScan);
            f();
            proc::casgstatus(gp, GWAITING, GRUNNING);
        });
    }
}

fn goroutines_suspend_each_other(test: Test) {
    let process = test.process(|| {
        run(|| {
            static GS: [AtomicPtr<G>; 2] = [const { AtomicPtr::new(ptr::null_mut()) }; 2];
            static SUSPENSIONS: AtomicUsize = AtomicUsize::new(0);
            let suspend_the_other = |i: usize| {
                GS[i].store(proc::getg(), Ordering::Release);
                let mut other: *mut G = ptr::null_mut();
                while other.is_null() {
                    yield_now();
                    other = GS[1 - i].load(Ordering::Acquire);
                }
                for _ in 0..rounds(1000) {
                    // SAFETY: on a goroutine, which waits.
                    unsafe {
                        while_it_waits(|| {
                            let state = proc::suspend_g(other);
                            SUSPENSIONS.fetch_add(usize::from(!state.dead), Ordering::Relaxed);
                            proc::resume_g(state);
                        });
                    }
                    morestack_check!(100, nothing);
                }
            };
            let both = [0, 1].map(|i| go(move || suspend_the_other(i)));
            both.into_iter().for_each(|handle| handle.join().unwrap());
            assert_ne!(SUSPENSIONS.load(Ordering::Relaxed), 0);
        });
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}

/// A stack that has grown, and is hardly in use, could be made smaller. But a goroutine that works
/// on g0 has addresses of its stack there.
fn the_stack_of_one_that_works_on_g0_stays(test: Test) {
    static WORKER: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
    static STAGE: AtomicUsize = AtomicUsize::new(0);
    fn wait_for(stage: usize) {
        while STAGE.load(Ordering::Acquire) != stage {
            std::hint::spin_loop();
        }
    }
    fn work() {
        WORKER.store(proc::getg(), Ordering::Release);
        let kept = black_box([marker(0); 2]);
        // SAFETY: on a goroutine; nothing parks.
        unsafe {
            while_it_waits(|| {
                STAGE.store(1, Ordering::Release);
                wait_for(2);
            });
        }
        STAGE.store(if black_box(kept) == [marker(0); 2] { 3 } else { 0 }, Ordering::Release);
    }
    unsafe extern "C" fn start(_: *mut c_void) {
        morestack_check!(60_000, work);
    }
    let process = test.process(|| {
        run(|| {
            // SAFETY: it fits its stack.
            unsafe { proc::newproc(Some(start), ptr::null_mut()) };
            let look = || {
                wait_for(1);
                let gp = WORKER.load(Ordering::Acquire);
                // SAFETY: on a foreign thread; the goroutine's state has the scan bit.
                unsafe {
                    let state = proc::suspend_g(gp);
                    let stack = (*gp).stack.get();
                    assert!((stack.hi - (*gp).sched.sp.get()) * 8 < stack.hi - stack.lo);
                    proc::shrinkstack(gp);
                    assert_eq!((*gp).stack.get(), stack);
                    proc::resume_g(state);
                }
                STAGE.store(2, Ordering::Release);
                wait_for(3);
            };
            thread::spawn(look).join().unwrap();
        });
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}

fn a_dead_one_stays_dead(test: Test) {
    let process = test.process(|| {
        run(|| {
            let gp = go(|| proc::getg().expose_provenance()).join().unwrap();
            others_ended();
            let on_a_thread = move || {
                // SAFETY: G's are never freed; this is a foreign thread.
                unsafe {
                    let state = proc::suspend_g(gp_of(gp));
                    assert!(state.dead && state.g.is_null());
                    proc::resume_g(state);
                }
            };
            thread::spawn(on_a_thread).join().unwrap();
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

fn gp_of(addr: usize) -> *mut G {
    ptr::with_exposed_provenance_mut(addr)
}

fn a_running_goroutine_suspends_nobody(test: Test) {
    let process = test.process(|| {
        run(|| {
            let gp = go(|| proc::getg().expose_provenance()).join().unwrap();
            // SAFETY: the call only leads to a fatal error.
            unsafe { proc::resume_g(proc::suspend_g(gp_of(gp))) };
        });
    });
    process.end().with("exit status: 2").says("fatal error: suspendG from non-preemptible goroutine\n");
}
