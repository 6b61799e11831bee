//! Files and folders, with operations that block only a thread and not a P. Their counterparts are
//! in Go's `os`.
//!
//! ```
//! use std::io::{BufRead, BufReader};
//! use gosched::fs::{self, File};
//!
//! gosched::run(|| {
//!     let path = std::env::temp_dir().join(format!("gosched-{}", std::process::id()));
//!     fs::write(&path, "one\ntwo\n")?;
//!     let lines: Vec<String> = BufReader::new(File::open(&path)?).lines().collect::<Result<_, _>>()?;
//!     assert_eq!(lines, ["one", "two"]);
//!     fs::remove_file(&path)
//! })
//! .unwrap();
//! ```
//!
//! The names are those of [`std::fs`], and so are the errors. [`Metadata`](std::fs::Metadata),
//! [`Permissions`](std::fs::Permissions), [`FileTimes`](std::fs::FileTimes) and
//! [`FileType`](std::fs::FileType) are std's own types.
//!
//! To the poller every file is ready, so each operation is done in [`blocking`](crate::blocking):
//! it takes a thread for as long as the disk takes, and other goroutines have the P. As in Go, no
//! deadline and no context ends it. To wait without a thread for other kinds of files, such as
//! named pipes and terminals, use a [`Pollable`](crate::net::Pollable) of a [`std::fs::File`].
//!
//! On a thread that isn't a goroutine's, and inside [`blocking`](crate::blocking), everything
//! behaves as in [`std::fs`].
//!
//! # Small reads
//!
//! [`blocking`](crate::blocking) costs 100 to 300 ns in each operation, beside the 600 ns or so
//! that the kernel takes for a small read from its cache. To read or write a few bytes at a time,
//! put the file into a [`BufReader`](std::io::BufReader), which reduces the cost to 10 ns, or a
//! [`BufWriter`](std::io::BufWriter). Operations without a wait (the path of a [`DirEntry`], the
//! fields of [`Metadata`](std::fs::Metadata)) cost the same as in std.

// | file | what it holds |
// | --- | --- |
// | `file.rs` | `File`, `OpenOptions`, `TryLockError` |
// | `paths.rs` | `write`, and the other functions that take a path; `ReadDir`, `DirEntry` |

mod file;
mod paths;

pub use file::{File, OpenOptions, TryLockError};
pub use paths::{
    DirEntry, ReadDir, canonicalize, copy, create_dir, create_dir_all, exists, hard_link, metadata, read,
    read_dir, read_link, read_to_string, remove_dir, remove_dir_all, remove_file, rename, set_permissions,
    symlink_metadata, write,
};
