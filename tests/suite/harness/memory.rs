//! The memory of a process, and the limit of its address space.

use std::fs;

/// Returns the resident memory of this process, in bytes.
pub fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").expect("Linux has it");
    let pages: usize =
        statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number of pages");
    pages * 4096
}

/// Limits the address space of the process to its current size and `more` bytes.
pub fn allow(more: u64) {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).expect("the size");
    let kib: u64 = size.trim().trim_end_matches(" kB").parse().expect("a number of kB");
    set_limit(kib * 1024 + more);
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
