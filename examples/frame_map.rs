//! A compiler that knows its frames: it registers a map of them, and the stacks of its code are
//! adjusted precisely.
//!
//! The "compiled" code is a function of some small language, as a compiler would emit it. Each call
//! has a cell of a list in its frame, which points to the cell of its caller:
//!
//! ```text
//!     count(n, list):
//!         cell = { value: n, next: list, seal: the number that its address is just now, check: !seal }
//!         if n == 0 { sum(cell) } else { count(n - 1, address of cell) }
//! ```
//!
//! `next` is an address of the stack and must move with it. `seal` looks like one and is a number: it
//! must stay what it was. Only the compiler's own map can tell the two apart.

use std::arch::global_asm;
use std::env;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::proc::{self, Frame, FrameMap};
use gosched::sync::WaitGroup;

// The frame: check, seal, next and value at 8, 16, 24 and 32 below the saved rbp. In front of it is
// the check that compilers emit: asm/x86_64/morestack.S explains it.
global_asm!(
    ".p2align 4",
    ".globl count, count_end",
    ".hidden count, count_end",
    "count:",
    "    .cfi_startproc",
    "    cmp rsp, fs:[0x70]",
    "    jae 1f",
    "    mov r10d, 48",
    "    xor r11d, r11d",
    "    call {morestack}",
    "    ret",
    "1:  push rbp",
    "    .cfi_def_cfa_offset 16",
    "    .cfi_offset rbp, -16",
    "    mov rbp, rsp",
    "    .cfi_def_cfa_register rbp",
    "    sub rsp, 32",
    "    lea rax, [rbp - 32]",
    "    mov [rbp - 32], rdi",
    "    mov [rbp - 24], rsi",
    "    mov [rbp - 16], rax",
    "    mov [rbp - 8], rax",
    "    not qword ptr [rbp - 8]",
    "    mov rsi, rax",
    "    test rdi, rdi",
    "    jz 2f",
    "    dec rdi",
    "    call count",
    "    jmp 3f",
    "2:  mov rdi, rsi",
    "    call {sum}",
    "3:  leave",
    "    .cfi_def_cfa rsp, 8",
    "    ret",
    "    .cfi_endproc",
    "count_end:",
    morestack = sym __morestack,
    sum = sym sum,
);

unsafe extern "C" {
    fn __morestack();
    fn count(n: usize, list: *const Cell) -> usize;
    fn count_end();
}

/// What is in each frame.
#[repr(C)]
struct Cell {
    value: usize,
    next: *const Cell,
    seal: usize,
    check: usize,
}

/// How many seals were found broken.
static BROKEN: AtomicUsize = AtomicUsize::new(0);

/// Adds up a list. It is called on the goroutine's stack and has no check, as it needs little.
unsafe extern "C" fn sum(list: *const Cell) -> usize {
    let (mut sum, mut next) = (0, list);
    // SAFETY: the cells are in the frames of the callers, whose addresses are right.
    while let Some(cell) = unsafe { next.as_ref() } {
        sum += cell.value;
        if cell.seal != !cell.check {
            BROKEN.fetch_add(1, Ordering::Relaxed);
        }
        next = cell.next;
    }
    sum
}

/// What the compiler knows: in a frame of `count`, one word is an address of the stack.
struct CountFrames;

// SAFETY: `next` is the only one; and `count` keeps a frame pointer.
unsafe impl FrameMap for CountFrames {
    fn slots(&self, frame: &Frame, slot: &mut dyn FnMut(usize)) {
        slot(frame.fp - 24);
    }
}

const DEPTH: usize = 10_000;

static RUNNING: WaitGroup = WaitGroup::new();
static SUM: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn goroutine(_: *mut c_void) {
    // SAFETY: `count` is what global_asm! says.
    SUM.store(unsafe { count(DEPTH, ptr::null()) }, Ordering::Relaxed);
    RUNNING.done();
}

/// Runs `count` in a goroutine, and returns how many seals were broken.
fn broken() -> usize {
    BROKEN.store(0, Ordering::Relaxed);
    RUNNING.add(1);
    // SAFETY: it checks its stack, and doesn't panic.
    unsafe { proc::newproc(Some(goroutine), ptr::null_mut()) };
    RUNNING.wait();
    assert_eq!(SUM.load(Ordering::Relaxed), DEPTH * (DEPTH + 1) / 2, "an address has not moved");
    BROKEN.load(Ordering::Relaxed)
}

fn main() {
    // No stack that has grown once, or nothing would move the second time.
    // SAFETY: there is no other thread yet.
    unsafe { env::set_var("GODEBUG", "stackkeep=0") };
    let main = || {
        println!("without a map, {} of {DEPTH} numbers were taken for addresses", broken());
        let code = count as *const () as usize..count_end as *const () as usize;
        // SAFETY: the map is right, and the code is done when the registration is dropped.
        let map = unsafe { proc::register_frame_map(code, &CountFrames) };
        println!("with a map, {}", broken());
        drop(map);
    };
    // SAFETY: nothing keeps a thread-local across a point that can park.
    unsafe { gosched::run(main) };
}
