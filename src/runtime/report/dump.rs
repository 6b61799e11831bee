//! Writing the stack of every goroutine of a program that goes on: Go's `runtime.Stack`, of all.

use std::io;
use std::ptr;

use crate::runtime::arch::{getg, systemstack, systemstack_scannable};
use crate::runtime::base::this::whoami;
use crate::runtime::data::runtime2::{G, GRUNNING, GSCAN, WaitReason};
use crate::runtime::g::allgs::{atomic_all_g, atomic_all_g_index};
use crate::runtime::g::status::{cas_g_from_waiting, cas_g_to_waiting, readgstatus};
use crate::runtime::report::ancestors::Origin;
use crate::runtime::report::look::look;
use crate::runtime::report::symbols::Symbols;
use crate::runtime::report::traceback::{traceback, write_header};
use crate::runtime::sched::exploration::explored_number;
use crate::runtime::sched::syscall::{entersyscall, exitsyscall};

/// Writes the state and the stack of every goroutine, the caller's first. Go's `runtime.Stack`, of
/// all.
///
/// ```text
/// goroutine 7 "worker" [chan receive, 3 minutes]:
/// example::work(...)
///         /src/example.rs:12 +0x1d
/// created at src/main.rs:7:5 in goroutine 1
/// ```
///
/// The world isn't stopped. Each goroutine is stopped while its stack is walked. If a running
/// goroutine doesn't stop, its stack is printed as it was at one moment. If even that isn't
/// possible, the line `goroutine running on other thread; stack unavailable` is printed. Goroutines
/// that begin or end meanwhile may be missing. The frames of the runtime itself are left out unless
/// [`set_traceback`](crate::set_traceback) or `GOTRACEBACK` says otherwise.
///
/// Other goroutines may use the caller's P meanwhile, as in [`blocking`](crate::blocking). `out`
/// gets pieces of about 64 KiB.
///
/// If a running goroutine comes to no check for 10 ms, its thread gets a signal, `SIGURG`, even if
/// no code is preemptible, and with `GODEBUG=asyncpreemptoff=1`. If the goroutine is in a sleep or
/// a poll in C outside of [`blocking`](crate::blocking), that call may then return `EINTR`. The
/// program gets the signal too if it had a handler for it before the runtime started, or has asked
/// for it by [`signal::notify`](crate::signal::notify).
///
/// This can also be called from a thread that doesn't run a goroutine, but neither on a copying
/// stack nor in [`systemstack`](crate::proc::systemstack).
///
/// # Errors
/// The errors of `out`.
///
/// # Panics
/// As `out` does.
pub fn dump_goroutines(out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    let me = getg();
    let mut symbols = Symbols::new();
    let mut text = String::new();
    let mut separator = "";
    let others = (0..atomic_all_g())
        .filter_map(atomic_all_g_index)
        .filter(|gp| !me.is_some_and(|me| ptr::eq(me, *gp)));
    let mut all = me.into_iter().chain(others);
    loop {
        text.clear();
        without_p(me, || {
            while text.len() < WRITTEN_AT_ONCE
                && let Some(gp) = all.next()
            {
                print(&mut text, &mut symbols, gp, me, separator);
                separator = if text.is_empty() { separator } else { "\n" };
            }
        });
        if text.is_empty() {
            return Ok(());
        }
        out.write_all(text.as_bytes())?;
    }
}

/// The number of bytes that are written at once; it may be exceeded a little.
const WRITTEN_AT_ONCE: usize = 64 << 10;

/// Calls `f` on g0, or on a foreign thread. Meanwhile the caller's goroutine is in a system call,
/// so others get its P, because `f` computes for long, and may wait for a library that another
/// goroutine loads or unloads. A goroutine that can't park keeps its P.
fn without_p(me: Option<&'static G>, f: impl FnOnce()) {
    if !may_park() {
        return while_waiting(me, f);
    }
    // SAFETY: on a goroutine that holds no lock of the runtime's. `f` doesn't unwind, and the
    // system call ends here.
    unsafe {
        entersyscall();
        systemstack(f);
        exitsyscall();
    }
}

/// Calls `f` on g0, with the caller's goroutine in the state `GWAITING`: two running goroutines
/// that suspend each other would wait forever.
fn while_waiting(me: Option<&'static G>, f: impl FnOnce()) {
    systemstack_scannable(|| match me.filter(|me| readgstatus(me) & !GSCAN == GRUNNING) {
        Some(me) => {
            cas_g_to_waiting(me, GRUNNING, WaitReason::TraceGoroutineStatus);
            f();
            cas_g_from_waiting(me);
        }
        None => f(),
    });
}

/// Whether the caller is a goroutine that could park now, and isn't explored.
fn may_park() -> bool {
    let (on, mp) = whoami();
    on.is_some() && mp.is_some_and(|mp| mp.locks.get() == 0) && explored_number().is_none()
}

/// Prints `gp` if it has begun and not ended. On g0, or on a foreign thread.
fn print(out: &mut String, symbols: &mut Symbols, gp: &'static G, me: Option<&G>, separator: &str) {
    let looked = look(gp, me, |looked| {
        out.push_str(separator);
        write_header(out, gp, looked.status);
        Origin::of(gp)
    });
    if let Some((pcs, origin)) = looked {
        // Writing to a string doesn't fail.
        let _ = traceback(out, symbols, pcs.as_ref(), &origin);
    }
}
