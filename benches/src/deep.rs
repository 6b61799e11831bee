//! A recursion that checks for stack before each frame, as compiled code does.

use gosched::morestack_check;

/// What a frame of [`deep`] takes in a release build, with its return address: as much as in Go.
pub const FRAME: usize = 160;

/// What a check before [`deep`] asks for: its frame, and the call.
pub const ROOM: usize = FRAME + 100;

/// Recurses `n` frames deep.
#[inline(never)]
pub fn deep(n: usize) -> usize {
    let mut pad = [0; 16];
    let place = &raw mut pad[n % 16];
    // SAFETY: a word of the array. Volatile, so that there is an array.
    unsafe { place.write_volatile(n) };
    if n == 0 {
        return 0;
    }
    // SAFETY: likewise.
    morestack_check!(ROOM, deep, n - 1) + unsafe { place.read_volatile() }
}
