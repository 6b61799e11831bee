//! [`OpenOptions`].

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::fs::File;
use crate::goroutine::blocking;

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
