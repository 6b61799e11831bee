//! Advice to the kernel about pages, and questions: `madvise` for many places at once, and
//! `/proc/self/pagemap`, which says which pages have memory.

use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::runtime::arch::syscall::syscall;

/// `PIDFD_SELF_THREAD_GROUP`: this process, where a pidfd is asked for.
const PIDFD_SELF: libc::c_int = -10001;

/// Whether `process_madvise` was found not to work here.
static TRIED_IN_VAIN: AtomicBool = AtomicBool::new(false);

/// Calls `process_madvise` for this process. Returns how many bytes the advice was taken for. An
/// older kernel or a sandbox may refuse the call or the pidfd: then the call isn't tried again.
///
/// # Safety
/// As [`advise_each`].
unsafe fn advise_vector(ranges: &[libc::iovec], advice: libc::c_int) -> isize {
    if TRIED_IN_VAIN.load(Ordering::Relaxed) {
        return 0;
    }
    let (first, n) = (ranges.as_ptr(), ranges.len());
    // SAFETY: the kernel reads the ranges, for which the caller allows the advice.
    let advised = unsafe { syscall!(SYS_process_madvise, PIDFD_SELF, first, n, advice, 0) };
    if advised < 0
        && matches!(io::Error::last_os_error().raw_os_error(), Some(libc::ENOSYS | libc::EPERM | libc::EBADF))
    {
        TRIED_IN_VAIN.store(true, Ordering::Relaxed);
    }
    advised
}

/// Calls `madvise` for each range of addresses, with one system call for several ranges if the
/// kernel has `process_madvise`. Stops at an error.
///
/// # Safety
/// The ranges are mapped pages, and nobody needs what the advice takes from them.
pub(super) unsafe fn advise_each(
    ranges: impl Iterator<Item = Range<usize>>,
    advice: libc::c_int,
) -> io::Result<()> {
    const VECTOR: usize = 32;
    let mut ranges = ranges.peekable();
    while ranges.peek().is_some() {
        let mut vector = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; VECTOR];
        let (mut n, mut len) = (0, 0);
        for (place, range) in vector.iter_mut().zip(ranges.by_ref()) {
            place.iov_base = ptr::with_exposed_provenance_mut(range.start);
            place.iov_len = range.len();
            (n, len) = (n + 1, len + range.len());
        }
        // SAFETY: the vector has `n` ranges, for which the caller allows the advice.
        if n > 1 && unsafe { advise_vector(&vector[..n], advice) } == len as isize {
            continue;
        }
        for place in &vector[..n] {
            // SAFETY: this is one of those ranges. Advice that was given already does no harm.
            if unsafe { libc::madvise(place.iov_base, place.iov_len, advice) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(())
}

/// The kernel's `struct pm_scan_arg`.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    /// The address of the array for regions that are found, and its length.
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    /// A page is found if it has one of these categories.
    category_anyof_mask: u64,
    return_mask: u64,
}

/// `_IOWR('f', 16, struct pm_scan_arg)`, which Linux has since 6.7.
const PAGEMAP_SCAN: usize = 0xc000_6610 | size_of::<Scan>() << 16;

/// `PAGE_IS_PRESENT` and `PAGE_IS_SWAPPED`.
const HAS_MEMORY: u64 = 1 << 3 | 1 << 4;

/// The file `/proc/self/pagemap`, open while this lives. If it stayed open, the program would find
/// its descriptor.
pub(in crate::runtime) struct Pagemap(Option<isize>);

impl Pagemap {
    /// Opens the file. On an error, every page may have memory.
    pub(in crate::runtime) fn open() -> Self {
        let (path, flags) = (c"/proc/self/pagemap", libc::O_RDONLY | libc::O_CLOEXEC);
        // SAFETY: the path ends with a zero.
        let fd = unsafe { syscall!(SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0) };
        Pagemap((fd >= 0).then_some(fd))
    }

    /// Whether one of these whole pages has memory, or is in swap; true if the kernel doesn't say.
    pub(in crate::runtime) fn may_have_memory(&self, pages: Range<usize>) -> bool {
        let Some(fd) = self.0 else { return true };
        let mut region = [0_u64; 3];
        let mut scan = Scan {
            size: size_of::<Scan>() as u64,
            start: pages.start as u64,
            end: pages.end as u64,
            vec: region.as_mut_ptr().expose_provenance() as u64,
            vec_len: 1,
            max_pages: 1,
            category_anyof_mask: HAS_MEMORY,
            return_mask: HAS_MEMORY,
            ..Scan::default()
        };
        // SAFETY: the kernel writes to `scan`, and one region.
        unsafe { syscall!(SYS_ioctl, fd, PAGEMAP_SCAN, &raw mut scan) != 0 }
    }
}

impl Drop for Pagemap {
    fn drop(&mut self) {
        if let Some(fd) = self.0 {
            // SAFETY: `open` opened the descriptor, and nobody else has it.
            unsafe { syscall!(SYS_close, fd) };
        }
    }
}

#[cfg(test)]
mod tests {
    use memmap2::MmapMut;

    use super::*;
    use crate::runtime::arch::page_size;

    #[test]
    fn a_page_has_memory_when_it_was_touched() {
        let page = page_size();
        let mut map = MmapMut::map_anon(8 * page).unwrap();
        let base = map.as_ptr().addr();
        let has = |pagemap: &Pagemap, from, to| pagemap.may_have_memory(base + from * page..base + to * page);
        let pagemap = Pagemap::open();
        if has(&pagemap, 0, 8) {
            // The kernel doesn't say.
            return;
        }
        map[2 * page] = 1;
        assert!(!has(&pagemap, 0, 2) && has(&pagemap, 2, 3) && !has(&pagemap, 3, 8) && has(&pagemap, 0, 8));
        assert!(has(&Pagemap(None), 0, 2));
    }
}
