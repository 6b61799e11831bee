//! Labels of goroutines: which goroutine has which labels, and when labels are freed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gosched::labels::{Labels, labels, set_labels, with_labels};
use gosched::{blocking, go, run, yield_now};

use crate::harness::{memory, tests};

tests! {
    a_goroutine_has_those_of_its_maker
    they_are_as_before_after_a_panic
    who_has_ended_has_given_them_back
    a_thread_that_is_no_goroutines_has_none
}

fn text(labels: &Labels) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value} ")).collect()
}

fn a_goroutine_has_those_of_its_maker() {
    run(|| {
        assert!(labels().is_empty());
        let (inner, outer) = with_labels([("b", "1"), ("a", "2")], || {
            let inner =
                go(|| with_labels([("a", "3"), ("c", "4")], || go(|| text(&labels()))).join().unwrap());
            let outer = go(|| {
                yield_now();
                text(&labels())
            });
            assert_eq!(blocking(|| text(&labels())), "a=2 b=1 ");
            (inner, outer)
        });
        // The labels were inherited, and belong to the goroutines.
        assert!(labels().is_empty());
        assert_eq!(inner.join().unwrap(), "a=3 b=1 c=4 ");
        assert_eq!(outer.join().unwrap(), "a=2 b=1 ");
        assert!(go(labels).join().unwrap().is_empty());
    });
}

fn they_are_as_before_after_a_panic() {
    run(|| {
        let before = set_labels(Labels::new().with([("a", "1")]));
        assert_eq!(before, Labels::new());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            with_labels([("a", "2")], || {
                assert_eq!(labels().get("a"), Some("2"));
                std::panic::resume_unwind(Box::new(()))
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(format!("{:?}", labels()), r#"{"a": "1"}"#);
        assert_eq!(labels().get("b"), None);
    });
}

fn who_has_ended_has_given_them_back() {
    // If the sets were kept, they would take 500 MiB.
    let long = "x".repeat(1 << 20);
    run(|| {
        for _ in 0..10 {
            with_labels([("k", long.as_str())], || go(|| ()).join().unwrap());
        }
        let before = memory::resident();
        for _ in 0..500 {
            with_labels([("k", long.as_str())], || go(|| go(labels).join().unwrap()).join().unwrap());
        }
        let after = memory::resident();
        assert!(after < before + (64 << 20), "{before} {after}");
    });
}

fn a_thread_that_is_no_goroutines_has_none() {
    assert!(labels().is_empty());
    let panicked = catch_unwind(|| with_labels([("a", "1")], || ())).unwrap_err();
    let text = panicked.downcast_ref::<String>().unwrap();
    assert!(text.starts_with("gosched::labels::set_labels called on a thread"), "{text}");
}
