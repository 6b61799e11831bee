//! The structs that all rooms work on, without behaviour.
//!
//! A struct is here if more than one room knows its fields. Operations of one struct are here too:
//! a link is loaded, a list popped, a level counted. Nothing here takes a lock, allocates, or
//! waits, because the room above decides which code may do so, and under which lock. So this room
//! uses no other.
//!
//! `runtime2.rs` is Go's `runtime2.go`, field for field, and nothing else. A field that Go doesn't
//! have is in the struct's last field, `ext`, whose type is in `ext.rs`. A struct that Go has in
//! another file (`hchan`, `timer`, `gQueue`) has a file of its own here.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `runtime2.rs` | `g`, `m`, `p`, `schedt`, `sudog`, `gobuf`, the states, `waitReason`; `sched` |
//! | `ext.rs` | what this port adds: `GExt`, `MExt`, `PExt`, `SchedtExt`, and the types of their fields |
//! | `hchan.rs` | `hchan`, `waitq` |
//! | `timer.rs` | `timer` and its states; an entry of a heap, `TimerWhen` |
//! | `gqueue.rs` | `gQueue` and `gList`: lists of G's, linked through their own links |
//! | `link.rs` | `Link`: a pointer between the structs that other threads may read, too |
//! | `held_p.rs` | `HeldP`: the P of an M, which a goroutine may lose |
//! | `turns.rs` | `Turns`: M's that wait for a P |
//! | `trace.rs` | what the tracer records, and where: `Record`, `TraceBuffer` |
//! | `adjust_info.rs` | `adjustinfo`: how far a stack has moved |
//! | `cell.rs` | the cells of the structs; ThreadSanitizer doesn't see their uses |
//! | `atomic.rs` | the atomics of the structs and of the protocols |
//!
//! The models of `tests/loom` have files of their own in place of the last two.
//!
//! # The states of a G
//!
//! `g.atomicstatus` holds the state. Each arrow has the name of the function that makes the change,
//! as a rule by `casgstatus`.
//!
//! ```text
//!     GIDLE ------ settle ------> GDEAD ----- newproc1 -----> GRUNNABLE
//!     GIDLE <---- hand_back ----- GDEAD <----- gdestroy ----- GRUNNING
//!                                 GDEAD ------ needm -------> GSYSCALL
//!                                 GDEAD <------ dropm ------- GSYSCALL
//!
//!     GRUNNABLE                                                                          GRUNNING
//!         |------------------------------------- execute -------------------------------------->|
//!         |<----------------------------- gosched_impl, goyield_m ------------------------------|
//!         |                                                                                     |
//!         |                             GSYSCALL <----- reentersyscall, entersyscallblock ------|
//!         |<-------- exitsyscall0 --------|  |------------------ exitsyscall ------------------>|
//!         |                                                                                     |
//!         |--------- newcoro ---------> GWAITING <--- park_m, coroswitch_m, cas_g_to_waiting ---|
//!         |<- ready_on, injectglist, ... -|  |-------- run_waiting, cas_g_from_waiting -------->|
//!         |                               ^                                                     |
//!         |                               | cas_g_from_preempted                                |
//!         |                             GPREEMPTED <--------------- preempt_park ---------------|
//!         |                                                                                     |
//!         |                             GCOPYSTACK <----------------- newstack -----------------|
//!         |                                  |------------------- newstack -------------------->|
//! ```
//!
//! | from | to | by |
//! | --- | --- | --- |
//! | `GIDLE` | `GDEAD` | `settle` (`sched/newproc.rs`): a home page was cut, which reads as zero |
//! | `GDEAD` | `GIDLE` | `hand_back` (`g/gfree.rs`): the page is zeroed; `allgs` has it no more |
//! | `GDEAD` | `GRUNNABLE` | `newproc1` (`sched/newproc.rs`) |
//! | `GRUNNABLE` | `GRUNNING` | `execute` (`sched/schedule.rs`), and nobody else |
//! | `GRUNNING` | `GRUNNABLE` | `gosched_impl`, for `gopreempt_m` too; `goyield_m` (`sched/park.rs`) |
//! | `GRUNNING` | `GDEAD` | `gdestroy` (`sched/goexit.rs`) |
//! | `GRUNNING` | `GWAITING` | `park_m` (`sched/park.rs`); `coroswitch_m` (`sched/coro.rs`) |
//! | `GWAITING` | `GRUNNABLE` | `ready_on`, `injectglist` (`sched/ready.rs`), for the thread that ends its wait |
//! | | | `first_polled` (`sched/poll.rs`), `gc_worker` (`sched/schedule.rs`): to be run next |
//! | | | `park_m`, when `unlockf` returns false: it goes on |
//! | `GRUNNABLE` | `GWAITING` | `newcoro` (`sched/coro.rs`): a coroutine waits for the first switch to it |
//! | `GWAITING` | `GRUNNING` | `run_waiting` (`sched/coro.rs`): a coroutine switch, which needs no queue |
//! | `GRUNNING` | `GWAITING` | `cas_g_to_waiting`; back, `cas_g_from_waiting`: it works on g0, keeping its |
//! | | | M, for `stopTheWorld`, `forEachP`, `dump_goroutines` or an embedder |
//! | `GRUNNING` | `GSYSCALL` | `reentersyscall`, `entersyscallblock` (`sched/entersyscall.rs`) |
//! | `GSYSCALL` | `GRUNNING` | `exitsyscall`, if there is a P at once |
//! | `GSYSCALL` | `GRUNNABLE` | `exitsyscall0`, if there isn't |
//! | `GDEAD` | `GSYSCALL` | `needm`, and back by `dropm` (`sched/mstart.rs`): the G of an extra M |
//! | `GRUNNING` | `GPREEMPTED` | `preempt_park` (`sched/park.rs`), by way of `GSCANPREEMPTED` |
//! | `GPREEMPTED` | `GWAITING` | `suspendG` (`world/suspend.rs`), to be made ready by `resumeG`; or |
//! | | | `preempt_park` itself, when the goroutine that asked has given up |
//! | `GRUNNING` | `GCOPYSTACK` | `newstack` (`stack/newstack.rs`), and back |
//!
//! A G also becomes `GCOPYSTACK` from `GWAITING` and `GRUNNABLE`, by `casgcopystack`, which only an
//! embedder calls.
//!
//! `GSCAN` is a bit beside five of these states. While it is set the state doesn't change:
//! `casgstatus` waits. `castogscanstatus` sets it, and fails if the G has another state.
//! `casfrom_gscanstatus` clears it.
//!
//! | beside | set by | until |
//! | --- | --- | --- |
//! | `GRUNNABLE`, `GSYSCALL`, `GWAITING` | `suspendG` | `resumeG` |
//! | `GRUNNING` | `suspendG`, to ask it to park, and when it gives up | it was asked |
//! | `GRUNNING` | `dump_goroutines`, if it doesn't stop | its stack was copied |
//! | `GSYSCALL`, `GWAITING` | `note_wait`, for sysmon | the time was noted |
//! | `GWAITING` | `look_at_waits`, for sysmon | 64 KiB went back, at most |
//! | `GPREEMPTED` | `preempt_park` | the G has left its M |
//! | all but `GRUNNING`, `GCOPYSTACK` | `tracebackothers` | the process ends |
//!
//! # The states of an M
//!
//! No word of an M holds its state. Its fields show the state.
//!
//! ```text
//!                mstart1
//!                   |
//!                   v                       become_spinning
//!       +--> looks for work ----------------------------------------------> spinning
//!       |        |  ^    |  <---------------- resetspinning ----------------    |
//!       |        |  |    |                                                      |
//!       |        |  |    +---- drop_p ---> no work and no P <---- drop_p -------+
//!       |        |  |                        |           |
//!       |        |  |                        | stopm     | netpoll
//!       |        |  |                        v           v
//!       |        |  +-------- nextp ------- idle <-- in the poller ---- acquirep ----> looks for work
//!       |        |                           ^   stopm
//!       |        | execute                   |
//!       |        v                           +------- stopm -------+
//!       +--- runs a G ------------- reentersyscall ----------> in a system call
//!      mcall         <--------------- exitsyscall -----------
//! ```
//!
//! | state | its fields | it comes there by | it leaves by |
//! | --- | --- | --- | --- |
//! | looks for work | `p`, no `curg` | `mcall`, `nextp` | `execute`, `become_spinning`, `drop_p` |
//! | spinning | `p`, `spinning` | `become_spinning`, `startm` | `resetspinning`, `drop_p`, `gcstopm` |
//! | runs a G | `p`, `curg` | `execute`, `exitsyscall`, `get_p` | `mcall`, `reentersyscall`, `detach` |
//! | runs a detached G | `curg`, `oldp`, no `p`; `ext.detached_since` | `detach`, in a signal handler | `get_p`, `wait_for_turn`, `mcall`, `reentersyscall` |
//! | waits for its turn | `curg`, no `p`, in `sched.ext.turns`, sleeps on `park` | `wait_for_turn` | `give_turn`, `let_go` |
//! | in a system call | `curg`, `oldp`, no `p` | `reentersyscall` | `exitsyscall`, `exitsyscall0` |
//! | in the poller | no `p`; `sched.lastpoll` is 0 | `poll_or_stop` | `acquirep`, `stopm` |
//! | idle | in `sched.midle`, sleeps on `park` | `stopm` | `startm`, `startTheWorld` |
//! | locked | `lockedg`, sleeps on `park` | `stoplockedm` | `startlockedm` |
//! | exiting | in `sched.freem` | `goexit0` of a locked G, `mexit` | `allocm`, for another thread |
//! | extra | `isextra`, in the list of extra M's | `newextram`, `dropm` | `needm` |
//! | the runtime's own | `ext.system`, no `p` | `new_system_m` | never |
//!
//! - The waker of an idle or a locked M first puts a P into the M's `nextp`. It may make an idle M
//!   spin, and then counts it as spinning first.
//! - `stopm` is also called by an M that stops for the world (`gcstopm`), has no P after a system
//!   call (`exitsyscall0`), or has given its P to a locked M (`startlockedm`).
//! - `drop_p` may return with a P after all. It may be the M's own P, because of work, a request to
//!   stop, or `needspinning`. Or it is another P, for work that has come meanwhile; then the M
//!   spins.
//! - An M leaves the poller with a P, and runs the goroutines that were polled. If there are none,
//!   it looks for work, spinning if it was before.
//!
//! # The states of a P
//!
//! `p.status` holds the state. The M that has the P changes it. The status of an idle P is changed
//! with `sched.lock` held, and the status of a P in `PSYSCALL` by the winner of a compare-and-swap.
//! ```text
//!     PIDLE                                                                              PRUNNING
//!         |-------------------------------------- wirep --------------------------------------->|
//!         |<------------------------------------- releasep -------------------------------------|
//!         |                                                                                     |
//!         |                             PSYSCALL <--------------- reentersyscall ---------------|
//!         |<------ exitsyscallfast -------|  |                                                  |
//!         |<----- take_from_syscall ------|  |                                                  |
//!         |                                  | take_from_syscall                                |
//!         |                                  v                                                  |
//!         |--------- stopped ---------> PGCSTOP <------------------- stopped -------------------|
//!         |<--------- procresize ---------|  |------------------ procresize ------------------->|
//!
//!     PGCSTOP ---- p.destroy -----> PDEAD, or new ------ p.init ------> PGCSTOP
//! ```
//!
//! | from | to | by |
//! | --- | --- | --- |
//! | `PIDLE` | `PRUNNING` | `wirep` (`p/owner.rs`), for `acquirep` and `exitsyscallfast` |
//! | `PRUNNING` | `PIDLE` | `releasep`: for the idle list, for another M, or to be stopped |
//! | `PRUNNING` | `PSYSCALL` | `reentersyscall` (`entersyscallblock` hands the P on, by `releasep`) |
//! | `PRUNNING` | `PSYSCALL` | `detach` (`sched/detach.rs`), in a signal handler: its goroutine goes on without it |
//! | `PSYSCALL` | `PIDLE` | `exitsyscallfast`, of the M that had it, and then `wirep` |
//! | `PSYSCALL` | `PIDLE` | `take_from_syscall` (`p/stop.rs`), for `retake` and `forEachP`: handed off |
//! | `PSYSCALL` | `PGCSTOP` | `take_from_syscall`, for `stopTheWorld` and `entersyscall_gcwait` |
//! | `PRUNNING` | `PGCSTOP` | `stopped` (`p/stop.rs`): the stopper of the world keeps its P |
//! | `PIDLE` | `PGCSTOP` | `stopped`, for `stopTheWorld`: the idle list |
//! | | | `stopped_for_another`: `gcstopm` after `releasep`; `handoffp`; `no_thread` |
//! | `PGCSTOP` | `PRUNNING` | `procresize` (`world/procresize.rs`): the P of the goroutine that starts the world |
//! | `PGCSTOP` | `PIDLE` | `procresize`: the others; those with work are started |
//! | `PGCSTOP` | `PDEAD` | `p.destroy`, for `procresize`: GOMAXPROCS has shrunk |
//! | `PDEAD`, new | `PGCSTOP` | `p.init`, for `procresize` |

pub(super) mod adjust_info;
#[cfg_attr(loom, path = "../../../tests/loom/src/runtime/data/atomic.rs")]
pub(crate) mod atomic;
#[cfg_attr(loom, path = "../../../tests/loom/src/runtime/data/cell.rs")]
pub(super) mod cell;
pub(super) mod ext;
pub(super) mod gqueue;
pub(super) mod hchan;
pub(super) mod held_p;
pub(super) mod link;
pub mod runtime2;
pub(super) mod timer;
pub(super) mod trace;
pub(super) mod turns;
