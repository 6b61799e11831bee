//! Who made a goroutine, and with `GODEBUG=tracebackancestors=N` its ancestors: who made that one, and so on.

use std::fmt::{self, Write};
use std::panic::Location;
use std::ptr;

use crate::arch::systemstack;
use crate::debug::traceback_ancestors;
use crate::runtime2::G;
use crate::traceback::callers::{gcallers, left_at};
use crate::traceback::symbols::Symbols;

/// What is kept of an ancestor. Go's `ancestorInfo`.
#[derive(Clone)]
struct AncestorInfo {
    pcs: Vec<usize>,
    goid: u64,
    gopc: usize,
    created_at: Option<&'static Location<'static>>,
}

/// Keeps the ancestors of `newg`, if the setting asks for them: its maker and the maker's own. They replace
/// those of the goroutine that the G was before. Go's `saveAncestors`.
#[inline(always)]
pub(crate) fn save_ancestors(callergp: Option<&'static G>, newg: &G) {
    if traceback_ancestors() > 0 {
        keep(callergp, newg);
    }
}

#[cold]
#[inline(never)]
fn keep(callergp: Option<&'static G>, newg: &G) {
    // An unwinder needs more than a copying stack has. And the walk begins where the caller left for g0.
    systemstack(|| {
        forget_ancestors(newg);
        newg.ancestors.set(callergp.map_or(ptr::null_mut(), ancestors_of_child).cast());
    });
}

/// Frees the ancestors of `gp`, which has ended. On g0, or on a thread's stack.
pub(crate) fn forget_ancestors(gp: &G) {
    if traceback_ancestors() > 0 {
        let old = gp.ancestors.replace(ptr::null_mut()).cast::<Vec<AncestorInfo>>();
        if !old.is_null() {
            // SAFETY: `ancestors_of_child` made the box, and the only pointer to it was in the G.
            drop(unsafe { Box::from_raw(old) });
        }
    }
}

/// The ancestors to be kept of a goroutine that `callergp` makes: that one and its own. On g0.
fn ancestors_of_child(callergp: &G) -> *mut Vec<AncestorInfo> {
    // SAFETY: the thread of `callergp` is on g0, here, so the goroutine's stack stays as it left it.
    let pcs = unsafe { gcallers(callergp, &left_at(callergp)) }.as_slice().to_vec();
    let maker = AncestorInfo {
        pcs,
        goid: callergp.goid.get(),
        gopc: callergp.gopc.get(),
        created_at: callergp.ext.created_at.get(),
    };
    let older = of(callergp).iter().take(traceback_ancestors() - 1).cloned();
    Box::into_raw(Box::new(std::iter::once(maker).chain(older).collect()))
}

/// The ancestors of `gp` that were kept.
fn of(gp: &G) -> &[AncestorInfo] {
    let ancestors = gp.ancestors.get().cast::<Vec<AncestorInfo>>();
    // Without the setting, the field is the embedder's.
    if traceback_ancestors() == 0 || ancestors.is_null() {
        return &[];
    }
    // SAFETY: `keep` has put the box there, and it stays until the goroutine has ended.
    unsafe { &*ancestors }
}

/// Where a goroutine comes from.
pub(crate) struct Origin {
    gopc: usize,
    created_at: Option<&'static Location<'static>>,
    parent_goid: u64,
    ancestors: Vec<AncestorInfo>,
}

impl Origin {
    /// The origin of `gp`, which doesn't end meanwhile.
    pub(crate) fn of(gp: &G) -> Origin {
        Origin { ancestors: of(gp).to_vec(), ..Origin::without_ancestors(gp) }
    }

    /// The origin of `gp`, which may end at any time: its ancestors, which would be freed then, aren't read.
    pub(crate) fn without_ancestors(gp: &G) -> Origin {
        Origin {
            gopc: gp.gopc.get(),
            created_at: gp.ext.created_at.get(),
            parent_goid: gp.parent_goid.get(),
            ancestors: Vec::new(),
        }
    }

    /// Prints who made the goroutine, and each ancestor. Go's `printcreatedby` and `printAncestorTraceback`.
    pub(crate) fn print(&self, out: &mut impl Write, symbols: &mut Symbols) -> fmt::Result {
        let by = format!(" in goroutine {}", self.parent_goid);
        printcreatedby1(out, symbols, self.created_at, self.gopc, &by)?;
        self.ancestors.iter().try_for_each(|ancestor| print_ancestor_traceback(out, symbols, ancestor))
    }
}

/// Prints who made a goroutine: the place in the source, or the function. Go's `printcreatedby1`.
fn printcreatedby1(
    out: &mut impl Write,
    symbols: &mut Symbols,
    created_at: Option<&Location<'_>>,
    gopc: usize,
    by: &str,
) -> fmt::Result {
    match (created_at, gopc) {
        (Some(location), _) => writeln!(out, "created at {location}{by}"),
        (None, 0) => Ok(()),
        (None, gopc) => {
            write!(out, "created by ")?;
            // A return address: the call is before it.
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
    printcreatedby1(out, symbols, ancestor.created_at, ancestor.gopc, "")
}
