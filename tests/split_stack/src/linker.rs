//! Finds out what the linker has done about split-stack code that calls code without checks.

/// Returns whether the linker rewrites a function with checks that calls one without.
///
/// # Panics
/// If the prologue of such a function, compiled with `-O0`, is of no known kind.
#[cfg(split_stack)]
pub fn rewrites_calls() -> bool {
    /// `endbr64`, which some compilers begin every function with.
    const LANDING_PAD: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    /// `cmp %fs:0x70, %rsp`.
    const COMPARE: [u8; 9] = [0x64, 0x48, 0x3b, 0x24, 0x25, 0x70, 0, 0, 0];
    /// `stc`, which the linker writes in place of the comparison: the jump then finds too little
    /// stack each time.
    const SET_CARRY: u8 = 0xf9;
    /// The place of the call: behind the comparison, a jump of two bytes, and two instructions that
    /// set registers.
    const CALL: usize = COMPARE.len() + 2 + 6 + 6;

    unsafe extern "C" {
        /// A function that calls libc.
        static split_stack_calls_libc_o0: *const u8;
        fn __morestack();
        fn __morestack_non_split();
    }

    // SAFETY: the function's machine code is longer than what is read here.
    let mut code =
        unsafe { std::slice::from_raw_parts(split_stack_calls_libc_o0, LANDING_PAD.len() + CALL + 6) };
    code = code.strip_prefix(&LANDING_PAD).unwrap_or(code);
    // The call, and the `ret` behind it.
    assert_eq!((code[CALL], code[CALL + 5]), (0xe8, 0xc3), "no prologue: {code:x?}");
    let distance = i32::from_le_bytes(code[CALL + 1..CALL + 5].try_into().expect("four bytes"));
    let called = code[CALL + 5..].as_ptr().addr().wrapping_add_signed(distance as isize);
    if called == __morestack as *const () as usize && code.starts_with(&COMPARE) {
        false
    } else if called == __morestack_non_split as *const () as usize && code[0] == SET_CARRY {
        true
    } else {
        panic!("a prologue of no known kind, which calls {called:#x}: {code:x?}");
    }
}

/// Without split-stack code there is no such function.
#[cfg(not(split_stack))]
pub fn rewrites_calls() -> bool {
    false
}
