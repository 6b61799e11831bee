//! Panics of goroutines: which it is, in front of std's message, and behind that of a sanitizer;
//! and Go's way with one that nobody takes.

use std::fmt::{self, Display, Formatter};
use std::panic::{set_hook, take_hook};
use std::{ptr, thread};

use crate::runtime::arch::sanitizer::before_death;
use crate::runtime::arch::systemstack;
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::this_m;
use crate::runtime::data::ext::ThrowType;
use crate::runtime::data::runtime2::G;
use crate::runtime::report::panic::{Shown, dopanic, startpanic};
use crate::runtime::report::traceback::Named;

/// Has a line printed in front of std's message of a panic: whose it is. A program that has set a
/// hook of its own gets what that prints, and nothing else.
pub(in crate::runtime) fn install_panic_hook() {
    // Nobody who panics may change the hook: the runtime is started by a destructor.
    if thread::panicking() {
        return;
    }
    let before = take_hook();
    // The hook is std's own now, whatever it was before.
    let std_hook = take_hook();
    if ptr::eq(&raw const *before, &raw const *std_hook) {
        set_hook(Box::new(move |info| {
            print_whose("panics:");
            std_hook(info);
        }));
    } else {
        set_hook(before);
    }
}

/// Has it said, behind an error that a sanitizer ends the process for, which goroutine ran on that
/// thread: a report of AddressSanitizer's knows threads alone.
pub(in crate::runtime) fn install_sanitizer_hook() {
    extern "C" fn print() {
        print_whose("ran on that thread");
    }
    before_death(print);
}

/// Says which goroutine runs here and what it does, if it is one: a thread of the program's that is
/// made one while it waits isn't.
fn print_whose(does: &str) {
    let mp = this_m().filter(|mp| !mp.isextra.get());
    if let Some(gp) = mp.and_then(|mp| mp.curg.get()) {
        systemstack(|| eprintln!("{}{does}", Whose(gp)));
    }
}

/// A goroutine, and where it was made.
pub(super) struct Whose<'a>(pub(super) &'a G);

impl Display for Whose<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Named(self.0))?;
        match self.0.ext.created_at.get() {
            Some(location) => {
                write!(f, ", created at {location} in goroutine {}, ", self.0.parent_goid.get())
            }
            None => f.write_str(" "),
        }
    }
}

/// Ends the process because `gp` has panicked, and nobody takes that. Go's `fatalpanic`.
#[cold]
pub(crate) fn fatalpanic(gp: &'static G) -> ! {
    systemstack(|| {
        startpanic(ThrowType::None);
        eprintln!("fatal error: {}panicked, and nobody joins it", Whose(gp));
        dopanic(ThrowType::None, Shown::All { first: None })
    })
}

/// Ends the process because the running goroutine has panicked in a language that is ported onto
/// this, and nobody recovers: prints `text` as it is, and the goroutine. Go's `fatalpanic`, after
/// its `printpanics`.
#[cold]
pub(crate) fn fatalpanic_of_port(text: &str) -> ! {
    systemstack(|| {
        startpanic(ThrowType::None);
        eprintln!("{text}");
        dopanic(ThrowType::None, Shown::Mine)
    })
}
