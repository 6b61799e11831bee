//! Profiles and traces, by the page's buttons.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gosched::inspect::Inspector;
use gosched::sync::WaitGroup;
use gosched::{go, num_goroutine, run, yield_now};

use crate::harness::tests;
use crate::inspect::client::{get, post, send, serve};
use crate::inspect::json::Json;

tests! {
    flames_of_goroutines
    #[slow]
    flames_of_computing
    files
    the_last_seconds
    one_at_a_time
    metrics_for_prometheus
}

#[inline(never)]
fn planted(gate: &WaitGroup) {
    black_box(gate).wait();
}

/// Returns the value of the nodes whose function ends with `name`.
fn value_of(graph: &Json, name: &str) -> f64 {
    let strings = graph["strings"].items();
    let nodes = graph["nodes"].items().iter().map(Json::items);
    let named = nodes.filter(|node| strings[node[1].number() as usize].text().ends_with(name));
    named.map(|node| node[4].number()).sum()
}

fn flames_of_goroutines() {
    run(|| {
        let address = serve(Inspector::new());
        let gate = Arc::new(WaitGroup::new());
        gate.add(1);
        for _ in 0..9 {
            let gate = gate.clone();
            go(move || planted(&gate));
        }
        let graph = loop {
            let graph = post(address, "/api/profile?kind=goroutine&as=flames").json();
            if value_of(&graph, "::planted") == 9.0 {
                break graph;
            }
        };
        let nodes: Vec<&[Json]> = graph["nodes"].items().iter().map(Json::items).collect();
        assert_eq!(nodes[0][4].number(), 12.0, "main, the server and the connection, too");
        assert_eq!(graph["kind"].text(), "goroutine");
        for (i, node) in nodes.iter().enumerate().skip(1) {
            let parent = node[0].number() as usize;
            assert!(parent < i && nodes[parent][4].number() >= node[4].number(), "{node:?}");
        }
        gate.done();
    });
}

fn flames_of_computing() {
    #[inline(never)]
    fn computes(over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            (0..1000).for_each(|i| _ = black_box(i));
        }
    }
    run(|| {
        let address = serve(Inspector::new());
        let over = Arc::new(AtomicBool::new(false));
        let worker = go({
            let over = over.clone();
            move || computes(&over)
        });
        // A busy machine may have given the goroutine no time.
        while value_of(&post(address, "/api/profile?kind=cpu&seconds=1&as=flames").json(), "::computes")
            == 0.0
        {}
        over.store(true, Ordering::Relaxed);
        worker.join().unwrap();
    });
}

fn files() {
    run(|| {
        let address = serve(Inspector::new());
        for kind in ["goroutine", "block", "mutex", "threadcreate"] {
            let file = post(address, &format!("/api/profile?kind={kind}"));
            assert!(file.status == 200 && file.body.starts_with(b"\x1f\x8b"), "{kind}");
        }
        assert_eq!(post(address, "/api/profile?kind=heap").status, 404);
        assert_eq!(get(address, "/api/profile?kind=goroutine").status, 404, "a GET starts nothing");
    });
}

fn the_last_seconds() {
    run(|| {
        let address = serve(Inspector::new());
        let switch = |on: &str| post(address, &format!("/api/recorder?on={on}")).json()["on"].clone();
        let last = || post(address, "/api/trace?kind=last");
        assert_eq!((switch(""), last().status), (Json::Bool(false), 409));
        assert_eq!(
            (switch("1"), switch(""), switch("1")),
            (Json::Bool(true), Json::Bool(true), Json::Bool(true))
        );
        let trace = last();
        assert!(trace.status == 200 && trace.body.starts_with(b"go 1."), "{}", trace.status);
        assert_eq!((switch("0"), last().status), (Json::Bool(false), 409));
    });
}

/// A profile of a minute ends as soon as its client leaves.
fn one_at_a_time() {
    run(|| {
        let address = serve(Inspector::new());
        let text = "POST /api/profile?kind=cpu&seconds=60 HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let mut first = send(address, text.as_bytes());
        let status = || post(address, "/api/profile?kind=goroutine").status;
        while status() != 429 {
            // The first one may have found such a short profile in its way.
            if first.try_read(&mut [0]).is_ok() {
                first = send(address, text.as_bytes());
            }
        }
        drop(first);
        while status() != 200 {
            yield_now();
        }
        while num_goroutine() != 2 {
            yield_now();
        }
    });
}

fn metrics_for_prometheus() {
    run(|| {
        let address = serve(Inspector::new());
        let metrics = get(address, "/metrics");
        assert!(metrics.head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"));
        assert!(metrics.text().contains("\ngosched_sched_goroutines_goroutines 3\n"), "{}", metrics.text());
    });
}
