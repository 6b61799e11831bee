//! Files and folders.

mod as_std;
mod waits;

use std::path::{Path, PathBuf};
use std::{env, process};

use crate::harness::Test;

pub const TESTS: &[&[Test]] = &[as_std::TESTS, waits::TESTS];

/// A folder, removed when this is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        let path = env::temp_dir().join(format!("gosched-fs-{}", process::id()));
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// Makes a named pipe. Opening or reading it waits for the other side.
    pub fn fifo(&self) -> PathBuf {
        let path = self.path("fifo");
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the kernel reads the name.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}
