//! The report of a run of an exploration: its steps, and the goroutines that it has left behind.
//! The report contains nothing that differs in another run of the same schedule, such as goids and
//! addresses.

use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::runtime::data::runtime2::G;
use crate::runtime::explore::run::{Step, What};
use crate::runtime::g::callers::callers_of_still;
use crate::runtime::report::symbols::{Symbol, Symbols, Whose};
use crate::runtime::report::traceback::what_it_does;

/// The maximum number of frames shown of a goroutine.
const FRAMES: usize = 8;

/// Returns the steps of a run, a line for each: the number of the goroutine, its operation, and the
/// program's line. When the run's clock has advanced, a line gives the time since `begun`, when the
/// run began.
pub(crate) fn story(steps: &[Step], begun: i64) -> String {
    let mut symbols = Symbols::new();
    let mut out = String::new();
    let (mut at, mut number) = (begun, 0);
    for step in steps {
        if step.at != at {
            at = step.at;
            let _ = writeln!(
                out,
                "      the clock goes on to {:?}",
                Duration::from_nanos((at - begun).unsigned_abs())
            );
        }
        if step.number != number && step.number != 0 && number != 0 {
            out.push('\n');
        }
        number = step.number;
        let _ = match step.what {
            What::Does(what) => {
                let place = places(&mut symbols, &step.pcs).next().map(|(_, place)| place);
                writeln!(out, "{number:5} {what:12} {}", place.unwrap_or_default())
            }
            What::Waits(reason) => writeln!(out, "{number:5} waits: {}", reason.as_str()),
            What::Ends => writeln!(out, "{number:5} ends"),
            What::Fires => writeln!(out, "      a timer fires"),
        };
    }
    out
}

/// Returns what each of these goroutines waits for, and where. They never run again.
pub(crate) fn left_behind(left: &[(&'static G, u32)]) -> String {
    let mut symbols = Symbols::new();
    let mut out = String::new();
    for (gp, number) in left {
        let name = gp.ext.name.get();
        let name = if name.as_str().is_empty() { String::new() } else { format!(" {name:?}") };
        let does = what_it_does(gp, gp.atomicstatus.load(Ordering::Relaxed));
        let _ = writeln!(out, "goroutine {number}{name} [{does}]:");
        // SAFETY: it has left its stack, and never goes on.
        let pcs = unsafe { callers_of_still(gp) };
        for (function, place) in places(&mut symbols, pcs.as_slice()).take(FRAMES) {
            let _ = writeln!(out, "    {function}\n        {place}");
        }
        if let Some(location) = gp.ext.created_at.get() {
            let _ = writeln!(out, "    made at {}:{}", short(location.file()), location.line());
        }
    }
    out
}

/// Returns the functions of the program at these addresses, the innermost first, with their places.
fn places<'a>(symbols: &'a mut Symbols, pcs: &'a [usize]) -> impl Iterator<Item = (String, String)> + 'a {
    pcs.iter().flat_map(move |&pc| {
        let is_shown = |symbol: &&Symbol| symbol.whose() == Whose::Program && !symbol.file.is_empty();
        let shown = symbols.functions(pc).iter().filter(is_shown).filter(|symbol| !is_std(&symbol.file));
        let both =
            |symbol: &Symbol| (symbol.function.clone(), format!("{}:{}", short(&symbol.file), symbol.line));
        shown.map(both).collect::<Vec<_>>()
    })
}

/// Whether a file is a source of the standard library, whose functions call the program's closures.
/// The path is that of its compilation, or the toolchain's if the component `rust-src` is
/// installed.
fn is_std(file: &str) -> bool {
    file.starts_with("/rustc/") || file.contains("/lib/rustlib/src/rust/library/")
}

/// Returns the path relative to the directory that the program runs in.
fn short(path: &str) -> &str {
    let here = std::env::current_dir().ok();
    let relative = here.and_then(|here| path.strip_prefix(here.to_str()?)?.strip_prefix('/'));
    relative.or_else(|| path.strip_prefix("./")).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_std_are_known() {
        assert!(is_std("/rustc/59807616e1/library/core/src/ptr/mod.rs"));
        assert!(is_std("/toolchains/stable/lib/rustlib/src/rust/library/core/src/ptr/mod.rs"));
        assert!(!is_std("/home/somebody/library/src/lib.rs"));
    }
}
