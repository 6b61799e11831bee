//! Reports on stderr that need no memory and no lock: Go's `print.go`.

use std::fmt::{self, Write};

use crate::runtime::arch::syscall::syscall;

/// Standard error, a line at a time, through a small buffer.
pub(in crate::runtime) struct Stderr {
    line: [u8; 256],
    len: usize,
}

impl Stderr {
    pub(crate) fn new() -> Self {
        Stderr { line: [0; 256], len: 0 }
    }

    fn flush(&mut self) {
        // SAFETY: reads the first `len` bytes of the buffer. Text that can't be written is lost, as
        // there is nowhere to report that.
        unsafe { syscall!(SYS_write, libc::STDERR_FILENO, self.line.as_ptr(), self.len) };
        self.len = 0;
    }
}

impl Write for Stderr {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        for &byte in s.as_bytes() {
            self.line[self.len] = byte;
            self.len += 1;
            if byte == b'\n' || self.len == self.line.len() {
                self.flush();
            }
        }
        Ok(())
    }
}

impl Drop for Stderr {
    fn drop(&mut self) {
        if self.len > 0 {
            self.flush();
        }
    }
}

/// Writes `args`, and then `end`. Not inlined: otherwise the callers, which may be on small stacks,
/// would have the buffer in their frames.
#[cold]
#[inline(never)]
pub(crate) fn print(args: fmt::Arguments<'_>, end: &str) {
    let mut stderr = Stderr::new();
    let _ = stderr.write_fmt(args);
    let _ = stderr.write_str(end);
}

/// `eprintln!` by way of [`Stderr`]: usable on g0, in a signal handler, with any
/// lock held.
macro_rules! eprintln {
    () => {
        $crate::runtime::print::eprintln!("")
    };
    ($($arg:tt)*) => {
        $crate::runtime::print::print(format_args!($($arg)*), "\n")
    };
}

/// [`eprintln`] without the end of the line.
macro_rules! eprint {
    ($($arg:tt)*) => {
        $crate::runtime::print::print(format_args!($($arg)*), "")
    };
}

pub(crate) use eprint;
pub(crate) use eprintln;
