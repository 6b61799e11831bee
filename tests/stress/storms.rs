//! Goroutines that take locks of the C library and of std all the time: malloc's, stdio's, and that
//! of a shared writer.

use std::ffi::CString;
use std::io::{BufRead, BufReader, LineWriter, PipeReader, PipeWriter, Write, pipe};
use std::os::fd::IntoRawFd;
use std::sync::Mutex;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use gosched::chan::bounded;
use gosched::{scope, yield_now};

use crate::computing::{a_while, compute};
use crate::ledger::Ledger;
use crate::rng::Rng;
use crate::tally::{Op, count};

/// Returns a random size. Most blocks are small; malloc gets the large ones from the kernel.
fn size(rng: &mut Rng) -> usize {
    let most = rng.pick(&[64, 64, 2000, 2000, 100_000, 1_000_000]);
    rng.up_to(most)
}

/// Goroutines make blocks of memory and grow them. Other goroutines look at the ends of each block,
/// and free it.
pub fn malloc(rng: &mut Rng) {
    let (makers, each) = (rng.up_to(4), rng.up_to(100));
    let ledger = Ledger::new(makers * each);
    let (tx, rx) = bounded(rng.below(20));
    scope(|s| {
        for _ in 0..makers {
            let (ledger, tx, mut rng) = (&ledger, tx.clone(), rng.fork());
            s.go(move || {
                for _ in 0..each {
                    let (mark, first, second) = (rng.next() as u8, size(&mut rng), size(&mut rng));
                    let mut block = Vec::with_capacity(first);
                    block.resize(first, mark);
                    block.resize(first + second, mark);
                    assert!(tx.send((ledger.token(), block, mark)).is_ok());
                    ledger.sent();
                    rng.pause();
                    count(Op::Alloc);
                }
            });
        }
        drop(tx);
        for _ in 0..rng.up_to(3) {
            let (ledger, rx) = (&ledger, rx.clone());
            s.go(move || {
                for (token, block, mark) in rx.iter() {
                    assert!(block.first() == Some(&mark) && block.last() == Some(&mark), "another block");
                    drop(block);
                    ledger.received(token);
                }
            });
        }
    });
    drop(rx);
    ledger.settle();
}

/// Starts a thread that reads lines slowly. It asserts that each line is whole and that the lines
/// of a writer come in order, and returns the number of lines of each writer.
fn lines(reader: PipeReader, writers: usize, pause: Duration) -> JoinHandle<Vec<usize>> {
    thread::spawn(move || {
        let mut seen = vec![0; writers];
        for line in BufReader::with_capacity(5000, reader).lines() {
            let line = line.expect("a line");
            let numbers: Vec<usize> = line.split(' ').map(|n| n.parse().expect("a number")).collect();
            let [writer, n, length] = numbers[..] else { panic!("no whole line: {line}") };
            assert_eq!((n, length), (seen[writer], line.len()));
            seen[writer] += 1;
            if n.is_multiple_of(64) {
                thread::sleep(pause);
            }
        }
        seen
    })
}

/// Returns a line: the number of its writer, its own number, and its length, padded with zeros.
fn line(rng: &mut Rng, writer: usize, n: usize) -> String {
    let start = format!("{writer} {n} ");
    let length = start.len() + 4 + rng.below(300);
    format!("{start}{length:0>width$}\n", width = length - start.len())
}

/// Runs goroutines that pass whole lines to `write`. Then asserts that the thread that `end`
/// returns has read all of them.
fn write_lines(
    rng: &mut Rng,
    write: impl Fn(&mut Rng, &str) + Sync,
    end: impl FnOnce() -> JoinHandle<Vec<usize>>,
) {
    let lengths: Vec<_> = (0..WRITERS).map(|_| rng.below(150)).collect();
    scope(|s| {
        for (writer, &length) in lengths.iter().enumerate() {
            let (write, mut rng) = (&write, rng.fork());
            s.go(move || {
                for n in 0..length {
                    let line = line(&mut rng, writer, n);
                    write(&mut rng, &line);
                    rng.pause();
                    count(Op::Print);
                }
            });
        }
    });
    drop(write);
    assert_eq!(end().join().expect("it ends"), lengths);
}

const WRITERS: usize = 4;

/// Returns the end of a pipe to write to, and the thread that reads the other end.
fn drained(rng: &mut Rng) -> (PipeWriter, JoinHandle<Vec<usize>>) {
    let (reader, writer) = pipe().expect("a pipe");
    (writer, lines(reader, WRITERS, Duration::from_micros(rng.below(3000) as u64)))
}

/// Writes as `println!` does, through a locked `LineWriter`, to a pipe that is full at times.
pub fn println(rng: &mut Rng) {
    let (to, drains) = drained(rng);
    let to = Mutex::new(Some(LineWriter::new(to)));
    let write = |rng: &mut Rng, line: &str| {
        let mut to = to.lock().expect("nobody panics");
        let to = to.as_mut().expect("it isn't closed yet");
        let (first, second) = line.split_at(rng.below(line.len()));
        to.write_all(first.as_bytes()).expect("it can be written");
        if rng.one_in(100) {
            compute(a_while(rng));
        }
        to.write_all(second.as_bytes()).expect("it can be written");
    };
    write_lines(rng, write, || {
        drop(to.lock().expect("nobody panics").take());
        drains
    });
}

unsafe extern "C" {
    fn flockfile(file: *mut libc::FILE);
    fn funlockfile(file: *mut libc::FILE);
}

/// A file of C's.
struct Stdio(*mut libc::FILE);

// SAFETY: a FILE has a lock of its own.
unsafe impl Sync for Stdio {}

/// Writes through C's stdio, whose locks belong to threads.
pub fn stdio(rng: &mut Rng) {
    let (to, drains) = drained(rng);
    // SAFETY: the descriptor is the file's from here on.
    let file = Stdio(unsafe { libc::fdopen(to.into_raw_fd(), c"w".as_ptr()) });
    assert!(!file.0.is_null(), "a file");
    let file = &file;
    let write = |rng: &mut Rng, line: &str| {
        let (first, second) = line.split_at(rng.below(line.len()));
        let [first, second] = [first, second].map(|part| CString::new(part).expect("no 0"));
        // SAFETY: the file is open, the texts end with a 0, and nothing here parks while it holds
        // the lock.
        unsafe {
            flockfile(file.0);
            assert!(libc::fputs(first.as_ptr(), file.0) >= 0);
            if rng.one_in(100) {
                compute(a_while(rng));
            }
            assert!(libc::fputs(second.as_ptr(), file.0) >= 0);
            if rng.one_in(8) {
                assert_eq!(libc::fflush(file.0), 0);
            }
            funlockfile(file.0);
        }
        if rng.one_in(8) {
            yield_now();
        }
    };
    write_lines(rng, write, || {
        // SAFETY: the goroutines that write have ended.
        assert_eq!(unsafe { libc::fclose(file.0) }, 0);
        drains
    });
}
