//! What C programs see of notes.

/// An event that happens once, and that one goroutine sleeps on: Go's `note`. It begins as all zeros, `{0}`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Note {
    /// The library's.
    pub key: u64,
}

unsafe extern "C" {
    /// Makes a note ready to be slept on again. Go's `noteclear`, in `lock_futex.go`.
    ///
    /// # Safety
    /// It can be called anywhere. Nobody sleeps on the note, and nobody is about to wake it.
    pub fn gosched_noteclear(n: *mut Note);

    /// Wakes who sleeps on the note, or lets a sleep to come return at once. A second time, without
    /// `gosched_noteclear` in between, ends the process. Go's `notewakeup`, in `lock_futex.go`.
    ///
    /// It takes little stack and doesn't look how much there is, as it may be a signal's. The handler
    /// doesn't look either: `__attribute__((no_split_stack))`.
    ///
    /// # Safety
    /// It can be called anywhere, in a signal handler too. `n` is a note that isn't on a copying stack.
    pub fn gosched_notewakeup(n: *mut Note);

    /// Sleeps on a note until it is woken, or, unless `ns` is negative, for so many nanoseconds;
    /// returns whether it was woken. The goroutine's thread sleeps, and others get its processor: it is
    /// for a wakeup from where nothing can be made ready, such as a signal handler. Go's
    /// `notetsleepg`, in `lock_futex.go`.
    ///
    /// # Safety
    /// On a goroutine, one at a time for each note, which isn't on a copying stack.
    pub fn gosched_notetsleepg(n: *mut Note, ns: i64) -> bool;
}
