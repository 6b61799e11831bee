//! Requests to valgrind: instructions that change nothing, but that valgrind recognises as a
//! request.

use std::arch::asm;

/// Makes a request, a number and its arguments. Returns valgrind's answer; 0 where the program runs
/// on a processor.
#[inline(always)]
pub(in crate::runtime) fn valgrind_request(request: &[usize; 6]) -> usize {
    let answer;
    // SAFETY: rdi is rotated by 128 bits in all, and rbx exchanged with itself: on a processor both
    // stay as they are. Valgrind reads the six words, and changes rdx.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") request,
            inout("rdx") 0_usize => answer,
            options(nostack),
        );
    }
    answer
}
