//! How much of a copying stack the raw layer's functions take: painted before, read after.

use std::arch::asm;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use gosched::chan::hchan::{
    Hchan, Type, chanrecv1, chanrecv2, chansend1, closechan, freechan, makechan, selectnbrecv, selectnbsend,
};
use gosched::proc;

/// What a function may take: of 2 KiB in a release build, of 10 KiB in a debug build.
const LIMIT: usize = if cfg!(debug_assertions) { 6000 } else { 300 };

static WORD: Type = Type { size_: size_of::<u64>(), align_: align_of::<u64>() };

/// The channel that the function under test uses.
static CHANNEL: AtomicPtr<Hchan> = AtomicPtr::new(ptr::null_mut());

fn channel() -> Option<NonNull<Hchan>> {
    NonNull::new(CHANNEL.load(Ordering::Relaxed))
}

/// A function under test, and what it took; 0 until it has run.
struct Case {
    name: &'static str,
    f: unsafe fn(),
    took: AtomicUsize,
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

unsafe fn send() {
    let value = 1u64;
    // SAFETY: a value of the channel's type, which stays.
    unsafe { chansend1(channel(), (&raw const value).cast()) };
}

unsafe fn receive() {
    let mut value = 0u64;
    // SAFETY: a place for a value of the channel's type, which stays.
    unsafe { chanrecv1(channel(), (&raw mut value).cast()) };
}

unsafe fn receive_if_open() {
    let mut value = 0u64;
    // SAFETY: likewise.
    unsafe { chanrecv2(channel(), (&raw mut value).cast()) };
}

unsafe fn try_both() {
    let mut value = 1u64;
    // SAFETY: likewise.
    unsafe {
        selectnbsend(channel(), (&raw const value).cast());
        selectnbrecv((&raw mut value).cast(), channel());
    }
}

unsafe fn make_and_free() {
    let Some(c) = makechan(&WORD, 100) else { return };
    // SAFETY: just made, and nobody else's.
    unsafe { freechan(c) }
}

unsafe fn close() {
    // SAFETY: the channel stays.
    channel().map(|c| unsafe { closechan(c) });
}

unsafe fn make_a_goroutine() {
    // SAFETY: `nothing` needs nothing.
    unsafe { proc::newproc(Some(nothing), ptr::null_mut()) }
}

unsafe fn yield_to_all() {
    // SAFETY: on a goroutine without thread-locals.
    unsafe { proc::gosched() }
}

unsafe fn yield_to_one() {
    // SAFETY: likewise.
    unsafe { proc::goyield() }
}

macro_rules! cases {
    ($($f:ident)*) => { [$(Case { name: stringify!($f), f: $f, took: AtomicUsize::new(0) }),*] };
}

static CASES: [Case; 9] = cases! {
    send receive receive_if_open try_both make_and_free close make_a_goroutine yield_to_all yield_to_one
};

const PAINT: u64 = 0x7a17_ed00_7a17_ed00;

/// Bytes below `measure`'s frame that aren't painted: what painting itself calls is there.
const UNPAINTED: usize = if cfg!(debug_assertions) { 512 } else { 128 };

/// Runs a case between painting the stack below and looking for what is left of the paint.
unsafe extern "C" fn measure(case: *mut c_void) {
    let sp: usize;
    // SAFETY: a copy of a register; and the words from `lo` up to some way below sp are this
    // goroutine's and not in use. On a goroutine, so getg isn't null.
    unsafe {
        asm!("mov {}, rsp", out(reg) sp);
        let case = &*case.cast::<Case>();
        let lo = (*proc::getg()).stack.get().lo;
        let mut at = lo;
        while at < sp - UNPAINTED {
            ptr::with_exposed_provenance_mut::<u64>(at).write_volatile(PAINT);
            at += size_of::<u64>();
        }
        (case.f)();
        let mut at = lo;
        while at < sp - UNPAINTED && ptr::with_exposed_provenance::<u64>(at).read_volatile() == PAINT {
            at += size_of::<u64>();
        }
        case.took.store(sp - at, Ordering::Release);
    }
}

#[test]
fn every_raw_function_fits_a_copying_stack() {
    // SAFETY: `measure` and its cases fit their stacks and don't panic; no thread-local is kept.
    unsafe {
        gosched::run(|| {
            for case in &CASES {
                let c = makechan(&WORD, 2).expect("memory for a channel");
                CHANNEL.store(c.as_ptr(), Ordering::Relaxed);
                proc::newproc(Some(measure), ptr::from_ref(case).cast_mut().cast());
                // The receivers park until a value comes; the channel neither fills nor stays full.
                while case.took.load(Ordering::Acquire) == 0 {
                    gosched::yield_now();
                    let mut value = 7u64;
                    selectnbsend(Some(c), (&raw const value).cast());
                    selectnbrecv((&raw mut value).cast(), Some(c));
                }
                freechan(c);
            }
        })
    };
    for case in &CASES {
        let took = case.took.load(Ordering::Relaxed);
        assert!(took <= LIMIT, "{} took {took} bytes of stack, more than {LIMIT}", case.name);
        println!("{}: {took} bytes", case.name);
    }
}
