//! Where the code of the C library is. No goroutine waits there for its turn (`sched/detach.rs`):
//! the goroutine may hold a lock that other threads need, malloc's for example.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::slice;
use std::sync::OnceLock;

/// The code of the file that contains malloc. Empty if that file is the program, which has other
/// code, too.
static CODE: OnceLock<Range<usize>> = OnceLock::new();

/// Finds the code, when the runtime starts.
pub(in crate::runtime) fn find_libc() {
    CODE.get_or_init(|| {
        let mut code = 0..0;
        // SAFETY: `visit` gets the range, which nobody else uses meanwhile, and doesn't unwind.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut code).cast()) };
        if code.contains(&addr(find_libc as *const ())) { 0..0 } else { code }
    });
}

/// Whether the instruction at `pc` is the C library's. May be called in a signal handler.
pub(in crate::runtime) fn in_libc(pc: usize) -> bool {
    CODE.get().is_some_and(|code| code.contains(&pc))
}

fn addr(function: *const ()) -> usize {
    function.expose_provenance()
}

/// Looks at one file; ends the walk if the file contains malloc.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, code: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker passes what it knows of a file that stays until this returns, with
    // as many program headers as it says; and the range of find_libc.
    let (info, headers, code) = unsafe {
        let headers = slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
        (&*info, headers, &mut *code.cast::<Range<usize>>())
    };
    let is_code = |header: &&Header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0;
    let range = |header: &Header| {
        let begin = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
        begin..begin + header.p_memsz as usize
    };
    let malloc = addr(libc::malloc as *const ());
    let found = headers.iter().filter(is_code).map(range).find(|range| range.contains(&malloc));
    found.map_or(0, |range| {
        *code = range;
        1
    })
}

/// A program header: libc has a type for each size of words.
#[cfg(target_pointer_width = "64")]
type Header = libc::Elf64_Phdr;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{addr, find_libc, in_libc};

    #[test]
    #[cfg_attr(any(miri, target_feature = "crt-static"), ignore = "malloc is the program's")]
    fn malloc_is_in_libc_and_this_is_not() {
        find_libc();
        assert!(in_libc(addr(libc::malloc as *const ())) && in_libc(addr(libc::qsort as *const ())));
        assert!(!in_libc(addr(find_libc as *const ())) && !in_libc(0));
    }
}
