//! Code that gcc and clang compile with `-fsplit-stack`, on the stacks that gosched copies.
//!
//! A *case* is a function in C that calls others, whose frames, arguments and locals are of some
//! difficult kind, and returns a checksum. It first runs on a plain thread, where no check ever
//! fails. Then it runs on goroutines, where it must return the same.
//!
//! | test | |
//! | --- | --- |
//! | `sweep` | each case at each depth of a fresh stack |
//! | `storm` | cases at random, several at a time |
//! | `handler` | cases in a signal handler |
//! | `linked` | whose `__morestack` it is, and what the linker did about calls to libc |
//!
//! What is known of the compiler and the linkers, and where it is tested:
//!
//! | fact | test |
//! | --- | --- |
//! | a prologue compares rsp, or rsp less a large frame, with `%fs:0x70` | `frame_160` to `frame_1000000`, `large_frames` |
//! | that word is 0 in a new thread | the plain thread that each case's result comes from |
//! | at the call: arguments in registers | `words`, `pointers`, `doubles`, `vectors`, `wide_vectors`, `mixtures` |
//! | at the call: al, the number of vector arguments | `variable_words`, `variable_doubles` |
//! | at the call: the static chain in rax | `nested`, `twice_nested`, `chained` |
//! | stack addresses in what a call preserves | `registers`, `registers_further_up` |
//! | the `ret` behind the call is skipped | every case |
//! | `lea 0x18(%rbp),%r11` in a function of variable arguments | `variable_words` to `variable_behind_named`, `variable` |
//! | with `-fcf-protection=branch`, an `endbr64` before that | the flavours |
//! | lld and gold see no prologue behind an `endbr64` | `linked` leaves such out |
//! | `__morestack_allocate_stack_space` may lower rsp | `alloca_in_a_loop` to `array_in_a_loop` |
//! | below rsp there may be room for arguments | `among_outgoing_arguments` |
//! | LLVM's allocas compare signed numbers | `sweep`: `forced_clang` |
//! | LLVM has no checks in functions of variable arguments | they are left out |
//! | libgcc's `__morestack` isn't there | `linked`: `the_family_is_of_one_object` |
//! | lld and gold rewrite a call of code without checks | `linked`: `calls_into_libc`, `formats_with_little_stack` |
//! | GNU ld doesn't | `linked`: `calls_into_libc` |
//!
//! `setjmp`, and nested functions whose address is taken, are forbidden on copying stacks. A move
//! adjusts every word that looks like an address in the stack, and no other word. So gcc must be
//! told three things: to leave no remains of addresses in locals (`build.rs`), not to keep an
//! array's address in disguise (`c/arrays.c`), and that a `long double` is a `double`
//! (`c/long_double.c`).

mod bridge;
mod call;
mod cases;
mod linker;
mod moves;
mod sweep;

pub use bridge::Partner;
pub use call::{Call, Settings};
pub use cases::{Case, LEVELS, cases, flavours, unchecked_cases};
pub use linker::rewrites_calls;
pub use moves::{count_moves, moves};
pub use sweep::{FreshStack, Reference, Summary, references, sweep};

use std::env;

/// Whether there is anything to test. If the C compiler is no gcc with `-fsplit-stack`, this says
/// so, or panics where the environment says that every tool must be there.
pub fn available() -> bool {
    let available = cfg!(split_stack);
    if !available {
        println!("skipped: the C compiler is no gcc with -fsplit-stack and -ftrivial-auto-var-init");
        assert!(env::var_os("GOSCHED_REQUIRE_TOOLS").is_none(), "gcc with -fsplit-stack is missing");
    }
    available
}
