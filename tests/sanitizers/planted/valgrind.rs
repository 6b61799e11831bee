//! Programs for valgrind's memcheck, for users without a sanitizer.

programs! {
    uninitialised uninitialised_and_sent beyond_the_end freed_by_another freed_twice left_by_the_dead
}

/// A goroutine branches on a value that nobody has written.
mod uninitialised {
    use std::hint::black_box;
    use std::mem::MaybeUninit;

    use gosched::go;

    use crate::report::Report;

    pub const REPORT: Report = Report::new("depends on uninitialised value", &["decides"]);

    #[inline(never)]
    fn decides(number: &MaybeUninit<u64>) {
        // SAFETY: in `right` it was written. `bug` breaks this: that is the bug.
        if black_box(unsafe { number.assume_init_read() }) == 7 {
            black_box(());
        }
    }

    pub fn bug() {
        let number = Box::new_uninit();
        go(move || decides(&number)).join().unwrap();
    }

    pub fn right() {
        let mut number = Box::new_uninit();
        number.write(8);
        go(move || decides(&number)).join().unwrap();
    }
}

/// A value that nobody has written goes through a channel, from stack to stack.
mod uninitialised_and_sent {
    use std::hint::black_box;
    use std::mem::MaybeUninit;

    use gosched::chan::bounded;
    use gosched::go;

    use crate::report::Report;

    pub const REPORT: Report = Report::new("depends on uninitialised value", &["decides"]);

    #[inline(never)]
    fn decides(number: MaybeUninit<u64>) {
        // SAFETY: in `right` it was written. `bug` breaks this: that is the bug.
        if black_box(unsafe { number.assume_init() }) == 7 {
            black_box(());
        }
    }

    fn send(number: MaybeUninit<u64>) {
        let (tx, rx) = bounded(0);
        let receiver = go(move || decides(rx.recv().unwrap()));
        tx.send(number).unwrap();
        receiver.join().unwrap();
    }

    pub fn bug() {
        // From the heap: on the stack, the compiler would take whatever a register has.
        send(*Box::new_uninit());
    }

    pub fn right() {
        send(*Box::new(MaybeUninit::new(8)));
    }
}

/// A goroutine fills a buffer, and one byte more.
mod beyond_the_end {
    use gosched::{go, yield_now};

    use crate::report::Report;

    pub const REPORT: Report = Report::new("Invalid write of size 1", &["fills"]);

    #[inline(never)]
    fn fills(buffer: &mut [u8], length: usize) {
        let start = buffer.as_mut_ptr();
        for i in 0..length {
            // SAFETY: in `right` the buffer is as long. `bug` breaks this: that is the bug.
            unsafe { start.add(i).write_volatile(1) };
            yield_now();
        }
    }

    fn fill(length: usize) {
        let mut buffer = vec![0; 24];
        let filled = go(move || {
            fills(&mut buffer, length);
            buffer
        });
        assert_eq!(filled.join().unwrap(), [1; 24]);
    }

    pub fn bug() {
        fill(25);
    }

    pub fn right() {
        fill(24);
    }
}

/// AddressSanitizer's, which valgrind reports under another name.
mod freed_by_another {
    use crate::report::Report;

    pub use crate::address::heap::freed_by_another::{bug, right};

    pub const REPORT: Report = Report::new("Invalid read of size 8", &["reads", "frees"]);
}

/// The same for this one.
mod freed_twice {
    use crate::report::Report;

    pub use crate::address::heap::freed_twice::{bug, right};

    pub const REPORT: Report = Report::new("Invalid free()", &["frees", "frees_again"]);
}

/// A goroutine keeps a pointer into another one's thread-local, which was freed at that goroutine's
/// end.
mod left_by_the_dead {
    use std::cell::RefCell;

    use gosched::chan::bounded;
    use gosched::go;

    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::new("Invalid read of size 8", &["reads", "drops_the_list"]);

    /// A goroutine's own.
    struct List(Vec<u64>);

    impl Drop for List {
        fn drop(&mut self) {
            drops_the_list(&mut self.0);
        }
    }

    #[inline(never)]
    fn drops_the_list(list: &mut Vec<u64>) {
        drop(std::mem::take(list));
    }

    thread_local!(static OWN: RefCell<List> = const { RefCell::new(List(Vec::new())) });

    fn first_of_own() -> Alias<u64> {
        OWN.with_borrow_mut(|list| {
            list.0.push(7);
            Alias::new(list.0.as_mut_ptr())
        })
    }

    #[inline(never)]
    fn reads(number: Alias<u64>) {
        // SAFETY: in `right` the goroutine that owns it lives on. `bug` breaks this: that is the
        // bug.
        unsafe { number.get().read_volatile() };
    }

    pub fn bug() {
        reads(go(first_of_own).join().unwrap());
    }

    pub fn right() {
        let (tx, rx) = bounded(0);
        let (end, ended) = bounded::<()>(0);
        let owner = go(move || {
            tx.send(first_of_own()).unwrap();
            ended.recv().unwrap_err();
        });
        reads(rx.recv().unwrap());
        drop(end);
        owner.join().unwrap();
    }
}
