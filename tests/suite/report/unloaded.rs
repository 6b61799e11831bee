//! Libraries that are unloaded before a report names their code, or meanwhile.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;

use gosched::chan::{Receiver, bounded};
use gosched::{go, proc, run, trace};

use super::traceback::dump;
use crate::harness::goroutines::{go_when_this_waits, wait_until};
use crate::harness::library::{self, Loaded, load};
use crate::harness::process::Process;
use crate::harness::storm::storm;
use crate::harness::{Test, tests};

tests! {
    makers_that_are_gone
    makers_that_are_gone_in_a_fatal_report
    code_that_goes_before_it_is_named
    #[slow] dumps_of_code_that_comes_and_goes
    a_dump_lets_the_library_go
}

/// The library's source.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/report/unloaded.c");

pub fn with_library(test: Test, f: impl FnOnce(&dyn Fn(Process) -> Process)) {
    library::with_library(test, SOURCE, f);
}

/// A function that the library calls.
type Function = unsafe extern "C" fn(*mut c_void);

unsafe extern "C" {
    /// Notes its caller's pc.
    fn gosched_newproc(f: Function, arg: *mut c_void);
}

/// Makes the library call `f`.
pub fn calls<F: FnMut()>(library: &Loaded, mut f: F) {
    unsafe extern "C" fn call<F: FnMut()>(f: *mut c_void) {
        // SAFETY: the pointer is the closure below, which nobody else uses meanwhile.
        unsafe { (*f.cast::<F>())() }
    }
    // SAFETY: its type in unloaded.c. The function that it calls gets a closure of its type.
    unsafe {
        let calls: extern "C" fn(Function, *mut c_void) = std::mem::transmute(library.function(c"calls"));
        calls(call::<F>, (&raw mut f).cast());
    }
}

/// Makes the library compute.
pub fn computes(library: &Loaded, n: u64) {
    // SAFETY: its type in unloaded.c.
    let computes: extern "C" fn(u64) -> u64 = unsafe { std::mem::transmute(library.function(c"computes")) };
    black_box(computes(black_box(n)));
}

static GOES_ON: AtomicBool = AtomicBool::new(true);
static WAITS: AtomicBool = AtomicBool::new(false);

/// A goroutine that the library makes. It lets others run until it may end.
unsafe extern "C" fn made(_: *mut c_void) {
    WAITS.store(true, Ordering::Relaxed);
    while GOES_ON.load(Ordering::Relaxed) {
        // SAFETY: on a goroutine that holds nothing.
        unsafe { proc::gosched() };
    }
    WAITS.store(false, Ordering::Relaxed);
}

/// Makes a goroutine by a library that is unloaded afterwards.
fn make_by_one_that_goes() {
    type Newproc = unsafe extern "C" fn(Function, *mut c_void);

    let library = load();
    // SAFETY: its type in unloaded.c. A goroutine may have any argument.
    unsafe {
        let makes: extern "C" fn(Newproc, Function, *mut c_void) =
            std::mem::transmute(library.function(c"makes"));
        makes(gosched_newproc, made, ptr::null_mut());
    }
    wait_until(|| WAITS.load(Ordering::Relaxed));
    library.unload();
}

fn makers_that_are_gone(test: Test) {
    with_library(test, |named| {
        let process = test.process(|| {
            run(|| {
                make_by_one_that_goes();
                let dump = dump();
                assert!(dump.contains("created by ?? in goroutine 1\n\tpc=0x"), "{dump}");
                GOES_ON.store(false, Ordering::Relaxed);
                wait_until(|| !WAITS.load(Ordering::Relaxed));
            });
        });
        named(process).end().with("exit status: 0");
    });
}

fn makers_that_are_gone_in_a_fatal_report(test: Test) {
    with_library(test, |named| {
        let process = test.process(|| {
            run(|| {
                make_by_one_that_goes();
                proc::fatal("it is over");
            });
        });
        let ended = named(process).env("GOTRACEBACK", "all").end();
        ended.fatal("it is over").says("created by ?? in goroutine 1\n\tpc=0x");
        assert!(!ended.stderr.contains("names can't be looked up"), "{}", ended.stderr);
    });
}

/// The address of the function of the library that [`symbolize`] unloads; 0 if there is none.
static CALLS: AtomicUsize = AtomicUsize::new(0);
static LIBRARY: AtomicUsize = AtomicUsize::new(0);
/// The number of names that the address has when it is asked for.
static NAMES: AtomicU32 = AtomicU32::new(0);

/// Reports [`NAMES`] names of the library's function when first asked, and unloads the library.
fn symbolize(pc: usize, found: &mut dyn FnMut(proc::CodePlace<'_>)) {
    let calls = CALLS.load(Ordering::Relaxed);
    if calls != 0 && (calls..calls + 64).contains(&pc) {
        let library = LIBRARY.swap(0, Ordering::Relaxed);
        if library != 0 {
            for _ in 0..NAMES.load(Ordering::Relaxed) {
                found(proc::CodePlace { function: "named", ..proc::CodePlace::default() });
            }
            // SAFETY: the handle of dlopen, once.
            unsafe { libc::dlclose(ptr::with_exposed_provenance_mut(library)) };
        }
    }
}

/// Makes the library be unloaded when a name of its code is asked for. The code then has `names`
/// names.
pub fn unload_when_named(library: Loaded, names: u32) {
    CALLS.store(library.function(c"calls").expose_provenance(), Ordering::Relaxed);
    NAMES.store(names, Ordering::Relaxed);
    LIBRARY.store(library.into_raw().expose_provenance(), Ordering::Relaxed);
    proc::set_symbolizer(symbolize).unwrap();
}

/// Returns whether the library was unloaded.
pub fn was_unloaded() -> bool {
    LIBRARY.load(Ordering::Relaxed) == 0
}

#[inline(never)]
fn receives(rx: &Receiver<()>) {
    _ = rx.recv();
}

/// A trace names the code of goroutines after they have ended.
fn code_that_goes_before_it_is_named(test: Test) {
    with_library(test, |named| {
        let process = test.process(|| {
            run(|| {
                let library = load();
                trace::start(std::io::sink()).unwrap();
                calls(&library, || {
                    let (tx, rx) = bounded(0);
                    let sends = go_when_this_waits(move || tx.send(()));
                    receives(&rx);
                    assert!(sends.join().unwrap().is_ok());
                });
                unload_when_named(library, 0);
                trace::stop().unwrap();
                assert!(was_unloaded(), "the trace has asked");
            });
        });
        named(process).end().with("exit status: 0");
    });
}

/// Calls `f`. Meanwhile another thread loads the library, sometimes runs a goroutine in it, and
/// unloads it, again and again.
pub fn beside_one_that_comes_and_goes(f: impl FnOnce()) {
    static OVER: AtomicBool = AtomicBool::new(false);
    static LOADED: AtomicU32 = AtomicU32::new(0);

    let goroutine = go(|| {
        while !OVER.load(Ordering::Relaxed) {
            let library = load();
            calls(&library, || computes(&library, 20_000));
            library.unload();
            LOADED.fetch_add(1, Ordering::Relaxed);
        }
    });
    let loads = thread::spawn(|| {
        while !OVER.load(Ordering::Relaxed) {
            load().unload();
            LOADED.fetch_add(1, Ordering::Relaxed);
        }
    });
    wait_until(|| LOADED.load(Ordering::Relaxed) > 10);
    f();
    OVER.store(true, Ordering::Relaxed);
    loads.join().unwrap();
    goroutine.join().unwrap();
}

fn dumps_of_code_that_comes_and_goes(test: Test) {
    with_library(test, |named| {
        let process = test.process(|| {
            run(|| {
                beside_one_that_comes_and_goes(|| {
                    for _ in storm(200) {
                        black_box(dump());
                    }
                });
            });
        });
        named(process).env("GOMAXPROCS", "2").end().with("exit status: 0");
    });
}

/// A dump that has named a library's code doesn't keep the library.
fn a_dump_lets_the_library_go(test: Test) {
    with_library(test, |named| {
        let process = test.process(|| {
            run(|| {
                let library = load();
                let name = library.function(c"calls");
                calls(&library, || assert!(dump().contains("\ncalls(...)\n"), "it is named: {}", dump()));
                library.unload();
                // SAFETY: all zero is valid, and dladdr fills it.
                let found = unsafe { libc::dladdr(name, &mut std::mem::zeroed()) };
                assert_eq!(found, 0, "it is gone");
            });
        });
        named(process).end().with("exit status: 0");
    });
}
