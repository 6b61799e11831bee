//! The monitor, a thread without a P that keeps M's from holding P's forever: Go's `sysmon` and
//! `retake`.
//!
//! Sysmon looks at every P, at first each 20 µs. If there is anything to run, it takes a P away
//! from an M that is in a system call, and hands it to another M. It asks a goroutine that has run
//! for 10 ms to stop. After a millisecond without anything to do, sysmon looks less and less often,
//! at last each 10 ms. But while goroutines take turns it looks each 2 ms, and when a time slice
//! ends. So a time slice ends after 10 to 12 ms. (Go's sysmon sees the beginning and the end up to
//! 10 ms late.)
//!
//! When no P has been in use since its last look, sysmon sleeps until a P is
//! ([`wake_sysmon`](crate::runtime::p::sysmon_sleep::wake_sysmon)). (Go's sysmon sleeps if no P is
//! in use at the moment. Then an M that has work for a P wakes sysmon first. Where goroutines are
//! woken often, that was the slowest wake in a hundred.)
//!
//! If the network wasn't polled for 10 ms, sysmon polls. It wakes an M for a due timer that no M
//! waits for. It hands back memory that hasn't been needed for a while ([`scavenge`]). It notes
//! since when goroutines wait, and hands back their dead stack ([`look_at_waits`]). It writes the
//! lines of [`schedtrace`](crate::proc::schedtrace), and reports goroutines that seem to wait for
//! each other. It adjusts GOMAXPROCS to the number of processors that the process may use.

use std::mem::replace;
use std::sync::atomic::Ordering;

use crate::runtime::base::debug::{detach_always, detach_torture, patience, period};
use crate::runtime::base::os::{gettid, nanotime, usleep};
#[cfg(pthreads)]
use crate::runtime::base::this::getm;
use crate::runtime::data::runtime2::{G, M, P, PIDLE, PRUNNING, PSYSCALL, sched};
use crate::runtime::g::explored::{STEPS, exploring, is_explored, is_part, note_stuck};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::checkdead::{
    checkdead_again, counted, deadlock_beside_foreign_threads, foreign_threads_matter,
};
#[cfg(pthreads)]
use crate::runtime::m::sigmask::leave_signals;
use crate::runtime::m::thread::{start_wanted_thread, thread_wanted};
use crate::runtime::monitor::dead_stack::look_at_waits;
use crate::runtime::monitor::hogs::{
    is_wanted, lag, look_at, look_at_detached, new_slice, nobody_looks, turn_is_over, was_asked,
};
use crate::runtime::monitor::scavenge::scavenge;
use crate::runtime::netpoll::epoll::netpoll;
use crate::runtime::netpoll::netpoll_adjust_waiters;
use crate::runtime::p::procs::{gomaxprocs, procs, time_sleep_until};
use crate::runtime::p::stop::take_from_syscall;
use crate::runtime::p::sysmon_sleep::sleep_until_woken;
use crate::runtime::preempt::ask::{Asked, FORCE_PREEMPT_NS, ask_by_signal, other_m, preemptone};
use crate::runtime::report::deadlock::{may_report_deadlock, report_deadlock};
use crate::runtime::report::hogs::tell_of_hogs_if_wanted;
use crate::runtime::report::quit::{asked_to_quit, quit_if_asked};
use crate::runtime::report::schedtrace::schedtrace_if_due;
use crate::runtime::sched::entersyscall::handoffp;
use crate::runtime::sched::poll::worth_polling;
use crate::runtime::sched::ready::injectglist;
use crate::runtime::sched::wake::wakep;
#[cfg(feature = "std")]
use crate::runtime::stdpark::futex_table::wake_those;
#[cfg(feature = "std")]
use crate::runtime::stdpark::gate::live;
use crate::runtime::world::gomaxprocs::sysmon_update_gomaxprocs;

/// The maximum delay with which sysmon notices that a goroutine has begun to run.
const LAG_NS: i64 = 2 * 1000 * 1000;

/// The time for which an M in a system call keeps its P if no work needs the P.
const SYSCALL_NS: i64 = 10 * 1000 * 1000;

/// The time after which sysmon polls the network if no M does.
const POLL_NS: i64 = 10 * 1000 * 1000;

/// The minimum time between two updates of GOMAXPROCS.
const UPDATE_NS: i64 = 1000 * 1000 * 1000;

/// The shortest and the longest pause between two rounds, in microseconds.
const MIN_DELAY: u32 = 20;
const MAX_DELAY: u32 = 10 * 1000;

/// After a sleep longer than this, in which no P was in use, sysmon looks often again. After a
/// shorter sleep it keeps its pace. Otherwise it would always look often in a program whose P's are
/// all idle for moments again and again, such as a server.
const LONG_NS: i64 = 1000 * 1000;

/// The maximum sleep of sysmon when no P is in use: there is nothing for which it would be late.
const IDLE_NS: i64 = 60 * 1000 * 1000 * 1000;

/// The first such sleep while only foreign threads could end a deadlock: they may end without
/// notice. The next sleeps are as long as that state has lasted, so that a program which waits for
/// good isn't woken often.
const FOREIGN_NS: i64 = 1000 * 1000 * 1000;

/// The time that this state must last to be reported as a deadlock.
const DEADLOCK_NS: i64 = 2 * FOREIGN_NS;

/// The function of sysmon's M; it never returns. Go's `sysmon`.
pub(in crate::runtime) fn sysmon() {
    // The number of successive rounds without anything to do.
    let mut idle = 0_u32;
    let mut delay = MIN_DELAY;
    // The time until which it may sleep.
    let mut until = i64::MAX;
    // The time for which only foreign threads could wake a goroutine.
    let mut stuck = 0;
    // The total idle time of P's at the last look.
    let mut idle_time = 0;
    // The time of the last update of GOMAXPROCS.
    let mut updated = nanotime();
    tell_of_hogs_if_wanted();
    sched().ext.turns.sysmon.store(gettid(), Ordering::Relaxed);
    loop {
        sched().ext.turns.rounds.fetch_add(1, Ordering::Relaxed);
        if idle == 0 {
            delay = MIN_DELAY;
        } else if idle > 50 {
            delay = (delay * 2).min(MAX_DELAY);
        }
        usleep(delay.min(microseconds_until(until)).max(MIN_DELAY));
        let wake_at = may_allocate(|| {
            let whens = [scavenge, look_at_waits, schedtrace_if_due].map(|f| f(nanotime()));
            whens.into_iter().flatten().min()
        });
        let idle_before = replace(&mut idle_time, sched().idle_time.load(Ordering::Relaxed));
        let quiet = idle_time == idle_before;
        if quiet && nothing_runs() && sleep_deeply(wake_at, &mut stuck).is_some_and(|slept| slept > LONG_NS) {
            idle = 0;
            delay = MIN_DELAY;
        }
        #[cfg(pthreads)]
        leave_signals(getm());
        quit_if_asked();
        #[cfg(feature = "std")]
        wake_those();
        start_wanted_thread();
        if nanotime() - updated >= period(UPDATE_NS) {
            may_allocate(sysmon_update_gomaxprocs);
            updated = nanotime();
        }

        lock(&sched().sysmonlock);
        poll_if_nobody_does(nanotime());
        let next_timer = wake_if_timer_is_due(nanotime());
        let (taken, look) = retake(nanotime());
        unlock(&sched().sysmonlock);
        idle = if taken != 0 { 0 } else { idle.saturating_add(1) };
        until = look.min(look_at_detached(nanotime())).min(wake_at.unwrap_or(i64::MAX)).min(next_timer);
    }
}

/// Calls `f`, which may call the program's allocator. Meanwhile all goroutines may wait for a lock
/// of the allocator that this thread holds. The release of that lock makes them ready, so this
/// isn't a deadlock.
fn may_allocate<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(feature = "std")]
    if live() {
        return counted(f);
    }
    f()
}

/// Polls the network if goroutines wait for it, and no M has polled for 10 ms.
fn poll_if_nobody_does(now: i64) {
    // SeqCst: see `Schedt::lastpoll`. The CAS below fails if an M polls by now, and this polls in
    // any case.
    let lastpoll = sched().lastpoll.load(Ordering::SeqCst);
    if !worth_polling() || lastpoll == 0 || lastpoll + POLL_NS > now {
        return;
    }
    let _ = sched().lastpoll.compare_exchange(lastpoll, now, Ordering::SeqCst, Ordering::SeqCst);
    let (list, delta) = netpoll(0);
    if !list.empty() {
        // As in retake_from_syscall.
        counted(|| injectglist(&list));
    }
    netpoll_adjust_waiters(delta);
}

/// Wakes an M for a timer that is due, if a P is idle and no M waits for timers. The M that waited
/// may have left the poller with a goroutine that now blocks its thread or computes, and without a
/// successor for timers that weren't due soon. (In Go that M always wakes another: see
/// `sched/wake.rs`.) Returns when the next timer is due, if that timer depends on sysmon.
fn wake_if_timer_is_due(now: i64) -> i64 {
    let sched = sched();
    // Hints: sysmon looks again. SeqCst: see the fields of `Schedt`.
    let polled = sched.lastpoll.load(Ordering::SeqCst) == 0;
    let looked_for = polled || sched.nmspinning.load(Ordering::SeqCst) != 0;
    // If no thread can be made, start_wanted_thread tries again in its own time.
    if looked_for || sched.npidle.load(Ordering::SeqCst) == 0 || thread_wanted() {
        return i64::MAX;
    }
    let next = time_sleep_until();
    if next <= now {
        // As in retake_from_syscall.
        counted(wakep);
    }
    next
}

fn microseconds_until(when: i64) -> u32 {
    u32::try_from((when - nanotime()).max(0) / 1000).unwrap_or(u32::MAX)
}

/// Whether there is nothing to monitor.
fn nothing_runs() -> bool {
    // The lock is held, or these are hints. SeqCst: see the fields of `Schedt`.
    sched().gcwaiting.load(Ordering::SeqCst) || sched().npidle.load(Ordering::SeqCst) == gomaxprocs()
}

/// If no P is in use, sleeps until one is, or until `wake_at`. If it was woken, returns the length
/// of the sleep. While only foreign threads could wake a goroutine, adds the requested length of
/// the sleep to `stuck`: time for which the whole process was stopped doesn't count.
fn sleep_deeply(wake_at: Option<i64>, stuck: &mut i64) -> Option<i64> {
    lock(&sched().lock);
    let mut slept = None;
    let mut deadlock = None;
    // When the next timer is due, goroutines will run.
    let next = time_sleep_until().min(wake_at.unwrap_or(i64::MAX)) - nanotime();
    if nothing_runs() && next > 0 && !thread_wanted() {
        // SeqCst: stored before the look at the requests below, see `Schedt::sysmonwait`.
        sched().sysmonwait.store(true, Ordering::SeqCst);
        let foreign = foreign_threads_matter();
        let ns = if foreign {
            (*stuck).clamp(period(FOREIGN_NS), IDLE_NS.max(period(FOREIGN_NS)))
        } else {
            IDLE_NS
        };
        unlock(&sched().lock);
        let begin = nanotime();
        let wakes_left = sched().ext.wakes_left.load(Ordering::SeqCst);
        let ns = if asked_to_quit() || wakes_left { 0 } else { ns.min(next) };
        let woken = sleep_until_woken(ns);
        slept = woken.then(|| nanotime() - begin);
        lock(&sched().lock);
        *stuck = if foreign && !woken { *stuck + ns } else { 0 };
        if !woken {
            checkdead_again();
            if *stuck >= period(DEADLOCK_NS) && may_report_deadlock() {
                deadlock = deadlock_beside_foreign_threads();
            }
        }
    }
    unlock(&sched().lock);
    if let Some(why) = deadlock {
        report_deadlock(why);
    }
    slept
}

/// Takes P's back from M's in system calls, and asks goroutines that have run for long to stop.
/// Returns the number of P's taken, and the end of the next time slice. Go's `retake`.
fn retake(now: i64) -> (u32, i64) {
    // The table may be replaced meanwhile. It is never freed, and a P that isn't in use is PDEAD.
    procs().allp.iter().fold((0, i64::MAX), |(taken, next), pp| {
        let (retaken, slice_ends) = retake_one(pp, now);
        (taken + u32::from(retaken), next.min(slice_ends))
    })
}

/// [`retake`] of one P. Returns whether it was taken, and the time of the next look at it.
fn retake_one(pp: &'static P, now: i64) -> (bool, i64) {
    // A hint: a CAS takes the P. SeqCst: see `P::status`.
    let status = pp.status.load(Ordering::SeqCst);
    if status != PRUNNING && status != PSYSCALL {
        return (false, i64::MAX);
    }
    if status == PRUNNING
        && exploring()
        && let Some(mp) = other_m(pp)
        && let Some(gp) = mp.curg.get().filter(|gp| is_part(gp))
    {
        return (false, watch_exploration(pp, mp, gp, now));
    }
    let slice = end_slice(pp, now);
    let long = matches!(slice, Slice::Over) || turn_is_over(pp, now);
    if status == PSYSCALL {
        return match retake_from_syscall(pp, now, long || was_asked(pp)) {
            Retake::Taken => (true, slice.look_again(now)),
            Retake::Left => (false, slice.look_again(now)),
            // An M in a loop of short calls is seldom seen in a call, so this looks again at once.
            // In Go the next look is 10 ms later.
            Retake::Missed => (false, now),
        };
    }
    // A time slice that has just begun may well have ended by the next round.
    let begins = matches!(slice, Slice::Begins) && !detach_torture();
    let look = if begins { now + lag(pp, now) } else { look_at(pp, long, now) };
    (false, slice.look_again(now).min(look))
}

/// The maximum time that a goroutine of an exploration may take to come to a point, in nanoseconds.
const STUCK_NS: i64 = 10_000_000_000;

/// Watches `pp`, on which `mp` runs `gp`, a goroutine of an exploration. `gp` isn't asked to stop,
/// because the exploration chooses the goroutine that goes on. But a goroutine that comes to no
/// point loses the P, so that its run can end. Returns the time of the next look.
fn watch_exploration(pp: &P, mp: &M, gp: &G, now: i64) -> i64 {
    let seen = &pp.sysmontick;
    let steps = STEPS.load(Ordering::Relaxed) as u32;
    if seen.schedtick.replace(steps) != steps {
        seen.schedwhen.set(now);
    } else if now - seen.schedwhen.get() >= patience(STUCK_NS) && is_explored(gp) {
        note_stuck();
        ask_by_signal(mp, Asked::Detach, pp.schedtick.load(Ordering::Relaxed));
    }
    now + FORCE_PREEMPT_NS
}

/// The progress of a time slice.
enum Slice {
    /// It is seen for the first time.
    Begins,
    /// It ends at this time.
    Goes(i64),
    /// It has ended.
    Over,
}

impl Slice {
    /// The time of the next look, whatever the goroutine does.
    fn look_again(&self, now: i64) -> i64 {
        match self {
            Slice::Begins => now + LAG_NS,
            Slice::Goes(end) => *end,
            // A goroutine that can't be stopped now is asked again each 10 ms, as in Go.
            Slice::Over => i64::MAX,
        }
    }
}

/// Asks the goroutine that runs on `pp` to stop if its time slice is over. Returns the slice's
/// progress.
fn end_slice(pp: &P, now: i64) -> Slice {
    let seen = &pp.sysmontick;
    let schedtick = pp.schedtick.load(Ordering::Relaxed);
    if seen.schedtick.get() != schedtick {
        seen.schedtick.set(schedtick);
        seen.schedwhen.set(now);
        new_slice(pp);
        return Slice::Begins;
    }
    let end = seen.schedwhen.get() + FORCE_PREEMPT_NS;
    if now < end {
        return Slice::Goes(end);
    }
    preemptone(pp);
    Slice::Over
}

/// The result for a P whose M is in a system call.
enum Retake {
    /// It was taken.
    Taken,
    /// It was wanted, but the call was over by then.
    Missed,
    /// It may stay.
    Left,
}

/// Takes `pp` from an M that is in a system call if the call was seen in the round before, or if
/// the time slice is over (`long`). An M in a system call can't be asked to give up its P.
fn retake_from_syscall(pp: &'static P, now: i64, long: bool) -> Retake {
    let seen = &pp.sysmontick;
    // The M must have been in the same system call in the round before.
    let syscalltick = pp.syscalltick.load(Ordering::Relaxed);
    if !long && seen.syscalltick.get() != syscalltick {
        seen.syscalltick.set(syscalltick);
        seen.syscallwhen.set(now);
        return Retake::Left;
    }
    // If there is nothing else to run on the P, the M keeps it for a while. Not forever, or sysmon
    // couldn't sleep.
    let wanted = is_wanted(pp, now) || nobody_looks() || detach_always();
    if !wanted && seen.syscallwhen.get() + SYSCALL_NS > now {
        return Retake::Left;
    }
    // The M that has lost the P may come back, find nothing to do, and see a deadlock before the P
    // is handed on.
    let taken = counted(|| {
        let taken = take_from_syscall(pp, PIDLE);
        if taken {
            handoffp(pp);
        }
        taken
    });
    if taken { Retake::Taken } else { Retake::Missed }
}
