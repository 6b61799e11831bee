//! Names of code that only an embedder knows: in place of Go's `funcline`.

use std::io;
use std::sync::OnceLock;

/// A function at an address.
#[derive(Clone, Copy, Debug, Default)]
pub struct CodePlace<'a> {
    /// Its name; empty if it isn't known.
    pub function: &'a str,
    /// The source file; empty if it isn't known.
    pub file: &'a str,
    /// The line in it; 0 if it isn't known.
    pub line: u32,
    /// Whether the function is one of the embedder's own. Reports leave these out, as they do the
    /// scheduler's, unless `GOTRACEBACK=system` asks for all.
    pub own: bool,
}

/// Passes the functions at an address to `found`, the innermost first where calls were inlined. If
/// it passes none, the program's own symbols are looked up. The address lies in an instruction; for
/// a caller, in the call instruction.
pub type Symbolizer = fn(pc: usize, found: &mut dyn FnMut(CodePlace<'_>));

static SYMBOLIZER: OnceLock<Symbolizer> = OnceLock::new();

/// Sets the function that names code, once and for all. The runtime calls it for each address that
/// a report, a trace or a profile shows. Go's `funcline`, in `symtab.go`, has tables that its
/// compiler makes.
///
/// `f` is called on g0 or on a thread that isn't ours, on several threads at once, and in the
/// report of a fatal error. So it takes no lock that a goroutine may hold, and doesn't allocate. It
/// must not panic.
///
/// # Errors
/// [`AlreadyExists`](io::ErrorKind::AlreadyExists): the function was set before.
pub fn set_symbolizer(f: Symbolizer) -> io::Result<()> {
    let taken = || {
        io::Error::new(io::ErrorKind::AlreadyExists, "there is a symbolizer already, and there can be one")
    };
    SYMBOLIZER.set(f).map_err(|_| taken())
}

/// Returns the function that names code which the program's own symbols don't.
pub(in crate::runtime) fn symbolizer() -> Option<Symbolizer> {
    SYMBOLIZER.get().copied()
}
