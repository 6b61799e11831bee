//! The kernel's pages.

/// Returns the pages' size: 4, 16 or 64 KiB.
pub fn page_size() -> usize {
    // SAFETY: no memory is passed.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}
