//! Reads of a stream, and its end: after a short read the next read waits first, and never in vain.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::OnceLock;

use libc::{EPOLLIN, EPOLLRDHUP};

use crate::net::limit::Limit;
use crate::net::registration::Registration;
use crate::runtime::netpoll::pipe::*;

/// The kernel's side of a stream: the number of bytes in it, and whether it has ended.
struct Stream(AtomicU32);

const END: u32 = 1 << 16;

impl Stream {
    fn new() -> Arc<Self> {
        Arc::new(Stream(AtomicU32::new(0)))
    }

    fn add(&self, what: u32) {
        self.0.fetch_add(what, Ordering::SeqCst);
    }

    /// Takes all bytes.
    fn try_read(&self) -> io::Result<usize> {
        match self.0.fetch_and(END, Ordering::SeqCst) {
            0 => Err(ErrorKind::WouldBlock.into()),
            found => Ok((found & !END) as usize),
        }
    }

    /// Reads until the end.
    fn read_to_end(&self, registration: &Registration<File>) -> usize {
        let read = || registration.read("a read", 100, Limit::default(), || self.try_read()).unwrap();
        std::iter::repeat_with(read).take_while(|&n| n > 0).sum()
    }
}

/// Makes a registration of a descriptor that no operation uses.
fn register() -> Registration<File> {
    static NULL: OnceLock<File> = OnceLock::new();
    let null = NULL.get_or_init(|| File::open("/dev/null").unwrap());
    Registration::new(null, true).unwrap()
}

/// Another thread writes `bytes` and the end, by `write`, while this one reads to the end.
fn read_while(write: fn(&Stream), bytes: usize) {
    check(move || {
        let (registration, stream) = (register(), Stream::new());
        let writer = {
            let stream = stream.clone();
            thread::spawn(move || write(&stream))
        };
        assert_eq!(stream.read_to_end(&registration), bytes);
        writer.join().unwrap();
    });
}

#[test]
fn an_end_behind_the_bytes() {
    let write = |stream: &Stream| {
        stream.add(1);
        stream.add(END);
        told(EPOLLIN | EPOLLRDHUP)();
    };
    read_while(write, 1);
}

#[test]
fn more_bytes_and_an_end() {
    let write = |stream: &Stream| {
        stream.add(1);
        told(EPOLLIN)();
        stream.add(1);
        stream.add(END);
        told(EPOLLIN | EPOLLRDHUP)();
    };
    read_while(write, 2);
}
