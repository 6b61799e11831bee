//! `LazyLock`: the value is made once, whoever comes first, and a panic poisons it.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gosched::sync::LazyLock;
use gosched::{blocking, run, scope, yield_now};

use crate::harness::explored::{in_any_order, times};
use crate::harness::panics::panics;
use crate::harness::tests;

tests! {
    a_lazy_lock_has_one_value
    a_panic_poisons_a_lazy_lock
    a_lazy_lock_is_for_threads
    a_lazy_lock_drops_what_it_has
    a_lazy_lock_has_its_value_for_its_owner
    a_lazy_lock_shows_what_it_has
}

pub fn a_lazy_lock_has_one_value() {
    in_any_order(|| {
        let calls = AtomicUsize::new(0);
        let lazy = LazyLock::new(|| {
            yield_now();
            calls.fetch_add(1, Ordering::Relaxed) + 7
        });
        scope(|s| {
            for _ in 0..times(100, 3) {
                s.go(|| assert_eq!(*lazy, 7));
            }
        });
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    });
}

/// Also for those that wait at that time.
pub fn a_panic_poisons_a_lazy_lock() {
    in_any_order(|| {
        let calls = AtomicUsize::new(0);
        let lazy: LazyLock<u32, _> = LazyLock::new(|| {
            yield_now();
            calls.fetch_add(1, Ordering::Relaxed);
            panic!("its own")
        });
        let messages = scope(|s| {
            let all: Vec<_> = (0..3).map(|_| s.go(|| panics(|| *lazy))).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
        });
        let of_the_function = messages.iter().filter(|message| *message == "its own").count();
        assert_eq!(of_the_function, 1, "{messages:?}");
        assert_eq!(messages.iter().filter(|message| message.contains("is poisoned")).count(), 2);
        assert!(panics(|| *LazyLock::force(&lazy)).contains("is poisoned"));
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        assert_eq!(format!("{lazy:?}"), "LazyLock(<uninit>)");
    });
}

fn a_lazy_lock_is_for_threads() {
    static NAME: LazyLock<String> = LazyLock::new(|| String::from("gopher"));
    // Before the runtime has started, too.
    assert_eq!(NAME.len(), 6);
    static OTHER: LazyLock<String> = LazyLock::new(|| {
        thread::yield_now();
        String::from("other")
    });
    run(|| {
        let threads = [(); 3].map(|()| thread::spawn(|| OTHER.as_str()));
        assert_eq!(*OTHER, "other");
        assert!(blocking(|| threads.into_iter().all(|thread| thread.join().unwrap() == "other")));
    });
}

fn a_lazy_lock_drops_what_it_has() {
    let counted = Arc::new(());
    // Not used, made, and poisoned.
    let lazy = |counted: &Arc<()>| {
        let counted = counted.clone();
        LazyLock::new(move || counted)
    };
    drop(lazy(&counted));
    assert_eq!(Arc::strong_count(&counted), 1);
    let made = lazy(&counted);
    assert_eq!(Arc::strong_count(LazyLock::force(&made)), 2);
    drop(made);
    assert_eq!(Arc::strong_count(&counted), 1);
    let kept = counted.clone();
    let poisoned: LazyLock<(), _> = LazyLock::new(move || {
        let _kept = kept;
        panic!("expected")
    });
    assert_eq!(panics(|| *poisoned), "expected");
    assert_eq!(Arc::strong_count(&counted), 1);
    drop(poisoned);
    // The value may be of a kind that no other thread may have.
    assert_eq!(**LazyLock::new(|| Rc::new(7)), 7);
}

fn a_lazy_lock_has_its_value_for_its_owner() {
    let mut lazy = LazyLock::new(|| vec![1]);
    assert!(LazyLock::get(&lazy).is_none() && LazyLock::get_mut(&mut lazy).is_none());
    LazyLock::force_mut(&mut lazy).push(2);
    LazyLock::force_mut(&mut lazy).push(3);
    LazyLock::get_mut(&mut lazy).unwrap().push(4);
    assert_eq!(LazyLock::get(&lazy), Some(&vec![1, 2, 3, 4]));
    let mut poisoned: LazyLock<(), _> = LazyLock::new(|| panic!("expected"));
    assert_eq!(panics(|| *LazyLock::force_mut(&mut poisoned)), "expected");
    assert!(panics(|| *LazyLock::force_mut(&mut poisoned)).contains("is poisoned"));
    assert!(LazyLock::get(&poisoned).is_none() && LazyLock::get_mut(&mut poisoned).is_none());
}

fn a_lazy_lock_shows_what_it_has() {
    let lazy: LazyLock<Vec<u32>> = LazyLock::default();
    assert_eq!(format!("{lazy:?}"), "LazyLock(<uninit>)");
    assert!(lazy.is_empty());
    assert_eq!(format!("{lazy:?}"), "LazyLock([])");
}
