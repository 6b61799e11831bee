//! One measurement: goroutines that fill a stack of some size twice. The first time the stack
//! grows, from the smallest size; the second time it has its final size. The difference is the cost
//! of growing.

use std::env::set_var;
use std::ffi::c_void;
use std::fmt;
use std::hint::black_box;
use std::ptr::{self, NonNull};
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Instant;

use gosched::chan::hchan::{Hchan, Type, chanrecv1, closechan, freechan, makechan};
use gosched::sync::WaitGroup;
use gosched::{morestack_check, proc};
use gosched_benches::deep::{FRAME, ROOM, deep};

/// The cost of growing, in nanoseconds for each byte of the stack's size.
pub struct Cost {
    /// The cost with segments of memory that wasn't used before.
    pub fresh: f64,
    /// The cost with segments that others have just left.
    pub warm: f64,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.fresh, self.warm)
    }
}

impl FromStr for Cost {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let (fresh, warm) = line.trim().split_once(' ').ok_or(())?;
        Ok(Cost { fresh: fresh.parse().map_err(drop)?, warm: warm.parse().map_err(drop)? })
    }
}

/// The size of all simultaneous stacks together, in bytes.
const TOGETHER: usize = 64 << 20;

/// The bytes of a stack that `deep` doesn't get: a check's own reserve, and other frames.
const REST: usize = 1536;

/// The final size of the stacks, in bytes.
static SIZE: AtomicUsize = AtomicUsize::new(0);
/// The total time that growing took, in nanoseconds.
static GROWING: AtomicI64 = AtomicI64::new(0);
static GROWN: WaitGroup = WaitGroup::new();
static RUNNING: WaitGroup = WaitGroup::new();

/// Measures stacks of `size` bytes. Must be called once in a process.
pub fn measure(size: usize) -> Cost {
    SIZE.store(size, Ordering::Relaxed);
    // SAFETY: there is no other thread yet.
    unsafe {
        set_var("GOMAXPROCS", "1");
        // Without this setting, a goroutine that ends leaves its grown stack for the next one.
        set_var("GODEBUG", "stackkeep=0");
    }
    let count = (TOGETHER / size).min(1_000);
    gosched::run(|| {
        let fresh = all_at_once(count);
        one_by_one(1);
        Cost { fresh, warm: one_by_one(count.max(5)) }
    })
}

/// Measures `count` goroutines, none of which ends before all have grown.
fn all_at_once(count: usize) -> f64 {
    static NOTHING: Type = Type { size_: 0, align_: 1 };
    let gate = makechan(&NOTHING, 0).unwrap_or_else(|| proc::throw("no memory for a channel"));
    per_byte(count, || {
        for _ in 0..count {
            start(gate.as_ptr());
        }
        GROWN.wait();
        // SAFETY: the channel is open until here, and freed when nobody has it.
        unsafe {
            closechan(gate);
            RUNNING.wait();
            freechan(gate);
        }
    })
}

/// Measures `count` goroutines, each begun when the one before has ended.
fn one_by_one(count: usize) -> f64 {
    per_byte(count, || {
        for _ in 0..count {
            start(ptr::null_mut());
            RUNNING.wait();
        }
    })
}

/// Calls `f`, which makes `count` goroutines grow. Returns the cost of growing for each byte.
fn per_byte(count: usize, f: impl FnOnce()) -> f64 {
    GROWING.store(0, Ordering::Relaxed);
    f();
    GROWING.load(Ordering::Relaxed) as f64 / (count * SIZE.load(Ordering::Relaxed)) as f64
}

fn start(gate: *mut Hchan) {
    GROWN.add(1);
    RUNNING.add(1);
    // SAFETY: `grow` checks before it takes more stack than it has.
    unsafe { proc::newproc(Some(grow), gate.cast()) };
}

/// Fills its stack twice. Then, if there is a gate, waits until it is open.
unsafe extern "C" fn grow(gate: *mut c_void) {
    // SAFETY: `Instant::now` doesn't park.
    let now = || unsafe { proc::systemstack(Instant::now) };
    let frames = (SIZE.load(Ordering::Relaxed) - REST) / FRAME;
    let start = now();
    black_box(morestack_check!(ROOM, deep, frames));
    let grown = now();
    black_box(morestack_check!(ROOM, deep, frames));
    let again = now();
    let growing = (grown - start).as_nanos() as i64 - (again - grown).as_nanos() as i64;
    GROWING.fetch_add(growing, Ordering::Relaxed);
    // SAFETY: it doesn't park; all_at_once passes a channel of nothing, and keeps it until this is
    // done.
    unsafe {
        proc::systemstack(|| {
            let stack = (*(*proc::getm()).curg.get().unwrap().as_ptr()).stack.get();
            assert_eq!(stack.hi - stack.lo, SIZE.load(Ordering::Relaxed));
        });
        GROWN.done();
        if let Some(gate) = NonNull::new(gate.cast()) {
            chanrecv1(Some(gate), ptr::null_mut());
        }
        RUNNING.done();
    }
}
