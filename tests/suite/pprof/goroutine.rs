//! What goroutines do, and how many threads there are.

use std::io::{self, Write};
use std::thread;

use gosched::chan::{Receiver, bounded};
use gosched::labels::with_labels;
use gosched::pprof::Profile;
use gosched::sync::Mutex;
use gosched::{go, proc, run};

use super::decode::{self, Sample};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::tests;

tests! {
    how_many_wait_where_and_with_what_labels
    one_that_computes
    from_a_thread
    the_program_and_its_build_id
    threads
    names
    a_writer_that_fails
}

fn goroutines() -> decode::Profile {
    let profile = decode::Profile::written(|file| Profile::Goroutine.write_to(file));
    profile.has_types(&[("goroutine", "count")]);
    profile
}

/// Returns the only sample whose stack has a function.
fn only<'a>(profile: &'a decode::Profile, function: &str) -> &'a Sample {
    let found: Vec<&Sample> = profile.samples.iter().filter(|sample| sample.is_in(function)).collect();
    assert_eq!(found.len(), 1, "{function} in {profile:#?}");
    found[0]
}

#[inline(never)]
fn receives(from: &Receiver<()>) {
    assert!(from.recv().is_err());
}

#[inline(never)]
fn locks(mutex: &Mutex<()>) {
    drop(mutex.lock());
}

fn how_many_wait_where_and_with_what_labels() {
    static MUTEX: Mutex<()> = Mutex::new(());

    run(|| {
        let (tx, rx) = bounded::<()>(0);
        let held = MUTEX.lock();
        let mut all = Vec::new();
        with_labels([("request", "17"), ("user", "ann")], || {
            for _ in 0..7 {
                let rx = rx.clone();
                all.push(go_until_it_waits(move || receives(&rx)));
            }
        });
        for _ in 0..3 {
            all.push(go_until_it_waits(|| locks(&MUTEX)));
        }
        let profile = goroutines();
        let receiving = only(&profile, "::receives");
        assert_eq!(receiving.values, [7]);
        let labels: Vec<(&str, &str)> =
            receiving.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(labels, [("request", "17"), ("state", "chan receive"), ("user", "ann")]);
        let locking = only(&profile, "::locks");
        assert_eq!((locking.values.as_slice(), locking.labels.len()), (&[3][..], 1));
        assert_eq!(locking.labels["state"], "sync.Mutex.Lock");
        for sample in &profile.samples {
            let in_runtime = sample.stack.iter().find(|frame| frame.function.contains("gosched::runtime::"));
            assert!(in_runtime.is_none(), "{in_runtime:?}");
        }
        let line = receiving.stack.iter().find(|frame| frame.function.ends_with("::receives")).unwrap();
        assert!(line.file.ends_with("suite/pprof/goroutine.rs") && line.line > 0, "{line:?}");
        drop((tx, held));
        all.into_iter().for_each(|one| one.join().unwrap());
    });
}

fn one_that_computes() {
    use std::sync::atomic::{AtomicBool, Ordering};
    static BEGUN: AtomicBool = AtomicBool::new(false);
    static OVER: AtomicBool = AtomicBool::new(false);

    #[inline(never)]
    fn computes() {
        BEGUN.store(true, Ordering::Relaxed);
        while !OVER.load(Ordering::Relaxed) {
            std::hint::black_box(());
        }
    }

    run(|| {
        let computing = go(computes);
        while !BEGUN.load(Ordering::Relaxed) {
            gosched::yield_now();
        }
        let sample = only(&goroutines(), "::computes").labels["state"].clone();
        assert!(sample.starts_with("run"), "{sample}");
        OVER.store(true, Ordering::Relaxed);
        computing.join().unwrap();
    });
}

fn from_a_thread() {
    run(|| {
        let (tx, rx) = bounded::<()>(0);
        let waiting = go_until_it_waits(move || receives(&rx));
        let profile = thread::spawn(goroutines);
        assert_eq!(only(&gosched::blocking(|| profile.join()).unwrap(), "::receives").values, [1]);
        drop(tx);
        waiting.join().unwrap();
    });
}

fn the_program_and_its_build_id() {
    let profile = run(goroutines);
    let program = &profile.mappings[0];
    assert_eq!(program.file, std::env::current_exe().unwrap().to_str().unwrap());
    assert!(program.has_functions);
    let libc = profile.mappings.iter().find(|mapping| mapping.file.contains("libc.so"));
    if let Some(libc) = libc {
        assert!(libc.build_id.len() >= 16 && libc.build_id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}

fn threads() {
    run(|| {
        let profile = decode::Profile::written(|file| Profile::Threadcreate.write_to(file));
        profile.has_types(&[("threadcreate", "count")]);
        let count = profile.samples[0].values[0];
        assert!((2..=i64::from(proc::mcount())).contains(&count), "{count}");
    });
}

fn names() {
    for profile in Profile::ALL {
        assert_eq!(Profile::named(&profile.to_string()), Some(profile));
    }
    assert_eq!(Profile::named("heap"), None);
}

/// A writer without room.
pub struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn a_writer_that_fails() {
    run(|| {
        for profile in Profile::ALL {
            let error = profile.write_to(&mut Full).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    });
}
