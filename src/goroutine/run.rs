//! [`run`]: how a program enters the runtime.

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::panic::resume_unwind;

use crate::goroutine::Builder;
use crate::goroutine::current::Goexit;
use crate::goroutine::join_handle::{Payload, catch_into};
use crate::goroutine::spawn::Special;
use crate::runtime::{MAIN_KIND, Maker, call_on_begin, getg, goroutine, rt0_go, run_main};

/// Runs `main` on a goroutine and returns its result. The first call starts the runtime. The
/// runtime puts a hook in front of std's panic hook, unless the program has set a hook of its own:
/// see [Panics](crate#panics).
///
/// The calling thread waits meanwhile; it isn't a goroutine. When `run` returns, other goroutines
/// go on. It may be called again, also by several threads at once. A panic of `main` goes on in the
/// caller.
///
/// If `main` and all other goroutines wait, and no thread is left that could wake one, that is a
/// deadlock: the process ends with Go's message and status 2. If a thread that isn't the runtime's
/// might wake one, the runtime only reports that on stderr, after two seconds: see
/// [`DeadlockMode`](crate::DeadlockMode).
///
/// ```
/// let sum: u32 = gosched::run(|| {
///     let handles: Vec<_> = (1..=10).map(|i| gosched::go(move || i * i)).collect();
///     handles.into_iter().map(|handle| handle.join().unwrap()).sum()
/// });
/// assert_eq!(sum, 385);
/// ```
///
/// # Panics
/// If it is called on a goroutine; if there is no thread or no stack to start with, goroutines
/// can't have [thread-locals of their own](crate#thread-locals) here, or the kernel enforces a
/// shadow stack: [`Builder::run`] returns these as errors. As `main` does; and if `main` ends by
/// [`goexit`](crate::goexit), because there is no value to return then.
#[track_caller]
pub fn run<F, T>(main: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    match Builder::new().run(main) {
        Ok(value) => value,
        Err(error) => cannot_start(&error),
    }
}

/// Panics.
#[cold]
#[track_caller]
fn cannot_start(error: &io::Error) -> ! {
    panic!("gosched::run: can't start: {error}")
}

impl Builder {
    /// Runs `main` on a goroutine as [`run`] does. The goroutine has a stack of 8 MiB unless
    /// [`stack_size`](Self::stack_size) says otherwise.
    ///
    /// ```
    /// let depth = gosched::Builder::new().stack_size(64 << 20).run(|| {
    ///     fn depth(n: u32) -> u32 {
    ///         if n == 0 { 0 } else { 1 + std::hint::black_box(depth(n - 1)) }
    ///     }
    ///     depth(100_000)
    /// });
    /// assert_eq!(depth.unwrap(), 100_000);
    /// ```
    ///
    /// # Errors
    /// - As [`go`](Self::go).
    /// - There is no thread to start with.
    /// - Goroutines can't have thread-locals of their own here
    ///   ([`Unsupported`](io::ErrorKind::Unsupported)). Then the runtime hasn't started, and the
    ///   program may choose to have them [shared](crate::set_default_shared_locals), and try again.
    /// - The kernel enforces a shadow stack (CET on x86-64, GCS on aarch64) for the calling thread
    ///   ([`Unsupported`](io::ErrorKind::Unsupported)). The error says how to run the program
    ///   without.
    ///
    /// # Panics
    /// If it is called on a goroutine; as `main` does; and if `main` ends by
    /// [`goexit`](crate::goexit).
    #[track_caller]
    pub fn run<F, T>(self, main: F) -> io::Result<T>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        struct Call<F, T> {
            main: Option<F>,
            value: MaybeUninit<T>,
        }

        unsafe fn call<F: FnOnce() -> T, T>(arg: *mut c_void) {
            // SAFETY: run passes its Call, and doesn't touch it before run_call has returned.
            let call = unsafe { &mut *arg.cast::<Call<F, T>>() };
            let Some(main) = call.main.take() else { unreachable!("main runs once") };
            call.value.write(main());
        }

        let mut this = Call { main: Some(main), value: MaybeUninit::uninit() };
        // SAFETY: F and T are Send, so `call` may run on another thread.
        unsafe { self.run_call(call::<F, T>, (&raw mut this).cast()) }?;
        // SAFETY: run_call has returned, so main has ended, without a panic.
        Ok(unsafe { this.value.assume_init() })
    }

    /// The part of [`run`](Self::run) that is the same for all closures, and so is compiled once.
    /// Unwinds if `f` does.
    ///
    /// # Safety
    /// `f(arg)` may be called on another thread.
    #[track_caller]
    unsafe fn run_call(self, f: unsafe fn(*mut c_void), arg: *mut c_void) -> io::Result<()> {
        struct Call {
            f: unsafe fn(*mut c_void),
            arg: *mut c_void,
            payload: Option<Payload>,
        }

        unsafe fn call(arg: *mut c_void) {
            // SAFETY: run_call passes its Call, and doesn't touch it before run_main has returned.
            let call = unsafe { &mut *arg.cast::<Call>() };
            call.payload = catch_into(&mut MaybeUninit::uninit(), || {
                call_on_begin(goroutine().0);
                // SAFETY: on behalf of run_call.
                unsafe { (call.f)(call.arg) }
            });
        }

        assert!(
            getg().is_none(),
            "gosched::run called on a goroutine: use gosched::go or gosched::scope there"
        );
        let special = self.special.unwrap_or(Special::NOTHING);
        rt0_go(special.own_locals)?;
        let kind = special.kind(MAIN_KIND)?;
        let maker = Maker { name: &self.name, created_at: None, callerpc: 0 };
        let mut this = Call { f, arg, payload: None };
        // SAFETY: as the caller says; it catches panics, so doesn't unwind.
        unsafe { run_main(call, (&raw mut this).cast(), kind, &maker) }?;
        if let Some(payload) = this.payload {
            unwind_from_main(payload);
        }
        Ok(())
    }
}

/// Unwinds in the caller of `run` with the payload that ended `main`.
#[cold]
#[track_caller]
fn unwind_from_main(payload: Payload) -> ! {
    if payload.is::<Goexit>() {
        panic!("gosched::run: main ended by goexit, so there is no value to return")
    }
    resume_unwind(payload)
}
