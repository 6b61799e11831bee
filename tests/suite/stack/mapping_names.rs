//! The names of the runtime's mappings in `/proc/self/maps`.

use std::ffi::c_void;
use std::fs;
use std::ptr;

use gosched::chan::bounded;
use gosched::proc;
use gosched::sync::WaitGroup;
use gosched::{go, morestack_check, run};

use crate::harness::{Test, tests};

tests! {
    mappings_say_what_they_are_for
}

/// Whether this kernel has names of mappings.
fn has_names() -> bool {
    let (size, access) = (1 << 16, libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: a new mapping, which is only named.
    unsafe {
        let page = libc::mmap(ptr::null_mut(), size, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        libc::prctl(libc::PR_SET_VMA, libc::PR_SET_VMA_ANON_NAME, page, size, c"test".as_ptr()) == 0
    }
}

fn mappings_say_what_they_are_for(test: Test) {
    static GROWN: WaitGroup = WaitGroup::new();

    fn deeper(depth: usize) -> usize {
        if depth == 0 {
            GROWN.done();
            return 0;
        }
        morestack_check!(4_000, deeper, depth - 1) + 1
    }

    unsafe extern "C" fn body(_: *mut c_void) {
        deeper(50);
    }

    if !has_names() {
        return test.skip("this kernel has no names of mappings (CONFIG_ANON_VMA_NAME)");
    }
    let process = test.process(|| {
        run(|| {
            let (tx, rx) = bounded(1);
            go(move || tx.send(1).unwrap());
            rx.recv().unwrap();
            GROWN.add(1);
            // SAFETY: the function checks its stack, and doesn't panic.
            unsafe { proc::newproc(Some(body), ptr::null_mut()) };
            GROWN.wait();
            let maps = fs::read_to_string("/proc/self/maps").unwrap();
            for what in ["stacks", "grown stacks", "channels", "signal stacks"] {
                let name = format!("[anon:gosched: {what}]");
                assert!(maps.lines().any(|line| line.ends_with(&name)), "no {name} in\n{maps}");
            }
        });
    });
    process.end().with("exit status: 0");
}
