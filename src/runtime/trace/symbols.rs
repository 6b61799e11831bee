//! What stands in a trace for a stack: for each frame a pc, a function, a file and a line.

use std::panic::Location;
use std::ptr;

use crate::runtime::report::symbols::{Symbols, Whose};
use crate::runtime::trace::stack_table::{Frame, LOCATION, MAX_FRAMES, Stack, stack};

/// A frame, as it is written.
pub(super) struct Place {
    /// A number that goes with the rest: the reader of a trace keeps what the first frame with it
    /// says.
    pub(super) pc: u64,
    pub(super) function: String,
    pub(super) file: String,
    pub(super) line: u64,
}

/// Finds the frames of stacks. What is known of an address is looked up once.
pub(super) struct Places(Symbols);

/// Calls that were inlined have the pc of the one that they are in. To be told apart they have
/// this, and more, in addition.
const INLINED: u64 = 1 << 56;

/// In what stands for a goroutine's beginning, in place of a pc, beside the number of that stack.
const BEGINNING: u64 = 1 << 63;

impl Places {
    pub(super) fn new() -> Places {
        Places(Symbols::new())
    }

    /// The frames of the stack with this number, the innermost first.
    pub(super) fn frames(&mut self, id: u32) -> Vec<Place> {
        let frames = stack(id).map_or(Vec::new(), |stack| look_up(&mut self.0, stack, id));
        // A trace may take long, and its program may load other libraries in place of those.
        self.0.let_libraries_go();
        frames
    }
}

fn look_up(symbols: &mut Symbols, stack: &Stack, id: u32) -> Vec<Place> {
    match stack.frames() {
        [frame] if frame.slot == LOCATION || !stack.name.as_str().is_empty() => {
            vec![beginning(symbols, stack, frame, id)]
        }
        // A goroutine begins at the first instruction of its function; a return address is behind
        // the call.
        [frame] => places(symbols, &[frame.pc]),
        frames => places(symbols, &frames.iter().map(|frame| frame.pc - 1).collect::<Vec<_>>()),
    }
}

/// What stands for the function of a goroutine that has a name, or that the safe layer has made.
fn beginning(symbols: &mut Symbols, stack: &Stack, frame: &Frame, id: u32) -> Place {
    let (file, line) = if frame.slot == LOCATION {
        // SAFETY: `start_of` has got this address from a `&'static Location`.
        let place = unsafe { &*ptr::with_exposed_provenance::<Location<'static>>(frame.pc) };
        (place.file().to_owned(), place.line())
    } else {
        symbols.functions(frame.pc).last().map_or((String::new(), 0), |at| (at.file.clone(), at.line))
    };
    let function = match stack.name.as_str() {
        "" => format!("go at {file}:{line}"),
        name => name.to_owned(),
    };
    Place { pc: BEGINNING | u64::from(id), function, file, line: line.into() }
}

/// The frames at these pcs, without those of the runtime at both ends, unless there are no others.
fn places(symbols: &mut Symbols, pcs: &[usize]) -> Vec<Place> {
    let mut all = Vec::new();
    for &pc in pcs {
        for (depth, symbol) in symbols.functions(pc).iter().enumerate() {
            let function =
                if symbol.function.is_empty() { format!("{pc:#x}") } else { symbol.function.clone() };
            let number = pc as u64 + depth as u64 * INLINED;
            let place = Place { pc: number, function, file: symbol.file.clone(), line: symbol.line.into() };
            all.push((symbol.whose(), place));
        }
    }
    let is_shown = |(whose, _): &(Whose, Place)| *whose != Whose::Runtime;
    let (first, last) = (all.iter().position(is_shown), all.iter().rposition(is_shown));
    let shown = first.zip(last).map_or(0..all.len(), |(first, last)| first..last + 1);
    all.drain(shown).map(|(_, place)| place).take(MAX_FRAMES).collect()
}
