//! Guard pages: a page below each stack, so that an overflow is a fault and doesn't corrupt other
//! memory.
//!
//! There are two ways to make a guard.
//!
//! - A *guard region* (`MADV_GUARD_INSTALL`, Linux 6.13) marks the page in the page table.
//!   It leaves the mapping whole, so a million of them cost no more than their marks.
//! - `mprotect` splits the mapping in three. A process may have at most `vm.max_map_count`
//!   mappings, 65,530 as a rule: enough for some 30,000 stacks.
//!
//! Guard regions are used where they work. They are tried once, because an emulator may return
//! success and do nothing. Otherwise there is a budget of guards by `mprotect`, which leaves enough
//! mappings to the rest of the program. When the budget is used up, a line on stderr says so, and
//! further stacks have no guard: their saved stack pointers are checked at each switch instead
//! (`dropg`).
//!
//! A guard region goes together with the memory above it when nobody needs that memory. A guard by
//! `mprotect` stays, with its part of the budget, until it is unmapped. `GOSCHED_GUARD` changes the
//! choice:
//!
//! | `GOSCHED_GUARD` has the word | |
//! | --- | --- |
//! | `region` | guard regions, or the runtime doesn't start |
//! | `mprotect` | never guard regions |
//! | `strict` | no stack without a guard: making a goroutine is an error instead |
//!
//! `strict` always holds for goroutines with thread-locals of their own, because the code that they
//! run promises nothing about its stack.

use std::io;
use std::iter;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};

use crate::runtime::arch::page_size;
use crate::runtime::arch::sanitizer::SANITIZED;
use crate::runtime::arch::syscall::syscall;
use crate::runtime::base::print::eprintln;
use crate::runtime::mem::pages::advise_each;

/// `MADV_GUARD_INSTALL`, which the libc crate doesn't name yet.
const MADV_GUARD_INSTALL: libc::c_int = 102;
/// `MADV_GUARD_REMOVE`.
const MADV_GUARD_REMOVE: libc::c_int = 103;

/// Whether guard regions are used: they work, and `GOSCHED_GUARD` doesn't forbid them.
static REGIONS: AtomicBool = AtomicBool::new(false);
/// Whether a stack without a guard is an error.
static STRICT: AtomicBool = AtomicBool::new(false);
/// How many stacks were made without a guard.
pub(in crate::runtime) static UNGUARDED: AtomicU64 = AtomicU64::new(0);
/// Whether `mprotect` has made a guard.
static PROTECTED: AtomicBool = AtomicBool::new(false);
/// How many guards `mprotect` may still make.
static BUDGET: AtomicIsize = AtomicIsize::new(0);

/// Finds out how guards are made here. Fails if `GOSCHED_GUARD` asks for guard regions and there
/// are none.
pub(super) fn init() -> io::Result<()> {
    let setting = std::env::var_os("GOSCHED_GUARD").unwrap_or_default();
    let setting = setting.to_string_lossy();
    let has = |word| setting.split(',').any(|w| w == word);
    // LeakSanitizer reads what is mapped, and doesn't know of guard regions.
    let regions = !has("mprotect") && !SANITIZED && regions_work();
    if has("region") && !regions {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "GOSCHED_GUARD=region, but this kernel has no guard regions (Linux 6.13 does)",
        ));
    }
    REGIONS.store(regions, Ordering::Relaxed);
    STRICT.store(has("strict"), Ordering::Relaxed);
    BUDGET.store(budget(), Ordering::Relaxed);
    Ok(())
}

/// Tries a guard region. The kernel must refuse to fill the page in, also after `MADV_DONTNEED`, by
/// which a stack's memory is given back. (A system call that reads from the page would end a
/// program under valgrind, which itself checks what the kernel is to read, and doesn't know of the
/// guard.)
fn regions_work() -> bool {
    let Ok(page) = memmap2::MmapOptions::new().len(page_size()).map_anon() else { return false };
    let page = page.as_ptr();
    let advise = |advice| {
        // SAFETY: our own page, which holds nothing.
        unsafe { libc::madvise(page.cast_mut().cast(), page_size(), advice) == 0 }
    };
    advise(MADV_GUARD_INSTALL)
        && advise(libc::MADV_DONTNEED)
        && !advise(libc::MADV_POPULATE_READ)
        && io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

/// Whether a page, which isn't a guard region, is a guard by `mprotect`: the kernel can't read from
/// it.
fn is_protected(page: usize) -> bool {
    /// An invalid way to change a mask: the kernel reads the mask first, and then returns EINVAL.
    const NO_WAY: libc::c_int = -1;
    // SAFETY: no mask is changed.
    let ret = unsafe {
        syscall!(SYS_rt_sigprocmask, NO_WAY, page, ptr::null_mut::<libc::sigset_t>(), size_of::<u64>(),)
    };
    ret != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

/// Returns how many guards `mprotect` may make. Each adds two mappings, and a quarter of all
/// mappings is for the rest of the program.
fn budget() -> isize {
    let max_map_count = std::fs::read_to_string("/proc/sys/vm/max_map_count")
        .ok()
        .and_then(|text| text.trim().parse::<isize>().ok())
        .unwrap_or(65_530);
    let in_use = std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count() as isize);
    ((max_map_count / 4 * 3 - in_use) / 2).max(0)
}

/// The way in which guards are made, and the right to make them: see [`reserve`].
pub(super) enum Guards {
    Regions,
    Mprotect,
    /// Guards by `mprotect`, where there is none yet.
    Missing,
    None,
}

/// Takes the right to make guards for `n` stacks, before the stacks are made. If there can be no
/// guards, warns, or fails if the stacks must have them (`strict`) or the program insists on them.
pub(super) fn reserve(n: usize, strict: bool) -> io::Result<Guards> {
    if REGIONS.load(Ordering::Relaxed) {
        return Ok(Guards::Regions);
    }
    reserve_mappings(n, strict)
}

fn reserve_mappings(n: usize, strict: bool) -> io::Result<Guards> {
    let n = n as isize;
    if BUDGET.fetch_sub(n, Ordering::Relaxed) >= n {
        PROTECTED.store(true, Ordering::Relaxed);
        return Ok(Guards::Mprotect);
    }
    BUDGET.fetch_add(n, Ordering::Relaxed);
    without_guard(&io::Error::from_raw_os_error(libc::ENOMEM), strict)
}

/// Returns the right to make guards again for pieces that were cut before. [`remove`] has removed
/// guard regions, but a guard by `mprotect`, if there ever was one, is still there.
pub(super) fn again() -> Guards {
    if REGIONS.load(Ordering::Relaxed) { Guards::Regions } else { Guards::Missing }
}

/// Removes the guards in ranges of pages that nobody uses, if they cost nothing to make again:
/// guard regions, but not guards by `mprotect`.
pub(super) fn remove(ranges: impl Iterator<Item = Range<usize>>) {
    if REGIONS.load(Ordering::Relaxed) {
        // A guard that stays, because of an error, does no harm.
        // SAFETY: guard pages hold nothing, and nobody uses the memory above these, as the caller
        // says.
        let _ = unsafe { advise_each(ranges, MADV_GUARD_REMOVE) };
    }
}

/// Takes back the right to the guard at `page`, which is about to be unmapped together with the
/// unused memory above it.
pub(super) fn release(page: usize) {
    // Removes a guard region first: is_protected would take it for a guard by `mprotect`.
    remove(iter::once(page..page + page_size()));
    if PROTECTED.load(Ordering::Relaxed) && is_protected(page) {
        BUDGET.fetch_add(1, Ordering::Relaxed);
    }
}

/// Warns once that there can be no more guards because of `why`, or fails if there must be guards.
#[cold]
fn without_guard(why: &io::Error, strict: bool) -> io::Result<Guards> {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if strict || STRICT.load(Ordering::Relaxed) {
        return Err(io::Error::new(
            io::ErrorKind::OutOfMemory,
            format!(
                "no mapping left for a stack's guard page: raise vm.max_map_count, or use a kernel with guard regions, 6.13 or later ({why})"
            ),
        ));
    }
    if !WARNED.swap(true, Ordering::Relaxed) {
        eprintln!(
            "gosched: no mappings left for guard pages ({why}): further goroutine stacks have none. \
             Raise vm.max_map_count, or use Linux 6.13 or later; GOSCHED_GUARD=strict makes this an error."
        );
    }
    Ok(Guards::None)
}

impl Guards {
    /// Makes the first page of each piece a guard. If there can be none, warns or fails as
    /// [`reserve`] does.
    pub(super) fn install(&self, base: *mut u8, stride: usize, count: usize, strict: bool) -> io::Result<()> {
        let page = page_size();
        match self {
            Guards::None => {
                UNGUARDED.fetch_add(count as u64, Ordering::Relaxed);
                Ok(())
            }
            Guards::Regions => {
                let first = base.addr();
                let pages = (0..count).map(|i| first + i * stride..first + i * stride + page);
                // SAFETY: pages that were just cut, and that nobody uses yet.
                let installed = unsafe { advise_each(pages, MADV_GUARD_INSTALL) };
                // Locked memory (mlockall) can have no guard regions.
                installed.or_else(|_| Guards::Missing.install(base, stride, count, strict))
            }
            Guards::Missing => {
                for i in 0..count {
                    let piece = base.wrapping_add(i * stride);
                    if !is_protected(piece.addr()) {
                        reserve_mappings(1, strict)?.install(piece, stride, 1, strict)?;
                    }
                }
                Ok(())
            }
            Guards::Mprotect => {
                for i in 0..count {
                    // SAFETY: the first page of a piece, which was just cut and which nobody uses
                    // yet.
                    let done = unsafe { libc::mprotect(base.add(i * stride).cast(), page, libc::PROT_NONE) };
                    if done != 0 {
                        // The rest of the program has used up the mappings.
                        BUDGET.store(0, Ordering::Relaxed);
                        let without = without_guard(&io::Error::last_os_error(), strict)?;
                        return without.install(base.wrapping_add(i * stride), stride, count - i, strict);
                    }
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use memmap2::MmapOptions;

    use super::*;
    use crate::runtime::base::fatal::exit;
    use crate::runtime::base::print::eprint;
    use crate::runtime::base::testing::dies;

    /// A page comes with a right if it has a guard by `mprotect`, and only then. Tested in a child,
    /// because the budget is the process's.
    #[test]
    fn rights_come_back() {
        let report = dies(|| {
            let page = page_size();
            for regions in [false, true] {
                REGIONS.store(regions, Ordering::Relaxed);
                let map = MmapOptions::new().len(4 * page).map_anon().expect("memory");
                let base = map.as_ptr().cast_mut();
                BUDGET.store(3, Ordering::Relaxed);
                Guards::Missing.install(base, page, 2, false).expect("there are rights");
                Guards::Missing.install(base, page, 3, false).expect("there are rights");
                eprint!("{} ", BUDGET.load(Ordering::Relaxed));
                (0..4).for_each(|i| release(base.addr() + i * page));
                eprint!("{} ", BUDGET.load(Ordering::Relaxed));
            }
            exit(2)
        });
        assert_eq!(report, "0 3 0 3 ");
    }
}
