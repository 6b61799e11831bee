//! [`Explorer`]: runs a closure in one schedule after another.

use std::mem;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use crate::explore::failure::{Failure, FailureKind, keep_panics, message_of_panic};
use crate::explore::schedule::{Recorded, Replay, Schedule, Token, shrink};
use crate::explore::strategy::{Exhaustive, Pct, Random, Strategy};
use crate::goroutine::Builder;
use crate::runtime::print::eprintln;
use crate::runtime::{
    End, ExploreStrategy, Limits, Rng, Seen, explore_run, getg, keep_one_p, leave_one_p, left_behind, story,
    tsan,
};

/// The environment variable that holds the token of the schedule to run first.
const REPLAY: &str = "GOSCHED_REPLAY";

/// The most steps of a run without choices while the clock stands still. They take some seconds.
const MOST_STEPS: u64 = 10_000_000;

/// The most choices made in search of a smaller schedule. They take some seconds.
const MOST_CHOICES: u64 = 10_000_000;

/// Runs a closure in many schedules. See the [module](super).
///
/// ```
/// use gosched::explore::{Explorer, FailureKind, Strategy};
/// use gosched::sync::Mutex;
/// use std::mem::swap;
/// use std::sync::Arc;
///
/// let transfer = || {
///     let (from, to) = (Arc::new(Mutex::new(1)), Arc::new(Mutex::new(0)));
///     let (from2, to2) = (from.clone(), to.clone());
///     let back = gosched::go(move || swap(&mut *to2.lock(), &mut *from2.lock()));
///     swap(&mut *from.lock(), &mut *to.lock());
///     back.join().unwrap();
/// };
/// let failure = Explorer::new().seed(7).strategy(Strategy::Random).check(transfer).unwrap_err();
/// assert_eq!(failure.kind(), FailureKind::Deadlock);
/// ```
#[derive(Clone, Debug)]
#[must_use = "an explorer does nothing until `run` or `check` is called"]
pub struct Explorer {
    iterations: u64,
    seed: u64,
    strategy: Strategy,
    max_choices: u64,
}

impl Explorer {
    /// Returns an explorer that runs 1,000 schedules, found by [`Strategy::Mixed`].
    ///
    /// ```
    /// gosched::explore::Explorer::new().run(|| {
    ///     let done = gosched::go(|| 6 * 7);
    ///     assert_eq!(done.join().unwrap(), 42);
    /// });
    /// ```
    pub fn new() -> Self {
        Explorer { iterations: 1_000, seed: 0, strategy: Strategy::Mixed, max_choices: 100_000 }
    }

    /// Sets how many schedules are run.
    ///
    /// ```
    /// let explored = gosched::explore::Explorer::new().iterations(10).check(|| {});
    /// assert_eq!(explored.unwrap(), 10);
    /// ```
    pub fn iterations(self, iterations: u64) -> Self {
        Explorer { iterations, ..self }
    }

    /// Sets the seed of the strategies' random numbers: the same seed gives the same schedules.
    ///
    /// ```
    /// use gosched::chan::bounded;
    /// use gosched::explore::Explorer;
    ///
    /// let race = || {
    ///     let (tx, rx) = bounded(2);
    ///     let other = tx.clone();
    ///     gosched::go(move || tx.send(1).unwrap());
    ///     gosched::go(move || other.send(2).unwrap());
    ///     assert_eq!(rx.recv(), Ok(1));
    ///     rx.recv().unwrap();
    /// };
    /// let found = || Explorer::new().seed(3).check(race).unwrap_err();
    /// assert_eq!(found().token(), found().token());
    /// ```
    pub fn seed(self, seed: u64) -> Self {
        Explorer { seed, ..self }
    }

    /// Sets how schedules are found.
    ///
    /// ```
    /// use gosched::explore::{Explorer, Strategy};
    ///
    /// Explorer::new().strategy(Strategy::Pct { depth: 3 }).run(|| {});
    /// ```
    pub fn strategy(self, strategy: Strategy) -> Self {
        Explorer { strategy, ..self }
    }

    /// Sets how many choices a schedule may have; the default is 100,000. A schedule with more
    /// fails, as [`FailureKind::TooLong`].
    ///
    /// ```
    /// use gosched::explore::{Explorer, FailureKind};
    ///
    /// let waits_for_nobody = || loop {
    ///     gosched::yield_now();
    /// };
    /// let failure = Explorer::new().max_choices(1_000).check(waits_for_nobody).unwrap_err();
    /// assert_eq!(failure.kind(), FailureKind::TooLong);
    /// ```
    pub fn max_choices(self, max_choices: u64) -> Self {
        Explorer { max_choices, ..self }
    }

    /// Runs `f` in one schedule after another, as [`explore`](super::explore()) does.
    ///
    /// ```should_panic
    /// gosched::explore::Explorer::new().run(|| panic!("in the first schedule"));
    /// ```
    ///
    /// # Panics
    /// If a schedule fails, with the text of the [`Failure`]. Also as [`check`](Self::check) does.
    #[track_caller]
    pub fn run<F>(&self, f: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        if let Err(failure) = self.check(f) {
            panic!("{failure}");
        }
    }

    /// Runs `f` in one schedule after another, and returns how many schedules there were. If one
    /// fails, it is made as small as possible, and returned as a [`Failure`].
    ///
    /// If the environment has `GOSCHED_REPLAY`, with the [token](Failure::token) of a failure that
    /// this exploration has returned, the failure's schedule is run first. If it fails again, no
    /// other schedule is run. The token names the place of the call. An exploration elsewhere, and
    /// one in which the schedule passes, prints a message on stderr and runs all its schedules.
    ///
    /// ```
    /// use gosched::explore::{Explorer, FailureKind};
    ///
    /// assert!(Explorer::new().check(|| {}).is_ok());
    /// let failure = Explorer::new().check(|| panic!("in the first schedule")).unwrap_err();
    /// assert_eq!(failure.kind(), FailureKind::Panic);
    /// ```
    ///
    /// # Errors
    /// The failure of the first schedule that fails.
    ///
    /// # Panics
    /// On a goroutine, because an exploration needs the processor for itself. If there is no memory
    /// for a goroutine. If `GOSCHED_REPLAY` isn't a token.
    #[track_caller]
    pub fn check<F>(&self, f: F) -> Result<u64, Failure>
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.check_any(Arc::new(f))
    }

    #[track_caller]
    fn check_any(&self, f: AnyFn) -> Result<u64, Failure> {
        need_thread("explore");
        let token = std::env::var_os(REPLAY).map(|token| {
            let token = token.to_string_lossy();
            token.parse::<Token>().unwrap_or_else(|error| panic!("gosched: {REPLAY}: {error}"))
        });
        let place = Location::caller();
        let program = Program { f, max_choices: self.max_choices, in_order: false, place };
        alone(|| {
            token.map_or(Ok(()), |token| program.replay_token(token))?;
            self.search(&program)
        })
    }

    fn search(&self, program: &Program) -> Result<u64, Failure> {
        let mut exhaustive = match self.strategy {
            Strategy::Exhaustive { preemptions } => Some(Exhaustive::new(preemptions)),
            _ => None,
        };
        // The approximate number of choices of a run. So the first run of PCT changes no priority.
        let mut length = 1;
        for i in 0..self.iterations {
            let rng = Rng::of_run(self.seed, i);
            let ran = match (self.strategy, &mut exhaustive) {
                (Strategy::Pct { depth }, _) => program.run(&mut Pct::new(rng, depth, length), false),
                (Strategy::Mixed, _) if i % 5 != 0 => {
                    program.run(&mut Pct::new(rng, (i % 5) as u32, length), false)
                }
                (_, Some(exhaustive)) => program.run(exhaustive, false),
                _ => program.run(&mut Random(rng), false),
            };
            if ran.end != End::Done {
                let schedule = program.shrink(ran.end, ran.schedule);
                return Err(program.failure(ran.end, i + 1, schedule));
            }
            length = length.max(ran.choices);
            if exhaustive.as_mut().is_some_and(|exhaustive| !exhaustive.advance()) {
                return Ok(i + 1);
            }
        }
        Ok(self.iterations)
    }
}

impl Default for Explorer {
    fn default() -> Self {
        Explorer::new()
    }
}

/// Calls `f` on a goroutine, on the only P, while there is no other exploration.
#[track_caller]
fn alone<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    static ALONE: Mutex<()> = Mutex::new(());

    struct OneP;
    impl Drop for OneP {
        fn drop(&mut self) {
            tsan::release(&ALONE);
            leave_one_p();
        }
    }

    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    crate::goroutine::run(|| {
        keep_one_p();
        let _one_p = OneP;
        // ThreadSanitizer doesn't see the order that std's mutex makes.
        tsan::acquire(&ALONE);
        keep_panics();
        f()
    })
}

/// Runs `f` once, without choices.
#[track_caller]
pub(crate) fn in_order(f: AnyFn) -> Result<(), Failure> {
    need_thread("synctest");
    let program = Program { f, max_choices: MOST_STEPS, in_order: true, place: Location::caller() };
    let first = Schedule::default();
    alone(|| match program.replay(&first, false).end {
        End::Done => Ok(()),
        end => Err(program.failure(end, 1, first)),
    })
}

/// Panics on a goroutine.
#[track_caller]
fn need_thread(what: &str) {
    assert!(
        getg().is_none(),
        "gosched: {what} was called on a goroutine: it has the processor for itself, so call it from a thread, \
         outside of gosched::run"
    );
}

/// A closure of any type. Boxed, so that the code of an exploration is compiled once, and not for
/// each closure.
pub(crate) type AnyFn = Arc<dyn Fn() + Send + Sync>;

/// The program that is explored.
struct Program {
    f: AnyFn,
    max_choices: u64,
    in_order: bool,
    /// The place where the exploration was begun.
    place: &'static Location<'static>,
}

/// The result of a run.
struct Ran {
    end: End,
    schedule: Schedule,
    choices: u64,
    /// The number of the goroutine whose panic has ended the run, and the panic's text, if it had
    /// one.
    panicked: Option<(u32, Option<String>)>,
    story: String,
    left: String,
}

impl Program {
    fn run(&self, strategy: &mut dyn ExploreStrategy, tells: bool) -> Ran {
        let mut recorded = Recorded::new(strategy);
        let limits = Limits { max_choices: self.max_choices, in_order: self.in_order, tells };
        let make = || {
            let f = Arc::clone(&self.f);
            Builder::new().name("main").go(move || f())
        };
        let ran = explore_run(&mut recorded, &limits, make, |main, seen: &Seen<'_>| {
            // Goroutines that are left behind never run again, and nobody asks for the result.
            if seen.end == End::Done {
                drop(main)
            } else {
                mem::forget(main)
            }
            let told = tells.then(|| (story(seen.story, seen.begun), left_behind(seen.left)));
            (seen.end, seen.panicked.clone(), told)
        });
        let (end, panicked, told) =
            ran.unwrap_or_else(|error| panic!("gosched: explore can't make a goroutine: {error}"));
        let (story, left) = told.unwrap_or_default();
        let Recorded { schedule, choices, .. } = recorded;
        Ran { end, schedule, choices, panicked, story, left }
    }

    fn replay(&self, schedule: &Schedule, tells: bool) -> Ran {
        self.run(&mut Replay::new(schedule), tells)
    }

    /// Runs the schedule of `token`, if the token is this program's, and returns how it fails. If
    /// it passes, a line on stderr says so, and the caller goes on, because one schedule isn't a
    /// whole exploration.
    fn replay_token(&self, token: Token) -> Result<(), Failure> {
        let place = format!("{}:{}", self.place.file(), self.place.line());
        if !token.is_of(self.place) {
            let of = token.place;
            eprintln!(
                "gosched: {REPLAY} is for the exploration at {of}: the one at {place} runs as without it"
            );
            return Ok(());
        }
        let schedule = token.schedule;
        let mut replay = Replay::new(&schedule);
        let end = self.run(&mut replay, false).end;
        if end != End::Done {
            return Err(self.failure(end, 1, schedule));
        }
        let what = if replay.fits() { "passes" } else { "no longer fits: the program makes other choices" };
        eprintln!("gosched: {REPLAY}, in the exploration at {place}, {what}; all schedules follow");
        Ok(())
    }

    /// A smaller schedule that ends in the same way.
    fn shrink(&self, end: End, schedule: Schedule) -> Schedule {
        if matches!(end, End::TooLong | End::Stuck | End::Foreign) {
            return schedule;
        }
        // A stuck schedule takes ten seconds, and where there is one, there are more. So the search
        // ends at the first one. The choices of the others together are limited.
        let (mut stuck, mut choices) = (false, 0);
        shrink(schedule, |schedule| {
            if stuck || choices > MOST_CHOICES {
                return None;
            }
            let ran = self.replay(schedule, false);
            stuck = ran.end == End::Stuck;
            choices += ran.choices;
            (ran.end == end).then_some(ran.schedule)
        })
    }

    /// Runs the schedule once more, and returns a report of it.
    fn failure(&self, end: End, schedules: u64, schedule: Schedule) -> Failure {
        let kind = match end {
            End::Done | End::Panic => FailureKind::Panic,
            End::Deadlock => FailureKind::Deadlock,
            End::Leak => FailureKind::Leak,
            End::TooLong => FailureKind::TooLong,
            End::Foreign => FailureKind::Foreign,
            End::Stuck => FailureKind::Stuck,
        };
        let token = if self.in_order { String::new() } else { Token::text(&schedule, self.place) };
        let nothing = Failure {
            kind,
            schedules,
            token,
            message: String::new(),
            left: String::new(),
            story: String::new(),
            again: true,
        };
        // Another run would take as long, or longer.
        if matches!(end, End::Stuck | End::TooLong) {
            return nothing;
        }
        let ran = self.replay(&schedule, true);
        let message = |(number, text)| message_of_panic(number, text);
        // Goroutines that a panic has stopped in their work aren't part of the cause.
        let left = if end == End::Panic { String::new() } else { ran.left };
        Failure {
            message: ran.panicked.map(message).unwrap_or_default(),
            left,
            story: ran.story,
            again: ran.end == end,
            ..nothing
        }
    }
}
