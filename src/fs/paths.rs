//! The functions of [`std::fs`] that take a path, each in [`blocking`], and the entries of a
//! folder.

use std::ffi::OsString;
use std::fs::{self, FileType, Metadata, Permissions};
use std::io;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};

use crate::goroutine::blocking;

macro_rules! functions {
    ($($(#[$what:meta])* $name:ident($($path:ident),* $(; $arg:ident: $ty:ty)?) -> $result:ty;)*) => {
        $(
            $(#[$what])*
            ///
            /// # Errors
            #[doc = concat!("As in [`std::fs::", stringify!($name), "`].")]
            pub fn $name($($path: impl AsRef<Path>,)* $($arg: $ty)?) -> io::Result<$result> {
                // Outside of `blocking`, because this is code of the program, which may park.
                $(let $path = $path.as_ref();)*
                blocking(|| fs::$name($($path,)* $($arg)?))
            }
        )*
    };
}

functions! {
    /// Reads a whole file. Go's `os.ReadFile`, in `os/file.go`.
    read(path) -> Vec<u8>;
    /// Reads a whole file of text.
    read_to_string(path) -> String;
    /// Copies a file, with its permissions, and returns how many bytes it has.
    copy(from, to) -> u64;
    /// Makes a folder. Go's `os.Mkdir`, in `os/file.go`.
    create_dir(path) -> ();
    /// Makes a folder, and the missing folders above it. Go's `os.MkdirAll`, in `os/path.go`.
    create_dir_all(path) -> ();
    /// Removes a file. Go's `os.Remove`, in `os/file_unix.go`.
    remove_file(path) -> ();
    /// Removes an empty folder. Go's `os.Remove`, in `os/file_unix.go`.
    remove_dir(path) -> ();
    /// Removes a folder with its contents. Go's `os.RemoveAll`, in `os/path.go`.
    remove_dir_all(path) -> ();
    /// Gives a file or a folder another name, and replaces a file that has this name. Go's
    /// `os.Rename`, in `os/file.go`.
    rename(from, to) -> ();
    /// Returns the metadata of a file or a folder, or of the target of a link. Go's `os.Stat`, in
    /// `os/stat.go`.
    metadata(path) -> Metadata;
    /// Returns the metadata of a file, a folder or a link. Go's `os.Lstat`, in `os/stat.go`.
    symlink_metadata(path) -> Metadata;
    /// Returns the path from the root, without links in it. Go's `filepath.EvalSymlinks`, in
    /// `path/filepath/path.go`.
    canonicalize(path) -> PathBuf;
    /// Returns the target of a link. Go's `os.Readlink`.
    read_link(path) -> PathBuf;
    /// Gives a file another name in addition. Go's `os.Link`, in `os/file_unix.go`.
    hard_link(original, link) -> ();
    /// Sets the permissions of a file or a folder. Go's `os.Chmod`, in `os/file.go`.
    set_permissions(path; perm: Permissions) -> ();
    /// Whether there is a file or a folder; for a link, whether its target exists.
    exists(path) -> bool;
}

/// Writes a whole file: makes a new one if there is none, and otherwise replaces its contents. Go's
/// `os.WriteFile`, in `os/file.go`.
///
/// ```
/// use gosched::fs;
///
/// gosched::run(|| {
///     let folder = std::env::temp_dir().join(format!("gosched-paths-{}", std::process::id()));
///     fs::create_dir_all(folder.join("deep/inside"))?;
///     fs::write(folder.join("one"), "text")?;
///     assert_eq!(fs::copy(folder.join("one"), folder.join("two"))?, 4);
///     fs::rename(folder.join("two"), folder.join("deep/three"))?;
///     fs::remove_file(folder.join("one"))?;
///     assert!(!fs::exists(folder.join("one"))?);
///     assert_eq!(fs::read_to_string(folder.join("deep/three"))?, "text");
///     assert_eq!(fs::metadata(folder.join("deep/three"))?.len(), 4);
///     fs::remove_dir_all(&folder)
/// })
/// .unwrap();
/// ```
///
/// # Errors
/// As in [`std::fs::write`].
pub fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let (path, contents) = (path.as_ref(), contents.as_ref());
    blocking(|| fs::write(path, contents))
}

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

    /// The number of its inode, which was read with the name. [`std::os::unix::fs::DirEntryExt`].
    ///
    /// ```
    /// use std::os::unix::fs::MetadataExt;
    /// use gosched::fs::read_dir;
    ///
    /// let entry = read_dir("/proc/self/fdinfo").unwrap().next().unwrap().unwrap();
    /// assert_eq!(entry.ino(), entry.metadata().unwrap().ino());
    /// ```
    pub fn ino(&self) -> u64 {
        self.0.ino()
    }
}
