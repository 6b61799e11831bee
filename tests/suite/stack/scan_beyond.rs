//! Words of a goroutine's that aren't in its frames: a scan finds them, too.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;
use std::slice;
use std::sync::atomic::Ordering;

use gosched::chan::bounded;
use gosched::chan::hchan::{Scase, Type, makechan, selectgo};
use gosched::proc::{self, Coro};
use gosched::runtime2::{G, GDEAD, GIDLE};
use gosched::{Builder, go, yield_now};

use super::scan::{
    BASE, CORO, find, has, here_i_am, keeper, keeps, park, ready, scanned, suspended, with_procs,
};
use crate::harness::{Test, tests};

tests! {
    in_what_it_was_woken_with
    in_what_a_channel_operation_waits_with
    before_it_begins
    after_it_has_ended
    all_goroutines_are_found
}

fn in_what_it_was_woken_with(test: Test) {
    with_procs(test, 2, || {
        // SAFETY: it fits its stack.
        unsafe { proc::newproc(Some(park), ptr::null_mut()) };
        let gp = keeper();
        // SAFETY: a G that is parked.
        unsafe { (*gp).param.store(secret(1), Ordering::Relaxed) };
        has(&ready(gp), 1);
    });
}

/// Returns a secret as a pointer.
fn secret(i: u64) -> *mut c_void {
    ptr::without_provenance_mut((BASE + i) as usize)
}

fn in_what_a_channel_operation_waits_with(test: Test) {
    static WORD: Type = Type { size_: size_of::<u64>(), align_: align_of::<u64>() };
    with_procs(test, 2, || {
        // The values and channels of a select may be in memory that nobody scans. This memory
        // stays.
        let case = || Scase { c: makechan(&WORD, 0), elem: ptr::from_mut(Box::leak(Box::new(0_u64))).cast() };
        let cases: &[Scase] = Box::leak(Box::new([case(), case()]));
        let address = cases.as_ptr().expose_provenance();
        go(move || {
            here_i_am();
            // SAFETY: two of these, for receives.
            let cases = unsafe { slice::from_raw_parts(ptr::with_exposed_provenance(address), 2) };
            // SAFETY: places for values of the channels' type; all stays.
            unsafe { selectgo(cases, &mut [0; 4], 0, true) };
        });
        // SAFETY: a G.
        while unsafe { (*keeper()).waiting.is_null() } {
            yield_now();
        }
        let words = suspended(keeper());
        for case in cases {
            let c = case.c.map_or(0, |c| c.addr().get());
            assert!(words.contains(&(c as u64)) && words.contains(&(case.elem.addr() as u64)));
        }
    });
}

/// Returns the G of the goroutine with this name.
fn named(name: &str) -> *mut G {
    find(|gp| gp.ext.name.get().as_str() == name)
}

fn before_it_begins(test: Test) {
    unsafe extern "C" fn never(_: *mut c_void) {}
    unsafe extern "C" fn never_switched_to(_: *mut Coro, _: *mut c_void) {}
    with_procs(test, 2, || {
        let c = (&raw const CORO).cast_mut();
        // One pointer, because a function may have several addresses.
        let never: unsafe extern "C" fn(*mut c_void) = black_box(never);
        // SAFETY: this goroutine goes on all the same.
        unsafe {
            proc::become_system_goroutine();
            proc::sched_enable_user(false);
            proc::newproc(Some(never), secret(1));
            proc::newcoro(c, never_switched_to, secret(1));
        }
        keeps(find(|gp| gp.startpc.get() == never as usize), 1);
        let coroutine = find(|gp| gp.coroarg.get() == c);
        keeps(coroutine, 1);
        assert!(suspended(coroutine).contains(&(c.addr() as u64)));
        let secrets = [1, 2, 3].map(|i| BASE + i);
        drop(Builder::new().name("closure").go(move || _ = black_box(secrets)).unwrap());
        keeps(named("closure"), 3);
        let generator = Builder::new()
            .name("generator")
            .pull(move |out| secrets.into_iter().for_each(|secret| out.yield_(secret)));
        keeps(named("generator"), 3);
        // SAFETY: the goroutines end, or never run.
        unsafe { proc::sched_enable_user(true) };
        drop(generator);
    });
}

fn after_it_has_ended(test: Test) {
    with_procs(test, 2, || {
        let end = || black_box([!BASE; 3]).map(|secret| !secret + 1);
        let handle = Builder::new().name("result").go(end).unwrap();
        let gp = named("result");
        // SAFETY: a G.
        while unsafe { proc::readgstatus(gp) } != GDEAD {
            yield_now();
        }
        // SAFETY: the goroutine has ended, and nobody takes its result meanwhile.
        has(&unsafe { scanned(gp) }, 1);
        assert_eq!(handle.join().unwrap(), [BASE + 1; 3]);
        // SAFETY: nobody uses it again.
        has(&unsafe { scanned(gp) }, 0);
    });
}

fn all_goroutines_are_found(test: Test) {
    with_procs(test, 2, || {
        let (gate, closed) = bounded::<()>(0);
        let start = |_| {
            let closed = closed.clone();
            go(move || {
                let _ = closed.recv();
            })
        };
        let handles: Vec<_> = (0..100).map(start).collect();
        yield_now();
        let (mut all, mut again) = (Vec::new(), Vec::new());
        // SAFETY: the closure only makes a list.
        unsafe { proc::for_each_g(|gp| all.push(gp)) };
        proc::for_each_g_race(|gp| again.push(gp));
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        // Dead G's may have been given back in between.
        for gs in [&mut all, &mut again] {
            // SAFETY: G's, also when their pages read as zero.
            gs.retain(|&gp| !matches!(unsafe { proc::readgstatus(gp) }, GDEAD | GIDLE));
        }
        assert_eq!((&all, all.len()), (&again, 101));
        gate.close();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
}
