//! The raw layer alone: two goroutines on 2 KiB stacks hand a ball to and fro, with nothing but
//! `newproc`, `gopark` and `goready`.
//!
//!     cargo run --release --example raw

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::time::Instant;

use gosched::proc;
use gosched::runtime2::{G, TraceBlockReason, WaitReason};

const ROUNDS: u64 = 1_000_000;

/// One side of the table: null, [`BALL`], or the G of the player that waits there.
struct Side(AtomicPtr<G>);

/// The ball is on this side, and no player waits for it.
const BALL: *mut G = ptr::without_provenance_mut(1);

static SIDES: [Side; 2] = [const { Side(AtomicPtr::new(ptr::null_mut())) }; 2];
static HITS: AtomicU64 = AtomicU64::new(0);

impl Side {
    /// Waits until the ball comes.
    ///
    /// # Safety
    /// On a goroutine; only one goroutine waits at a side.
    unsafe fn wait(&'static self) {
        /// Called once the player is off its stack. The player waits here, unless the ball has come
        /// meanwhile.
        unsafe extern "C" fn commit(gp: *mut G, side: *mut c_void) -> bool {
            // SAFETY: `wait` passed its side, which is a static.
            let side = unsafe { &*side.cast::<Side>() };
            side.0.compare_exchange(ptr::null_mut(), gp, Ordering::AcqRel, Ordering::Acquire).is_ok()
        }
        let this = ptr::from_ref(self).cast_mut().cast();
        // SAFETY: `commit` touches the side and nothing of this stack. If it returns false, it has
        // not stored the G, so nobody can make it ready.
        unsafe { proc::gopark(Some(commit), this, WaitReason::Zero, TraceBlockReason::Generic, 0) };
        self.0.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Sends the ball to this side.
    ///
    /// # Safety
    /// The caller has the ball, and there is no other.
    unsafe fn send(&self) {
        let player = self.0.swap(BALL, Ordering::AcqRel);
        if !player.is_null() {
            // SAFETY: the player is parked, and the swap has taken its G, so only this makes it
            // ready.
            unsafe { proc::goready(player, 0) };
        }
    }
}

/// Plays at the side whose number is passed.
unsafe extern "C" fn play(side: *mut c_void) {
    let side = side.addr();
    while HITS.load(Ordering::Relaxed) < ROUNDS {
        // SAFETY: on a goroutine, the only one of this side. It has the ball once `wait` has
        // returned.
        unsafe {
            SIDES[side].wait();
            HITS.fetch_add(1, Ordering::Relaxed);
            SIDES[1 - side].send();
        }
    }
}

fn main() {
    let start = Instant::now();
    gosched::run(|| {
        // SAFETY: `play` needs a few words of stack, doesn't panic, and uses no thread-local. This
        // is a goroutine.
        unsafe {
            for side in 0..2 {
                proc::newproc(Some(play), ptr::without_provenance_mut(side));
            }
            SIDES[0].send();
            while HITS.load(Ordering::Relaxed) < ROUNDS {
                proc::gosched();
            }
        }
    });
    println!("{ROUNDS} hits in {:.2?}", start.elapsed());
}
