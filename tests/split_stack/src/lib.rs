//! Code that gcc and clang compile with `-fsplit-stack`, on the stacks that gosched copies.
//!
//! A *case* is a function in C that returns a checksum. It calls other functions, whose frames,
//! arguments and locals are of some difficult kind. It first runs on a plain thread, where no check
//! ever fails. Then it runs on goroutines, where it must return the same.
//!
//! | test | |
//! | --- | --- |
//! | `sweep` | each case at each depth of a fresh stack |
//! | `storm` | cases at random, several at a time |
//! | `handler` | cases in a signal handler |
//! | `linked` | which `__morestack` the program has, and what the linker did about calls to libc |
//!
//! Known facts about the compilers and the linkers, and the tests of each:
//!
//! | fact | test |
//! | --- | --- |
//! | a prologue compares rsp, or rsp less a large frame, with `%fs:0x70` | `frame_160` to `frame_1000000`, `large_frames` |
//! | that word is 0 in a new thread | the plain thread that each case's result comes from |
//! | at the call: arguments in registers | `words`, `pointers`, `doubles`, `vectors`, `wide_vectors`, `mixtures` |
//! | at the call: al, the number of vector arguments | `variable_words`, `variable_doubles` |
//! | at the call: the static chain in rax | `nested`, `twice_nested`, `chained` |
//! | stack addresses in registers that a call preserves | `registers`, `registers_further_up` |
//! | the `ret` behind the call is skipped | every case |
//! | `lea 0x18(%rbp),%r11` in a function of variable arguments | `variable_words` to `variable_behind_named`, `variable` |
//! | with `-fcf-protection=branch`, an `endbr64` before that `lea` | the flavours |
//! | lld and gold see no prologue behind an `endbr64` | `linked` leaves out such flavours |
//! | `__morestack_allocate_stack_space` may lower rsp | `alloca_in_a_loop` to `array_in_a_loop` |
//! | below rsp there may be room for arguments | `among_outgoing_arguments` |
//! | LLVM's allocas compare signed numbers | `sweep`: `forced_clang` |
//! | LLVM has no checks in functions of variable arguments | clang's flavours have no such cases |
//! | libgcc's `__morestack` isn't linked | `linked`: `the_family_is_of_one_object` |
//! | lld and gold rewrite a call of code without checks | `linked`: `calls_into_libc`, `formats_with_little_stack` |
//! | GNU ld doesn't | `linked`: `calls_into_libc` |
//!
//! `setjmp`, and nested functions whose address is taken, are forbidden on copying stacks. A move
//! adjusts every word that looks like an address in the stack, and no other word. So gcc needs
//! three flags. With these it leaves no remains of addresses in locals (`build.rs`), doesn't keep
//! an array's address in another form (`c/arrays.c`), and makes a `long double` a `double`
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

/// Returns whether split-stack code was compiled. If the C compiler is no gcc with `-fsplit-stack`,
/// this prints so, or panics if `GOSCHED_REQUIRE_TOOLS` is set.
pub fn available() -> bool {
    let available = cfg!(split_stack);
    if !available {
        println!("skipped: the C compiler is no gcc with -fsplit-stack and -ftrivial-auto-var-init");
        assert!(env::var_os("GOSCHED_REQUIRE_TOOLS").is_none(), "gcc with -fsplit-stack is missing");
    }
    available
}
