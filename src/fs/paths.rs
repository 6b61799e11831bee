//! The functions of [`std::fs`] that take a path, each in [`blocking`].

use std::fs::{self, Metadata, Permissions};
use std::io;
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
