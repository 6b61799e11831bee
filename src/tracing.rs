//! Support for the crate `tracing`: spans that new goroutines begin in, and the scheduler's events
//! beside the program's own. It needs the feature `tracing`.
//!
//! A program's own spans and events work without this module: a goroutine with [thread-locals of
//! its own](crate#thread-locals) has its own current span wherever it goes on.

use std::any::Any;
use std::cell::Cell;
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use ::tracing::dispatcher::{self, Dispatch};
use ::tracing::field::debug;
use ::tracing::span::EnteredSpan;
use ::tracing::{Span, trace};

use crate::runtime::runtime2::{G, M, P, TraceBlockReason};
use crate::runtime::{Event, Key, Values, nanotime, set_tracer, this_m, with_system_threads, with_values};

/// A recorded event.
#[derive(Clone, Copy)]
struct Record {
    event: &'static str,
    at: i64,
    m: Option<i64>,
    p: Option<i32>,
    goid: Option<u64>,
    reason: Option<TraceBlockReason>,
}

struct Records {
    /// The events that the subscriber hasn't got yet: [`CAPACITY`] at most.
    waiting: Vec<Record>,
    /// How many events there was no room for since then.
    lost: u64,
}

/// How many events wait at most. Their memory is allocated at the start, and none is allocated
/// where events happen.
const CAPACITY: usize = 1 << 16;

static RECORDS: Mutex<Records> = Mutex::new(Records { waiting: Vec::new(), lost: 0 });

/// Signalled when [`RECORDS`] is no longer empty.
static ARRIVED: Condvar = Condvar::new();

/// Reports from now on what goroutines, P's and threads do, to the subscriber that is now the
/// caller's default, as events of level `TRACE` and target `gosched::scheduler`. Calls after the
/// first do nothing.
///
/// ```
/// gosched::tracing::scheduler_events().unwrap();
/// gosched::run(|| gosched::go(|| gosched::yield_now()).join().unwrap());
/// ```
///
/// The output of tracing-subscriber's `fmt` is
///
/// ```text
/// TRACE gosched::scheduler: GoCreate at=8406174301 m=0 goid=2
/// TRACE gosched::scheduler: GoPark at=8406176224 m=0 goid=1 reason=Generic
/// TRACE gosched::scheduler: GoStart at=8406178157 m=0 p=0 goid=2
/// TRACE gosched::scheduler: GoSched at=8406179740 m=0 goid=2
/// ```
///
/// The messages are the names of [`proc::Event`](crate::proc::Event), which says what each means.
/// The fields are:
/// - `at`: the time of the monotonic clock, in nanoseconds;
/// - `m`: the number of the thread on which the event happened, or which begins, ends, or gets a P;
/// - `p`: the P;
/// - `goid`: the goroutine;
/// - `reason`: why the goroutine waits.
///
/// A thread of its own hands the events over, later, so a subscriber may run any code. The
/// subscriber's own time is the time of the hand-over. A subscriber that passes events on must use
/// channels or locks of std: those of this crate make new events, without end. If the subscriber
/// panics, the events that were about to be handed over are lost.
///
/// If more than 65,536 events wait, further ones are left out, and an event with the field `lost`
/// says how many. The last events before the program ends are left out, too. Each event takes a
/// lock that all threads share, so use this to investigate, and not all the time.
///
/// # Errors
/// If the thread can't be made.
///
/// # Panics
/// If there is [another tracer](crate::proc::set_tracer).
pub fn scheduler_events() -> io::Result<()> {
    static BEGUN: Mutex<bool> = Mutex::new(false);
    let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    if !*begun {
        records().waiting.reserve(CAPACITY);
        let dispatch = dispatcher::get_default(Dispatch::clone);
        let builder = thread::Builder::new().name("gosched-events".to_owned());
        with_system_threads(|| builder.spawn(move || hand_over(&dispatch)))?;
        // SAFETY: `record` keeps the conditions: it takes a lock for a moment, and so does every
        // other holder of the lock. Where `record` is called, no goroutine of this thread has the
        // lock.
        unsafe { set_tracer(record) };
        *begun = true;
    }
    Ok(())
}

fn records() -> MutexGuard<'static, Records> {
    RECORDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tracer.
fn record(event: Event<'_>) {
    let m = this_m();
    let number = |mp: &M| mp.id.get();
    let blank = |event| Record { event, at: nanotime(), m: m.map(number), p: None, goid: None, reason: None };
    let goroutine = |event, gp: &G| Record { goid: Some(gp.goid.get()), ..blank(event) };
    let proc = |event, pp: &P| Record { p: Some(pp.id.get()), ..blank(event) };
    let thread = |event, mp: &M| Record { m: Some(number(mp)), ..blank(event) };
    let record = match event {
        Event::GoCreate(gp) => goroutine("GoCreate", gp),
        Event::GoCreateBlocked(gp) => goroutine("GoCreateBlocked", gp),
        Event::GoCreateSyscall(gp) => goroutine("GoCreateSyscall", gp),
        Event::GoStart(gp) => {
            let p = m.and_then(|mp| mp.p.peek()).map(|pp| pp.id.get());
            Record { p, ..goroutine("GoStart", gp) }
        }
        Event::GoEnd(gp) => goroutine("GoEnd", gp),
        Event::GoDestroySyscall(gp) => goroutine("GoDestroySyscall", gp),
        Event::GoSched(gp) => goroutine("GoSched", gp),
        Event::GoPreempt(gp) => goroutine("GoPreempt", gp),
        Event::GoPark(gp, reason) => Record { reason: Some(reason), ..goroutine("GoPark", gp) },
        Event::GoUnpark(gp) => goroutine("GoUnpark", gp),
        Event::GoSysCall(gp) => goroutine("GoSysCall", gp),
        Event::GoSysExit(gp, _) => goroutine("GoSysExit", gp),
        Event::ProcStart(pp) => proc("ProcStart", pp),
        Event::ProcStop(pp) => proc("ProcStop", pp),
        Event::ProcSteal(pp) => proc("ProcSteal", pp),
        Event::ProcDetach(pp) => proc("ProcDetach", pp),
        Event::ProcTurn(pp, mp) => Record { m: Some(number(mp)), ..proc("ProcTurn", pp) },
        Event::ThreadStart(mp) => thread("ThreadStart", mp),
        Event::ThreadDestroy(mp) => thread("ThreadDestroy", mp),
        Event::GoLabel(gp) => goroutine("GoLabel", gp),
        Event::StwStart(_) => blank("StwStart"),
        Event::StwDone => blank("StwDone"),
        Event::Gomaxprocs(_) => blank("Gomaxprocs"),
    };
    let mut records = records();
    if records.waiting.len() < CAPACITY {
        records.waiting.push(record);
    } else {
        records.lost += 1;
    }
    if records.waiting.len() == 1 {
        ARRIVED.notify_one();
    }
}

/// The function of the thread that hands events over.
fn hand_over(dispatch: &Dispatch) {
    let mut taken = Vec::with_capacity(CAPACITY);
    loop {
        let waited = ARRIVED.wait_while(records(), |records| records.waiting.is_empty());
        let mut records = waited.unwrap_or_else(PoisonError::into_inner);
        mem::swap(&mut records.waiting, &mut taken);
        let lost = mem::take(&mut records.lost);
        drop(records);
        let tell = || {
            for Record { event, at, m, p, goid, reason } in taken.drain(..) {
                let reason = reason.map(debug);
                trace!(target: "gosched::scheduler", at, m, p, goid, reason, "{event}");
            }
            if lost > 0 {
                trace!(target: "gosched::scheduler", lost, "there was no room");
            }
        };
        // The panic hook has printed the message. Later events are still handed over.
        let _panicked = catch_unwind(AssertUnwindSafe(|| dispatcher::with_default(dispatch, tell)));
    }
}

/// Makes each goroutine that the caller's goroutine makes from now on begin in the span that its
/// maker is in at that time. The same holds for the goroutines that these make, and so on.
/// Otherwise a new goroutine is in no span, like a new thread.
///
/// A call at the start of a program's main function covers all goroutines.
///
/// ```
/// use gosched::go;
/// use tracing::{info, info_span};
///
/// gosched::run(|| {
///     gosched::tracing::inherit_spans();
///     let request = info_span!("request", number = 17).entered();
///     let query = go(|| {
///         let _query = info_span!("query").entered();
///         info!("this is in request{{number=17}}:query");
///     });
///     drop(request);
///     query.join().unwrap();
/// });
/// ```
///
/// The goroutine is in that span until its function has returned, and the span isn't closed before
/// that. This holds for goroutines of [`go`](crate::go()), of a scope and of
/// [`iter::pull`](crate::iter::pull). It holds for [`run`](crate::run)'s goroutine if a thread has
/// called this before it. A goroutine that a timer, the end of a context or a waker begins is in no
/// span. Nor is a goroutine that [shares thread-locals](crate::Builder::shared_locals), where the
/// current span is the thread's.
///
/// The subscriber isn't inherited: a new goroutine has the global one, like a new thread.
pub fn inherit_spans() {
    with_values(|values| {
        values.get(&MAKERS_SPAN, || Rc::new(Inside::default()));
        values.on_begin(enter_makers_span);
    });
}

/// The value of a goroutine whose new goroutines begin in its span.
#[derive(Default)]
struct Inside {
    /// The maker's span, until the goroutine begins.
    makers: Cell<Option<Span>>,
    /// The same span from then on. It is left when this is dropped, which is before the
    /// thread-locals are.
    entered: Cell<Option<EnteredSpan>>,
}

/// The type has a size, so the static has an address of its own, by which keys are told apart.
struct MakersSpan(#[expect(dead_code, reason = "nobody reads it")] u8);

static MAKERS_SPAN: MakersSpan = MakersSpan(0);

impl Key for MakersSpan {
    fn inherit(&self, _: &dyn Any) -> Option<Rc<dyn Any>> {
        Some(Rc::new(Inside { makers: Cell::new(Some(Span::current())), entered: Cell::new(None) }))
    }
}

/// Called when a goroutine begins that has inherited these values.
fn enter_makers_span(values: &Values) {
    let inside = values.get(&MAKERS_SPAN, || Rc::new(Inside::default()));
    let inside = inside.as_ref().and_then(|value| value.downcast_ref::<Inside>());
    let inside = inside.expect("who began its maker in a span has left it one");
    inside.entered.set(inside.makers.take().map(Span::entered));
}
