//! The runtime: Go's scheduler, as rooms on floors. Programs use it through the faces.
//!
//! Start with `data`, which draws the states of a G, an M and a P, and then `sched`, which draws
//! the loop that every worker runs. Each room's page gives the room's purpose and rules, the
//! corresponding part of Go, and the contents of each file.
//!
//! # Floors
//!
//! | rooms | what they are |
//! | --- | --- |
//! | `start` | the start of the runtime: settings, the first P's and M's, main's goroutine |
//! | `monitor` | the thread without a P: sysmon, and handing memory back to the kernel |
//! | `trace` | the execution trace: records, their order, Go's format |
//! | `report` | fatal errors, stacks of goroutines, schedtrace, metrics |
//! | `world` | all P's at once: stop and start, `forEachP`, `suspendG`, `procresize` |
//! | `threads` | threads of std and C that are goroutines, and C's locks |
//! | `chan`, `sema`, `pollwait`, `stdpark` | waiting: channels without types, semaphores, descriptors, std's own waits |
//! | `time`, `stack`, `signal` | setting timers; moving stacks; the signal handler |
//! | `sched` | `newproc`, `schedule`, `findRunnable`, park, ready, `goexit`, system calls, coroutines |
//! | `explore` | explorations: the choice of the next goroutine, and the clock |
//! | `prof` | the data of profiles: waits of goroutines for each other, samples of threads |
//! | `m` | threads: made, started, idle |
//! | `p` | processors: their owners, run queues, timer heaps |
//! | `preempt` | asking a goroutine to stop, and where it may |
//! | `g` | goroutines: kept, counted, their state |
//! | `mem`, `netpoll` | home pages, segments, guards, pools; epoll |
//! | `lock` | futex mutexes, notes, ranks |
//! | `tls` | a goroutine's own thread-locals |
//! | `embed` | hooks, the tracer |
//! | `base` | Linux, settings, stderr, `throw`, the running G and M |
//! | `arch` | the Rust side of `asm/` |
//! | `data` | g, m, p, schedt, sudog, hchan, timer: structs |
//!
//! # Faces
//!
//! | face | its modules | for |
//! | --- | --- | --- |
//! | safe | `goroutine`, `chan`, `sync`, `time`, `net`, `context`, `signal`, `io`, `fs`, `process`, `iter`, `pprof`, `inspect`, `tokio`, `trace`, `tracing`, `testing`, `explore`, `synctest`, `attributes` | programs in Rust |
//! | raw | `raw` | ports of other runtimes: public as `proc`, `netpoll`, `chan::hchan` |
//! | C | `capi` | programs in C |
//!
//! # Rules between rooms
//!
//! - A face uses what this file re-exports of the runtime, and no other face.
//! - A room uses rooms on lower floors. A test reads every path and fails on one that goes up,
//!   unless it is in the table below.
//! - A room that has to call a function of a higher floor gets that function as a value. `throw`
//!   calls the reporter that `start` registers. A new M runs its `mstartfn`, a park calls its
//!   `unlockf`, and a timer calls its `f`. An embedder sets hooks, and a tracer is called with
//!   events.
//! - Assembly calls Rust by symbol. `gosched_newstack`, `gosched_goexit0`, `gosched_mstart0` and so
//!   on are in the rooms to which they belong, not in `arch`.
//!
//! # Visibility
//!
//! Items are `pub(super)` inside a room, and `pub(in crate::runtime)` between rooms. Items that a
//! face may use are re-exported at the end of this file, and nowhere else. They are `pub(crate)`,
//! or `pub` if a program sees them through the face.
//!
//! # Rules in every room
//!
//! - Functions trust their callers: the G is owned as the function says, the lock that the function
//!   names is held, and the function is called on g0 or with a P if it says so. Only a face checks
//!   its caller, or is `unsafe`.
//! - A struct of `data` is shared by threads and never borrowed mutably. A `Cell` in it has one
//!   owner at a time, named at the field: the thread that runs the G, the M that has the P, the M's
//!   thread, or the holder of the lock.
//! - Code on g0 never unwinds and never parks. An error there is a `throw`.
//! - Code on a goroutine may be on a stack of 2 KiB. Code that allocates, prints or asks for the
//!   time runs `with_room`, and a function that the program calls directly begins with a check.
//! - A goroutine that parks may go on on another thread. So after a park it looks up its M and P
//!   again. It keeps nothing that comes from a thread-local across a park, because not every
//!   goroutine has thread-locals of its own.
//! - While `m.locks` isn't 0, that is, between `acquirem` and `releasem` and under each runtime
//!   lock, the goroutine keeps its M and its P. At other times a signal may take its P at any
//!   instruction (`sched/detach.rs`). So code reads `m.p` by `Held` or `M::p`, and code on g0
//!   tolerates that there is no P.
//!
//! # Arrows up
//!
//! Each row is an exception to the second rule above. An empty table means that there is none.
//!
//! | from | to | why |
//! | --- | --- | --- |
//!
//! # Arrows between faces
//!
//! | from | to | why |
//! | --- | --- | --- |
//! | `chan/mod.rs` | `raw::hchan` | a public path: the raw channels are a submodule of `chan` |

mod arch;
mod base;
mod chan;
mod data;
mod embed;
mod explore;
mod g;
mod lock;
mod m;
mod mem;
mod monitor;
mod netpoll;
mod p;
mod pollwait;
mod preempt;
mod prof;
mod report;
mod sched;
mod sema;
mod signal;
mod stack;
mod start;
#[cfg(feature = "std")]
#[cfg_attr(any(asan, tsan), allow(dead_code))] // most of `stdpark/symbols` isn't there
mod stdpark;
#[cfg(feature = "threads")]
mod threads;
mod time;
mod tls;
mod trace;
mod world;

pub use base::debug::{Traceback, set_traceback};
pub use chan::ops::{Received, Sent};
pub use chan::select::{Chosen, Scase};
pub use data::adjust_info::AdjustInfo;
pub use data::ext::{Coro, CoroFn, Name, StackKind};
pub use data::gqueue::{GList, GQueue};
pub use data::hchan::{Hchan, HchanExt, Type, Waitq};
pub use data::runtime2;
pub use data::timer::{Timer, TimerFn};
pub use embed::hooks::{CodePlace, Hooks, Symbolizer, set_hooks, set_symbolizer};
pub use embed::trace::{Event, Tracer, set_tracer};
pub use mem::morestack_check::with_stack;
pub use netpoll::epoll::netpoll_is_poll_descriptor;
pub use netpoll::poll_desc::{Mode, PollDesc, PollError};
pub use pollwait::{
    poll_runtime_poll_close, poll_runtime_poll_open, poll_runtime_poll_reset, poll_runtime_poll_server_init,
    poll_runtime_poll_set_deadline, poll_runtime_poll_unblock, poll_runtime_poll_wait,
};
pub use preempt::preemptible::{PreemptibleError, PreemptibleRegistration, register_preemptible};
#[cfg(feature = "tokio")]
pub(crate) use report::deadlock::no_deadlock_while;
pub use report::deadlock::{DeadlockMode, set_deadlock_mode};
pub use report::dump::{dump_goroutines, dump_goroutines_grouped};
pub use report::json::dump_json;
pub use report::metrics;
pub use report::schedtrace::schedtrace;
pub use sema::notify_list::NotifyList;
pub use stack::frame_map::{Frame, FrameMap, FrameMapRegistration, register_frame_map};
#[cfg(feature = "threads")]
pub use start::make_threads_goroutines;
#[cfg(feature = "std")]
pub use stdpark::gate::park_std_waits;
pub use world::stw::{StwReason, WorldStop};
pub use world::suspend::SuspendGState;

pub(crate) use arch::tsan;
pub(crate) use arch::{
    asmcgocall, getg, gogo, mcall, newcoro_here, newproc_here, systemstack, systemstack_scannable,
};
pub(crate) use base::debug::{MAX_GOMAXPROCS, die_on_panic, period, set_detach, set_die_on_panic};
pub(crate) use base::fatal::{fatal, misuse, throw};
pub(crate) use base::os::nanotime;
pub(crate) use base::print;
pub(crate) use base::real::with_system_threads;
pub(crate) use base::this::{
    acquirem, any_code_may_run, curg, goroutine, in_system_call, on_goroutine, releasem, started, this_m,
    whoami, with_room,
};
pub(crate) use chan::block::Block;
pub(crate) use chan::future::{
    Waiting, Woken, enqueue_future, give_back, leave_future, poll_future, release_future, wake_future,
};
pub(crate) use chan::grow::makechan_growing;
pub(crate) use chan::make::{MAX_ALIGN, closechan, freechan, makechan};
pub(crate) use chan::observe::{Awaited, selectready};
pub(crate) use chan::ops::{chancap, chanlen, chanrecv, chansend, chansend_unwoken, is_closed};
pub(crate) use chan::select::{How, block, selectgo, selectgo1};
pub(crate) use chan::timer_chan::{Feeds, cancel_chan, make_timer_chan, set_chan};
pub(crate) use data::atomic;
pub(crate) use data::ext::Entry;
pub(crate) use embed::hooks::try_set_hooks;
pub(crate) use embed::trace::try_set_tracer;
pub(crate) use explore::clock::{instant_now, now};
pub(crate) use explore::random::Rng;
pub(crate) use explore::run::{Choice, End, Strategy as ExploreStrategy};
pub(crate) use g::allgs::{for_each_g, for_each_g_race};
pub(crate) use g::extent::{
    Bound, Ended, EndsWaits, Extent, Run, current_run, end_with_run, ends_early, enter_run, in_run,
    is_aborted_here, outside_of_run, run_is_over, unwind_to_run,
};
pub(crate) use g::proflabel::{LabelMap, get_prof_label, set_own_label};
pub(crate) use g::status::{
    cas_g_to_waiting, casfrom_gscanstatus, casgcopystack, casgstatus, castogscanstatus, readgstatus,
};
#[cfg(feature = "tracing")]
pub(crate) use g::values::Values;
pub(crate) use g::values::{Inherited, Key, call_on_begin, drop_locals, with_values};
pub(crate) use lock::cancel::Cancellation;
pub(crate) use lock::note::{noteclear, notewakeup};
pub(crate) use lock::port_mutex::{PortMutex, lock_of_port, unlock_of_port};
pub(crate) use lock::{lock, unlock};
pub(crate) use m::lockosthread::{lock_os_thread, locked_os_thread, unlock_os_thread, unwire};
pub(crate) use m::sigstack::{init_sigmask, with_signals_blocked};
pub(crate) use m::thread::{mcount_now, set_max_threads};
pub(crate) use mem::morestack_check::{ENTRY_ROOM, entry_check, stop_if_asked};
pub(crate) use mem::sizes::{
    MAIN_KIND, default_kind, fixed_kind, own_locals_are_default, room_for, too_large, with_own_locals,
};
pub(crate) use monitor::scavenge::free_os_memory;
pub(crate) use netpoll::poll_desc::Later;
pub(crate) use p::free_lists::gcount;
pub(crate) use p::stop::preemptall;
pub(crate) use p::timer::in_a_heap;
pub(crate) use pollwait::{poll_runtime_poll_end, poll_runtime_poll_go_on, poll_runtime_poll_later};
pub(crate) use preempt::preemptible::unregister_preemptible;
#[cfg(feature = "pprof")]
pub(crate) use prof::{
    buckets::{contention, set_contention_rate},
    contention::Contention,
    samples::{Copies, Sample, take_samples},
};
pub(crate) use report::explored::{left_behind, story};
pub(crate) use report::panic::{fatalpanic, fatalpanic_of_port};
#[cfg(feature = "pprof")]
pub(crate) use report::{
    dump::goroutine_groups,
    symbols::{Symbol, Symbols, Whose},
};
#[cfg(feature = "inspect")]
pub(crate) use report::{
    dump::goroutine_stacks,
    groups::{Created, Group, Member},
    sched_state::{SchedState, sched_state},
};
pub(crate) use sched::abort::{abort, abort_scopes_of, is_alive};
pub(crate) use sched::coro::{coroswitch, coroswitch_of_two, newcoro};
pub(crate) use sched::detach::{proc_pin, proc_unpin, set_max_detached};
pub(crate) use sched::entersyscall::{entersyscall, entersyscallblock, exitsyscall, notetsleepg};
pub(crate) use sched::exploration::{
    Limits, Seen, explore_run, explored_number, note_panic, point, value_for_program, wait_for_others,
};
pub(crate) use sched::goexit::{
    EndWaker, drop_handle, ended, finish_goroutine, goexit1, has_no_handle, init_with_handle, set_end_waker,
    take_end_waker,
};
pub(crate) use sched::mstart::{Guest, guest, must_run, must_wait, where_nothing_parks};
pub(crate) use sched::newproc::{Maker, newproc_at, newproc1, newproc1_parked};
pub(crate) use sched::park::{
    can_spin, do_spin, gopark_of_program, goparkunlock, goparkunlock_of_port, gosched, gosched_if_busy,
    goschedguarded, goyield,
};
pub(crate) use sched::poll::poll_work;
pub(crate) use sched::ready::{enqueue, goready, injectglist};
pub(crate) use sched::schedule::{become_system_goroutine, sched_enable_user};
pub(crate) use sema::join::wait_for_end_limited;
pub(crate) use sema::notify_list::{
    notify_list_add, notify_list_notify_all, notify_list_notify_one, notify_list_wait,
    notify_list_wait_limited,
};
pub(crate) use sema::parker::Parker;
pub(crate) use sema::semacquire::{
    cansemacquire, semacquire, semacquire_limited, semacquire1, semrelease, semrelease1,
};
pub(crate) use signal::embedder::{
    SignalReceiver, claim_signals, disable_for_embedder, enable_for_embedder, ignore_for_embedder,
    recv_for_embedder,
};
#[cfg(feature = "pprof")]
pub(crate) use signal::sigprof::{start_sampling, stop_sampling};
pub(crate) use signal::sigqueue::{
    bit, refused, signal_disable, signal_enable, signal_ignore, signal_ignored, signal_recv,
    signal_wait_until_idle,
};
pub(crate) use stack::frame_map::{try_register_frame_map, unregister_frame_map};
pub(crate) use stack::newstack::set_max_stack;
pub(crate) use stack::scan::scan_stack;
pub(crate) use stack::shrink::shrinkstack;
pub(crate) use start::{rt0_go, run_main, set_default_shared_locals, set_default_stack_size};
pub(crate) use time::fire::{Limit, begin_timer, cancel_timer, end_timer, fire_timer, set_timer};
pub(crate) use time::in_run::with_limit_in_run;
pub(crate) use time::modify::{addtimer, deltimer, modtimer, resettimer};
pub(crate) use time::sleep::{nanos, time_sleep, time_sleep_limited, until, when};
pub(crate) use trace::recorder::{Note, new_task, record_annotation, truncate_text};
pub(crate) use trace::session::{
    is_recording, recording, start_flight, start_trace, stop_flight, stop_trace, trace_enabled,
};
pub(crate) use world::for_each_p::for_each_p;
pub(crate) use world::gomaxprocs::{
    keep_one_p, leave_one_p, set_default_gomaxprocs, set_gomaxprocs, wanted_procs,
};
pub(crate) use world::stw::{start_the_world, stop_the_world};
pub(crate) use world::suspend::{resume_g, suspend_g};
