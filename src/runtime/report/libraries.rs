//! Libraries that stay in memory while the names of their code are looked up. A program may unload
//! one at any time (`dlclose`), and an unwinder reads the tables that the library has brought
//! along.
//!
//! The lock of `dl_iterate_phdr` keeps every library where it is, but nothing may wait for std's
//! lock meanwhile: a thread that prints a backtrace takes the two in the other order. So the
//! library's count of users is raised, as by a `dlopen` of the program's.

use std::ffi::{CStr, CString, c_int, c_void};
use std::slice;

use crate::runtime::g::callers::entry;

/// Where the code at an address is.
pub(super) enum Code {
    /// There is none: the address is of a file's data.
    Data,
    /// In no file that was loaded. An unwinder knows where the function begins if the program has
    /// made the code itself and has said so.
    Elsewhere(Option<usize>),
    /// In the program, or a library that stays as long as this function runs.
    Stays,
    /// In a library that may be unloaded.
    In(Loaded),
}

/// A library that was loaded a moment ago.
pub(super) struct Loaded {
    /// What the dynamic linker calls it.
    name: CString,
    /// What is added to the addresses in its file.
    base: usize,
}

/// A library that isn't unloaded until this is dropped.
pub(super) struct Kept {
    handle: *mut c_void,
    base: usize,
}

/// How many bytes behind an address an unwinder may read: it compares the code there with that of a
/// signal's return.
const READ_BEHIND: usize = 16;

/// What a walk over the files in memory looks for, and has found.
struct Search {
    pc: usize,
    /// How many files were seen.
    seen: usize,
    found: Option<Code>,
}

/// Where the code at `pc` is, at this moment.
pub(super) fn code_at(pc: usize) -> Code {
    let mut search = Search { pc, seen: 0, found: None };
    // SAFETY: `search_all` gets the search, which nobody else uses meanwhile, and doesn't unwind.
    unsafe { libc::dl_iterate_phdr(Some(search_all), (&raw mut search).cast()) };
    search.found.unwrap_or(Code::Elsewhere(None))
}

/// Looks at all files, under the dynamic linker's lock: a library that is loaded after the look at
/// its place and unloaded while the unwinder searches it would be neither seen nor there.
unsafe extern "C" fn search_all(_: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: `visit` gets the search of code_at, and doesn't unwind. The lock can be taken again
    // by its thread.
    let search = unsafe {
        libc::dl_iterate_phdr(Some(visit), search);
        &mut *search.cast::<Search>()
    };
    let pc = search.pc;
    search.found.get_or_insert_with(|| Code::Elsewhere(entry(pc)));
    1
}

/// Looks at one file; ends the walk if it has the code.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker passes what it knows of a file that stays where it is until this
    // returns, and the search of code_at.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    let is_program = search.seen == 0;
    search.seen += 1;
    let base = info.dlpi_addr as usize;
    // SAFETY: as many program headers as it says.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let has = |flags: u32, address: usize, room: usize| {
        let of_kind = |header: &&Header| header.p_type == libc::PT_LOAD && header.p_flags & flags == flags;
        headers.iter().filter(of_kind).any(|header| {
            let begin = base.wrapping_add(header.p_vaddr as usize);
            (begin..begin + (header.p_memsz as usize).saturating_sub(room)).contains(&address)
        })
    };
    if !has(0, search.pc, 0) {
        return 0;
    }
    // The kernel's code, and this crate's, which may be in a library.
    // SAFETY: getauxval takes no pointer.
    let kernels = unsafe { libc::getauxval(AT_SYSINFO_EHDR) as usize };
    let stays = is_program || has(0, kernels, 0) || has(0, code_at as *const () as usize, 0);
    search.found = Some(if !has(libc::PF_X, search.pc, READ_BEHIND) {
        Code::Data
    } else if stays || info.dlpi_name.is_null() || !CAN_BE_UNLOADED {
        Code::Stays
    } else {
        // SAFETY: a C string, which is there until this returns.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) };
        Code::In(Loaded { name: name.to_owned(), base })
    });
    1
}

/// A program header: libc has a type for each size of words.
#[cfg(target_pointer_width = "64")]
type Header = libc::Elf64_Phdr;

/// Where the kernel has put its own code, in the auxiliary vector.
const AT_SYSINFO_EHDR: libc::c_ulong = 33;

/// Whether libraries are ever unloaded: musl's stay, and a static program has none.
const CAN_BE_UNLOADED: bool = cfg!(all(target_env = "gnu", not(target_feature = "crt-static")));

impl Loaded {
    /// Whether `kept` is this one.
    pub(super) fn is(&self, kept: &Kept) -> bool {
        self.base == kept.base
    }

    /// Keeps the library in memory; none if it has been unloaded, or if it can't be kept. Waits for
    /// a library that is just being loaded or unloaded.
    pub(super) fn keep(&self) -> Option<Kept> {
        keep(&self.name, self.base)
    }
}

#[cfg(all(target_env = "gnu", not(target_feature = "crt-static")))]
fn keep(name: &CStr, base: usize) -> Option<Kept> {
    // SAFETY: a C string. Nothing is loaded, so no code of the library's runs.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return None;
    }
    let mut map: *mut usize = std::ptr::null_mut();
    // SAFETY: of a library that is kept, its entry in the dynamic linker's list is stored, whose
    // first word is what is added to addresses.
    let there = unsafe {
        let failed = libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) != 0;
        if failed { None } else { map.as_ref().copied() }
    };
    let kept = Kept { handle, base };
    // The name may be another's by now, or the same file may have been loaded elsewhere.
    (there == Some(base)).then_some(kept)
}

#[cfg(not(all(target_env = "gnu", not(target_feature = "crt-static"))))]
fn keep(_: &CStr, _: usize) -> Option<Kept> {
    None
}

// SAFETY: a handle isn't of a thread: any may close it.
unsafe impl Send for Kept {}

impl Drop for Kept {
    fn drop(&mut self) {
        #[cfg(all(target_env = "gnu", not(target_feature = "crt-static")))]
        // SAFETY: the handle that dlopen has returned, once. If the program has closed the library
        // meanwhile, it is unloaded here as it would have been there.
        unsafe {
            libc::dlclose(self.handle);
        }
    }
}
