//! Goroutines that read standard input and write standard output. Each test is the other end of a
//! process's pipes. The process reports its progress on stderr.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, IoSliceMut, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::io::{stderr, stdin, stdout};
use gosched::time::sleep;
use gosched::{blocking, go, run, yield_now};

use crate::harness::interrupts::{INTERRUPTS, count_interrupts, interrupt, this_thread};
use crate::harness::process::{Ended, Process};
use crate::harness::{Test, tests};

tests! {
    a_reader_holds_no_p
    a_writer_holds_no_p
    lines_and_the_end
    what_is_no_text
    readers_and_writers_take_one_thread
    lines_stay_whole
    nobody_reads
    signals_end_nothing
    where_nothing_can_park
    a_read_of_nothing_waits_for_nothing
}

const MS: Duration = Duration::from_millis(1);

/// A process, and this end of its pipes.
struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
    stderr: BufReader<ChildStderr>,
}

impl Running {
    fn new(process: Process) -> Self {
        let mut child = process.start();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Running { child, stdin, stdout, stderr }
    }

    /// Waits until the process says `text`.
    #[track_caller]
    fn says(&mut self, expected: &str) {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        if line.trim_end() != expected {
            self.stderr.read_to_string(&mut line).unwrap();
            panic!("expected {expected:?}, found:\n{line}");
        }
    }

    fn gets(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Returns all that the process writes to stdout.
    fn writes(&mut self) -> String {
        let mut all = String::new();
        self.stdout.as_mut().unwrap().read_to_string(&mut all).unwrap();
        all
    }

    /// Closes the process's stdin, and fails unless it ends well.
    #[track_caller]
    fn ends(mut self) {
        drop(self.stdin);
        let mut stderr = String::new();
        self.stderr.read_to_string(&mut stderr).unwrap();
        let status = self.child.wait().unwrap();
        Ended { status, stderr }.with("exit status: 0");
    }
}

/// The number of goroutines that have announced a wait.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

fn begins() {
    BEGUN.fetch_add(1, Ordering::Relaxed);
}

/// Announces that others run, once `waiting` goroutines have announced a wait. With one P they do
/// wait by then: they had the P when they announced it.
fn others_run(waiting: usize) {
    while BEGUN.load(Ordering::Relaxed) < waiting {
        yield_now();
    }
    let (ping, pings) = bounded(0);
    let (pong, pongs) = bounded(0);
    drop(go(move || pings.iter().for_each(|i: u32| pong.send(i + 1).unwrap())));
    for i in 0..100 {
        ping.send(i).unwrap();
        assert_eq!(pongs.recv().unwrap(), i + 1);
    }
    eprintln!("others run");
}

fn a_reader_holds_no_p(test: Test) {
    let process = test.process(|| {
        run(|| {
            let reader = go(|| {
                let mut line = String::from("> ");
                begins();
                (stdin().read_line(&mut line).unwrap(), line)
            });
            others_run(1);
            assert_eq!(reader.join().unwrap(), (6, "> hello\n".to_owned()));
        });
    });
    let mut running = Running::new(process.env("GOMAXPROCS", "1"));
    running.says("others run");
    running.gets(b"hello\n");
    running.ends();
}

/// Writes more than fits into a pipe.
fn a_writer_holds_no_p(test: Test) {
    let text = || "0123456789abcdef\n".repeat(1 << 16);
    let process = test.process(|| {
        run(|| {
            let writer = go(move || {
                let text = text();
                begins();
                stdout().write_all(text.as_bytes()).unwrap();
            });
            others_run(1);
            writer.join().unwrap();
        });
    });
    let mut running = Running::new(process.env("GOMAXPROCS", "1"));
    running.says("others run");
    assert!(running.writes() == text());
    running.ends();
}

fn lines_and_the_end(test: Test) {
    let process = test.process(|| {
        run(|| {
            let mut start = [0; 4];
            stdin().read_exact(&mut start).unwrap();
            assert_eq!(&start, b"four");
            // std's buffer has the rest.
            let rest = blocking(|| io::stdin().lines().next()).unwrap();
            assert_eq!(rest.unwrap(), " bytes");
            assert_eq!(go(|| stdin().lines().next()).join().unwrap().unwrap().unwrap(), "one");
            let mut line = Vec::new();
            assert_eq!((stdin().read_until(b'!', &mut line).unwrap(), line.as_slice()), (2, &b"a!"[..]));
            assert_eq!((stdin().read_until(b'\n', &mut line).unwrap(), line.as_slice()), (1, &b"a!\n"[..]));
            let lines: Vec<String> = stdin().lines().map(|line| line.unwrap()).collect();
            assert_eq!(lines, ["two", "three"]);
            assert_eq!(stdin().read_line(&mut String::new()).unwrap(), 0);
            assert_eq!(stdin().read(&mut start).unwrap(), 0);
            assert_eq!(stdin().read_to_end(&mut Vec::new()).unwrap(), 0);
            assert_eq!(stdin().read_exact(&mut start).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        });
    });
    let mut running = Running::new(process);
    running.gets(b"four bytes\none\na!\ntwo\r\nthree");
    running.ends();
}

fn what_is_no_text(test: Test) {
    let process = test.process(|| {
        run(|| {
            assert_eq!(stdin().lines().next().unwrap().unwrap_err().kind(), ErrorKind::InvalidData);
            let mut rest = Vec::new();
            (&stdin()).read_to_end(&mut rest).unwrap();
            assert_eq!(rest, b"\xfe\n");
        });
    });
    let mut running = Running::new(process);
    running.gets(b"\xff\n\xfe\n");
    running.ends();
}

fn readers_and_writers_take_one_thread(test: Test) {
    const EACH: usize = 100;
    let process = test.process(|| {
        run(|| {
            let readers: Vec<_> = (0..EACH)
                .map(|_| {
                    go(|| {
                        begins();
                        stdin().lines().next().unwrap().unwrap().parse::<usize>().unwrap()
                    })
                })
                .collect();
            let writers: Vec<_> = (0..EACH)
                .map(|i| {
                    go(move || {
                        begins();
                        writeln!(stdout(), "{}{i}", " ".repeat(4096)).unwrap();
                    })
                })
                .collect();
            others_run(2 * EACH);
            sleep(20 * MS);
            let threads = fs::read_dir("/proc/self/task").unwrap().count();
            assert!(threads < EACH, "{threads} threads");
            eprintln!("all wait");
            assert_eq!(readers.into_iter().map(|reader| reader.join().unwrap()).sum::<usize>(), 4950);
            writers.into_iter().for_each(|writer| writer.join().unwrap());
        });
    });
    let mut running = Running::new(process.env("GOMAXPROCS", "4"));
    running.says("others run");
    running.says("all wait");
    (0..EACH).for_each(|i| running.gets(format!("{i}\n").as_bytes()));
    let written: BTreeSet<usize> =
        running.writes().lines().map(|line| line.trim().parse().unwrap()).collect();
    assert!(written.into_iter().eq(0..EACH));
    running.ends();
}

fn lines_stay_whole(test: Test) {
    let process = test.process(|| {
        run(|| {
            let writers: Vec<_> = (0..40)
                .map(|i| {
                    go(move || {
                        for n in 0..50 {
                            writeln!(stdout(), "{i} {n} {}!", i * n).unwrap();
                            writeln!(stderr(), "{i} {n} {}!", i * n).unwrap();
                        }
                    })
                })
                .collect();
            writers.into_iter().for_each(|writer| writer.join().unwrap());
        });
    });
    let output = process.env("GOMAXPROCS", "4").start().wait_with_output().unwrap();
    for written in [output.stdout, output.stderr] {
        let written = String::from_utf8(written).unwrap();
        let lines: BTreeSet<&str> = written.lines().collect();
        assert_eq!(lines.len(), 40 * 50);
        for line in lines {
            let numbers: Vec<u32> =
                line.strip_suffix('!').unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
            assert_eq!(numbers[0] * numbers[1], numbers[2]);
        }
    }
}

fn nobody_reads(test: Test) {
    let process = test.process(|| {
        run(|| {
            assert_eq!(stdin().lines().count(), 0);
            let written = go(|| {
                stdout().write_all(b"for nobody\n")?;
                stdout().flush()
            });
            assert_eq!(written.join().unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
            eprintln!("goes on");
        });
    });
    let mut running = Running::new(process);
    drop(running.stdout.take());
    drop(running.stdin.take());
    running.says("goes on");
    running.ends();
}

/// The signals come while a read waits.
fn signals_end_nothing(test: Test) {
    let process = test.process(|| {
        static THREAD: AtomicI32 = AtomicI32::new(0);
        count_interrupts();
        run(|| {
            let reader = go(|| {
                THREAD.store(this_thread(), Ordering::Relaxed);
                begins();
                let mut buf = [0; 16];
                let n = stdin().read(&mut buf).unwrap();
                assert_eq!(&buf[..n], b"hello");
            });
            others_run(1);
            for n in 1..=50 {
                interrupt(THREAD.load(Ordering::Relaxed));
                while INTERRUPTS.load(Ordering::Relaxed) < n {
                    sleep(MS);
                }
            }
            eprintln!("signals have come");
            reader.join().unwrap();
        });
    });
    let mut running = Running::new(process);
    running.says("others run");
    running.says("signals have come");
    running.gets(b"hello");
    running.ends();
}

/// Parks when it is formatted.
struct Slow(&'static str);

impl Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        sleep(MS);
        f.write_str(self.0)
    }
}

fn where_nothing_can_park(test: Test) {
    let process = test.process(|| {
        assert_eq!(stdin().lines().next().unwrap().unwrap(), "1");
        writeln!(stdout(), "before").unwrap();
        run(|| {
            println!("by std");
            writeln!(stdout(), "{}, {}", Slow("parked"), Slow("twice")).unwrap();
            blocking(|| {
                writeln!(&stdout(), "inside blocking").unwrap();
                assert_eq!(stdin().lines().next().unwrap().unwrap(), "2");
            });
            thread::spawn(|| {
                assert_eq!(stdin().lines().next().unwrap().unwrap(), "3");
                writeln!(stdout(), "on a thread").unwrap();
            })
        })
        .join()
        .unwrap();
        write!(stdout(), "after").unwrap();
    });
    let mut running = Running::new(process);
    running.gets(b"1\n2\n3\n");
    assert_eq!(running.writes(), "before\nby std\nparked, twice\ninside blocking\non a thread\nafter");
    running.ends();
}

fn a_read_of_nothing_waits_for_nothing(test: Test) {
    let process = test.process(|| {
        run(|| {
            assert_eq!(stdin().read(&mut []).unwrap(), 0);
            let bufs = &mut [IoSliceMut::new(&mut []), IoSliceMut::new(&mut [])];
            assert_eq!(stdin().read_vectored(bufs).unwrap(), 0);
            eprintln!("begins");
            let mut text = String::new();
            stdin().read_to_string(&mut text).unwrap();
            assert_eq!(text, "something");
            eprintln!("it is all there");
        });
    });
    let mut running = Running::new(process);
    running.says("begins");
    running.gets(b"something");
    drop(running.stdin.take());
    running.says("it is all there");
}
