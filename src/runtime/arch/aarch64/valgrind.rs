//! Requests to valgrind: instructions that change nothing, but that valgrind recognises as a
//! request.

use std::arch::asm;

/// Makes a request, a number and its arguments. Returns valgrind's answer; 0 where the program runs
/// on a processor.
#[inline(always)]
pub(in crate::runtime) fn valgrind_request(request: &[usize; 6]) -> usize {
    let answer;
    // SAFETY: x12 is rotated by 128 bits in all, and x10 keeps its value: on a processor both stay
    // as they are. Valgrind reads the six words, and changes x3.
    unsafe {
        asm!(
            "ror x12, x12, #3",
            "ror x12, x12, #13",
            "ror x12, x12, #51",
            "ror x12, x12, #61",
            "orr x10, x10, x10",
            in("x4") request,
            inout("x3") 0_usize => answer,
            options(nostack),
        );
    }
    answer
}
