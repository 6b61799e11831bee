//! What the program is: its names, and why its threads can't be goroutines.

use std::env;
use std::ffi::{CStr, c_int, c_void};
use std::path::Path;

use crate::notes::is_of_go;

/// Returns the names of the program: that of its file, and that by which it was called. There is at
/// least one.
pub(crate) fn names() -> Vec<String> {
    let file = env::current_exe().ok();
    let called = env::args_os().next();
    let paths = [file.as_deref(), called.as_deref().map(Path::new)];
    let names: Vec<String> = paths
        .into_iter()
        .flatten()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    if names.is_empty() { vec!["this program".to_owned()] } else { names }
}

/// The functions by which a program calls the sanitizer that it is compiled with.
const SANITIZERS: [&CStr; 5] =
    [c"__asan_init", c"__hwasan_init", c"__msan_init", c"__tsan_init", c"__dfsan_init"];

/// Returns why the threads of this program can't be goroutines, if the program is such a one.
pub(crate) fn unsuitable() -> Option<&'static str> {
    // SAFETY: the names are C strings.
    if SANITIZERS.iter().any(|name| unsafe { !libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).is_null() }) {
        return Some("it is compiled with a sanitizer, which keeps state of its own for each thread");
    }
    if has_go() {
        return Some("it contains Go's runtime, which makes its threads itself");
    }
    None
}

/// Whether the program or one of its libraries contains Go's runtime.
fn has_go() -> bool {
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        // SAFETY: the C library passes a description of a module, and the pointer below.
        let (info, found) = unsafe { (&*info, &mut *found.cast::<bool>()) };
        // SAFETY: the headers of the module, `dlpi_phnum` of them.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        for note in headers.iter().filter(|header| header.p_type == libc::PT_NOTE) {
            let address = info.dlpi_addr as usize + note.p_vaddr as usize;
            // SAFETY: the notes are mapped, and have the size that the header says.
            let notes = unsafe {
                std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address), note.p_memsz as usize)
            };
            *found |= is_of_go(notes);
        }
        c_int::from(*found)
    }
    let mut found = false;
    // SAFETY: `each` has the type of such a function, and gets the flag.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut found).cast()) };
    found
}
