//! Printing who made a goroutine, and its ancestors, if they were kept (`g/callers.rs`): Go's
//! `printcreatedby`, `printcreatedby1` and `printAncestorTraceback`.

use std::fmt::{self, Write};
use std::panic::Location;

use crate::runtime::data::runtime2::G;
use crate::runtime::g::callers::{AncestorInfo, ancestors_of};
use crate::runtime::report::symbols::Symbols;

/// Where a goroutine comes from.
pub(super) struct Origin {
    gopc: usize,
    created_at: Option<&'static Location<'static>>,
    parent_goid: u64,
    ancestors: Vec<AncestorInfo>,
}

impl Origin {
    /// The origin of `gp`, which doesn't end meanwhile.
    pub(in crate::runtime) fn of(gp: &G) -> Origin {
        Origin { ancestors: ancestors_of(gp).to_vec(), ..Origin::without_ancestors(gp) }
    }

    /// The origin of `gp`, which may end at any time: its ancestors, which would be freed then,
    /// aren't read.
    pub(super) fn without_ancestors(gp: &G) -> Origin {
        Origin {
            gopc: gp.gopc.get(),
            created_at: gp.ext.created_at.get(),
            parent_goid: gp.parent_goid.get(),
            ancestors: Vec::new(),
        }
    }

    /// Prints who made the goroutine, and each ancestor.
    pub(super) fn print(&self, out: &mut impl Write, symbols: &mut Symbols) -> fmt::Result {
        self.printcreatedby(out, symbols)?;
        self.ancestors.iter().try_for_each(|ancestor| print_ancestor_traceback(out, symbols, ancestor))
    }

    /// Prints who made the goroutine. Go's `printcreatedby`.
    fn printcreatedby(&self, out: &mut impl Write, symbols: &mut Symbols) -> fmt::Result {
        printcreatedby1(
            out,
            symbols,
            self.created_at,
            self.gopc,
            format_args!(" in goroutine {}", self.parent_goid),
        )
    }
}

/// Prints who made a goroutine: the place in the source, or the function. Go's `printcreatedby1`.
fn printcreatedby1(
    out: &mut impl Write,
    symbols: &mut Symbols,
    created_at: Option<&Location<'_>>,
    gopc: usize,
    by: fmt::Arguments<'_>,
) -> fmt::Result {
    match (created_at, gopc) {
        (Some(location), _) => writeln!(out, "created at {location}{by}"),
        (None, 0) => Ok(()),
        (None, gopc) => {
            write!(out, "created by ")?;
            // In the call, which returns there.
            symbols.print_maker(out, gopc - 1, by)
        }
    }
}

/// Prints the frames that an ancestor had. Go's `printAncestorTraceback`.
fn print_ancestor_traceback(
    out: &mut impl Write,
    symbols: &mut Symbols,
    ancestor: &AncestorInfo,
) -> fmt::Result {
    writeln!(out, "[originating from goroutine {}]:", ancestor.goid)?;
    symbols.print(out, &ancestor.pcs)?;
    printcreatedby1(out, symbols, ancestor.created_at, ancestor.gopc, format_args!(""))
}
