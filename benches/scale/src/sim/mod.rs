//! The machine: threads with clocks, cache lines, futexes.
//!
//! Threads are coroutines on one thread of the system's. A thread runs as long as its clock is the
//! earliest. Before it touches a shared word, it lets all threads with earlier clocks go first. So
//! all accesses happen in the order of virtual time, and memory is sequentially consistent. Each
//! thread has a core: only the number of P's limits how many threads run.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `mod.rs` | threads and their clocks; touching a word, computing, sleeping |
//! | `costs.rs` | what things cost |
//! | `lines.rs` | cache lines |
//! | `count.rs` | what is counted |

pub mod costs;
pub mod count;
pub mod lines;

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::mem;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use costs::Costs;
use count::{Counts, Event, Part};
use lines::{Access, Lines, Of};

/// The code that a thread runs.
type Body = Box<dyn FnOnce()>;

/// Why a thread leaves its coroutine.
enum Left {
    /// Others are earlier, or it sleeps.
    Wait,
    /// It continues with this body, on an empty stack, as after `gogo`, which never returns.
    Jump(Body),
}

type Context = Coroutine<(), Left, (), DefaultStack>;

struct Thread {
    context: Option<Context>,
    yielder: *const Yielder<(), Left>,
    time: u64,
    /// When all its stores are visible.
    drained: u64,
    /// The time that interrupts have taken from it, and that its clock doesn't include yet.
    interrupted: u64,
    part: Part,
    /// The generation of its valid entry in `ready`: entries of older ones are stale.
    generation: u64,
    asleep: bool,
    /// Whether its last sleep ended because its time was up.
    timed_out: bool,
}

#[derive(Default)]
struct Sim {
    threads: Vec<Thread>,
    /// When each thread continues: the time, a number that orders entries of the same time, the
    /// thread, and its generation.
    ready: BinaryHeap<Reverse<(u64, u64, usize, u64)>>,
    number: u64,
    lines: Lines,
    sleepers: HashMap<usize, VecDeque<usize>>,
    counts: Counts,
    random: u32,
    running: usize,
    over: bool,
}

thread_local! {
    static SIM: RefCell<Sim> = RefCell::default();
    static COSTS: RefCell<Costs> = RefCell::new(Costs::measured());
    /// The thread that runs, if one does.
    static THIS: Cell<Option<usize>> = const { Cell::new(None) };
}

fn sim<R>(f: impl FnOnce(&mut Sim) -> R) -> R {
    SIM.with_borrow_mut(f)
}

pub(crate) fn cost<R>(f: impl FnOnce(&Costs) -> R) -> R {
    COSTS.with_borrow(f)
}

/// Returns the number of the running thread.
pub(crate) fn this() -> usize {
    THIS.get().expect("a thread of the simulation")
}

/// Runs `first` as the first thread of a new machine, until [`stop`] is called or nothing is left
/// to do.
pub(crate) fn run(costs: &Costs, first: Body) {
    COSTS.set(costs.clone());
    sim(|sim| *sim = Sim { random: 0x9e37_79b9, ..Sim::default() });
    spawn(first, 0);
    while let Some(id) = next_thread() {
        THIS.set(Some(id));
        let mut context = sim(|sim| sim.threads[id].context.take()).expect("a thread that isn't running");
        match context.resume(()) {
            CoroutineResult::Yield(Left::Wait) => {}
            CoroutineResult::Yield(Left::Jump(body)) => {
                context = Context::with_stack(emptied(context), move |yielder, ()| begin(yielder, body));
                requeue(id);
            }
            CoroutineResult::Return(()) => {}
        }
        sim(|sim| sim.threads[id].context = Some(context));
    }
    THIS.set(None);
    for thread in sim(|sim| mem::take(&mut sim.threads)) {
        drop(emptied(thread.context.expect("no thread runs")));
    }
}

/// Empties the stack of a thread that doesn't continue on it.
fn emptied(mut context: Context) -> DefaultStack {
    // SAFETY: only the scheduler's frames are on the stack, and no destructor in them matters: what
    // they point to is leaked, and no other stack points to this one.
    unsafe { context.force_reset() };
    context.into_stack()
}

fn next_thread() -> Option<usize> {
    sim(|sim| {
        while !sim.over
            && let Some(Reverse((time, _, id, generation))) = sim.ready.pop()
        {
            let thread = &mut sim.threads[id];
            if thread.generation == generation {
                thread.generation += 1;
                if mem::take(&mut thread.asleep) {
                    thread.timed_out = true;
                    sim.running += 1;
                }
                thread.time = thread.time.max(time);
                return Some(id);
            }
        }
        None
    })
}

fn begin(yielder: &Yielder<(), Left>, body: Body) {
    sim(|sim| sim.threads[this()].yielder = yielder);
    body();
}

/// Makes a thread that begins `after` picoseconds from now.
pub(crate) fn spawn(body: Body, after: u64) -> usize {
    let now = THIS.get().map_or(0, |this| sim(|sim| sim.threads[this].time));
    let context =
        Context::with_stack(DefaultStack::new(64 << 10).unwrap(), |yielder, ()| begin(yielder, body));
    let id = sim(|sim| {
        sim.threads.push(Thread {
            context: Some(context),
            yielder: std::ptr::null(),
            time: now + after,
            drained: 0,
            interrupted: 0,
            part: Part::Run,
            generation: 0,
            asleep: false,
            timed_out: false,
        });
        sim.running += 1;
        sim.threads.len() - 1
    });
    requeue(id);
    id
}

/// Stops the machine, even if threads have work left.
pub(crate) fn stop() {
    sim(|sim| sim.over = true);
    leave(Left::Wait);
}

/// Makes this thread go on with `body`, on an empty stack.
pub(crate) fn jump(body: Body) -> ! {
    leave(Left::Jump(body));
    unreachable!("its stack is gone")
}

fn leave(left: Left) {
    let yielder = sim(|sim| sim.threads[this()].yielder);
    // SAFETY: the yielder of the coroutine that this runs on, which `begin` has noted. It lives as
    // long as the coroutine.
    unsafe { &*yielder }.suspend(left);
}

fn requeue(id: usize) {
    sim(|sim| sim.enqueue(id));
}

impl Sim {
    fn enqueue(&mut self, id: usize) {
        self.number += 1;
        let (time, generation) = (self.threads[id].time, self.threads[id].generation);
        self.ready.push(Reverse((time, self.number, id, generation)));
    }

    /// Advances the thread's clock.
    fn pass(&mut self, id: usize, picoseconds: u64) {
        let thread = &mut self.threads[id];
        thread.time += picoseconds;
        *self.counts.time.entry(thread.part).or_default() += picoseconds;
    }
}

/// Lets the threads with earlier clocks go first.
fn take_turn() {
    let id = this();
    let late = sim(|sim| {
        let taken = mem::take(&mut sim.threads[id].interrupted);
        sim.pass(id, taken);
        let late = sim.ready.peek().is_some_and(|Reverse(first)| first.0 < sim.threads[id].time);
        if late {
            sim.enqueue(id);
        }
        late
    });
    if late {
        leave(Left::Wait);
    }
}

/// Makes this thread touch the word at `place`.
pub(crate) fn access<T>(place: *const T, how: Access) {
    let Some(id) = THIS.get() else { return };
    take_turn();
    sim(|sim| {
        let (now, drained) = (sim.threads[id].time, sim.threads[id].drained);
        let paid = cost(|costs| sim.lines.access(costs, id, place.addr(), how, now, drained));
        sim.pass(id, paid.until - now);
        sim.threads[id].drained = paid.written;
        *sim.counts.stall.entry(paid.of).or_default() += paid.stall;
        match (paid.of, how) {
            (Of::Sched, Access::Rmw) => sim.counts.event(Event::SchedRmw),
            (Of::Masks, Access::Load) => sim.counts.event(Event::MaskLook),
            _ => {}
        }
    });
}

/// Sets the owner of the memory of `value`.
pub(crate) fn name<T: ?Sized>(value: &T, of: Of) {
    sim(|sim| sim.lines.name(std::ptr::from_ref(value).addr(), size_of_val(value), of));
}

/// Sets the owner of the lines that `f` is the first to touch.
pub(crate) fn name_touched(of: Of, f: impl FnOnce()) {
    sim(|sim| sim.lines.naming = Some(of));
    f();
    sim(|sim| sim.lines.naming = None);
}

/// Advances this thread's clock.
pub(crate) fn work(picoseconds: u64) {
    sim(|sim| sim.pass(this(), picoseconds));
}

/// [`work`], with a length that varies a little: otherwise threads would go in step forever.
pub(crate) fn work_about(picoseconds: u64) {
    work(picoseconds / 2 + picoseconds * u64::from(random() % 1024) / 1024);
}

/// Makes a goroutine compute on this thread.
pub(crate) fn compute(picoseconds: u64) {
    in_part(Part::Work, || work_about(picoseconds));
}

/// Makes a spinning thread pause.
pub(crate) fn pauses(n: u64) {
    work(n * cost(|costs| costs.pause));
}

/// Returns the time, in picoseconds.
pub(crate) fn time() -> u64 {
    sim(|sim| sim.threads[this()].time)
}

/// Counts an event.
pub(crate) fn count(event: Event) {
    sim(|sim| sim.counts.event(event));
}

/// Returns the counts so far.
pub(crate) fn counts() -> Counts {
    sim(|sim| sim.counts.clone())
}

/// Sets the part that this thread's time goes to from now on. Returns the part before.
pub(crate) fn set_part(part: Part) -> Part {
    sim(|sim| mem::replace(&mut sim.threads[this()].part, part))
}

/// Runs `f` as a part of its own. Waits for locks and looks at other queues inside `f` still count
/// as parts of their own.
pub(crate) fn in_part<R>(part: Part, f: impl FnOnce() -> R) -> R {
    let before = set_part(part);
    if matches!(before, Part::LockWait | Part::Steal) {
        set_part(before);
    }
    let result = f();
    set_part(before);
    result
}

/// Makes a system call that takes `picoseconds`.
pub(crate) fn kernel(picoseconds: u64) {
    in_part(Part::Kernel, || work(picoseconds));
}

/// Returns a pseudorandom number, which depends only on how many were drawn before.
pub(crate) fn random() -> u32 {
    sim(|sim| {
        sim.random ^= sim.random << 13;
        sim.random ^= sim.random >> 17;
        sim.random ^= sim.random << 5;
        sim.random
    })
}

/// Sleeps until a [`wake`] of `place`, or for at most `picoseconds` if given. Returns whether the
/// thread was woken. If it `keeps` its P, the time counts as the P's.
pub(crate) fn sleep(place: usize, picoseconds: Option<u64>, keeps: bool) -> bool {
    let id = this();
    let since = time();
    sim(|sim| {
        if let Some(picoseconds) = picoseconds {
            sim.threads[id].time += picoseconds;
            sim.enqueue(id);
            sim.threads[id].time -= picoseconds;
        }
        (sim.threads[id].asleep, sim.threads[id].timed_out) = (true, false);
        sim.running -= 1;
        sim.sleepers.entry(place).or_default().push_back(id);
    });
    leave(Left::Wait);
    sim(|sim| {
        if keeps {
            let thread = &sim.threads[id];
            *sim.counts.time.entry(thread.part).or_default() += thread.time - since;
        }
        if sim.threads[id].timed_out {
            sim.sleepers.entry(place).or_default().retain(|&one| one != id);
        }
        !sim.threads[id].timed_out
    })
}

/// Wakes the first thread that sleeps at `place`. Returns whether there was one.
pub(crate) fn wake(place: usize) -> bool {
    wake_after(place, cost(|costs| costs.wake_latency))
}

/// [`wake`], after which the sleeper runs in `latency` picoseconds.
pub(crate) fn wake_after(place: usize, latency: u64) -> bool {
    take_turn();
    let now = time();
    sim(|sim| {
        let Some(id) = sim.sleepers.get_mut(&place).and_then(VecDeque::pop_front) else { return false };
        let thread = &mut sim.threads[id];
        thread.time = now + latency;
        thread.asleep = false;
        thread.generation += 1;
        sim.running += 1;
        sim.enqueue(id);
        true
    })
}

/// Makes the first thread that sleeps at `place` wake by itself at `when`, instead of later.
pub(crate) fn sooner(place: usize, when: u64) {
    sim(|sim| {
        let Some(&id) = sim.sleepers.get(&place).and_then(VecDeque::front) else { return };
        sim.threads[id].generation += 1;
        sim.number += 1;
        sim.ready.push(Reverse((when, sim.number, id, sim.threads[id].generation)));
    });
}

/// Lets earlier threads go first, before this thread looks at something that isn't a word.
pub(crate) fn look() {
    take_turn();
}

/// Interrupts every thread that runs. Returns how many others there are.
pub(crate) fn interrupt_all(picoseconds: u64) -> usize {
    let id = this();
    sim(|sim| {
        for (i, thread) in sim.threads.iter_mut().enumerate() {
            if i != id && !thread.asleep {
                thread.interrupted += picoseconds;
            }
        }
        sim.running - 1
    })
}
