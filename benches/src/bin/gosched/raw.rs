//! Workloads on the raw layer: goroutines on copying stacks of 2 KiB, channels without types.

use std::ffi::c_void;
use std::os::unix::process::parent_id;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use gosched::chan::hchan::{
    Hchan, Received, Type, chanrecv, chanrecv1, chansend1, closechan, freechan, makechan,
};
use gosched::proc::{self, Coro};
use gosched::runtime2::G;
use gosched::sync::WaitGroup;
use gosched_benches::Args;

pub fn run(args: &Args) {
    args.timed("raw_gosched", 5_000_000, gosched);
    args.timed("raw_spawn", 2_000_000, spawn);
    args.timed("raw_pingpong", 2_000_000, pingpong);
    args.timed("raw_skynet", 5, |n| {
        // SAFETY: on a goroutine.
        (0..n).for_each(|_| assert_eq!(unsafe { sum_of(1, 0, 1_000_000) }, 499_999_500_000));
    });
    args.timed("raw_sleepers", 100_000, sleepers);
    args.timed("raw_syscall", 5_000_000, syscall);
    args.timed("switch_pair", 50_000_000, switch_pair);
    args.timed("raw_coroswitch", 10_000_000, coroswitch);
}

static RUNNING: WaitGroup = WaitGroup::new();

fn gosched(n: u64) {
    unsafe extern "C" fn yields(n: *mut c_void) {
        for _ in 0..n.addr() {
            // SAFETY: on a goroutine that has no thread-local.
            unsafe { proc::gosched() };
        }
        RUNNING.done();
    }
    RUNNING.add(2);
    for _ in 0..2 {
        // SAFETY: `yields` needs little stack.
        unsafe { proc::newproc(Some(yields), ptr::without_provenance_mut(n as usize / 2)) };
    }
    RUNNING.wait();
}

fn spawn(n: u64) {
    unsafe extern "C" fn done(_: *mut c_void) {
        RUNNING.done();
    }
    for i in 0..n {
        RUNNING.add(1);
        // SAFETY: `done` needs little stack.
        unsafe { proc::newproc(Some(done), ptr::null_mut()) };
        if i % 100 == 99 {
            RUNNING.wait();
        }
    }
    RUNNING.wait();
}

static U64: Type = Type { size_: size_of::<u64>(), align_: align_of::<u64>() };

fn channel() -> NonNull<Hchan> {
    makechan(&U64, 0).unwrap_or_else(|| proc::throw("no memory for a channel"))
}

fn pingpong(n: u64) {
    unsafe extern "C" fn echo(channels: *mut c_void) {
        // SAFETY: pingpong passes its channels, and keeps them until this is done.
        let [ping, pong] = unsafe { channels.cast::<[NonNull<Hchan>; 2]>().read() };
        let mut value = 0_u64;
        // SAFETY: the channels are of u64.
        unsafe {
            while chanrecv(Some(ping), (&raw mut value).cast(), true) == Received::Done {
                chansend1(Some(pong), (&raw const value).cast());
            }
        }
        RUNNING.done();
    }
    let mut channels = [channel(), channel()];
    let [ping, pong] = channels;
    RUNNING.add(1);
    // SAFETY: `echo` needs little stack; the channels are of u64, and freed after `echo` has ended.
    unsafe {
        proc::newproc(Some(echo), (&raw mut channels).cast());
        for i in 0..n {
            let mut value = u64::MAX;
            chansend1(Some(ping), (&raw const i).cast());
            chanrecv1(Some(pong), (&raw mut value).cast());
            assert_eq!(value, i);
        }
        closechan(ping);
        RUNNING.wait();
        freechan(ping);
        freechan(pong);
    }
}

/// A node of `skynet` and its children. It is on the heap, because no pointer may lead into a
/// copying stack. The last goroutine to leave it, the parent or a child, frees it.
struct Family {
    sums: NonNull<Hchan>,
    first: u64,
    size: u64,
    numbered: AtomicU64,
    members: AtomicU64,
}

/// Returns the sum of `children` trees of `size` leaves each.
///
/// # Safety
/// On a goroutine.
unsafe fn sum_of(children: u64, first: u64, size: u64) -> u64 {
    let sums = channel();
    let members = AtomicU64::new(children + 1);
    let family = Family { sums, first, size, numbered: AtomicU64::new(0), members };
    // SAFETY: an allocation doesn't park.
    let family = unsafe { proc::systemstack(|| Box::into_raw(Box::new(family))) };
    let mut sum = 0;
    // SAFETY: the family stays until all have left it, and its channel is of u64.
    unsafe {
        for _ in 0..children {
            proc::newproc(Some(node), family.cast());
        }
        for _ in 0..children {
            let mut part = 0_u64;
            chanrecv1(Some(sums), (&raw mut part).cast());
            sum += part;
        }
        leave(family);
    }
    sum
}

unsafe extern "C" fn node(family: *mut c_void) {
    let family = family.cast::<Family>();
    // SAFETY: the family stays until this has left it, and its channel is of u64.
    unsafe {
        let Family { sums, first, size, ref numbered, .. } = *family;
        let first = first + numbered.fetch_add(1, Ordering::Relaxed) * size;
        let sum = if size == 1 { first } else { sum_of(10, first, size / 10) };
        chansend1(Some(sums), (&raw const sum).cast());
        leave(family);
    }
}

/// Counts off a member of the family. The last one frees it.
///
/// # Safety
/// The caller is a member that hasn't left yet, and doesn't use the family after this.
unsafe fn leave(family: *mut Family) {
    // SAFETY: the family stays until the last member has left; that one alone still has it. Freeing
    // doesn't park.
    unsafe {
        if (*family).members.fetch_sub(1, Ordering::AcqRel) == 1 {
            freechan((*family).sums);
            proc::systemstack(|| drop(Box::from_raw(family)));
        }
    }
}

fn sleepers(n: u64) {
    unsafe extern "C" fn sleeps(_: *mut c_void) {
        // SAFETY: on a goroutine that has no thread-local.
        unsafe { proc::time_sleep(10_000_000) };
        RUNNING.done();
    }
    RUNNING.add(n as u32);
    for _ in 0..n {
        // SAFETY: `sleeps` needs little stack.
        unsafe { proc::newproc(Some(sleeps), ptr::null_mut()) };
    }
    RUNNING.wait();
}

fn syscall(n: u64) {
    unsafe extern "C" fn calls(n: *mut c_void) {
        for _ in 0..n.addr() {
            // SAFETY: on a goroutine that has no thread-local; the call needs no P.
            unsafe {
                proc::entersyscall();
                _ = parent_id();
                proc::exitsyscall();
            }
        }
        RUNNING.done();
    }
    RUNNING.add(1);
    // SAFETY: `calls` needs little stack.
    unsafe { proc::newproc(Some(calls), ptr::without_provenance_mut(n as usize)) };
    RUNNING.wait();
}

pub fn switch_pair(n: u64) {
    unsafe extern "C" fn back(gp: *mut G) -> ! {
        // SAFETY: `gp` is the goroutine that has just called mcall, and nobody else resumes it.
        unsafe { proc::gogo(gp) }
    }
    for _ in 0..n {
        // SAFETY: on a goroutine, which `back` resumes.
        unsafe { proc::mcall(back) };
    }
}

fn coroswitch(n: u64) {
    unsafe extern "C" fn back(c: *mut Coro, n: *mut c_void) {
        for _ in 0..n.addr() {
            // SAFETY: this runs in the coroutine `c`, which so hasn't ended.
            unsafe { proc::coroswitch(c) };
        }
    }
    let mut c = Coro::new();
    // SAFETY: `back` needs little stack; the last switch ends it, before `c` goes.
    unsafe {
        proc::newcoro(&raw mut c, back, ptr::without_provenance_mut(n as usize));
        for _ in 0..=n {
            proc::coroswitch(&raw mut c);
        }
    }
}
