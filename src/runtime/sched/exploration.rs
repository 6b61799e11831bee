//! The scheduler's part of explorations. First the functions that run one: its driver, a goroutine,
//! calls them and waits for each run. Then the points where a run may let another goroutine go on.
//! Outside of an exploration a point is one load.

use std::ffi::c_void;
use std::io;
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

use crate::runtime::arch::mcall;
use crate::runtime::arch::tsan;
use crate::runtime::base::this::{getm, hold_p, this_m, whoami, with_room};
use crate::runtime::data::gqueue::GQueue;
use crate::runtime::data::runtime2::{G, GRUNNABLE, GRUNNING, TraceBlockReason, WaitReason};
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::explore::clock;
#[cfg(feature = "std")]
use crate::runtime::explore::random::restart;
use crate::runtime::explore::run::{
    End, Run, Step, Strategy, chosen_value, is_over, note_end_by_panic, note_waiter, put_back, run, stays,
    tell_of, tells,
};
use crate::runtime::g::explored::{
    DRIVER, act, alive, exploring, forget_made, is_explored, set_exploring, stuck, woken_outside,
};
use crate::runtime::g::status::casgstatus;
use crate::runtime::m::turn::turn_needed;
use crate::runtime::p::stop::asked_to_stop;
use crate::runtime::sched::detach::hold_with_p;
use crate::runtime::sched::park::gopark;
use crate::runtime::sched::ready::inject_runnable;
use crate::runtime::sched::schedule::{dropg, execute, schedule, user_disabled};

/// The settings of a run.
pub(crate) struct Limits {
    /// The maximum number of choices in the run.
    pub(crate) max_choices: u64,
    /// Whether goroutines go on at points, without a choice.
    pub(crate) in_order: bool,
    /// Whether each step is kept, for a report.
    pub(crate) tells: bool,
}

/// The outcome of a run that has ended.
pub(crate) struct Seen<'a> {
    pub(crate) end: End,
    /// The run's time when it began.
    pub(crate) begun: i64,
    pub(crate) story: &'a [Step],
    /// The number of the goroutine whose panic has ended the run, and the panic's text, if it had
    /// one.
    pub(crate) panicked: Option<(u32, Option<String>)>,
    /// The goroutines that the run leaves behind.
    pub(crate) left: &'a [(&'static G, u32)],
}

/// Runs the goroutine that `make` makes, and all goroutines that come of it, until none of them can
/// run. There is one P. Then calls `look` with the outcome, before the goroutines that are left are
/// given up. Neither `make` nor `look` panics.
///
/// # Errors
/// Those of `make`.
///
/// To be called on a goroutine that isn't in an exploration, while there is no other exploration.
/// `strategy` doesn't use the runtime.
pub(crate) fn explore_run<T, R>(
    strategy: &mut dyn Strategy,
    limits: &Limits,
    make: impl FnOnce() -> io::Result<T>,
    look: impl FnOnce(T, &Seen<'_>) -> R,
) -> io::Result<R> {
    let (me, _, held) = hold_with_p();
    me.ext.number.store(DRIVER, Ordering::Relaxed);
    // SAFETY: with the exploration's P, kept by `held`.
    let run = unsafe { run() };
    let begun = clock::start();
    #[cfg(feature = "std")]
    restart();
    let strategy: NonNull<dyn Strategy + '_> = NonNull::from(strategy);
    // SAFETY: only the lifetime differs. The strategy outlives this call, and isn't used
    // afterwards.
    let strategy = unsafe { mem::transmute::<NonNull<dyn Strategy + '_>, NonNull<dyn Strategy>>(strategy) };
    run.strategy = Some(strategy);
    run.driver = Some(me);
    run.in_order = limits.in_order;
    run.max_choices = limits.max_choices;
    run.choices = 0;
    run.end = None;
    run.panicked = None;
    run.foreign = false;
    woken_outside();
    stuck();
    run.story = limits.tells.then(Vec::new);
    if let Some(pp) = held.p() {
        pp.preempt.store(true, Ordering::Relaxed);
    }
    set_exploring(true);
    let made = act(make);
    drop(held);
    let result = made.map(|made| {
        // SAFETY: on a goroutine. `next`, which begins when the goroutine has left, makes it ready.
        unsafe { gopark(Some(begin_run), ptr::null_mut(), WaitReason::Zero, TraceBlockReason::Generic, 1) };
        look_at_end(begun, |seen| look(made, seen))
    });
    let (_, _, held) = hold_with_p();
    // SAFETY: with the exploration's P, kept by `held`, and without another reference to the run.
    unsafe { clear(self::run()) };
    set_exploring(false);
    me.ext.number.store(0, Ordering::Relaxed);
    drop(held);
    result
}

/// Calls `look` with the outcome of the run, which has ended.
fn look_at_end<R>(begun: i64, look: impl FnOnce(&Seen<'_>) -> R) -> R {
    let (_, _, held) = hold_with_p();
    // SAFETY: with the exploration's P, kept by `held`.
    let run = unsafe { run() };
    let end = run.end.take().unwrap_or(End::Done);
    let story = run.story.take().unwrap_or_default();
    let panicked = run.panicked.take();
    // SAFETY: with the exploration's P, kept by `held`; no goroutine is made meanwhile.
    let left: Vec<_> = unsafe { alive() }.collect();
    drop(held);
    look(&Seen { end, begun, story: &story, panicked, left: &left })
}

/// Forgets the run.
///
/// # Safety
/// As [`run`] says.
unsafe fn clear(run: &mut Run) {
    run.strategy = None;
    run.ready.clear();
    run.due.clear();
    // The outsiders wait for this P, which the driver has had since they became runnable.
    let others = GQueue::default();
    let qsize = run.outsiders.len() as i32;
    run.outsiders.drain(..).for_each(|gp| others.push_back(gp));
    inject_runnable(&others, qsize);
    run.chosen = None;
    run.waiter = None;
    run.last = None;
    clock::clear();
    // SAFETY: the caller has the exploration's P, as run requires, and makes no goroutine
    // meanwhile.
    unsafe { forget_made() };
}

/// Begins the run, when its driver waits.
unsafe extern "C" fn begin_run(_driver: *mut G, _: *mut c_void) -> bool {
    // SAFETY: on g0, which keeps its P, if it has one. If it has none, no other thread uses the
    // run, which hasn't begun.
    unsafe { run() }.goes = true;
    true
}

/// Returns the number of the running goroutine if it is in an exploration.
pub(crate) fn explored_number() -> Option<u32> {
    let gp = whoami().0.filter(|gp| exploring() && is_explored(gp))?;
    Some(gp.ext.number.load(Ordering::Relaxed))
}

/// Notes that the running goroutine ends by a panic with this text. If the goroutine is in an
/// exploration, its run has failed.
#[cold]
#[inline(never)]
pub(crate) fn note_panic(text: Option<&str>) {
    if explored_number().is_none() {
        return;
    }
    // A goroutine that was stuck has lost its P, and may not belong to the exploration any more.
    let (_, _, _held) = hold_with_p();
    if let Some(number) = explored_number() {
        tsan::ignore_accesses(|| with_room(|| note_end_by_panic(number, text.map(str::to_owned))));
    }
}

/// Waits until all other goroutines of the exploration wait. Returns false if another goroutine
/// already waits for that.
pub(crate) fn wait_for_others() -> bool {
    let mut alone = true;
    // SAFETY: on a goroutine of an exploration. note_others doesn't park or unwind; its argument is
    // on the stack of a goroutine that has parked, and that stack is fixed. `next` makes the
    // goroutine ready.
    unsafe {
        let alone = (&raw mut alone).cast();
        gopark(Some(note_others), alone, WaitReason::Zero, TraceBlockReason::Generic, 1);
    }
    alone
}

/// Notes that this goroutine waits for the others; lets it go on if another one does.
unsafe extern "C" fn note_others(gp: *mut G, alone: *mut c_void) -> bool {
    // SAFETY: gopark passes the G that parks, which is never freed, and the address that it was
    // given.
    unsafe {
        let noted = note_waiter(&*gp);
        alone.cast::<bool>().write(noted);
        noted
    }
}

/// Lets others go on first, in an exploration, before the operation `what`. Called where a
/// goroutine can park.
#[inline(always)]
pub(crate) fn point(what: &'static str) {
    if exploring() {
        explored_point(what);
    }
}

#[cold]
#[inline(never)]
fn explored_point(what: &'static str) {
    let (Some(gp), Some(mp)) = whoami() else { return };
    // A goroutine that holds a lock can't leave. And a goroutine that unwinds would be bound to its
    // thread.
    if !is_explored(gp) || mp.locks.get() != 0 || std::thread::panicking() {
        return;
    }
    let held = hold_p(mp);
    let Some(pp) = held.p() else { return };
    let goes_on = tsan::ignore_accesses(|| with_room(|| stays(gp, pp)));
    drop(held);
    if !goes_on {
        // SAFETY: on a goroutine that holds no lock; point_m puts it where it is found again.
        unsafe { mcall(point_m) }
    }
    let _held = hold_p(getm());
    tsan::ignore_accesses(|| {
        if tells() {
            with_room(|| tell_of(gp, what));
        }
    });
}

/// Leaves a goroutine at a point.
unsafe extern "C" fn point_m(gp: *mut G) -> ! {
    // SAFETY: mcall passes the G that called it, and G's are never freed.
    let gp: &'static G = unsafe { &*gp };
    let mp = getm();
    casgstatus(gp, GRUNNING, GRUNNABLE);
    trace(|| Event::GoPreempt(gp));
    dropg(mp, gp);
    let others_come_first = mp.p().is_none_or(asked_to_stop) || turn_needed();
    let at_once = !others_come_first && mp.lockedg.get().is_none() && !user_disabled();
    match put_back(gp, at_once) {
        // SAFETY: on g0 of `mp`, which has its P; the goroutine came from the run, and isn't locked
        // to an M.
        Some(chosen) => unsafe { execute(mp, chosen, false) },
        // SAFETY: on g0 of `mp`; dropg has taken its goroutine.
        None => unsafe { schedule(mp) },
    }
}

/// Whether an exploration makes the choices of this goroutine that are random elsewhere.
#[inline(always)]
pub(in crate::runtime) fn chooses() -> bool {
    exploring() && explored_here()
}

#[cold]
#[inline(never)]
fn explored_here() -> bool {
    this_m().is_some_and(|mp| !mp.p.is_null() && mp.curg.get().is_some_and(is_explored))
}

/// Whether an object that is made here belongs to an explored program, so that its operations are
/// points.
pub(in crate::runtime) fn makes_points() -> bool {
    chooses()
}

/// [`value`] for the program, where a goroutine can park. The program may ask again until it likes
/// the answer, so a goroutine whose run is over gets no answer: it never goes on.
#[cold]
pub(crate) fn value_for_program(n: usize) -> usize {
    // A goroutine that was stuck has lost its P, and may not belong to the exploration any more.
    let (gp, mp, held) = hold_with_p();
    if !is_explored(gp) {
        return 0;
    }
    let (value, over) = tsan::ignore_accesses(|| with_room(|| (chosen_value(n), is_over())));
    drop(held);
    if over && mp.locks.get() == 0 && !std::thread::panicking() {
        // SAFETY: as in explored_point; the goroutine never goes on.
        unsafe { mcall(point_m) }
    }
    value
}

/// Returns a number below `n` that the exploration chooses. Called if [`chooses`] returns true.
#[cold]
pub(in crate::runtime) fn value(n: usize) -> usize {
    let Some(mp) = this_m() else { return 0 };
    let _held = hold_p(mp);
    tsan::ignore_accesses(|| with_room(|| chosen_value(n)))
}
