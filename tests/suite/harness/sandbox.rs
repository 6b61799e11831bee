//! System calls that are refused, as by a container's profile.

use std::ptr;

/// Why a test that needs this is skipped in an emulator.
pub const NO_FILTER: &str = "it has no filters of system calls";

/// Makes the system call fail with `errno` from here on, on this thread and the threads that it
/// makes; with a `second`, only if that is the second argument.
pub fn refuse(number: libc::c_long, second: Option<u32>, errno: libc::c_int) {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const SKIP_UNLESS: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    // Offsets in seccomp_data: the number, and from byte 16 on the arguments, lower half first.
    const NUMBER: u32 = 0;
    const SECOND: u32 = 24;
    let step = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
    let mut filter = vec![step(LOAD, 0, NUMBER), step(SKIP_UNLESS, 1, number as u32)];
    if let Some(second) = second {
        filter[1].jf = 3;
        filter.extend([step(LOAD, 0, SECOND), step(SKIP_UNLESS, 1, second)]);
    }
    filter.extend([
        step(RETURN, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
    ]);
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the kernel reads the program, each path of which ends in a return.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, ptr::from_ref(&program)), 0);
    }
}
