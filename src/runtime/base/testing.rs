//! Functions that the unit tests share.

use std::alloc::{Layout, alloc_zeroed};
use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;

/// Returns a new `T` of zeros, as the runtime makes its structs.
pub(in crate::runtime) fn zeroed<T>() -> &'static T {
    // SAFETY: all zero is a valid value of the runtime's structs, which this is used for, and it is
    // leaked.
    unsafe { alloc_zeroed(Layout::new::<T>()).cast::<T>().as_ref() }.expect("memory")
}

/// Returns the text that `f`, which ends the process with status 2, writes to stderr. `f` runs in a
/// forked child, which has one thread.
pub(in crate::runtime) fn dies<R>(f: impl FnOnce() -> R) -> String {
    let (mut ends, mut status, mut report) = ([0; 2], 0, String::new());
    // SAFETY: the child only calls `f`. The report takes only locks that fork keeps in order
    // (malloc's), or gives up. The pipe's ends are ours.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let pid = libc::fork();
        if pid == 0 {
            libc::dup2(ends[1], libc::STDERR_FILENO);
            f();
            libc::_exit(0);
        }
        libc::close(ends[1]);
        File::from_raw_fd(ends[0]).read_to_string(&mut report).expect("text");
        assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
    }
    assert_eq!((libc::WIFEXITED(status), libc::WEXITSTATUS(status)), (true, 2), "after {report:?}");
    report
}
