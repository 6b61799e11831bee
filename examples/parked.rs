//! A million parked goroutines. Prints the memory that each takes, page tables included, and
//! whether each has a guard page below its stack.
//!
//!     cargo run --release --example parked                 a million that receive from a channel
//!     cargo run --release --example parked -- lean         a million that share the thread-locals of threads
//!     cargo run --release --example parked -- raw          a million of the raw layer
//!     cargo run --release --example parked -- 100000       fewer

use std::ffi::c_void;
use std::fs;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::time::Instant;

use gosched::chan::bounded;
use gosched::proc;
use gosched::runtime2::{G, TraceBlockReason, WaitReason};

/// The number of guard pages that are probed.
const PROBES: usize = 10_000;

/// The most bytes of memory that a goroutine takes besides its pages, with some to spare.
const NEEDED: usize = 1_400;

static PARKED: AtomicUsize = AtomicUsize::new(0);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let is = |kind| args.iter().any(|arg| arg == kind);
    let (lean, raw) = (is("lean"), is("raw"));
    let wanted = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(1_000_000);
    let pages = if lean || raw { 1 } else { 2 };
    let n = wanted.min(available_memory() / (pages * page_size() + NEEDED));
    if n < wanted {
        println!("{n} goroutines: there is no memory for {wanted}");
    }
    if lean {
        // SAFETY: no goroutine here uses a thread-local.
        unsafe { gosched::set_default_shared_locals() }.expect("nothing has started");
    }
    gosched::run(|| if raw { park_raw(n) } else { park(n) })
}

/// Parks `n` goroutines on a channel.
fn park(n: usize) {
    let lows: Vec<AtomicUsize> = (0..n.min(PROBES)).map(|_| AtomicUsize::new(0)).collect();
    let (gate, closed) = bounded::<()>(0);
    gosched::scope(|s| {
        let report = Report::start();
        for i in 0..n {
            let (lows, closed) = (&lows, &closed);
            s.go(move || {
                // At most PROBES goroutines, spread over all, note the low ends of their stacks.
                if let Some(low) = lows.get(i * lows.len() / n).filter(|low| low.load(Ordering::Relaxed) == 0)
                {
                    // SAFETY: on a goroutine, so getg is its G, which stays while it runs.
                    low.store(unsafe { (*proc::getg()).stack.get().lo }, Ordering::Relaxed);
                }
                PARKED.fetch_add(1, Ordering::Relaxed);
                let _ = closed.recv();
            });
        }
        wait_until_parked(n);
        report.print(n);
        probe(lows.iter().map(|low| low.load(Ordering::Relaxed)));
        let start = Instant::now();
        gate.close();
        while gosched::num_goroutine() > 1 {
            gosched::yield_now();
        }
        println!("all woken and gone in {:.2?}", start.elapsed());
    });
}

/// Parks `n` goroutines of the raw layer. Each publishes its G.
fn park_raw(n: usize) {
    /// Publishes its G in `place`, and parks.
    unsafe extern "C" fn parker(place: *mut c_void) {
        /// Once the goroutine is off its stack, it may be made ready.
        unsafe extern "C" fn publish(gp: *mut G, place: *mut c_void) -> bool {
            // SAFETY: the place is in a vector that outlives the goroutines.
            unsafe { &*place.cast::<AtomicPtr<G>>() }.store(gp, Ordering::Release);
            PARKED.fetch_add(1, Ordering::Relaxed);
            true
        }
        // SAFETY: on a goroutine; `publish` touches the place and nothing of this stack, and
        // returns true.
        unsafe { proc::gopark(Some(publish), place, WaitReason::Zero, TraceBlockReason::Generic, 0) };
    }

    let gs: Vec<AtomicPtr<G>> = (0..n).map(|_| AtomicPtr::new(ptr::null_mut())).collect();
    let report = Report::start();
    for g in &gs {
        // SAFETY: `parker` fits its stack and doesn't panic.
        unsafe { proc::newproc(Some(parker), ptr::from_ref(g).cast_mut().cast()) };
    }
    wait_until_parked(n);
    report.print(n);
    let step = n.div_ceil(PROBES).max(1);
    // SAFETY: the goroutines are parked, so the G's and their stacks stay.
    probe(gs.iter().step_by(step).map(|g| unsafe { (*g.load(Ordering::Acquire)).stack.get().lo }));
    let start = Instant::now();
    for g in &gs {
        // SAFETY: the goroutine is parked, and only this makes it ready.
        unsafe { proc::goready(g.load(Ordering::Acquire), 0) };
    }
    while gosched::num_goroutine() > 1 {
        gosched::yield_now();
    }
    println!("all woken and gone in {:.2?}", start.elapsed());
}

/// Yields until all goroutines are about to park, and once more so that they do.
fn wait_until_parked(n: usize) {
    while PARKED.load(Ordering::Relaxed) < n {
        gosched::yield_now();
    }
    gosched::yield_now();
}

/// Makes the kernel read the byte below each stack. The read fails if there is a guard page.
fn probe(lows: impl Iterator<Item = usize>) {
    let mut pipe = [0; 2];
    // SAFETY: the kernel writes two descriptors to `pipe`.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    let (mut probed, mut guarded) = (0, 0);
    for low in lows.filter(|&low| low != 0) {
        probed += 1;
        let below = ptr::without_provenance::<c_void>(low - 1);
        // SAFETY: the kernel checks the address: if the byte can't be read, it returns EFAULT.
        guarded += usize::from(unsafe { libc::write(pipe[1], below, 1) } == -1);
    }
    println!("{guarded} of {probed} probed are behind a guard page");
}

/// The memory in use and the time, noted before the goroutines are made.
struct Report {
    memory: usize,
    start: Instant,
}

impl Report {
    fn start() -> Self {
        Report { memory: memory(), start: Instant::now() }
    }

    fn print(&self, n: usize) {
        let elapsed = self.start.elapsed();
        let each = (memory() - self.memory) / n;
        println!("{n} goroutines parked in {elapsed:.2?}: {each} bytes each, page tables included");
    }
}

/// Returns the field `name` of a `/proc` file, converted from kB to bytes.
fn field(path: &str, name: &str) -> Option<usize> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kb| kb * 1024)
}

/// Returns the bytes of memory that this process takes, page tables included.
fn memory() -> usize {
    ["VmRSS:", "VmPTE:"].iter().filter_map(|name| field("/proc/self/status", name)).sum()
}

fn page_size() -> usize {
    // SAFETY: no memory is passed.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Returns the bytes of memory that this process may still take: memory that is free, and within
/// the limit of its control group.
fn available_memory() -> usize {
    let free = field("/proc/meminfo", "MemAvailable:").unwrap_or(usize::MAX);
    let number = |path| fs::read_to_string(path).ok()?.trim().parse::<usize>().ok();
    let max = number("/sys/fs/cgroup/memory.max");
    let current = number("/sys/fs/cgroup/memory.current").unwrap_or(0);
    max.map_or(free, |max| free.min(max.saturating_sub(current)))
}
