//! `libgosched_preload.so`: with this library in `LD_PRELOAD`, the threads of a program that nobody
//! rebuilds are goroutines of gosched. The command `gosched-run` sets `LD_PRELOAD`.
//!
//! The crate gosched defines the C library's functions that make threads and that wait, and the
//! dynamic linker binds the program's references to them. Until the program's `main` begins, they
//! call the C library's own functions. So a thread that a constructor makes is a thread.
//!
//! `main` runs on the program's first thread, as without this library, and isn't a goroutine. The
//! scheduler starts when the program makes its first thread. So a process that forks before, as
//! daemons do, forks a process without other threads, and the child's threads are goroutines.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `lib.rs` | what runs before `main` |
//! | `settings.rs` | the environment |
//! | `program.rs` | what the program is, and why its threads can't be goroutines |
//! | `notes.rs` | by what a program of Go's is known |
//! | `report.rs` | the report at exit |

mod notes;
mod program;
mod report;
mod settings;

use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::settings::Settings;

/// The type of the program's `main`.
type Main = unsafe extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// The program's `main`. Written before the C library calls [`begin`].
static MAIN: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// The C library's function that calls the constructors of the program, and then `main`.
///
/// # Safety
/// Called by the program's first instructions, with the arguments that the C library expects.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __libc_start_main(
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: *mut c_void,
    fini: *mut c_void,
    rtld_fini: *mut c_void,
    stack_end: *mut c_void,
) -> c_int {
    type StartMain = unsafe extern "C" fn(
        Main,
        c_int,
        *mut *mut c_char,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_void,
    ) -> c_int;

    MAIN.store(main as *mut c_void, Ordering::Relaxed);
    // SAFETY: the C library's function has this type in all versions. The arguments are as the
    // caller says, except `main`, for which `begin` stands.
    unsafe {
        let real = libc::dlsym(libc::RTLD_NEXT, c"__libc_start_main".as_ptr());
        if real.is_null() {
            libc::abort();
        }
        transmute::<*mut c_void, StartMain>(real)(begin, argc, argv, init, fini, rtld_fini, stack_end)
    }
}

unsafe extern "C" {
    /// The environment, as POSIX has it.
    static mut environ: *mut *mut c_char;
}

/// Stands for the program's `main`. `pthread_exit` in `main` unwinds through this frame, so nothing
/// here has a destructor.
///
/// # Safety
/// Called by the C library as `main`.
unsafe extern "C-unwind" fn begin(argc: c_int, argv: *mut *mut c_char, _: *mut *mut c_char) -> c_int {
    prepare();
    // SAFETY: __libc_start_main has stored a function of this type, and the arguments are those of
    // `main`. `prepare` may have moved the environment.
    unsafe { transmute::<*mut c_void, Main>(MAIN.load(Ordering::Relaxed))(argc, argv, environ) }
}

/// Makes the threads of this program goroutines from now on, unless the environment says otherwise
/// or the program is one that can't have such threads.
fn prepare() {
    let settings = Settings::read();
    if !settings.children {
        settings::leave_children();
    }
    let names = program::names();
    if settings.off || settings.leaves_any(&names) {
        return;
    }
    if let Some(why) = program::unsuitable() {
        eprintln!("gosched-preload: the threads of {} are threads: {why}", names[0]);
        return;
    }
    if let Some(size) = settings.stack_size {
        set_default_stack_size(size);
    }
    // A program in which all threads wait may be one that another process ends.
    gosched::set_deadlock_mode(gosched::DeadlockMode::Off);
    if let Err(error) = gosched::make_threads_goroutines() {
        eprintln!("gosched-preload: the threads of {} are threads: {error}", names[0]);
        return;
    }
    if settings.report {
        report::at_exit();
    }
}

/// Sets the size of the stacks of threads whose maker says nothing.
fn set_default_stack_size(size: usize) {
    unsafe extern "C" {
        /// glibc's, in `pthread.h`.
        fn pthread_setattr_default_np(attr: *const libc::pthread_attr_t) -> c_int;
    }
    // SAFETY: the attributes are initialised before they are read.
    let result = unsafe {
        let mut attributes = std::mem::zeroed::<libc::pthread_attr_t>();
        let result = match libc::pthread_attr_init(&mut attributes) {
            0 => libc::pthread_attr_setstacksize(&mut attributes, size),
            error => error,
        };
        if result == 0 { pthread_setattr_default_np(&attributes) } else { result }
    };
    if result != 0 {
        let error = std::io::Error::from_raw_os_error(result);
        eprintln!("gosched-preload: {}: {error}", settings::STACK_SIZE);
    }
}
