//! Calls each C function for programs where it can be called and where it can't, and with NULL. The
//! table at the head of the header must be true. Functions for ports aren't in the table: their
//! docs say where they may be called.

use std::env;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::thread;

use gosched::capi::*;

use crate::harness::process::Ended;
use crate::harness::{Test, tests};

tests! {
    #[slow]
    the_headers_table_is_true
    the_first_goroutine_exits
    the_first_goroutine_exits_beside_another_thread
}

const HEADER: &str = include_str!("../../../include/gosched.h");

/// The files that declare the functions of the table. The docs of functions that only a port needs
/// say where they may be called.
const FOR_PROGRAMS: [&str; 2] =
    [include_str!("../../../src/capi/goroutine.rs"), include_str!("../../../src/capi/chan.rs")];

/// The place where a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    BeforeRun,
    Thread,
    Main,
    NewGoroutine,
    System,
    Blocking,
    Unlockf,
    /// On the main goroutine, with NULL.
    Null,
}

use Place::*;

/// The places, with their columns in the table.
const PLACES: [(Place, usize); 8] = [
    (BeforeRun, 0),
    (Thread, 1),
    (Main, 2),
    (NewGoroutine, 2),
    (System, 3),
    (Blocking, 3),
    (Unlockf, 3),
    (Null, 4),
];

/// A function of the header: its name, and a call that returns its outcome in the table's words.
/// The call passes NULL at the place `Null`.
type Function = (&'static str, fn(Place) -> String);

fn yes() -> String {
    "yes".to_owned()
}

fn errno(value: i32) -> String {
    match value {
        0 => yes(),
        libc::EDEADLK => "EDEADLK".to_owned(),
        libc::EINVAL => "EINVAL".to_owned(),
        libc::EPERM => "EPERM".to_owned(),
        other => other.to_string(),
    }
}

fn result(result: OpResult) -> String {
    match result {
        OpResult::Done => yes(),
        OpResult::WouldBlock => "WOULD_BLOCK".to_owned(),
        OpResult::Closed => "CLOSED".to_owned(),
    }
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

unsafe extern "C" fn give_back(arg: *mut c_void) -> *mut c_void {
    arg
}

unsafe extern "C" fn go_on(_: *mut Goroutine, _: *mut c_void) -> bool {
    false
}

/// A goroutine that is parked, if the runtime runs.
static PARKED: AtomicPtr<Goroutine> = AtomicPtr::new(ptr::null_mut());

unsafe extern "C" fn publish(g: *mut Goroutine, _: *mut c_void) -> bool {
    PARKED.store(g, Ordering::Release);
    true
}

unsafe extern "C" fn park_and_publish(_: *mut c_void) {
    // SAFETY: on a goroutine. `publish` doesn't touch its stack.
    unsafe { gosched_park(Some(publish), ptr::null_mut(), WaitReason::Semacquire) }
}

/// Returns a channel of words; with a word in it if `full`.
unsafe fn channel(capacity: usize, full: bool) -> *mut Chan {
    let mut chan = ptr::null_mut();
    let word = 7u64;
    // SAFETY: a place for an address, and a value of the channel's size.
    unsafe {
        assert_eq!(gosched_chan_make(size_of::<u64>(), capacity, &mut chan), 0);
        if full {
            assert_eq!(gosched_chan_try_send(chan, (&raw const word).cast()), OpResult::Done);
        }
    }
    chan
}

/// Returns the value to send, or NULL.
fn value(place: Place) -> *mut c_void {
    static VALUE: AtomicU64 = AtomicU64::new(0);
    if place == Null { ptr::null_mut() } else { VALUE.as_ptr().cast() }
}

unsafe extern "C" fn receive_one(chan: *mut c_void) {
    // SAFETY: `partner` passes a channel.
    unsafe { gosched_chan_recv(chan.cast(), ptr::null_mut()) };
}

unsafe extern "C" fn send_one(chan: *mut c_void) {
    let word = 7u64;
    // SAFETY: `partner` passes a channel of words.
    unsafe { gosched_chan_send(chan.cast(), (&raw const word).cast()) };
}

/// Returns a channel without room. A goroutine runs `f` at its other end, if the caller may wait
/// for it.
unsafe fn partner(place: Place, f: unsafe extern "C" fn(*mut c_void)) -> *mut Chan {
    // SAFETY: `f` takes a channel, which is never freed.
    unsafe {
        let chan = channel(0, false);
        // A call that doesn't wait might find the partner there already.
        if !matches!(place, BeforeRun | Blocking) {
            assert_eq!(gosched_newproc_fixed(Some(f), chan.cast(), 0), 0);
        }
        chan
    }
}

fn null<T>(place: Place, f: T) -> Option<T> {
    (place != Null).then_some(f)
}

/// Makes [`FUNCTIONS`]: names, and the call of each at a place.
macro_rules! functions {
    ($($name:ident($place:pat) $call:block)*) => {
        [$((stringify!($name), |$place| {
            // SAFETY: a call that isn't allowed is refused, or ends the process.
            unsafe { $call }
        })),*]
    };
}

const FUNCTIONS: [Function; 26] = functions! {
    gosched_run(place) {
        errno(gosched_run(null(place, give_back), ptr::null_mut(), ptr::null_mut()))
    }
    gosched_run_copying(place) {
        errno(gosched_run_copying(null(place, give_back), ptr::null_mut(), ptr::null_mut()))
    }
    gosched_newproc(place) {
        gosched_newproc(null(place, nothing), ptr::null_mut());
        yes()
    }
    gosched_newproc_fixed(place) {
        errno(gosched_newproc_fixed(null(place, nothing), ptr::null_mut(), 0))
    }
    gosched_yield(_) {
        gosched_yield();
        yes()
    }
    gosched_exit(_) {
        say(&yes());
        gosched_exit()
    }
    gosched_getg(_) { if gosched_getg().is_null() { "NULL".to_owned() } else { yes() } }
    gosched_park(place) {
        if place == Null {
            assert_eq!(gosched_newproc_fixed(Some(ready_the_parked), ptr::null_mut(), 0), 0);
            PARKED.store(gosched_getg(), Ordering::Release);
        }
        gosched_park(null(place, go_on), ptr::null_mut(), WaitReason::Sleep);
        yes()
    }
    gosched_ready(place) {
        if place == Null {
            gosched_ready(ptr::null_mut());
        }
        gosched_ready(PARKED.load(Ordering::Acquire));
        yes()
    }
    gosched_systemstack(place) {
        gosched_systemstack(null(place, nothing), ptr::null_mut());
        yes()
    }
    gosched_set_max_stack(_) {
        gosched_set_max_stack(1 << 30);
        yes()
    }
    gosched_shrink_stack(_) {
        gosched_shrink_stack();
        yes()
    }
    gosched_blocking(place) {
        gosched_blocking(null(place, nothing), ptr::null_mut());
        yes()
    }
    gosched_sleep(_) {
        gosched_sleep(1);
        yes()
    }
    gosched_set_gomaxprocs(_) {
        let before = gosched_set_gomaxprocs(3);
        if before > 0 { yes() } else { before.to_string() }
    }
    gosched_set_default_gomaxprocs(_) {
        let before = gosched_set_default_gomaxprocs();
        if before > 0 { yes() } else { before.to_string() }
    }
    gosched_chan_make(place) {
        let mut chan = ptr::null_mut();
        errno(gosched_chan_make(8, 1, if place == Null { ptr::null_mut() } else { &mut chan }))
    }
    gosched_chan_free(place) {
        gosched_chan_free(if place == Null { ptr::null_mut() } else { channel(1, true) });
        yes()
    }
    gosched_chan_send(place) {
        result(gosched_chan_send(partner(place, receive_one), value(place)))
    }
    gosched_chan_try_send(place) {
        result(gosched_chan_try_send(channel(1, false), value(place)))
    }
    gosched_chan_recv(place) {
        result(gosched_chan_recv(partner(place, send_one), value(place)))
    }
    gosched_chan_try_recv(place) {
        result(gosched_chan_try_recv(channel(1, true), value(place)))
    }
    gosched_chan_close(place) {
        assert!(gosched_chan_close(if place == Null { ptr::null_mut() } else { channel(1, true) }));
        yes()
    }
    gosched_chan_len(place) {
        let chan = if place == Null { ptr::null_mut() } else { channel(1, true) };
        assert_eq!(gosched_chan_len(chan), usize::from(place != Null));
        yes()
    }
    gosched_chan_cap(place) {
        let chan = if place == Null { ptr::null_mut() } else { channel(1, true) };
        assert_eq!(gosched_chan_cap(chan), usize::from(place != Null));
        yes()
    }
    gosched_select(place) {
        let case = Case { chan: partner(place, receive_one), elem: value(place) };
        result(gosched_select(&case, 1, 0, true).result)
    }
};

unsafe extern "C" fn ready_the_parked(_: *mut c_void) {
    let g = PARKED.load(Ordering::Acquire);
    // SAFETY: the goroutine parks. With one P, it has left the P when this one runs.
    unsafe {
        // The goroutine may have lost its turn just before.
        while gosched_readgstatus(g) & !GOSCHED_GSCAN != GOSCHED_GWAITING {
            gosched_yield();
        }
        gosched_ready(g)
    }
}

/// Whether the outcome of the call was printed.
static SAID: AtomicBool = AtomicBool::new(false);

fn say(outcome: &str) {
    eprintln!("outcome: {outcome}");
    SAID.store(true, Ordering::Release);
}

/// Makes the call that `arg` points to.
unsafe extern "C" fn call(arg: *mut c_void) {
    // SAFETY: the argument is a call, whose function is safe at its place.
    unsafe {
        let &((_, function), place) = &*arg.cast::<Call>();
        say(&function(place));
    }
}

type Call = (Function, Place);

/// `unlockf` of the place `Unlockf`: makes the call.
unsafe extern "C" fn call_and_go_on(_: *mut Goroutine, arg: *mut c_void) -> bool {
    // SAFETY: park passes the call on.
    unsafe { call(arg) };
    false
}

/// The main function: makes the call at its place.
unsafe extern "C" fn call_inside(arg: *mut c_void) -> *mut c_void {
    // SAFETY: a call is passed. Goroutines with fixed stacks run any code.
    unsafe {
        assert_eq!(gosched_newproc_fixed(Some(park_and_publish), ptr::null_mut(), 0), 0);
        while PARKED.load(Ordering::Acquire).is_null() {
            gosched_yield();
        }
        match (*arg.cast::<Call>()).1 {
            BeforeRun | Thread => {}
            Main | Null => call(arg),
            NewGoroutine => {
                assert_eq!(gosched_newproc_fixed(Some(call), arg, 0), 0);
                while !SAID.load(Ordering::Acquire) {
                    gosched_yield();
                }
            }
            System => gosched_systemstack(Some(call), arg),
            Blocking => gosched_blocking(Some(call), arg),
            Unlockf => gosched_park(Some(call_and_go_on), arg, WaitReason::Sleep),
        }
    }
    ptr::null_mut()
}

/// Calls a function in this process.
fn make(call_to_make: Call) {
    let arg = |to_make: &Call| ptr::from_ref(to_make).cast_mut().cast();
    // SAFETY: the call stays until it is made, and its function is safe at its place.
    let here = move || unsafe { call(arg(&call_to_make)) };
    match call_to_make.1 {
        BeforeRun => return here(),
        // SAFETY: as above.
        _ => assert_eq!(unsafe { gosched_run(Some(call_inside), arg(&call_to_make), ptr::null_mut()) }, 0),
    }
    if call_to_make.1 == Thread {
        thread::spawn(here).join().unwrap();
    }
}

/// Returns the outcome of a call, in the table's words.
fn outcome(ended: &Ended, name: &str) -> String {
    let said = ended.stderr.lines().find_map(|line| line.strip_prefix("outcome: "));
    match ended.status.code() {
        // A Rust program gets Go's words for the same error.
        Some(2) if ended.stderr.contains("fatal error: go of nil func value\n") => "ends".to_owned(),
        Some(2) if ended.stderr.contains(&format!("fatal error: {name}")) => "ends".to_owned(),
        Some(0) if said.is_some() => said.unwrap_or_default().to_owned(),
        _ => format!("{}: {:?}", ended.status, ended.stderr.lines().next()),
    }
}

/// Returns the header's row for a function: a word for each column.
fn row(name: &str) -> Vec<&'static str> {
    let mut rows = HEADER.lines().map(|line| line.trim_start_matches(" *").split_whitespace());
    let row = rows.find(|words| words.clone().next() == Some(name) && words.clone().count() == 6);
    row.unwrap_or_else(|| panic!("the table has no row of {name}")).skip(1).collect()
}

fn the_headers_table_is_true(test: Test) {
    /// The environment variable that selects the call that a process makes.
    const WHICH: &str = "GOSCHED_TEST_CALL";

    for line in FOR_PROGRAMS.into_iter().flat_map(str::lines) {
        let declared = line.trim_start().strip_prefix("pub fn ").and_then(|line| line.split('(').next());
        let is_called = |name| FUNCTIONS.iter().any(|(known, _)| *known == name);
        assert!(declared.is_none_or(is_called), "not called here: {line}");
    }
    let calls =
        || FUNCTIONS.iter().flat_map(|&f| PLACES.iter().map(move |&(place, column)| (f, place, column)));
    let mut wrong = String::new();
    for (at, (function, place, column)) in calls().enumerate() {
        let process = test.process(|| {
            let at: usize = env::var(WHICH).unwrap().parse().unwrap();
            let (function, place, _) = calls().nth(at).unwrap();
            make((function, place));
        });
        let expected = row(function.0)[column];
        if expected == "-" || (function.0, place) == ("gosched_exit", Main) {
            continue;
        }
        let process = process.env(WHICH, &at.to_string()).env("GOTRACEBACK", "none");
        let process = process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0");
        let found = outcome(&process.end(), function.0);
        if found != expected {
            wrong += &format!("{} {place:?}: expected {expected}, found {found}\n", function.0);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

const NO_GOROUTINES: &str = "no goroutines (main called runtime.Goexit) - deadlock!";

unsafe extern "C" fn exit(_: *mut c_void) -> *mut c_void {
    // SAFETY: on a goroutine whose stack nobody needs. `outlive` only lets others run.
    unsafe {
        assert_eq!(gosched_newproc_fixed(Some(outlive), ptr::null_mut(), 0), 0);
        gosched_exit()
    }
}

unsafe extern "C" fn outlive(_: *mut c_void) {
    // SAFETY: on a goroutine.
    (0..100).for_each(|_| unsafe { gosched_yield() });
    eprintln!("the others go on");
}

fn run_and_exit() {
    // SAFETY: `exit` needs nothing.
    unsafe { gosched_run(Some(exit), ptr::null_mut(), ptr::null_mut()) };
}

fn the_first_goroutine_exits(test: Test) {
    if test.deadlock_unseen() {
        return;
    }
    let process = test.process(run_and_exit);
    process
        .end()
        .with("exit status: 2")
        .says(&format!("fatal error: {NO_GOROUTINES}\n"))
        .says("the others go on");
}

/// It ends like any other deadlock there.
fn the_first_goroutine_exits_beside_another_thread(test: Test) {
    let process = test.process(|| thread::spawn(run_and_exit).join().unwrap());
    let ended = process.env("GODEBUG", "deadlock=fatal,period=5").end();
    ended.with("exit status: 2").says(&format!("fatal error: {NO_GOROUTINES}\n"));
}
