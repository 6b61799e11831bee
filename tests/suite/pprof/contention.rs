//! Goroutines that wait for each other, and those that make them wait.

use std::hint::black_box;
use std::time::{Duration, Instant};

use gosched::chan::{Receiver, Sender, bounded};
use gosched::pprof::{Profile, set_block_profile_rate, set_mutex_profile_fraction};
use gosched::sync::{Condvar, Mutex, RwLock, Semaphore, WaitGroup};
use gosched::{JoinHandle, go, run, select, time};

use super::decode;
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::polled::HOUR;
use crate::harness::{run_with_procs, tests};

tests! {
    a_wait_has_its_count_and_its_time
    each_way_to_wait
    nothing_is_told_of_at_first
    who_holds_a_mutex_makes_others_wait
    writers_make_readers_wait
    a_rate_counts_what_it_leaves_out
}

/// How long a goroutine makes others wait.
const PAUSE: Duration = Duration::from_millis(20);

fn block() -> decode::Profile {
    let profile = decode::Profile::written(|file| Profile::Block.write_to(file));
    profile.has_types(&[("contentions", "count"), ("delay", "nanoseconds")]);
    profile
}

fn mutex() -> decode::Profile {
    let profile = decode::Profile::written(|file| Profile::Mutex.write_to(file));
    profile.has_types(&[("contentions", "count"), ("delay", "nanoseconds")]);
    profile
}

fn a_wait_has_its_count_and_its_time() {
    #[inline(never)]
    fn receives(from: &Receiver<()>) {
        from.recv().unwrap();
    }

    set_block_profile_rate(1);
    run(|| {
        let (tx, rx) = bounded(0);
        let since = Instant::now();
        let all: Vec<_> = (0..5)
            .map(|_| {
                let rx = rx.clone();
                go_until_it_waits(move || receives(&rx))
            })
            .collect();
        time::sleep(PAUSE);
        (0..5).for_each(|_| tx.send(()).unwrap());
        all.into_iter().for_each(|one| one.join().unwrap());
        let longest = 5 * since.elapsed().as_nanos() as i64;
        let profile = block();
        assert_eq!(profile.sum("::receives", 0), 5);
        let delay = profile.sum("::receives", 1);
        assert!((5 * PAUSE.as_nanos() as i64..=longest).contains(&delay), "{delay}, at most {longest}");
    });
}

fn each_way_to_wait() {
    #[inline(never)]
    fn selects(from: &Receiver<()>) {
        select! {
            recv(from) -> received => assert!(received.is_err()),
            recv(gosched::chan::never::<()>()) -> _ => unreachable!(),
        }
    }
    #[inline(never)]
    fn sends(to: &Sender<()>) {
        assert!(to.send(()).is_err());
        black_box(());
    }
    #[inline(never)]
    fn locks(mutex: &Mutex<bool>) {
        drop(mutex.lock());
        black_box(());
    }
    #[inline(never)]
    fn waits_for_condition(pair: &(Mutex<bool>, Condvar)) {
        let mut over = pair.0.lock();
        while !*over {
            over = pair.1.wait(over);
        }
    }
    #[inline(never)]
    fn waits_for_group(group: &WaitGroup) {
        group.wait();
        black_box(());
    }
    #[inline(never)]
    fn acquires(semaphore: &Semaphore) {
        drop(semaphore.acquire());
        black_box(());
    }

    #[inline(never)]
    fn joins(other: JoinHandle<()>) {
        other.join().unwrap();
        black_box(());
    }
    #[inline(never)]
    fn waits_an_hour_for_end(other: JoinHandle<()>) {
        assert!(other.join_timeout(HOUR).is_ok());
        black_box(());
    }

    // A goroutine that seems to wait may have been preempted, and may not wait at all later. Then
    // the test runs another round.
    let round = || {
        let (tx, rx) = bounded::<()>(0);
        let (full, gone) = bounded::<()>(0);
        let mutex: &Mutex<bool> = Box::leak(Box::default());
        let pair: &(Mutex<bool>, Condvar) = Box::leak(Box::default());
        let group: &WaitGroup = Box::leak(Box::default());
        let semaphore: &Semaphore = Box::leak(Box::new(Semaphore::new(0)));
        group.add(1);
        let held = mutex.lock();
        let [other, another] = [(); 2].map(|()| {
            let full = full.clone();
            go(move || assert!(full.send(()).is_err()))
        });
        let waiting = [
            go_until_it_waits(move || selects(&rx)),
            go_until_it_waits(move || sends(&full)),
            go_until_it_waits(|| locks(mutex)),
            go_until_it_waits(|| waits_for_condition(pair)),
            go_until_it_waits(|| waits_for_group(group)),
            go_until_it_waits(|| acquires(semaphore)),
            go_until_it_waits(move || joins(other)),
            go_until_it_waits(move || waits_an_hour_for_end(another)),
        ];
        drop((tx, gone, held));
        *pair.0.lock() = true;
        pair.1.notify_all();
        group.done();
        semaphore.add_permits(1);
        waiting.into_iter().for_each(|one| one.join().unwrap());
    };
    let waiters = [
        "::selects",
        "::sends",
        "::locks",
        "::waits_for_condition",
        "::waits_for_group",
        "::acquires",
        "::joins",
        "::waits_an_hour_for_end",
    ];
    set_block_profile_rate(1);
    run(|| {
        let all_seen = || {
            let profile = block();
            waiters.iter().all(|waiter| profile.sum(waiter, 0) >= 1 && profile.sum(waiter, 1) > 0)
        };
        round();
        while !all_seen() {
            round();
        }
    });
}

fn nothing_is_told_of_at_first() {
    run(|| {
        let (tx, rx) = bounded(0);
        let receiving = go_until_it_waits(move || rx.recv().unwrap());
        tx.send(()).unwrap();
        receiving.join().unwrap();
        assert!(block().samples.is_empty() && mutex().samples.is_empty());
    });
}

fn who_holds_a_mutex_makes_others_wait() {
    static MUTEX: Mutex<()> = Mutex::new(());

    #[inline(never)]
    fn holds(until: &Receiver<()>) {
        let held = MUTEX.lock();
        assert!(until.recv().is_err());
        drop(held);
        black_box(());
    }
    #[inline(never)]
    fn wants() {
        drop(MUTEX.lock());
        black_box(());
    }

    assert_eq!(set_mutex_profile_fraction(1), 0);
    run(|| {
        let (tx, rx) = bounded(0);
        let holder = go_until_it_waits(move || holds(&rx));
        let waiting: Vec<_> = (0..4).map(|_| go_until_it_waits(wants)).collect();
        drop(tx);
        holder.join().unwrap();
        waiting.into_iter().for_each(|one| one.join().unwrap());
        let profile = mutex();
        assert_eq!(profile.sum("::holds", 0), 1, "{profile:#?}");
        assert!(profile.sum("::holds", 1) > 0, "{profile:#?}");
        // Each goroutine that has waited makes the next one wait.
        assert_eq!(profile.sum("::wants", 0), 3, "{profile:#?}");
        assert!(block().samples.is_empty());
    });
    assert_eq!(set_mutex_profile_fraction(0), 1);
}

fn writers_make_readers_wait() {
    static LOCK: RwLock<()> = RwLock::new(());

    #[inline(never)]
    fn writes(until: &Receiver<()>) {
        let held = LOCK.write();
        assert!(until.recv().is_err());
        drop(held);
        black_box(());
    }

    set_mutex_profile_fraction(1);
    run(|| {
        let (tx, rx) = bounded(0);
        let writer = go_until_it_waits(move || writes(&rx));
        let readers: Vec<_> = (0..4).map(|_| go_until_it_waits(|| drop(LOCK.read()))).collect();
        drop(tx);
        writer.join().unwrap();
        readers.into_iter().for_each(|one| one.join().unwrap());
        assert_eq!(mutex().sum("::writes", 0), 4);
    });
}

/// The recorded short waits stand for those that aren't recorded.
fn a_rate_counts_what_it_leaves_out() {
    const WAITS: i64 = 20_000;
    #[inline(never)]
    fn receives(from: &Receiver<()>) {
        (0..WAITS).for_each(|_| from.recv().unwrap());
    }

    // A wait here takes a microsecond; some take much longer on a busy machine. With one P no value
    // goes from thread to thread, which may take a time slice each on such a machine.
    set_block_profile_rate(20_000);
    run_with_procs(1, || {
        let (tx, rx) = bounded(0);
        let receiving = go(move || receives(&rx));
        (0..WAITS).for_each(|_| tx.send(()).unwrap());
        receiving.join().unwrap();
        let told = block().samples.iter().map(|sample| sample.values[0]).sum::<i64>();
        assert!((WAITS / 10..=4 * WAITS).contains(&told), "{told}");
    });
}
