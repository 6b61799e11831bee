//! The scheduler: how a goroutine is made, which one runs next, how it leaves its stack, how it
//! comes back, and how it ends. The middle of Go's `proc.go`, and `coro.go`.
//!
//! A goroutine leaves its stack by `mcall`. It leaves for good (`goexit0`), for a queue
//! (`gosched_m`, `goyield_m`), until another thread makes it ready (`park_m`), or for a goroutine
//! that waits to be switched to (`coroswitch_m`). A goroutine that is asked to leave does so from
//! assembly, in the way of `mcall` (`gopreempt_m`, `preempt_park`). Each of these functions runs on
//! g0, changes the goroutine's state, parts the goroutine from the M (`dropg`), and runs another
//! goroutine: it never returns.
//!
//! - **Once its state has changed, the goroutine belongs to others.** It is `GRUNNABLE` and in a
//!   queue, or `GWAITING` and its park's lock is released. So another thread may run it, and it may
//!   end. Code that needs its fields reads them before.
//! - This room takes only `sched.lock`, and a P's `timers_lock`. `sched.lock` is held for a few
//!   instructions: it is released before a thread is made, and before the poller is woken.
//! - A function that says "with a P" runs on g0, or between `acquirem` and `releasem`, or with
//!   `hold_p`, and so keeps the P. On g0 there is no P if the goroutine had lost it. After a call
//!   that may park or stop the M, look up both the M and its P again.
//! - `schedule` and `execute` are inlined into each function that `mcall` jumps to, and
//!   `find_runnable` is cut in two for that: `arch` says why.
//! - New work wakes a P, and an M that stops looking for work looks once more: `wake.rs` has the
//!   rules and the two races. `loom` checks it.
//! - A goroutine that is locked to its thread runs there and nowhere else. An M that finds it in a
//!   queue hands its P to that thread.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `schedule.rs` | `schedule`, `execute`, `findRunnable`, `dropg`; `schedEnableUser`, `schedEnabled` |
//! | `wake.rs` | `wakep`, `resetspinning`, `drop_p`, `checkRunqsNoP`: the "delicate dance" |
//! | `poll.rs` | `checkTimers`, `checkTimersNoP`; `stealWork`; `wakeNetPoller`, `pollWork`; `poll_or_stop`, where an M sleeps |
//! | `park.rs` | `gopark`, `goparkunlock`, `park_m`; `Gosched`, `goschedImpl`, `goschedguarded`, `goschedIfBusy`, `goyield`; `asyncPreempt2`, `gopreempt_m`, `preemptPark`; `canSpin`, `doSpin` |
//! | `abort.rs` | `abort`, `until_aborted`: ends the wait of a goroutine, and each later one |
//! | `ready.rs` | `goready`, `ready`, `injectglist`; `enqueue`: lets a new goroutine run |
//! | `newproc.rs` | `newproc_from`, `newproc_at`: Go's newproc; `newproc1`, `malg`, `gostartcallfn` |
//! | `claim.rs` | takes the next goroutine off its queue before the running one leaves |
//! | `goexit.rs` | `goexit1`, `goexit0`, `gdestroy`; `finish_goroutine`, `wait_for_end`, `drop_handle`: joining; the slot of the closure and the result |
//! | `coro.rs` | `newcoro`, `coroswitch`, `coroexit`, `coroswitch_m` |
//! | `entersyscall.rs` | `entersyscall`, `entersyscallblock`, `exitsyscall` and their slow paths; `notetsleepg`; `handoffp`, `stoplockedm`, `startlockedm`, `gcstopm` |
//! | `detach.rs` | a goroutine loses its P and keeps its thread; `procPin`, `procUnpin`: the goroutine keeps both |
//! | `mstart.rs` | `mstart0`, `mstart1`, `minit`, `mexit`: how a thread begins to schedule, and ends; `must_wait`, `needm`, `dropm`, `oneNewExtraM`: a thread that isn't ours becomes a goroutine in order to wait; `badmcall`, `badmcall2`, `badmorestackg0`, `badmorestackgsignal` |
//! | `exploration.rs` | `explore_run`: a run, as its driver sees it; `point`: where it may switch to another goroutine |
//!
//! # The loop
//!
//! ```text
//!                             +-------------------------------------------+
//!                             v                                           |
//!     mstart1 ---------> schedule   on g0, as a rule with a P             |
//!                             |                                           |
//!                             v                                           |
//!                        find_runnable ----> (sleeps, until it is woken)  |
//!                             |                                           |
//!                             |  spinning? resetspinning: wakes another   |
//!                             |  locked to another M? startlockedm ------>|
//!                             v                                           |
//!                          execute   GRUNNABLE -> GRUNNING                |
//!                             |                                           |
//!     - - - - - - - - - - - gogo  - - - - - - - - - - - - - - - - - - - - | - -   g0's stack
//!                             v                                           |         the goroutine's
//!                        the goroutine runs                               |
//!                             |                                           |
//!                             |  mcall(park_m)      waits                 |
//!                             |  mcall(gosched_m)   global queue          |
//!                             |  mcall(goyield_m)   local queue           |
//!                             |  mcall(goexit0)     ends                  |
//!                             |  newstack, asyncPreempt: gopreempt_m,     |
//!                             |    preempt_park     was asked to stop     |
//!                             +------------------------------------------>+
//! ```
//!
//! Three ways lead past `schedule`. A goroutine that leaves may have taken the next one off the
//! queue before: that one runs at once (`run_claimed`). A coroutine switch (`coroswitch_m`) at once
//! runs the goroutine that waits for it. A system call keeps the M, and comes back to `schedule`
//! only if there is no P at its end (`exitsyscall0`).
//!
//! An M whose goroutine is locked to it has nothing to look for: `schedule` stops it
//! (`stoplockedm`) until another M finds that goroutine and brings a P.
//!
//! # Where it looks
//!
//! This is what `find_runnable` looks at, in its order. Steps 1 to 5 are in the path of each
//! switch; the rest is out of line, in `look_further`.
//!
//! | | looks at | how | found |
//! | --- | --- | --- | --- |
//! | 1 | requests to stop | `gcwaiting`, `p.run_safe_point_fn` | `gcstopm`, or runs that; from 1 again |
//! | 2 | its own timers | `check_own_timers`: a word, if there are none | they make others ready |
//! | | the end of the slice | `p.preempt`: `runnext` goes to the global queue | |
//! | 3 | the collector | a hook: Go's `findRunnableGCWorker` | runs it, and wakes another P |
//! | 4 | the global queue | every 61st tick, one G of it | runs it |
//! | | M's that wait for their turn | likewise, in turns with the queue; at once if one needs a P | gives that M the P, and stops |
//! | 5 | its own queue | `runqget`: `runnext`, then the ring | runs it |
//! | 6 | the global queue | `globrunqget`: its share, under the lock | runs one |
//! | | M's that wait for their turn | in turns with the queue | gives that M the P, and stops |
//! | 7 | the network | `poll_now`, if a goroutine waits for it and no M polls | runs one |
//! | 8 | other P's | *spins*: `steal_work` | runs one; from 1 again, if timers ran |
//! | 9 | the last look | `drop_p`: the lock, 1, 6, `needspinning` | runs one, or from 1 again |
//! | | | gives up the P; an M that was spinning stops spinning, and looks at the global queue and all others | takes a P, from 1 again |
//! | 10 | nothing | *sleeps*: `poll_or_stop` | runs one that was polled, or from 1 again |
//!
//! # Where it spins
//!
//! An M spins at step 8 only, and if `2 * nmspinning` is less than the number of busy P's. So about
//! half as many M's spin as P's are busy. A spinning M goes round all P's four times, each time in
//! another random order, and takes half of a queue. In the last round it also runs the timers of
//! other P's, and takes a `runnext`. If the owner of that P runs, the thief waits 3 µs first,
//! because the owner is likely to run that goroutine right now. An M that doesn't spin goes on to
//! 9; there `needspinning` may make it a spinner after all.
//!
//! # Where it sleeps, and what wakes it
//!
//! | sleeps | on | woken by |
//! | --- | --- | --- |
//! | in the poller, one M at a time | epoll, until the next timer is due | a descriptor that becomes ready |
//! | | | the time |
//! | | | `wake_net_poller`: a timer that is due earlier |
//! | | | an M that knows of an earlier timer, and goes to sleep |
//! | | | `netpoll_adjust_waiters`: the last wait was ended |
//! | on the idle list | `m.park`, a futex | `startm`, with a P, for: |
//! | | | `wakep`: work was made, or a spinner has found some |
//! | | | `injectglist`: from the poller, or a thread that isn't ours |
//! | | | `handoffp`: a P that somebody has left |
//! | | | `schedEnableUser`: goroutines that were held back |
//! | | | `startTheWorld`, with a P |
//! | locked to a goroutine | `m.park` | `startlockedm` of the M that has found it, with a P |
//!
//! An M sleeps in the poller if a goroutine waits for the network or a timer is set, and no other M
//! is there. When the M wakes, it takes an idle P. If there is none, the goroutines that were
//! polled go to the global queue, and the M to the idle list.
//!
//! Before a spinner sleeps, it looks at all timers once more, as `drop_p` has looked at all queues.
//! A timer may have been set while it was looking, by a thread that saw a spinner and woke nobody.
//!
//! # What was tried, or is known to fail
//!
//! Whether a thread should wake or sleep depends on a state that no thread can see (all queues at
//! once), and on the future (whether there will be work in a moment). Go's authors rejected three
//! simple answers, and this port rejects them, too, unmeasured:
//!
//! - *One queue, one lock, all counts exact.* Then a thread could see everything, and every park
//!   and every wakeup would queue for that lock.
//! - *Handing a goroutine that is made ready to a thread of its own, with a P.* The goroutine that
//!   made it ready is likely to wait a moment later. So both threads wake and sleep all the time,
//!   and the data that the two goroutines share goes from cache to cache. Instead, the ready
//!   goroutine is put into `runnext`, and inherits the time slice. A thief leaves it there until
//!   the thief's last round, and then for another 3 µs. The owner takes it in much less than that.
//! - *Waking a thread for each goroutine that is made ready.* Most threads would find that another
//!   has got the goroutine. So one thread searches at a time, and wakes the next when it has found
//!   something.
//!
//! Waking, here:
//!
//! - *Go's `wakep` to the letter.* With all P's busy, it takes `sched.lock` each time to find that
//!   no P is idle, and to set `needspinning`. Ours returns if `needspinning` is set already.
//! - *Letting an M sleep without a second look, or without `needspinning`.* In either case the
//!   models of `loom` end with work that nobody looks for.
//! - *Every M without work spinning.* With many P's and little to do, they would only burn time. So
//!   at most about half as many M's spin as P's are busy.
//! - *Sysmon that looks every 20 µs whenever a P is used again.* In a server all P's are idle for
//!   moments, thousands of times a second, and sysmon made a third of the switches of threads. Now
//!   sysmon looks so often only if it has slept for more than 1 ms.
//! - *Sysmon that notices only in its own time that a goroutine has begun, and that it has run for
//!   long.* In Go, sysmon notices each of the two up to 10 ms late. Here sysmon looks every 2 ms
//!   while goroutines take turns, and when a slice ends. So a slice ends after 10 to 12 ms.
//! - *Leaving `runnext` alone when a slice ends.* In Go the next goroutine meets a check soon. Here
//!   two goroutines that make each other ready may have no checks, and kept all others out. So
//!   `runnext` waits its turn, if the goroutine has left by itself.
//! - *Sending `runnext` behind the others, too, when the running goroutine was stopped.* That
//!   goroutine goes behind the others itself, and `runnext` stays next.
//! - *Checking timers in each round.* Where there is none, the scheduler reads one word and asks
//!   for no time.
//! - *Leaving the poller's sleeper there when its last wait was ended from outside,* as Go does.
//!   The sleeper would sleep for nothing, and a deadlock would go unseen.
//! - *Giving the kernel the time until the next timer.* The kernel may be late by a thousandth of
//!   that time, to end several waits at once. A long limit is shortened by as much, and the rest is
//!   then a short limit.
//!
//! Switching:
//!
//! - *A call anywhere between `mcall` and `gogo` that doesn't return.* Each such call puts the
//!   processor's prediction of returns out of step with the stack: 14 ns a pair of switches in
//!   place of 3, and 4 ns more for each frame above. So `mcall` jumps, and `schedule` is inlined.
//!   The switch of a coroutine can't be predicted in this way, because two goroutines call it from
//!   different places. So it ends in a jump.
//! - *A Rust `thread_local!` for g.* The compiler may keep its address across a switch, after which
//!   the goroutine is on another thread.
//! - *Looking up the running G or M again and again.* The look-up is three loads that wait for one
//!   another, and shows in a switch. A function that has its M passes it along.
//! - *A channel operation that handles threads that aren't ours in line.* The operation called
//!   itself and had a destructor, so the compiler couldn't inline it: this cost 23 % in `pingpong`
//!   and 26 % in `bufchan`. That part is out of line.
//! - *Measuring every eighth wait for a P,* as Go does. Reading the clock takes half as long as a
//!   switch, so here one wait of 128 is measured. And a park doesn't read the clock: sysmon notes
//!   about once a second which goroutines wait.
//!
//! Locks:
//!
//! - *Go's mutex, whose unlock is a swap.* A swap waits for the store buffer: a short section takes
//!   13.5 ns, and 7.2 ns if it ends in a store. `lock/key.rs` says what a store requires.
//! - *A count of sleepers beside the word, and a second kind of unlock for memory that may be
//!   freed.* The first mutex with two words was of this form, and `loom` found it wrong. Now no
//!   such lock is in memory that is given back.
//!
//! Stacks and pages:
//!
//! - *The G and its stack, each in memory of its own.* The first touch of a page costs about 2 µs,
//!   so a goroutine that waits has one page, its home, with both. That is more memory than in Go:
//!   4,193 bytes, and 2,744 there. The kernel takes most of the time to make a million goroutines
//!   that park.
//! - *A guard by `mprotect` below each stack.* Each splits a mapping, and the 32,753rd fails. A
//!   guard region splits nothing: a million leave 37 mappings, and cost 0.4 µs each, 0.3 in
//!   batches. Without guard regions, a budget limits the guards.
//! - *Cutting one page at a time.* A guard and a first touch cost a system call and a fault each,
//!   and are cheaper by the dozen: `malg` makes several G's where many are made.
//! - *Moving the stack of a Rust closure.* It may keep a pointer to a local anywhere, and nothing
//!   says where.
//! - *Vector registers on the stack of a preempted goroutine.* They take 832 bytes with AVX and 11
//!   KiB with AMX; a stack may have 2 KiB. So they are in a block, which the G has while it is
//!   preempted.
//! - *Small pages for large stacks.* From 4 MiB on, growing into fresh memory costs a third with
//!   huge pages, 0.3 ns a byte.
//! - *A time for each free object, to know when its memory may go back.* The shortest length that a
//!   free list had within a second says the same, and costs a comparison.
//!
//! Preemption and threads:
//!
//! - *Stopping goroutines anywhere, and running others on their thread.* A goroutine that is
//!   stopped inside `malloc` holds malloc's lock, and others would find the thread's thread-locals
//!   half-done. Code is preemptible if the program says so. In other code a goroutine loses only
//!   its P, and keeps its thread: `detach.rs`.
//! - *Only taking the P of a goroutine that computes,* without taking turns. Eight goroutines that
//!   lock a free mutex at one P ran on several threads, and a lock took 40 ns in place of 26. A
//!   hundred goroutines that compute were a hundred busy threads.
//! - *Sysmon making the thread for a P that it has taken.* Making a thread takes `malloc`'s lock,
//!   which a goroutine that waits for its turn may hold. Letting all such goroutines go on
//!   meanwhile let all of them compute. So an M with a P makes a thread in advance (`m/startm.rs`).
//! - *Assuming that a thread that was on no processor for 0.1 ms sleeps.* On a busy machine such a
//!   thread may be waiting for a processor. `/proc` shows the difference.
//! - *Making the caller of `run` m0.* The caller could be deep in another goroutine when main ends
//!   elsewhere.
//! - *Writing the report of SIGQUIT in its handler,* as Go does. A report takes memory, and the
//!   thread may hold the allocator's lock. Sysmon writes it.

pub(in crate::runtime) mod abort;
mod claim;
pub(super) mod coro;
pub(super) mod detach;
pub(super) mod entersyscall;
pub(super) mod exploration;
pub(super) mod goexit;
pub(super) mod mstart;
pub(super) mod newproc;
pub(super) mod park;
pub(super) mod poll;
pub(super) mod ready;
pub(super) mod schedule;
pub(super) mod wake;
