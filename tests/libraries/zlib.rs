//! zlib's files, which zlib itself reads and writes.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::io::{Read, Write, pipe};
use std::os::fd::{IntoRawFd, OwnedFd};
use std::thread;
use std::time::Duration;

use gosched::{scope, yield_now};

use crate::settings::{Folder, bytes};

crate::tests! { files pipes }

#[link(name = "z")]
unsafe extern "C" {
    fn gzopen(path: *const c_char, mode: *const c_char) -> *mut c_void;
    fn gzdopen(fd: c_int, mode: *const c_char) -> *mut c_void;
    fn gzwrite(file: *mut c_void, from: *const c_void, length: c_uint) -> c_int;
    fn gzread(file: *mut c_void, to: *mut c_void, length: c_uint) -> c_int;
    fn gzclose(file: *mut c_void) -> c_int;
}

/// A file that zlib has opened.
struct Gz(*mut c_void);

impl Gz {
    fn open(path: &CStr, mode: &CStr) -> Gz {
        // SAFETY: both texts end with a 0.
        let file = unsafe { gzopen(path.as_ptr(), mode.as_ptr()) };
        assert!(!file.is_null(), "{path:?} can be opened");
        Gz(file)
    }

    fn of(fd: OwnedFd, mode: &CStr) -> Gz {
        // SAFETY: zlib owns the descriptor from here on, and the text ends with a 0.
        let file = unsafe { gzdopen(fd.into_raw_fd(), mode.as_ptr()) };
        assert!(!file.is_null(), "a descriptor can be opened");
        Gz(file)
    }

    /// Writes all the data in pieces, and closes the file.
    fn write(self, data: &[u8]) {
        for piece in data.chunks(10_000) {
            // SAFETY: `piece` has `piece.len()` bytes.
            let written = unsafe { gzwrite(self.0, piece.as_ptr().cast(), piece.len() as c_uint) };
            assert_eq!(written, piece.len() as c_int);
            yield_now();
        }
        self.close();
    }

    /// Reads all the data in pieces, and closes the file.
    fn read(self) -> Vec<u8> {
        let (mut data, mut piece) = (Vec::new(), [0; 7000]);
        loop {
            // SAFETY: `piece` has room for `piece.len()` bytes.
            let read = unsafe { gzread(self.0, piece.as_mut_ptr().cast(), piece.len() as c_uint) };
            assert!(read >= 0, "it can be read");
            if read == 0 {
                break;
            }
            data.extend_from_slice(&piece[..read as usize]);
            yield_now();
        }
        self.close();
        data
    }

    fn close(self) {
        // SAFETY: the file is open, and `self` isn't used any more.
        assert_eq!(unsafe { gzclose(self.0) }, 0);
    }
}

/// Returns data of which half can be compressed.
fn data(n: usize) -> Vec<u8> {
    [bytes(n, 150_000), b"again and ".repeat(15_000)].concat()
}

fn files() {
    let folder = Folder::new("gz");
    scope(|s| {
        for n in 0..6 {
            let folder = &folder;
            s.go(move || {
                for turn in 0..12 {
                    let path = folder.path(n).into_os_string().into_encoded_bytes();
                    let path = CString::new(path).expect("no 0");
                    Gz::open(&path, c"wb6").write(&data(n + turn));
                    assert!(Gz::open(&path, c"rb").read() == data(n + turn), "another file");
                }
            });
        }
    });
}

/// zlib writes to a pipe, and reads from one. The other end of each belongs to a slow thread, so
/// zlib's reads and writes wait.
fn pipes() {
    fn slowly(mut from: impl Read, mut to: impl Write) {
        let mut piece = [0; 20_000];
        // SA_RESTART restarts these reads, so none fails with EINTR.
        while let n @ 1.. = from.read(&mut piece).expect("it can be read") {
            thread::sleep(Duration::from_millis(2));
            to.write_all(&piece[..n]).expect("it can be written");
        }
    }
    scope(|s| {
        for n in 0..6 {
            s.go(move || {
                let folder = Folder::new(&format!("pipe{n}"));
                let path = folder.path("gz");
                let (reader, writer) = pipe().expect("a pipe");
                let mut file = File::create(&path).expect("a file");
                let copies = thread::spawn(move || slowly(reader, &mut file));
                Gz::of(writer.into(), c"wb6").write(&data(n));
                copies.join().expect("all is written");
                let (reader, writer) = pipe().expect("a pipe");
                let file = File::open(&path).expect("the file");
                let copies = thread::spawn(move || slowly(file, writer));
                assert!(Gz::of(reader.into(), c"rb").read() == data(n), "another file");
                copies.join().expect("all is read");
            });
        }
    });
}
