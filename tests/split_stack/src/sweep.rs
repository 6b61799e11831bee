//! Runs a case at every depth of a fresh stack.

use std::thread;

use gosched::proc;

use crate::call::{Call, Settings};
use crate::moves::moves;
use crate::{Case, Partner};

/// The least distance, in bytes, from the end of the stack to rsp as a function under test is
/// entered. Code with checks calls no function further down.
const LOWEST: usize = 256;

/// The stack limit of a goroutine that is asked to stop.
const STACK_PREEMPT: u64 = (i64::MAX & -1314) as u64;

/// The size of a plain thread's stack in bytes: enough for the deepest recursion, unoptimised.
const THREAD_STACK: usize = 256 << 20;

/// What a case did on a plain thread: its result, and its use of the stack.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    result: u64,
    /// The distance from the driver's rsp to the rsp of the first function under test.
    frame: usize,
}

/// Runs the cases on a plain thread.
pub fn references(cases: &[Case], settings: Settings) -> Vec<Reference> {
    let each = || cases.iter().map(|case| Reference::of(case, settings)).collect();
    thread::scope(|s| {
        let thread = thread::Builder::new().stack_size(THREAD_STACK).spawn_scoped(s, each);
        thread.expect("a thread can be made").join().expect("no case panics")
    })
}

impl Reference {
    fn of(case: &Case, settings: Settings) -> Self {
        let partner = Partner::thread();
        let call = Call::new(case, 0, settings, &partner);
        let result = call.on_this_thread();
        Reference { result, frame: (call.sp.get() - call.entry.get()) as usize }
    }

    /// Returns whether `result` is the case's result on the plain thread.
    pub fn agrees(&self, result: u64) -> bool {
        self.result == result
    }
}

/// The stack of a new goroutine.
#[derive(Clone, Copy, Debug)]
pub struct FreshStack {
    /// The distance from rsp, as a driver is called, to the end of the stack.
    room: usize,
}

impl FreshStack {
    /// Measures the stack of a new goroutine.
    pub fn measure() -> Self {
        /// Returns the end of the stack.
        unsafe extern "C" fn lo(_: *const Call) -> u64 {
            // SAFETY: on a goroutine.
            unsafe { (*proc::getg()).stack.get().lo as u64 }
        }
        let partner = Partner::thread();
        let case = Case { name: "lo", flavour: "this", driver: lo };
        let call = Call::new(&case, 0, Settings { seed: 0, levels: 0, deep_levels: 0 }, &partner);
        let lo = call.on_a_goroutine();
        FreshStack { room: (call.sp.get() - lo) as usize }
    }

    /// Returns the largest depth at which a case can begin, in bytes.
    pub fn lowest(&self, reference: &Reference) -> usize {
        self.room.checked_sub(reference.frame + LOWEST).expect("a stack has room for a driver")
    }
}

/// The outcome of a sweep.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// The number of goroutines: one for each case and depth.
    pub goroutines: usize,
    /// How many of them entered the first function with less stack than its check asks for.
    pub short: usize,
    /// How often their stacks were moved.
    pub moves: usize,
}

/// Returns the number of bytes from one depth to the next. Without optimisation there are several
/// times as many depths, and a move takes several times as long.
fn step(forced: bool) -> usize {
    if forced && cfg!(debug_assertions) { 256 } else { 16 }
}

/// Runs each case at each depth on a new goroutine, and compares the results. The caller is a
/// goroutine. If `forced`, each check must have moved the stack. Otherwise, the first check must
/// have moved it if the stack was too short.
///
/// # Panics
/// At the first case that returns another result, or whose stack was moved too seldom.
pub fn sweep(cases: &[Case], references: &[Reference], settings: Settings, forced: bool) -> Summary {
    let (fresh, partner) = (FreshStack::measure(), Partner::goroutines());
    let mut summary = Summary::default();
    for (case, reference) in cases.iter().zip(references) {
        let before = summary.short;
        for bytes in (0..=fresh.lowest(reference)).step_by(step(forced)) {
            let call = Call::new(case, bytes, settings, &partner);
            let moved = moves();
            let result = call.on_a_goroutine();
            let moved = moves() - moved;
            let asked = call.guard.get() == STACK_PREEMPT;
            let short = !asked && call.entry.get() < call.guard.get();
            let least = if forced { call.checks.get() as usize } else { usize::from(short) };
            let name = case.name;
            assert_eq!(result, reference.result, "{name} with {bytes} bytes less, in {moved} moves");
            assert!(moved >= least, "{name} with {bytes} bytes less: {moved} moves, not {least}");
            summary.goroutines += 1;
            summary.short += usize::from(short);
            summary.moves += moved;
        }
        assert!(summary.short > before, "{}: the first check never fails", case.name);
    }
    summary
}
