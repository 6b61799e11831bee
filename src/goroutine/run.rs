//! [`run`]: how a program enters the runtime.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::panic::resume_unwind;

use crate::goroutine::current::Goexit;
use crate::goroutine::outcome::{Payload, catch_into};
use crate::runtime::{getg, run_main};

/// Runs `main` on a goroutine and returns what it returns. The first call starts the runtime, which puts a hook
/// in front of std's panic hook, unless the program has set one of its own: see [Panics](crate#panics).
///
/// The calling thread waits meanwhile; it isn't a goroutine. When this returns, other goroutines
/// go on, and it may be called again, also by several threads at once. A panic of `main` goes
/// on in the caller.
///
/// If `main` and all other goroutines wait, and there is no thread left that could wake one, that is a
/// deadlock: the process ends with Go's message and status 2. If a thread that isn't the runtime's might
/// wake one, it is only said on stderr, after two seconds: see [`DeadlockMode`](crate::DeadlockMode).
///
/// ```
/// // SAFETY: nothing in this program keeps a thread-local across a point that can park.
/// let sum: u32 = unsafe {
///     gosched::run(|| {
///         let handles: Vec<_> = (1..=10).map(|i| gosched::go(move || i * i)).collect();
///         handles.into_iter().map(|handle| handle.join().unwrap()).sum()
///     })
/// };
/// assert_eq!(sum, 385);
/// ```
///
/// # Safety
/// The caller promises this of the whole program that runs inside; the compiler can't check it:
///
/// - **Nothing obtained from a `thread_local!` is kept across a point that can park.** A
///   goroutine that parks may go on on another thread. A point that can park is every operation of
///   this crate that waits: of a channel, a lock of [`sync`](crate::sync), a join, a yield; also
///   the end of [`blocking`](crate::blocking), and each instruction of a function that was declared
///   [`preemptible!`](crate::preemptible). (Don't hold a `std::sync::MutexGuard` across such a point,
///   either: it has to be dropped on the thread that locked, and it holds up other threads.)
/// - **The compiler keeps nothing of one, either.** To it a thread-local has one address for as long as a
///   function runs: it may find that out once, and use it after the function has parked and gone on on
///   another thread, as in the loop below. So no function both uses a thread-local and comes to such a
///   point, by itself or by what is inlined into it. What helps is `#[inline(never)]` on a function around
///   the use. Think of what is inlined from other crates, too: a generator of random numbers, a log's
///   context, an allocator's cache.
/// - **Code that isn't Rust touches the pages of its stack in order**, as rustc's code does,
///   so that an overflow hits the guard page. Where the kernel has no guard regions (before
///   Linux 6.13) and the process has no mappings left, a line on stderr says so, and further stacks
///   have no guard page: an overflow is noticed at the next switch, and may have overwritten anything
///   by then. With `GOSCHED_GUARD=strict` such a goroutine isn't made, which is an error.
/// - Signal handlers that are installed while goroutines run have `SA_ONSTACK`. (Those that
///   were installed before are changed to have it.)
///
/// ```
/// use std::cell::RefCell;
///
/// thread_local! {
///     static SEEN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
/// }
///
/// #[inline(never)] // Without this a release build crashes.
/// fn note(n: u64) {
///     SEEN.with(|seen| seen.borrow_mut().push(n));
/// }
///
/// // SAFETY: `note` parks nowhere, and isn't inlined where something does.
/// unsafe {
///     gosched::run(|| {
///         for n in 0..1000 {
///             note(n);
///             gosched::yield_now();
///         }
///     })
/// }
/// ```
///
/// # Panics
/// If it is called on a goroutine; if there is no thread or no stack to start with; as `main`
/// does; and if `main` ends by [`goexit`](crate::goexit), as there is no value to return then.
#[track_caller]
pub unsafe fn run<F, T>(main: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    struct Call<F, T> {
        main: Option<F>,
        payload: Option<Payload>,
        /// The result, if there is no payload.
        value: MaybeUninit<T>,
    }

    unsafe fn call<F: FnOnce() -> T, T>(arg: *mut c_void) {
        // SAFETY: run passes its Call, and doesn't touch it before run_main has returned.
        let call = unsafe { &mut *arg.cast::<Call<F, T>>() };
        let main = &mut call.main;
        call.payload = catch_into(&mut call.value, || match main.take() {
            Some(main) => main(),
            None => unreachable!("main runs once"),
        });
    }

    assert!(getg().is_none(), "gosched::run called on a goroutine: use gosched::go or gosched::scope there");
    let mut this = Call { main: Some(main), payload: None, value: MaybeUninit::uninit() };
    // SAFETY: F and T are Send, so `call` may run on another thread; it catches panics, so doesn't unwind.
    if let Err(error) = unsafe { run_main(call::<F, T>, (&raw mut this).cast()) } {
        panic!("gosched::run: can't start: {error}");
    }
    match this.payload {
        // SAFETY: run_main has returned, so main has ended, without a panic.
        None => unsafe { this.value.assume_init() },
        Some(payload) if payload.is::<Goexit>() => {
            panic!("gosched::run: main ended by goexit, so there is no value to return")
        }
        Some(payload) => resume_unwind(payload),
    }
}
