//! The entries of a folder.

use std::ffi::OsString;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::goroutine::blocking;

/// Reads the entries of a folder, in no order. Go's `os.ReadDir`, in `os/dir.go`, which sorts them.
///
/// ```
/// use gosched::fs;
///
/// gosched::run(|| {
///     let folder = std::env::temp_dir().join(format!("gosched-folder-{}", std::process::id()));
///     fs::create_dir(&folder)?;
///     fs::write(folder.join("a"), "text")?;
///     for entry in fs::read_dir(&folder)? {
///         let entry = entry?;
///         assert_eq!(entry.file_name(), "a");
///         assert!(entry.file_type()?.is_file());
///         assert_eq!(entry.metadata()?.len(), 4);
///     }
///     fs::remove_dir_all(&folder)
/// })
/// .unwrap();
/// ```
///
/// # Errors
/// As in [`std::fs::read_dir`].
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let path = path.as_ref();
    blocking(|| fs::read_dir(path)).map(ReadDir)
}

/// An iterator of a folder's entries: [`std::fs::ReadDir`]. Made by [`read_dir`].
///
/// ```
/// use gosched::fs;
///
/// gosched::run(|| {
///     let mut largest = 0;
///     for entry in fs::read_dir("src")? {
///         largest = largest.max(entry?.metadata()?.len());
///     }
///     println!("{largest} bytes");
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
#[derive(Debug)]
pub struct ReadDir(fs::ReadDir);

impl Iterator for ReadDir {
    type Item = io::Result<DirEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = blocking(|| self.0.next())?;
        Some(entry.map(DirEntry))
    }
}

/// A file, a folder or the like in a folder: [`std::fs::DirEntry`]. An item of [`ReadDir`].
///
/// ```
/// use gosched::fs;
///
/// gosched::run(|| {
///     let status = fs::read_dir("/proc/self")?.flatten().find(|entry| entry.file_name() == "status").unwrap();
///     assert_eq!(status.path().to_str(), Some("/proc/self/status"));
///     assert!(status.file_type()?.is_file() && status.metadata()?.is_file());
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
#[derive(Debug)]
pub struct DirEntry(fs::DirEntry);

impl DirEntry {
    /// The path that [`read_dir`] was called with, and the name.
    pub fn path(&self) -> PathBuf {
        self.0.path()
    }

    /// The name.
    pub fn file_name(&self) -> OsString {
        self.0.file_name()
    }

    /// Returns the metadata of the entry; for a link, those of the link itself. Go's
    /// `DirEntry.Info`, in `io/fs/fs.go`.
    ///
    /// # Errors
    /// The kernel's: for instance that it was removed since.
    pub fn metadata(&self) -> io::Result<Metadata> {
        blocking(|| self.0.metadata())
    }

    /// Whether it is a file, a folder, a link or something else. As a rule the type was read with
    /// the name. Go's `DirEntry.Type`, in `io/fs/fs.go`.
    ///
    /// # Errors
    /// As [`metadata`](Self::metadata).
    pub fn file_type(&self) -> io::Result<FileType> {
        blocking(|| self.0.file_type())
    }
}
