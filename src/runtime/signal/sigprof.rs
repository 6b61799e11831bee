//! Turns the CPU profile on and off: Go's `SetCPUProfileRate` and `setcpuprofilerate`, and the
//! action of SIGPROF, in `setProcessCPUProfiler`.

use std::io;
use std::sync::{Mutex, PoisonError};

use crate::runtime::arch::Sigctxt;
use crate::runtime::data::runtime2::{G, M};
use crate::runtime::prof::profiler_hooks::{Sampler, set_sampler};
use crate::runtime::prof::samples::{begin_samples, end_samples, is_sampling, sigprof};
use crate::runtime::prof::thread_timer::{begins, ends, is_from_timer, set_rate};
use crate::runtime::signal::handler::{getsig, our_action, setsig};
use crate::runtime::signal::sigqueue::sigsend;

/// The action of SIGPROF before ours, while threads are profiled.
static BEFORE: Mutex<Option<libc::sigaction>> = Mutex::new(None);

/// Starts sampling each thread that runs goroutines, `hz` times per second of its processor time.
/// Fails if sampling is on already, or if the kernel refuses.
pub(crate) fn start_sampling(hz: i32) -> io::Result<()> {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if before.is_some() {
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, "a CPU profile is being made already"));
    }
    begin_samples()?;
    set_sampler(|| Sampler { begins, ends, signaled });
    let mut former = getsig(libc::SIGPROF)?;
    if former.sa_sigaction == libc::SIG_DFL {
        // A signal may come late, and the default action ends the process.
        former.sa_sigaction = libc::SIG_IGN;
    }
    // SAFETY: our handler, which may be called anywhere.
    unsafe { setsig(libc::SIGPROF, &our_action()) }?;
    let started = set_rate(hz).inspect_err(|_| stop(&former));
    if started.is_ok() {
        *before = Some(former);
    }
    started
}

/// Handles a SIGPROF, in the handler. Queues it for the program if no timer of the sampler's has
/// sent it. Returns whether the signal is for nobody else.
fn signaled(mp: Option<&M>, gp: Option<&G>, info: &libc::siginfo_t, context: &Sigctxt<'_>) -> bool {
    let from_timer = is_from_timer(info);
    if let (true, Some(mp), Some(gp)) = (from_timer, mp, gp) {
        sigprof(mp, gp, context.regs());
    }
    if !from_timer && is_sampling() {
        sigsend(libc::SIGPROF);
    }
    // While the action is ours, a signal from elsewhere can only go to a program that has asked for
    // SIGPROF.
    from_timer || is_sampling()
}

/// Stops sampling. `last` is called before sampling can start again.
pub(crate) fn stop_sampling(last: impl FnOnce()) {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    before.as_ref().inspect(|former| stop(former));
    last();
    *before = None;
}

fn stop(former: &libc::sigaction) {
    // Rate 0 deletes the timers, which can't fail.
    let _none = set_rate(0);
    // SAFETY: the program's own action, which was in force before, or SIG_IGN.
    let _restored = unsafe { setsig(libc::SIGPROF, former) };
    // Ended only after the action was restored. While the action is ours and sampling is off,
    // signals would be passed on to our own action.
    end_samples();
}
