//! How much address space a process may have.

use std::fs;

/// Lets the process have so many bytes more than it has now.
pub fn allow(more: u64) {
    let statm = fs::read_to_string("/proc/self/statm").expect("Linux has it");
    let pages: u64 = statm.split(' ').next().and_then(|size| size.parse().ok()).expect("the size in pages");
    set_limit(pages * 4096 + more);
}

/// Sets the limit, as far as that is allowed.
pub fn set_limit(bytes: u64) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills and reads `limit`.
    unsafe {
        libc::getrlimit(libc::RLIMIT_AS, &mut limit);
        limit.rlim_cur = bytes.min(limit.rlim_max);
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &limit), 0);
    }
}
