//! Bugs with memory of the heap that goroutines share.

programs! {
    freed_by_another freed_twice beyond_the_end sent_and_dropped freed_by_a_timer
}

/// A goroutine reads memory that another one has freed.
pub mod freed_by_another {
    use gosched::go;

    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::new("heap-use-after-free", &["reads", "frees"]).made_in(file!());

    #[inline(never)]
    fn reads(number: Alias<u64>) {
        // SAFETY: `right` frees it later. `bug` breaks this: that is the bug.
        assert_eq!(unsafe { number.get().read_volatile() }, 7);
    }

    #[inline(never)]
    fn frees(number: Alias<u64>) {
        // SAFETY: it is a box, and is freed once. That no other goroutine uses it isn't kept in
        // `bug`.
        drop(unsafe { Box::from_raw(number.get()) });
    }

    pub fn bug() {
        let number = Alias::boxed(7);
        go(move || frees(number)).join().unwrap();
        go(move || reads(number)).join().unwrap();
    }

    pub fn right() {
        let number = Alias::boxed(7);
        go(move || reads(number)).join().unwrap();
        go(move || frees(number)).join().unwrap();
    }
}

/// Two goroutines free the same box.
pub mod freed_twice {
    use gosched::go;

    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report =
        Report::new("attempting double-free", &["frees", "frees_again"]).made_in(file!());

    #[inline(never)]
    fn frees(number: Alias<u64>) {
        // SAFETY: it is a box that nobody has freed yet.
        drop(unsafe { Box::from_raw(number.get()) });
    }

    #[inline(never)]
    fn frees_again(number: Alias<u64>) {
        // SAFETY: `right` has two boxes. `bug` breaks this: that is the bug.
        drop(unsafe { Box::from_raw(number.get()) });
    }

    pub fn bug() {
        let number = Alias::boxed(7);
        go(move || frees(number)).join().unwrap();
        go(move || frees_again(number)).join().unwrap();
    }

    pub fn right() {
        let (number, other) = (Alias::boxed(7), Alias::boxed(8));
        go(move || frees(number)).join().unwrap();
        go(move || frees_again(other)).join().unwrap();
    }
}

/// A goroutine fills another's buffer, and one byte more.
mod beyond_the_end {
    use gosched::go;

    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::new("heap-buffer-overflow", &["fills"]).made_in(file!());

    #[inline(never)]
    fn fills(buffer: Alias<u8>, length: usize) {
        for i in 0..length {
            // SAFETY: in `right` the buffer is as long. `bug` breaks this: that is the bug.
            unsafe { buffer.get().add(i).write_volatile(1) };
        }
    }

    fn fill(length: usize) {
        let mut buffer = vec![0; 24];
        let start = Alias::new(buffer.as_mut_ptr());
        go(move || fills(start, length)).join().unwrap();
        assert_eq!(buffer, [1; 24]);
    }

    pub fn bug() {
        fill(25);
    }

    pub fn right() {
        fill(24);
    }
}

/// The sender reads a value through a pointer that it has kept, after the receiver has dropped the
/// value.
mod sent_and_dropped {
    use gosched::chan::{Receiver, bounded};
    use gosched::go;

    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::new("heap-use-after-free", &["reads", "receives_and_drops"]);

    #[inline(never)]
    fn reads(number: Alias<u64>) {
        // SAFETY: `right` reads before it sends. `bug` breaks this: that is the bug.
        assert_eq!(unsafe { number.get().read_volatile() }, 7);
    }

    #[inline(never)]
    fn receives_and_drops(numbers: Receiver<Box<u64>>) {
        drop(numbers.recv().unwrap());
    }

    pub fn bug() {
        let (tx, rx) = bounded(0);
        let receiver = go(move || receives_and_drops(rx));
        let mut number = Box::new(7);
        let kept = Alias::new(&raw mut *number);
        tx.send(number).unwrap();
        receiver.join().unwrap();
        reads(kept);
    }

    pub fn right() {
        let (tx, rx) = bounded(0);
        let receiver = go(move || receives_and_drops(rx));
        let mut number = Box::new(7);
        reads(Alias::new(&raw mut *number));
        tx.send(number).unwrap();
        receiver.join().unwrap();
    }
}

/// A timer's function frees memory that its maker goes on to read.
mod freed_by_a_timer {
    use std::time::Duration;

    use gosched::chan::bounded;
    use gosched::time::Timer;

    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::new("heap-use-after-free", &["reads", "frees"]);

    #[inline(never)]
    fn reads(number: Alias<u64>) {
        // SAFETY: `right` has no timer yet. That it isn't freed isn't kept in `bug`: that is the
        // bug.
        assert_eq!(unsafe { number.get().read_volatile() }, 7);
    }

    #[inline(never)]
    fn frees(number: Alias<u64>) {
        // SAFETY: it is a box, and the timer calls once. That nobody uses it any more isn't kept in
        // `bug`.
        drop(unsafe { Box::from_raw(number.get()) });
    }

    fn free_by_a_timer(number: Alias<u64>) {
        let (tx, rx) = bounded(1);
        let free = move || {
            frees(number);
            tx.send(()).unwrap();
        };
        let _timer = Timer::after_func(Duration::from_millis(1), free);
        rx.recv().unwrap();
    }

    pub fn bug() {
        let number = Alias::boxed(7);
        free_by_a_timer(number);
        reads(number);
    }

    pub fn right() {
        let number = Alias::boxed(7);
        reads(number);
        free_by_a_timer(number);
    }
}
