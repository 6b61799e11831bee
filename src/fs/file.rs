//! [`File`], and the [`OpenOptions`] that open it.

use std::fmt;
use std::fs::{self, Metadata, Permissions};
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Stdio;

use crate::goroutine::{blocking, close, ignoring_eintr};

/// An open file: [`std::fs::File`], with its functions, each in [`blocking`](crate::blocking). Go's
/// `os.File`.
///
/// It is closed when it is dropped, in [`blocking`](crate::blocking), too: the close of a file on
/// another machine may wait. As with std's, a `&File` can be read and written as well. Goroutines
/// that share a file share its position; [`FileExt`] has reads and writes with a position of their
/// own.
///
/// ```
/// use std::io::{Read, Seek, Write};
/// use std::os::unix::fs::FileExt;
/// use gosched::fs::{self, File};
///
/// gosched::run(|| {
///     let path = std::env::temp_dir().join(format!("gosched-file-{}", std::process::id()));
///     let mut file = File::options().read(true).write(true).create_new(true).open(&path)?;
///     file.write_all(b"0123456789")?;
///     file.rewind()?;
///     let mut text = String::new();
///     file.read_to_string(&mut text)?;
///     assert_eq!(text, "0123456789");
///     let two = gosched::go(move || {
///         let mut two = [0; 2];
///         file.read_exact_at(&mut two, 3).map(|()| two)
///     });
///     assert_eq!(&two.join().unwrap()?, b"34");
///     fs::remove_file(&path)
/// })
/// .unwrap();
/// ```
pub struct File(ManuallyDrop<fs::File>);

impl File {
    /// Opens a file to read it. Go's `os.Open`, in `os/file.go`.
    ///
    /// ```
    /// use std::io::Read;
    /// use gosched::fs::File;
    ///
    /// gosched::run(|| {
    ///     let mut name = String::new();
    ///     File::open("/proc/self/comm")?.read_to_string(&mut name)?;
    ///     assert!(name.ends_with('\n'));
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The kernel's, as in [`std::fs::File::open`].
    pub fn open<P: AsRef<Path>>(path: P) -> io::Result<Self> {
        OpenOptions::new().read(true).open(path)
    }

    /// Opens a file to write it: a new one if there is none, and otherwise the old one, emptied.
    /// Go's `os.Create`, in `os/file.go`.
    ///
    /// ```
    /// use std::io::Write;
    /// use gosched::fs::{self, File};
    ///
    /// gosched::run(|| {
    ///     let path = std::env::temp_dir().join(format!("gosched-create-{}", std::process::id()));
    ///     write!(File::create(&path)?, "old and long")?;
    ///     write!(File::create(&path)?, "new")?;
    ///     assert_eq!(fs::read(&path)?, b"new");
    ///     fs::remove_file(&path)
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The kernel's, as in [`std::fs::File::create`].
    pub fn create<P: AsRef<Path>>(path: P) -> io::Result<Self> {
        OpenOptions::new().write(true).create(true).truncate(true).open(path)
    }

    /// Makes a file, to read and write it. Go's `os.OpenFile` with `O_EXCL`, in `os/file.go`.
    ///
    /// ```
    /// use std::io::ErrorKind;
    /// use gosched::fs::{self, File};
    ///
    /// gosched::run(|| {
    ///     let path = std::env::temp_dir().join(format!("gosched-lock-{}", std::process::id()));
    ///     let _lock = File::create_new(&path)?;
    ///     assert_eq!(File::create_new(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
    ///     fs::remove_file(&path)
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if there is one; otherwise the kernel's.
    pub fn create_new<P: AsRef<Path>>(path: P) -> io::Result<Self> {
        OpenOptions::new().read(true).write(true).create_new(true).open(path)
    }

    /// Options for other ways to open a file: [`OpenOptions::new`].
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Waits until all written data is on the disk, and the file's metadata as well. Go's
    /// `File.Sync`, in `os/file_posix.go`.
    ///
    /// ```
    /// use std::io::Write;
    /// use gosched::fs::{self, File};
    ///
    /// gosched::run(|| {
    ///     let path = std::env::temp_dir().join(format!("gosched-sync-{}", std::process::id()));
    ///     let mut file = File::create(&path)?;
    ///     file.write_all(b"to be kept")?;
    ///     file.sync_all()?;
    ///     fs::remove_file(&path)
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The kernel's: also that an earlier write has failed since.
    pub fn sync_all(&self) -> io::Result<()> {
        blocking(|| self.0.sync_all())
    }

    /// Waits until all written data is on the disk, and only the metadata that reading it needs.
    ///
    /// # Errors
    /// As [`sync_all`](Self::sync_all).
    pub fn sync_data(&self) -> io::Result<()> {
        blocking(|| self.0.sync_data())
    }

    /// Sets the length, in bytes. Bytes beyond it are lost, and new bytes are 0. The position
    /// stays. Go's `File.Truncate`, in `os/file_posix.go`.
    ///
    /// ```
    /// use gosched::fs::{self, File};
    ///
    /// gosched::run(|| {
    ///     let path = std::env::temp_dir().join(format!("gosched-len-{}", std::process::id()));
    ///     let file = File::create(&path)?;
    ///     file.set_len(3)?;
    ///     assert_eq!(file.metadata()?.len(), 3);
    ///     assert_eq!(fs::read(&path)?, [0; 3]);
    ///     fs::remove_file(&path)
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The kernel's: for instance [`InvalidInput`](io::ErrorKind::InvalidInput) if it wasn't opened
    /// to be written.
    pub fn set_len(&self, size: u64) -> io::Result<()> {
        blocking(|| self.0.set_len(size))
    }

    /// Returns the file's metadata: its length, its owner, its times. Go's `File.Stat`, in
    /// `os/stat_unix.go`.
    ///
    /// ```
    /// use gosched::fs::File;
    ///
    /// gosched::run(|| {
    ///     let file = File::open("/proc/self/comm")?;
    ///     assert!(file.metadata()?.is_file());
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The kernel's.
    pub fn metadata(&self) -> io::Result<Metadata> {
        blocking(|| self.0.metadata())
    }

    /// Makes another handle for the same open file. The two share the position.
    ///
    /// ```
    /// use std::io::{Read, Seek};
    /// use gosched::fs::File;
    ///
    /// gosched::run(|| {
    ///     let mut file = File::open("/proc/self/comm")?;
    ///     let mut same = file.try_clone()?;
    ///     file.read_to_end(&mut Vec::new())?;
    ///     assert_eq!(same.stream_position()?, file.stream_position()?);
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The kernel's: for instance that the process can't have another descriptor.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(File::from)
    }

    /// Sets the permissions of the file. Go's `File.Chmod`, in `os/file.go`.
    ///
    /// ```
    /// use std::fs::Permissions;
    /// use std::os::unix::fs::PermissionsExt;
    /// use gosched::fs::{self, File};
    ///
    /// gosched::run(|| {
    ///     let path = std::env::temp_dir().join(format!("gosched-mode-{}", std::process::id()));
    ///     let file = File::create(&path)?;
    ///     file.set_permissions(Permissions::from_mode(0o600))?;
    ///     assert_eq!(file.metadata()?.permissions().mode() & 0o777, 0o600);
    ///     fs::remove_file(&path)
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_permissions(&self, perm: Permissions) -> io::Result<()> {
        blocking(|| self.0.set_permissions(perm))
    }

    /// Returns std's handle of the same open file.
    ///
    /// ```
    /// use gosched::fs::File;
    ///
    /// gosched::run(|| {
    ///     let file: std::fs::File = File::open("/proc/self/comm")?.into_std();
    ///     let _same = File::from(file);
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    pub fn into_std(self) -> fs::File {
        // SAFETY: it isn't dropped, and nothing else uses it any more.
        unsafe { ManuallyDrop::take(&mut ManuallyDrop::new(self).0) }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: it was dropped.
        let file = unsafe { ManuallyDrop::take(&mut self.0) };
        close(file);
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("File").field(&*self.0).finish()
    }
}

// As Go's `ignoringEINTRIO` in `internal/poll/fd_unix.go`, a read and a write never fail with
// Interrupted.
macro_rules! io {
    ($($type:ty),*) => {
        $(
            impl Read for $type {
                fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                    ignoring_eintr(|| (&*self.0).read(buf))
                }

                fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                    ignoring_eintr(|| (&*self.0).read_vectored(bufs))
                }

                fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize> {
                    blocking(|| (&*self.0).read_to_end(buf))
                }

                fn read_to_string(&mut self, buf: &mut String) -> io::Result<usize> {
                    blocking(|| (&*self.0).read_to_string(buf))
                }

                fn read_exact(&mut self, buf: &mut [u8]) -> io::Result<()> {
                    blocking(|| (&*self.0).read_exact(buf))
                }
            }

            impl Write for $type {
                fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
                    ignoring_eintr(|| (&*self.0).write(buf))
                }

                fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                    ignoring_eintr(|| (&*self.0).write_vectored(bufs))
                }

                fn write_all(&mut self, buf: &[u8]) -> io::Result<()> {
                    blocking(|| (&*self.0).write_all(buf))
                }

                /// Does nothing, as std's: there is no buffer.
                fn flush(&mut self) -> io::Result<()> {
                    Ok(())
                }
            }

            impl Seek for $type {
                fn seek(&mut self, pos: SeekFrom) -> io::Result<u64> {
                    blocking(|| (&*self.0).seek(pos))
                }
            }
        )*
    };
}

io!(File, &File);

/// Go's `File.ReadAt` and `File.WriteAt`, in `os/file.go`.
impl FileExt for File {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        ignoring_eintr(|| self.0.read_at(buf, offset))
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        blocking(|| self.0.read_exact_at(buf, offset))
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        ignoring_eintr(|| self.0.write_at(buf, offset))
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        blocking(|| self.0.write_all_at(buf, offset))
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for File {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl IntoRawFd for File {
    fn into_raw_fd(self) -> RawFd {
        self.into_std().into_raw_fd()
    }
}

impl From<fs::File> for File {
    fn from(file: fs::File) -> Self {
        File(ManuallyDrop::new(file))
    }
}

impl From<OwnedFd> for File {
    fn from(fd: OwnedFd) -> Self {
        File::from(fs::File::from(fd))
    }
}

impl From<File> for fs::File {
    /// [`File::into_std`].
    fn from(file: File) -> Self {
        file.into_std()
    }
}

impl From<File> for OwnedFd {
    fn from(file: File) -> Self {
        file.into_std().into()
    }
}

impl From<File> for Stdio {
    /// A stream of a child that is this file.
    fn from(file: File) -> Self {
        file.into_std().into()
    }
}

/// Options for opening a file: [`std::fs::OpenOptions`], with its functions. They are the flags of
/// Go's `os.OpenFile`.
///
/// ```
/// use std::io::Write;
/// use std::os::unix::fs::OpenOptionsExt;
/// use gosched::fs::{self, OpenOptions};
///
/// gosched::run(|| {
///     let path = std::env::temp_dir().join(format!("gosched-log-{}", std::process::id()));
///     for line in ["one\n", "two\n"] {
///         let mut log = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
///         log.write_all(line.as_bytes())?;
///     }
///     assert_eq!(fs::read_to_string(&path)?, "one\ntwo\n");
///     fs::remove_file(&path)
/// })
/// .unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions(fs::OpenOptions);

macro_rules! options {
    ($($(#[$what:meta])* $name:ident($arg:ident);)*) => {
        $(
            $(#[$what])*
            #[doc = concat!("[`std::fs::OpenOptions::", stringify!($name), "`].")]
            pub fn $name(&mut self, $arg: bool) -> &mut Self {
                self.0.$name($arg);
                self
            }
        )*
    };
}

impl OpenOptions {
    /// Options with nothing set. At least one of `read`, `write` and `append` has to be set.
    #[expect(clippy::new_without_default, reason = "std's has none")]
    pub fn new() -> Self {
        OpenOptions(fs::OpenOptions::new())
    }

    options! {
        /// Whether it can be read. Go's `O_RDONLY` and `O_RDWR`.
        read(read);
        /// Whether it can be written. Go's `O_WRONLY` and `O_RDWR`.
        write(write);
        /// Whether each write goes to the end of the file, behind the writes of others, too. Go's
        /// `O_APPEND`.
        append(append);
        /// Whether the contents of the file are removed. Go's `O_TRUNC`.
        truncate(truncate);
        /// Whether a new file is made if there is none. Go's `O_CREATE`.
        create(create);
        /// Whether it must be a new file. Go's `O_CREATE` with `O_EXCL`.
        create_new(create_new);
    }

    /// Opens the file. Go's `os.OpenFile`, in `os/file.go`.
    ///
    /// ```
    /// use std::io::ErrorKind;
    /// use gosched::fs::OpenOptions;
    ///
    /// gosched::run(|| {
    ///     let nothing_set = OpenOptions::new().open("/proc/self/comm");
    ///     assert_eq!(nothing_set.unwrap_err().kind(), ErrorKind::InvalidInput);
    ///     assert!(OpenOptions::new().read(true).open("/proc/self/comm").is_ok());
    /// });
    /// ```
    ///
    /// # Errors
    /// The kernel's, as in [`std::fs::OpenOptions::open`];
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the options make no sense together.
    pub fn open<P: AsRef<Path>>(&self, path: P) -> io::Result<File> {
        let path = path.as_ref();
        blocking(|| self.0.open(path)).map(File::from)
    }
}

impl OpenOptionsExt for OpenOptions {
    fn mode(&mut self, mode: u32) -> &mut Self {
        self.0.mode(mode);
        self
    }

    fn custom_flags(&mut self, flags: i32) -> &mut Self {
        self.0.custom_flags(flags);
        self
    }
}

impl From<fs::OpenOptions> for OpenOptions {
    fn from(options: fs::OpenOptions) -> Self {
        OpenOptions(options)
    }
}
