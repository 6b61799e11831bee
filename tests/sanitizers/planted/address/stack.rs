//! Bugs with the stacks of goroutines.

programs! {
    beyond_an_array after_the_return after_the_scope of_a_dead_goroutine
}

/// An array on a goroutine's stack is filled, and one byte more.
mod beyond_an_array {
    use std::hint::black_box;

    use gosched::go;

    use crate::report::Report;

    pub const REPORT: Report = Report::new("stack-buffer-overflow", &["fills"]).made_in(file!());

    #[inline(never)]
    fn fills(length: usize) {
        let mut array = [0_u8; 24];
        let start = black_box(&mut array).as_mut_ptr();
        for i in 0..length {
            // SAFETY: in `right` the array is as long. `bug` breaks this: that is the bug.
            unsafe { start.add(i).write_volatile(1) };
        }
        assert_eq!(array, [1; 24]);
    }

    pub fn bug() {
        go(|| fills(25)).join().unwrap();
    }

    pub fn right() {
        go(|| fills(24)).join().unwrap();
    }
}

/// A function returns a pointer to its local.
mod after_the_return {
    use std::hint::black_box;

    use gosched::go;

    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report =
        Report::new("stack-use-after-return", &["reads", "has_a_local"]).made_in(file!());

    #[inline(never)]
    fn reads(number: Alias<u64>) {
        // SAFETY: in `right` the local is there. `bug` breaks this: that is the bug.
        assert_eq!(unsafe { number.get().read_volatile() }, 7);
    }

    #[inline(never)]
    fn has_a_local<T>(then: impl FnOnce(Alias<u64>) -> T) -> T {
        let mut local = 7;
        then(Alias::new(black_box(&raw mut local)))
    }

    pub fn bug() {
        go(|| reads(has_a_local(|local| local))).join().unwrap();
    }

    pub fn right() {
        go(|| has_a_local(reads)).join().unwrap();
    }
}

/// A local is read when its scope has ended, in the same function.
mod after_the_scope {
    use std::hint::black_box;

    use gosched::go;

    use crate::report::Report;

    pub const REPORT: Report = Report::new("stack-use-after-scope", &["reads_later"]).made_in(file!());

    #[inline(never)]
    fn reads_later() {
        let kept = {
            let mut local = 7;
            black_box(&raw mut local)
        };
        // SAFETY: not kept: that is the bug.
        assert_eq!(unsafe { kept.read_volatile() }, 7);
    }

    #[inline(never)]
    fn reads_at_once() {
        let mut local = 7;
        let kept = black_box(&raw mut local);
        // SAFETY: the local is there.
        assert_eq!(unsafe { kept.read_volatile() }, 7);
    }

    pub fn bug() {
        go(reads_later).join().unwrap();
    }

    pub fn right() {
        go(reads_at_once).join().unwrap();
    }
}

/// A goroutine passes the address of an array on its stack to another, and ends. The array is too
/// large for the sanitizer to put it elsewhere.
mod of_a_dead_goroutine {
    use std::hint::black_box;
    use std::time::Duration;

    use gosched::chan::{Receiver, Sender, bounded};
    use gosched::go;
    use gosched::time::sleep;

    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::new("use-after-poison", &["reads"]);

    const LARGE: usize = 100 << 10;

    #[inline(never)]
    fn reads(array: Alias<[u8; LARGE]>) {
        // SAFETY: `right` ends its goroutine later. `bug` breaks this: that is the bug.
        assert_eq!(unsafe { array.get().cast::<u8>().read_volatile() }, 7);
    }

    /// The goroutine's function: the array lives until the other channel is closed.
    #[inline(never)]
    fn lends_an_array(out: Sender<Alias<[u8; LARGE]>>, end: Receiver<()>) {
        let mut array = [7; LARGE];
        out.send(Alias::new(black_box(&raw mut array))).unwrap();
        end.recv().unwrap_err();
    }

    pub fn bug() {
        let (tx, rx) = bounded(1);
        let (end, ended) = bounded(0);
        let lender = go(move || lends_an_array(tx, ended));
        let array = rx.recv().unwrap();
        drop(end);
        lender.join().unwrap();
        // With two P's the goroutine is joined a moment before it is off its stack.
        sleep(Duration::from_millis(10));
        reads(array);
    }

    pub fn right() {
        let (tx, rx) = bounded(1);
        let (end, ended) = bounded(0);
        let lender = go(move || lends_an_array(tx, ended));
        let array = rx.recv().unwrap();
        reads(array);
        drop(end);
        lender.join().unwrap();
    }
}
