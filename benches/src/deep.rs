//! A recursion that checks for stack before each frame, as compiled code does.

use gosched::morestack_check;

/// The bytes of a frame of [`deep`] in a release build, with its return address: as many as in Go.
pub const FRAME: usize = 160;

/// The bytes that a check before [`deep`] asks for: its frame, and the call.
pub const ROOM: usize = FRAME + 100;

/// Recurses `n` frames deep.
#[inline(never)]
pub fn deep(n: usize) -> usize {
    let mut pad = [0; 16];
    let place = &raw mut pad[n % 16];
    // SAFETY: `place` is an element of the array. Volatile, so that the compiler keeps the array.
    unsafe { place.write_volatile(n) };
    if n == 0 {
        return 0;
    }
    // SAFETY: as above.
    morestack_check!(ROOM, deep, n - 1) + unsafe { place.read_volatile() }
}
