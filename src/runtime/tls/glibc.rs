//! The parts of glibc that make a thread in a piece of memory. All but one are meant for the
//! dynamic linker, glibc's other half, or for debuggers, so each is looked up by name.

use std::ffi::{CStr, c_int, c_ulong, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use crate::runtime::arch::{TLS_BELOW, thread_pointer};
use crate::runtime::base::real::{pthread_create, pthread_join};

/// The parts of glibc that were found.
pub(super) struct Glibc {
    /// The size in bytes of a thread's TLS block, with room for libraries that are loaded later. It
    /// includes `struct pthread` if that lies above the thread pointer.
    pub(super) static_size: usize,
    /// Its alignment.
    pub(super) static_align: usize,
    /// The size of `struct pthread` in bytes.
    pub(super) sizeof_pthread: usize,
    /// Offsets in `struct pthread`.
    pub(super) tid: usize,
    pub(super) specific: usize,
    pub(super) list: usize,
    /// The offset from the thread pointer of the rseq area that is registered with the kernel; none
    /// before glibc 2.35.
    pub(super) rseq: Option<isize>,
    /// The place of the resolver's state, if it is known. Otherwise all goroutines share the
    /// program's state.
    pub(super) resolver: Option<Resolver>,
    /// The offset from the thread pointer of the word that is null if `dlopen` and the like have
    /// left no error; none if it isn't known.
    pub(super) dl_error: Option<isize>,
    /// Makes the TLS block of a thread, in memory that it is given. Returns null if there is no
    /// memory.
    pub(super) allocate_tls: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    /// Frees what `allocate_tls` has allocated, except the memory that it was given.
    pub(super) deallocate_tls: unsafe extern "C" fn(*mut c_void, bool),
    /// Runs the destructors of this thread's thread-locals.
    pub(super) call_tls_dtors: unsafe extern "C" fn(),
    /// The keys of `pthread_key_create`.
    pub(super) keys: *const Key,
    /// The program and the libraries whose whole TLS is in the block.
    pub(super) modules: Vec<Module>,
    /// How many times libraries with TLS had been loaded or unloaded when this looked at them; none
    /// unless the block contains the TLS of all of them. A thread whose vector of modules has the
    /// same number has no TLS elsewhere.
    pub(super) generation: Option<usize>,
}

// SAFETY: the pointers point to glibc's own data, which is there as long as the process.
unsafe impl Sync for Glibc {}
// SAFETY: the pointers point to glibc's own data, which is there as long as the process.
unsafe impl Send for Glibc {}

/// A key of `pthread_key_create`: glibc's `struct pthread_key_struct`.
#[repr(C)]
pub(super) struct Key {
    pub(super) seq: usize,
    pub(super) destructor: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// The resolver's state for each thread: `res_state`.
#[derive(Clone, Copy)]
pub(super) struct Resolver {
    /// The offset from the thread pointer of the word that points to the state.
    pub(super) pointer: isize,
    /// The state's offset in `struct pthread`.
    pub(super) offset: usize,
    /// Closes the state's connections, and forgets the contents of `/etc/resolv.conf`.
    pub(super) close: unsafe extern "C" fn(*mut ResState),
}

/// The beginning of the state, as in `resolv.h`.
#[repr(C)]
pub(super) struct ResState {
    retrans: c_int,
    retry: c_int,
    pub(super) options: c_ulong,
    /// 0 if it was never used.
    pub(super) nscount: c_int,
}

/// The largest size of the state.
const RES_STATE_SIZE: usize = 600;

impl Resolver {
    /// Finds the place of a thread's state. Looks on a thread made for this, because the first
    /// thread's state is elsewhere.
    ///
    /// The caller may be the constructor of a library, so the dynamic linker's lock may be held.
    /// The thread calls nothing that takes that lock: neither `dlsym`, nor what std's threads call.
    fn find(sizeof_pthread: usize) -> Option<Resolver> {
        /// Reads the word at this offset from the thread pointer.
        extern "C" fn look(offset: *mut c_void) -> *mut c_void {
            let word = thread_pointer().wrapping_add_signed(offset.addr() as isize);
            // SAFETY: this thread's word: the pointer to its state.
            unsafe { ptr::with_exposed_provenance::<*mut c_void>(word).read() }
        }

        let close = symbol(c"__res_nclose").ok()?;
        let pointer = from_thread_pointer(symbol(c"__resp").ok()?);
        let mut thread = MaybeUninit::uninit();
        let mut state = ptr::null_mut();
        // SAFETY: the function may be called on another thread. If there is a thread, `thread` is
        // initialised, and the thread is joined once.
        let thread = unsafe {
            let offset = ptr::without_provenance_mut(pointer as usize);
            if pthread_create(thread.as_mut_ptr(), ptr::null(), look, offset) != 0 {
                return None;
            }
            let thread = thread.assume_init();
            pthread_join(thread, &mut state);
            thread
        };
        // A thread's number is the address of its `struct pthread`.
        let offset = state.addr().checked_sub(thread as usize)?;
        // SAFETY: the type that resolv.h gives it.
        let close = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut ResState)>(close) };
        (offset + RES_STATE_SIZE <= sizeof_pthread).then_some(Resolver { pointer, offset, close })
    }
}

/// The maximum number of keys, and the number of keys' values in one block.
pub(super) const KEYS: usize = 1024;
pub(super) const KEYS_IN_BLOCK: usize = 32;

/// A thread's value of a key: glibc's `struct pthread_key_data`.
#[repr(C)]
pub(super) struct KeyData {
    pub(super) seq: usize,
    pub(super) data: *mut c_void,
}

/// A program or library with TLS.
#[derive(Debug)]
pub(super) struct Module {
    /// The offset from the thread pointer of its TLS.
    pub(super) offset: isize,
    /// The first bytes of its TLS in a new thread; zeros follow. A copy, as the module may be
    /// unloaded.
    pub(super) image: Box<[u8]>,
    pub(super) size: usize,
    /// Whether it is the C library itself.
    pub(super) is_libc: bool,
}

/// The maximum size of a block: half of the largest room.
const MOST: usize = 256 << 20;

impl Glibc {
    /// Looks everything up.
    pub(super) fn find() -> Result<Glibc, String> {
        let (mut static_size, mut static_align) = (0, 0);
        // SAFETY: the types are those of glibc's sources, since 2.34 at least.
        unsafe {
            let info: unsafe extern "C" fn(*mut usize, *mut usize) =
                std::mem::transmute(symbol(c"_dl_get_tls_static_info")?);
            info(&mut static_size, &mut static_align);
            let glibc = Glibc {
                static_size,
                static_align: static_align.max(64),
                sizeof_pthread: *symbol(c"_thread_db_sizeof_pthread")?.cast::<u32>() as usize,
                tid: field(c"_thread_db_pthread_tid")?,
                specific: field(c"_thread_db_pthread_specific")?,
                list: field(c"_thread_db_pthread_list")?,
                rseq: symbol(c"__rseq_offset").ok().map(|offset| *offset.cast::<isize>()),
                allocate_tls: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut c_void) -> *mut c_void,
                >(symbol(c"_dl_allocate_tls")?),
                deallocate_tls: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void, bool)>(
                    symbol(c"_dl_deallocate_tls")?,
                ),
                call_tls_dtors: std::mem::transmute::<*mut c_void, unsafe extern "C" fn()>(symbol(
                    c"__call_tls_dtors",
                )?),
                keys: symbol(c"__pthread_keys")?.cast(),
                modules: Vec::new(),
                generation: None,
                resolver: None,
                dl_error: symbol(c"__libc_dlerror_result").ok().map(from_thread_pointer),
            };
            glibc.plausible().map(|glibc| Glibc { resolver: Resolver::find(glibc.sizeof_pthread), ..glibc })
        }
    }

    /// Notes which modules have TLS in a new block, and its generation.
    ///
    /// A new block's vector has the address of each module's TLS. `dl_iterate_phdr` doesn't: for a
    /// library that was loaded by `dlopen`, it gives null until the thread calls `__tls_get_addr`
    /// for the library. Code that finds its TLS at a fixed distance from the thread pointer never
    /// calls that.
    ///
    /// # Safety
    /// `tp` is the thread pointer of a new block that no thread has.
    pub(super) unsafe fn note_modules(&mut self, tp: usize) {
        /// The numbers of modules, and their images.
        type Found = Vec<(usize, Module)>;

        unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
            // SAFETY: the C library passes a description of a module, and the pointer that
            // dl_iterate_phdr was given below.
            let (info, found) = unsafe { (&*info, &mut *found.cast::<Found>()) };
            // SAFETY: the headers of the module, `dlpi_phnum` of them.
            let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
            for header in headers.iter().filter(|header| header.p_type == libc::PT_TLS) {
                let image = ptr::with_exposed_provenance(info.dlpi_addr as usize + header.p_vaddr as usize);
                // SAFETY: the name is a C string; the image is as long as the header says.
                let (name, image) = unsafe {
                    (
                        CStr::from_ptr(info.dlpi_name),
                        std::slice::from_raw_parts(image, header.p_filesz as usize),
                    )
                };
                let (image, size) = (image.into(), header.p_memsz as usize);
                let is_libc = name.to_string_lossy().contains("/libc.so");
                found.push((info.dlpi_tls_modid, Module { offset: 0, image, size, is_libc }));
            }
            0
        }
        let mut found = Found::new();
        // SAFETY: `each` has the type of such a function, and gets the vector.
        unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut found).cast()) };
        // SAFETY: the caller says that `tp` is the thread pointer of a new block.
        let at = |number| unsafe { self.tls_of_module(tp, number) };
        let all = found.len();
        self.modules = found
            .into_iter()
            .map(|(number, module)| Module { offset: at(number).wrapping_sub(tp) as isize, ..module })
            .filter(|module| {
                if TLS_BELOW {
                    -(self.static_size as isize) <= module.offset && module.offset < 0
                } else {
                    (0..self.static_size as isize).contains(&module.offset)
                }
            })
            .collect();
        // SAFETY: the caller says that `tp` is the thread pointer of a new block.
        self.generation = (self.modules.len() == all).then_some(unsafe { self.generation_of(tp) });
    }

    /// Fails if sizes or offsets aren't possible.
    fn plausible(self) -> Result<Glibc, String> {
        let Glibc { sizeof_pthread, tid, specific, list, .. } = self;
        // Between `tid` and `specific` are the list of robust mutexes, the fields for cancellation,
        // and the first block of the keys' values.
        let between = KEYS_IN_BLOCK * size_of::<KeyData>() + 40..KEYS_IN_BLOCK * size_of::<KeyData>() + 256;
        let in_order =
            list < tid && between.contains(&(specific.wrapping_sub(tid))) && specific + 256 < sizeof_pthread;
        if !in_order || !(1 << 10..1 << 14).contains(&sizeof_pthread) {
            return Err(format!(
                "struct pthread has {sizeof_pthread} bytes, and its fields are at {list}, {tid}, {specific}"
            ));
        }
        if self.size() > MOST {
            return Err(format!("they have {} bytes, and {MOST} are the limit", self.size()));
        }
        Ok(self)
    }
}

/// Returns the address of glibc's `name`.
fn symbol(name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if found.is_null() { Err(format!("this C library has no {}", name.to_string_lossy())) } else { Ok(found) }
}

/// Returns the offset of this thread's variable from its thread pointer. It is the same in every
/// thread.
fn from_thread_pointer(variable: *mut c_void) -> isize {
    variable.addr().wrapping_sub(thread_pointer()) as isize
}

/// Returns the offset of a field that glibc describes for debuggers. A description is the field's
/// size in bits, the number of elements, and the offset.
fn field(name: &CStr) -> Result<usize, String> {
    // SAFETY: such a description has three numbers of 32 bits.
    Ok(unsafe { (*symbol(name)?.cast::<[u32; 3]>())[2] } as usize)
}
