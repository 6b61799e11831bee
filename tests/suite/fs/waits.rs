//! Goroutines that wait for files, and the goroutines that run meanwhile.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::fs::{self, File, TryLockError};
use gosched::time::sleep;
use gosched::{blocking, go, lock_os_thread, run, scope, yield_now};

use crate::fs::Folder;
use crate::harness::interrupts::{INTERRUPTS, count_interrupts, interrupt, this_thread};
use crate::harness::{Test, tests};

tests! {
    contents_over_goroutines
    goroutines_share_a_file
    who_waits_for_a_file_holds_no_p
    who_waits_for_a_lock_holds_no_p
    signals_end_no_wait_for_a_lock
    signals_end_nothing
    paths_may_park
    where_there_is_no_goroutine
}

const MS: Duration = Duration::from_millis(1);

fn contents_over_goroutines() {
    run(|| {
        let folder = Folder::new();
        let text = |i: usize| format!("{i}\n").repeat(10_000 + i);
        scope(|s| {
            for i in 0..32 {
                let path = folder.path(i.to_string());
                s.go(move || {
                    if i % 2 == 0 {
                        fs::write(&path, text(i)).unwrap();
                        assert_eq!(fs::read_to_string(&path).unwrap(), text(i));
                    } else {
                        let mut file = File::create_new(&path).unwrap();
                        for part in text(i).as_bytes().chunks(7_000) {
                            file.write_all(part).unwrap();
                            yield_now();
                        }
                        file.sync_all().unwrap();
                        let lines: Vec<_> =
                            BufReader::new(File::open(&path).unwrap()).lines().map(Result::unwrap).collect();
                        assert_eq!((lines.len(), &lines[i]), (10_000 + i, &i.to_string()));
                    }
                });
            }
        });
        for i in 0..32 {
            assert_eq!(std::fs::read(folder.path(i.to_string())).unwrap(), text(i).into_bytes());
        }
    });
}

/// The file's position is shared, too: each line goes to one goroutine.
fn goroutines_share_a_file() {
    run(|| {
        let folder = Folder::new();
        let file = &File::create(folder.path("file")).unwrap();
        scope(|s| {
            for i in 0..8 {
                s.go(move || {
                    (0..100).for_each(|n| (&*file).write_all(format!("{i} {n}\n").as_bytes()).unwrap())
                });
            }
        });
        let text = fs::read_to_string(folder.path("file")).unwrap();
        let lines: BTreeSet<&str> = text.lines().collect();
        assert_eq!(lines.len(), 800);
        assert!((0..8).all(|i| (0..100).all(|n| lines.contains(&*format!("{i} {n}")))));
    });
}

/// Doesn't return unless another goroutine runs meanwhile.
fn others_run() {
    let (ping, pings) = bounded(0);
    let (pong, pongs) = bounded(0);
    drop(go(move || pings.iter().for_each(|i: u32| pong.send(i + 1).unwrap())));
    for i in 0..100 {
        ping.send(i).unwrap();
        assert_eq!(pongs.recv().unwrap(), i + 1);
    }
}

/// There is one P, and only the goroutine itself can give it up. A goroutine that kept it during a
/// wait here would wait forever.
fn who_waits_for_a_file_holds_no_p(test: Test) {
    let process = test.process(|| {
        run(|| {
            let folder = Folder::new();
            let path = folder.fifo();
            let reader = go({
                let path = path.clone();
                move || {
                    let mut file = File::open(path).unwrap();
                    let mut first = [0; 3];
                    file.read_exact(&mut first).unwrap();
                    let mut rest = String::new();
                    BufReader::new(&file).read_line(&mut rest).unwrap();
                    (first, rest, fs::read_to_string("/proc/self/comm").is_ok())
                }
            });
            others_run();
            let mut file = File::options().write(true).open(path).unwrap();
            for part in [&b"one"[..], b"two\n"] {
                others_run();
                file.write_all(part).unwrap();
            }
            assert_eq!(reader.join().unwrap(), (*b"one", "two\n".into(), true));
            // A writer waits for room.
            let (reader, writer) = io::pipe().unwrap();
            let writer = go(move || File::from(OwnedFd::from(writer)).write_all(&[7; 1 << 20]));
            yield_now();
            others_run();
            let mut all = Vec::new();
            File::from(OwnedFd::from(reader)).read_to_end(&mut all).unwrap();
            writer.join().unwrap().unwrap();
            assert_eq!(all, [7; 1 << 20]);
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

/// As with a read: there is one P.
fn who_waits_for_a_lock_holds_no_p(test: Test) {
    let process = test.process(|| {
        run(|| {
            let folder = Folder::new();
            let path = folder.path("file");
            let file = File::create(&path).unwrap();
            for lock in [File::lock, File::lock_shared] {
                file.lock().unwrap();
                let other = File::open(&path).unwrap();
                let begun = Arc::new(AtomicBool::new(false));
                let waits = go({
                    let begun = begun.clone();
                    move || {
                        begun.store(true, Ordering::Relaxed);
                        lock(&other).map(|()| other)
                    }
                });
                while !begun.load(Ordering::Relaxed) {
                    yield_now();
                }
                others_run();
                assert!(!waits.is_finished());
                file.unlock().unwrap();
                let other = waits.join().unwrap().unwrap();
                assert!(matches!(file.try_lock(), Err(TryLockError::WouldBlock)));
                drop(other);
                file.try_lock().unwrap();
            }
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

fn signals_end_no_wait_for_a_lock() {
    static THREAD: AtomicI32 = AtomicI32::new(0);
    count_interrupts();
    run(|| {
        let folder = Folder::new();
        let path = folder.path("file");
        let file = File::create(&path).unwrap();
        file.lock().unwrap();
        let other = File::open(&path).unwrap();
        let waits = go(move || {
            let _lock = lock_os_thread();
            THREAD.store(this_thread(), Ordering::Relaxed);
            other.lock()
        });
        while THREAD.load(Ordering::Relaxed) == 0 {
            yield_now();
        }
        let before = INTERRUPTS.load(Ordering::Relaxed);
        while INTERRUPTS.load(Ordering::Relaxed) < before + 20 {
            interrupt(THREAD.load(Ordering::Relaxed));
            sleep(MS);
        }
        assert!(!waits.is_finished());
        file.unlock().unwrap();
        waits.join().unwrap().unwrap();
    });
}

/// The signals come while a read waits, and while a write does.
fn signals_end_nothing() {
    static THREAD: AtomicI32 = AtomicI32::new(0);
    const MANY: usize = 20;
    count_interrupts();
    run(|| {
        let interrupt_it = || {
            let before = INTERRUPTS.load(Ordering::Relaxed);
            while INTERRUPTS.load(Ordering::Relaxed) < before + MANY {
                interrupt(THREAD.load(Ordering::Relaxed));
                sleep(MS);
            }
        };
        let waits = |wait: fn(File) -> io::Result<usize>, file: OwnedFd| {
            THREAD.store(0, Ordering::Relaxed);
            let waits = go(move || {
                let _lock = lock_os_thread();
                THREAD.store(this_thread(), Ordering::Relaxed);
                wait(file.into())
            });
            while THREAD.load(Ordering::Relaxed) == 0 {
                yield_now();
            }
            waits
        };
        let (reader, mut writer) = io::pipe().unwrap();
        let read = waits(|mut file| file.read(&mut [0; 16]), reader.into());
        interrupt_it();
        writer.write_all(b"hello").unwrap();
        assert_eq!(read.join().unwrap().unwrap(), 5);
        let (mut reader, mut writer) = io::pipe().unwrap();
        // As many bytes as the pipe has room for.
        // SAFETY: no memory is passed.
        let room = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_GETPIPE_SZ) } as usize;
        writer.write_all(&vec![7; room]).unwrap();
        let write = waits(|mut file| file.write(b"hello"), writer.into());
        interrupt_it();
        let mut all = Vec::new();
        blocking(|| reader.read_to_end(&mut all)).unwrap();
        assert_eq!((write.join().unwrap().unwrap(), all.len()), (5, room + 5));
    });
}

/// Parks when it is asked for its path.
struct Slow(PathBuf);

impl AsRef<Path> for Slow {
    fn as_ref(&self) -> &Path {
        sleep(MS);
        &self.0
    }
}

fn paths_may_park() {
    run(|| {
        let folder = Folder::new();
        let slow = |name: &str| Slow(folder.path(name));
        fs::write(slow("a"), "text").unwrap();
        fs::copy(slow("a"), slow("b")).unwrap();
        assert_eq!(fs::read_to_string(slow("b")).unwrap(), "text");
        File::open(slow("a")).unwrap();
        File::create(slow("a")).unwrap();
        assert_eq!(fs::read_dir(slow("")).unwrap().count(), 2);
    });
}

fn where_there_is_no_goroutine() {
    let folder = Folder::new();
    let path = &folder.path("file");
    let uses = || {
        let mut file = File::create(path).unwrap();
        file.write_all(b"text").unwrap();
        assert_eq!(fs::read(path).unwrap(), b"text");
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    };
    uses();
    run(|| {
        uses();
        blocking(uses);
        thread::scope(|s| s.spawn(uses).join().unwrap());
    });
    uses();
}
