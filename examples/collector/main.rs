//! A garbage collector on the raw layer. It marks, by walking every goroutine's stack, and sweeps.
//! In turn, it does so with the world stopped, and while goroutines run.
//!
//!     cargo run --release --example collector
//!
//! The mutators make lists and trees to which only their own stacks and registers refer, check that
//! all objects are still there, and forget them. Half of the mutators run on stacks that move.
//!
//! | file | in Go |
//! | --- | --- |
//! | `heap.rs` | `malloc.go`, `mbarrier.go`, `mgcsweep.go`: objects, the write barrier |
//! | `mark.rs` | `mgc.go`, `mgcmark.go`: a cycle, and the scan of stacks |

mod heap;
mod mark;

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use gosched::sync::WaitGroup;
use gosched::{blocking, go, morestack_check, num_goroutine, preemptible, proc, yield_now};
use heap::{Object, Ref};
use mark::World;

/// Mutators of each kind.
const MUTATORS: u64 = 4;
/// Lists, and trees, that each mutator makes.
const ROUNDS: u64 = 300;
/// Objects of a list, and checks of each list.
const LENGTH: u64 = 300;
const LOOKS: u32 = 20;
/// The height of a tree: one more doubles its objects.
const DEPTH: u32 = 7;
/// Bytes of stack that a call of `tree` or `is_tree` needs, with all that it calls without a check.
const FRAME: usize = if cfg!(debug_assertions) { 2000 } else { 400 };

static MUTATING: WaitGroup = WaitGroup::new();
static OVER: AtomicBool = AtomicBool::new(false);

preemptible! {
    /// Makes a list of the values after `seed`. It may be stopped anywhere: at that moment a new
    /// object may be in a register and nowhere else.
    unsafe fn list(seed: u64) -> Ref {
        let mut list = None;
        let mut value = seed;
        while value < seed + LENGTH {
            let object = heap::new(value);
            object.set(0, list);
            list = Some(object);
            value += 1;
        }
        list
    }

    /// Returns whether a list is as it was made. It forgets the objects that it has seen: before it
    /// ends, the first objects are garbage.
    unsafe fn is_list(list: Ref, seed: u64) -> bool {
        let mut list = list;
        let mut value = seed + LENGTH;
        while let Some(object) = list {
            value -= 1;
            if object.value() != value {
                return false;
            }
            list = object.get(0);
        }
        value == seed
    }
}

/// Makes a tree. Objects that aren't in the tree yet are in a frame of this function, on a stack
/// that may move.
fn tree(value: u64, depth: u32) -> &'static Object {
    let root = heap::new(value);
    if depth > 0 {
        for field in 0..2 {
            let child = morestack_check!(FRAME, tree, value << 1 | field, depth - 1);
            root.set(field as usize, Some(child));
        }
    }
    root
}

/// Returns whether a tree is as it was made.
fn is_tree(root: Ref, value: u64, depth: u32) -> bool {
    let Some(root) = root else { return false };
    root.value() == value
        && (depth == 0
            || (0..2).all(|field| {
                morestack_check!(FRAME, is_tree, root.get(field as usize), value << 1 | field, depth - 1)
            }))
}

fn assert_is_tree(root: &'static Object, value: u64) {
    if !morestack_check!(FRAME, is_tree, Some(root), value, DEPTH) {
        proc::throw("an object was swept that a tree has");
    }
}

/// Makes a list and a tree, lets others run, and checks that both are there. Returns the tree.
///
/// # Safety
/// On a goroutine.
unsafe fn mutate(seed: u64, wait: impl Fn()) -> &'static Object {
    let root = morestack_check!(FRAME, tree, seed, DEPTH);
    // SAFETY: on a goroutine, as the caller says; no lock is held and no thread-local in use.
    let list = unsafe { list(seed) };
    wait();
    // SAFETY: as above.
    if !(0..LOOKS).all(|_| unsafe { is_list(list, seed) }) {
        proc::throw("an object was swept that a list has");
    }
    assert_is_tree(root, seed);
    root
}

/// Returns the seeds of a mutator's rounds, no two of them equal.
fn seeds(mutator: u64) -> impl Iterator<Item = u64> {
    (0..ROUNDS).map(move |round| (mutator * ROUNDS + round + 1) << 32)
}

/// A mutator on a stack that moves. Another goroutine gets each tree as its argument.
unsafe extern "C" fn on_copying_stack(mutator: *mut c_void) {
    unsafe extern "C" fn receive(root: *mut c_void) {
        // SAFETY: an object of the heap, which is a static.
        let root = unsafe { &*root.cast::<Object>() };
        assert_is_tree(root, root.value());
    }
    for seed in seeds(mutator.addr() as u64) {
        // SAFETY: on a goroutine; all of these check their stack, and none panics.
        unsafe {
            let root = mutate(seed, || proc::gosched());
            let root = ptr::from_ref(root.hand_over());
            proc::newproc(Some(receive), root.cast_mut().cast());
        }
    }
    MUTATING.done();
}

/// A mutator on a stack that doesn't move, at times in a system call. Another closure gets each
/// tree.
fn on_fixed_stack(mutator: u64) {
    for seed in seeds(mutator) {
        // SAFETY: on a goroutine.
        let root = unsafe { mutate(seed, || blocking(thread::yield_now)) }.hand_over();
        go(move || assert_is_tree(root, seed));
    }
    MUTATING.done();
}

/// Collects until `OVER` is set. Returns how many cycles there were, and how many objects were
/// swept.
fn collect() -> (usize, usize) {
    // SAFETY: on a goroutine, the only one that collects.
    unsafe { proc::become_system_goroutine() };
    let (mut cycles, mut swept) = (0, 0);
    while !OVER.load(Ordering::Relaxed) {
        for world in [World::Stopped, World::Running] {
            // SAFETY: as above.
            swept += unsafe { mark::cycle(world) }.0;
            cycles += 1;
            yield_now();
        }
    }
    (cycles, swept)
}

fn main() {
    let main = || {
        MUTATING.add(2 * MUTATORS as u32);
        let collector = go(collect);
        for mutator in 0..MUTATORS {
            // SAFETY: it checks its stack and doesn't panic.
            unsafe { proc::newproc(Some(on_copying_stack), ptr::without_provenance_mut(mutator as usize)) };
            go(move || on_fixed_stack(MUTATORS + mutator));
        }
        MUTATING.wait();
        // The receivers of trees, and this goroutine.
        while num_goroutine() > 1 {
            yield_now();
        }
        OVER.store(true, Ordering::Relaxed);
        let (cycles, swept) = collector.join().unwrap();

        // SAFETY: on a goroutine; the collector has ended.
        let (swept_last, left) = unsafe { mark::cycle(World::Stopped) };
        let made = heap::MADE.load(Ordering::Relaxed);
        assert_eq!((swept + swept_last, left), (made, 0), "all is garbage by now");
        let [scanned, at_checks, anywhere, in_calls] =
            mark::SCANNED.each_ref().map(|n| n.load(Ordering::Relaxed));
        println!("{made} objects were made and swept, in {cycles} cycles");
        println!("{scanned} stacks were scanned: {at_checks} of goroutines that were stopped at a check,");
        println!("{anywhere} of those stopped between two instructions, {in_calls} in a system call");
    };
    gosched::run(main);
}
