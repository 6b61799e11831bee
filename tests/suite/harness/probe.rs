//! Whether memory can be read.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsRawFd;
use std::ptr;

/// Asks the kernel whether memory can be read.
pub struct Probe {
    reader: PipeReader,
    writer: PipeWriter,
}

impl Probe {
    pub fn new() -> Self {
        let (reader, writer) = io::pipe().expect("there can be a pipe");
        Probe { reader, writer }
    }

    pub fn readable(&mut self, addr: usize) -> bool {
        let byte = ptr::without_provenance(addr);
        // SAFETY: the kernel reads the byte, or says that it can't.
        if unsafe { libc::write(self.writer.as_raw_fd(), byte, 1) } == 1 {
            self.reader.read_exact(&mut [0]).expect("what was written");
            return true;
        }
        assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::EFAULT));
        false
    }
}
