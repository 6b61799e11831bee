//! [`File`], the [`OpenOptions`] that open it, and its locks.

use std::error::Error;
use std::fmt;
use std::fs::{self, FileTimes, Metadata, Permissions};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Stdio;
use std::time::SystemTime;

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

    /// Sets the times of the last access and the last change. Go's `os.Chtimes`, in
    /// `os/file_posix.go`.
    ///
    /// ```
    /// use std::fs::FileTimes;
    /// use std::time::{Duration, SystemTime};
    /// use gosched::fs::{self, File};
    ///
    /// gosched::run(|| {
    ///     let path = std::env::temp_dir().join(format!("gosched-times-{}", std::process::id()));
    ///     let file = File::create(&path)?;
    ///     let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    ///     file.set_times(FileTimes::new().set_accessed(then).set_modified(then))?;
    ///     assert_eq!(file.metadata()?.accessed()?, then);
    ///     fs::remove_file(&path)
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_times(&self, times: FileTimes) -> io::Result<()> {
        blocking(|| self.0.set_times(times))
    }

    /// [`set_times`](Self::set_times) of the last change alone.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        blocking(|| self.0.set_modified(time))
    }

    /// Locks the file for the caller alone. Waits until no other open file has the lock: other
    /// handles from [`try_clone`](Self::try_clone) share it, others of the same path don't. The
    /// wait takes a thread, and other goroutines have the P.
    ///
    /// The lock is advisory: only those that lock the file notice it. It is unlocked when the last
    /// handle is dropped. Go's `lockedfile`, in `cmd/go/internal`; `flock(2)`, as std's
    /// [`File::lock`](std::fs::File::lock), which needs Rust 1.89.
    ///
    /// ```
    /// use gosched::fs::{self, File};
    ///
    /// gosched::run(|| {
    ///     let path = std::env::temp_dir().join(format!("gosched-held-{}", std::process::id()));
    ///     let file = File::create(&path)?;
    ///     file.lock()?;
    ///     let other = File::open(&path)?;
    ///     assert!(other.try_lock().is_err());
    ///     let waits = gosched::go(move || other.lock());
    ///     file.unlock()?;
    ///     waits.join().unwrap()?;
    ///     fs::remove_file(&path)
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// The kernel's. A signal doesn't end the wait.
    pub fn lock(&self) -> io::Result<()> {
        self.flock(libc::LOCK_EX)
    }

    /// Locks the file together with others that share the lock. Waits until nobody has it for
    /// themselves. Otherwise as [`lock`](Self::lock).
    ///
    /// ```
    /// use gosched::fs::{self, File};
    ///
    /// gosched::run(|| {
    ///     let path = std::env::temp_dir().join(format!("gosched-shared-{}", std::process::id()));
    ///     let (file, other) = (File::create(&path)?, File::open(&path)?);
    ///     file.lock_shared()?;
    ///     other.lock_shared()?;
    ///     assert!(other.try_lock().is_err());
    ///     fs::remove_file(&path)
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn lock_shared(&self) -> io::Result<()> {
        self.flock(libc::LOCK_SH)
    }

    /// [`lock`](Self::lock) that doesn't wait.
    ///
    /// ```
    /// use gosched::fs::{self, File, TryLockError};
    ///
    /// gosched::run(|| {
    ///     let path = std::env::temp_dir().join(format!("gosched-try-{}", std::process::id()));
    ///     let (file, other) = (File::create(&path)?, File::open(&path)?);
    ///     file.try_lock()?;
    ///     assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
    ///     fs::remove_file(&path)
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// [`TryLockError::WouldBlock`] if another open file has the lock; otherwise the kernel's.
    pub fn try_lock(&self) -> Result<(), TryLockError> {
        Ok(self.flock(libc::LOCK_EX | libc::LOCK_NB)?)
    }

    /// [`lock_shared`](Self::lock_shared) that doesn't wait.
    ///
    /// # Errors
    /// [`TryLockError::WouldBlock`] if another open file has the lock for itself; otherwise the
    /// kernel's.
    pub fn try_lock_shared(&self) -> Result<(), TryLockError> {
        Ok(self.flock(libc::LOCK_SH | libc::LOCK_NB)?)
    }

    /// Unlocks the file. Does nothing if it isn't locked.
    ///
    /// # Errors
    /// The kernel's.
    pub fn unlock(&self) -> io::Result<()> {
        self.flock(libc::LOCK_UN)
    }

    fn flock(&self, operation: libc::c_int) -> io::Result<()> {
        ignoring_eintr(|| {
            // SAFETY: no memory is passed.
            let failed = unsafe { libc::flock(self.as_raw_fd(), operation) } != 0;
            if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
        })
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

/// Why [`File::try_lock`] or [`File::try_lock_shared`] hasn't locked the file. As
/// [`std::fs::TryLockError`], which needs Rust 1.89.
///
/// ```
/// use std::io::{self, ErrorKind};
/// use gosched::fs::TryLockError;
///
/// let error: TryLockError = io::Error::from(ErrorKind::WouldBlock).into();
/// assert!(matches!(error, TryLockError::WouldBlock));
/// assert_eq!(io::Error::from(error).kind(), ErrorKind::WouldBlock);
/// ```
pub enum TryLockError {
    /// The kernel's error.
    Error(io::Error),
    /// Another open file has the lock.
    WouldBlock,
}

impl From<io::Error> for TryLockError {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::WouldBlock {
            TryLockError::WouldBlock
        } else {
            TryLockError::Error(error)
        }
    }
}

impl From<TryLockError> for io::Error {
    fn from(error: TryLockError) -> Self {
        match error {
            TryLockError::Error(error) => error,
            TryLockError::WouldBlock => ErrorKind::WouldBlock.into(),
        }
    }
}

impl fmt::Debug for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryLockError::Error(error) => error.fmt(f),
            TryLockError::WouldBlock => f.pad("WouldBlock"),
        }
    }
}

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryLockError::Error(error) => error.fmt(f),
            TryLockError::WouldBlock => f.pad("another open file has the lock"),
        }
    }
}

impl Error for TryLockError {}

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
