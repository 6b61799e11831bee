//! The notes of an ELF file, by which a program of Go's is known. The library and the command each
//! include this file.

/// Whether these notes contain one of Go's. A note has the sizes of its name and its contents, a
/// type, and then both, each filled up to a multiple of 4.
pub(crate) fn is_of_go(mut notes: &[u8]) -> bool {
    while let Some((head, rest)) = notes.split_at_checked(12) {
        let size =
            |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
        let name = size(0);
        if rest.get(..name) == Some(b"Go\0\0") {
            return true;
        }
        let after = name.next_multiple_of(4).saturating_add(size(4).next_multiple_of(4));
        let Some(next) = rest.get(after..) else { return false };
        notes = next;
    }
    false
}
