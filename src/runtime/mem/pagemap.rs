//! Which pages have memory: `/proc/self/pagemap`.

use std::ops::Range;

use crate::runtime::arch::syscall::syscall;

/// The kernel's `struct pm_scan_arg`.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    /// The address of the regions that are found, and how many there is room for.
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    /// A page is found that has one of these.
    category_anyof_mask: u64,
    return_mask: u64,
}

/// `_IOWR('f', 16, struct pm_scan_arg)`, which Linux has since 6.7.
const PAGEMAP_SCAN: usize = 0xc000_6610 | size_of::<Scan>() << 16;

/// `PAGE_IS_PRESENT` and `PAGE_IS_SWAPPED`.
const HAS_MEMORY: u64 = 1 << 3 | 1 << 4;

/// The file, while this lives. If it stayed open, the program would find its descriptor.
pub(in crate::runtime) struct Pagemap(Option<isize>);

impl Pagemap {
    /// Opens it. If that fails, it knows nothing.
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
            // SAFETY: opened above, and nobody else's.
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
