//! The kernel's code in user space, the vDSO, which tells the time without a system call. Go's
//! `vdso_linux.go`.
//!
//! With the feature `std` the program's `clock_gettime` is ours (`stdpark/symbols/`), so the
//! runtime calls the kernel's function here.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use libc::{Elf64_Ehdr, Elf64_Phdr, Elf64_Sym, clockid_t, timespec};

use crate::runtime::arch::raw;

/// The name of the function.
#[cfg(target_arch = "x86_64")]
const CLOCK_GETTIME: &CStr = c"__vdso_clock_gettime";
#[cfg(target_arch = "aarch64")]
const CLOCK_GETTIME: &CStr = c"__kernel_clock_gettime";

type ClockGettime = unsafe extern "C" fn(clockid_t, *mut timespec) -> c_int;

/// The function's address, [`UNKNOWN`] or [`MISSING`].
static FOUND: AtomicUsize = AtomicUsize::new(UNKNOWN);
const UNKNOWN: usize = 0;
const MISSING: usize = 1;

/// Does what `clock_gettime` does. Returns 0, or an error as a negative number. Also works in a
/// signal handler, and before the program has begun.
///
/// # Safety
/// `time` is a place for a time, or an address that faults.
#[inline]
pub(in crate::runtime) unsafe fn clock_gettime(clock: clockid_t, time: *mut timespec) -> isize {
    // SAFETY: as the caller says. The address is that of a function of this type.
    unsafe {
        match FOUND.load(Ordering::Relaxed) {
            UNKNOWN | MISSING => slow_clock_gettime(clock, time),
            found => std::mem::transmute::<usize, ClockGettime>(found)(clock, time) as isize,
        }
    }
}

/// Looks for the function the first time. Some emulators and tracers have none.
#[cold]
#[inline(never)]
unsafe fn slow_clock_gettime(clock: clockid_t, time: *mut timespec) -> isize {
    if FOUND.load(Ordering::Relaxed) == UNKNOWN {
        // SAFETY: asks for a number, which is the image's address, or 0.
        let found = unsafe { vdso_parse_symbols(libc::getauxval(libc::AT_SYSINFO_EHDR) as usize) };
        FOUND.store(found.unwrap_or(MISSING), Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract of clock_gettime, and `time` is passed on.
        return unsafe { clock_gettime(clock, time) };
    }
    // SAFETY: the caller keeps to the contract of clock_gettime: the kernel checks the address.
    unsafe { raw(libc::SYS_clock_gettime, [clock as usize, time as usize, 0, 0, 0, 0]) }
}

/// An entry of the dynamic section: `libc` has none.
#[repr(C)]
struct Dyn {
    tag: i64,
    value: u64,
}

const DT_NULL: i64 = 0;
const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_GNU_HASH: i64 = 0x6fff_fef5;

/// The number of a symbol's section if it isn't defined.
const SHN_UNDEF: u16 = 0;

/// Returns the address of the function in the image. Go's `vdsoInitFromSysinfoEhdr` and
/// `vdsoParseSymbols`.
///
/// # Safety
/// `image` is the vDSO's address, or 0.
unsafe fn vdso_parse_symbols(image: usize) -> Option<usize> {
    if image == 0 {
        return None;
    }
    // SAFETY: the kernel has mapped the whole image, which is a well-formed shared library.
    unsafe {
        let header = &*at::<Elf64_Ehdr>(image);
        let segments =
            slice::from_raw_parts(at::<Elf64_Phdr>(image + header.e_phoff as usize), header.e_phnum.into());
        let segment = |sort| segments.iter().find(|segment| segment.p_type == sort);
        let code = segment(libc::PT_LOAD)?;
        let base = (image + code.p_offset as usize).wrapping_sub(code.p_vaddr as usize);
        let mut entry = at::<Dyn>(image + segment(libc::PT_DYNAMIC)?.p_offset as usize);
        let (mut names, mut symbols, mut hash, mut gnu_hash) = (None, None, None, None);
        while (*entry).tag != DT_NULL {
            let value = Some(base.wrapping_add((*entry).value as usize));
            match (*entry).tag {
                DT_STRTAB => names = value,
                DT_SYMTAB => symbols = value,
                DT_HASH => hash = value,
                DT_GNU_HASH => gnu_hash = value,
                _ => {}
            }
            entry = entry.add(1);
        }
        let n = match hash {
            // Two numbers: how many buckets there are, and how many symbols.
            Some(hash) => *at::<u32>(hash).add(1) as usize,
            None => symbols_of_gnu_hash(gnu_hash?),
        };
        let names = names?;
        let is_it = |symbol: &&Elf64_Sym| {
            symbol.st_shndx != SHN_UNDEF
                && CStr::from_ptr(at::<c_char>(names + symbol.st_name as usize)) == CLOCK_GETTIME
        };
        slice::from_raw_parts(at::<Elf64_Sym>(symbols?), n)
            .iter()
            .find(is_it)
            .map(|symbol| base.wrapping_add(symbol.st_value as usize))
    }
}

/// Returns the number of symbols, by a table of hashes in GNU's format. Four numbers come first: of
/// buckets, of the first symbol in the table, of the filter's words, and of a shift. The filter
/// follows, then the first symbol of each bucket, then each symbol's hash. The hash is odd for the
/// last symbol of a bucket.
///
/// # Safety
/// There is such a table at `table`.
unsafe fn symbols_of_gnu_hash(table: usize) -> usize {
    // SAFETY: the caller says that there is such a table.
    unsafe {
        let [n_buckets, first, n_words, _] = *at::<[u32; 4]>(table);
        let buckets = at::<u32>(table + 16 + n_words as usize * size_of::<u64>());
        let hashes = buckets.add(n_buckets as usize);
        let last = slice::from_raw_parts(buckets, n_buckets as usize).iter().max();
        let mut symbol = *last.filter(|last| **last >= first).unwrap_or(&first);
        while *hashes.add((symbol - first) as usize) & 1 == 0 {
            symbol += 1;
        }
        symbol as usize + 1
    }
}

fn at<T>(address: usize) -> *const T {
    ptr::with_exposed_provenance(address)
}
