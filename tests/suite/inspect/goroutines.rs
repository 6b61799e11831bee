//! Goroutines by groups: counts, pages, searches.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::net::SocketAddr;

use gosched::chan::{Receiver, Sender, bounded};
use gosched::inspect::Inspector;
use gosched::labels::with_labels;
use gosched::metrics::{self, Value};
use gosched::{Builder, go, run, yield_now};

use crate::harness::{Test, tests};
use crate::inspect::client::{get, serve};
use crate::inspect::json::Json;

tests! {
    equal_stacks_are_one_group
    each_goroutine_is_on_one_page
    each_group_is_on_one_page
    searches
    one_goroutine
    markup_stays_text
    a_list_that_is_gone
    system_goroutines_only_if_asked
}

#[inline(never)]
fn planted(rx: &Receiver<()>) {
    let _ = black_box(rx).recv();
}

/// Makes goroutines that wait in [`planted`], and waits until they do.
fn plant(n: usize) -> Sender<()> {
    let (tx, rx) = bounded(0);
    (0..n).for_each(|_| {
        let rx = rx.clone();
        go(move || planted(&rx));
    });
    wait_for_waiting(n as u64);
    tx
}

fn wait_for_waiting(n: u64) {
    let enough = |value| matches!(value, Some(Value::Uint64(count)) if count >= n);
    while !enough(metrics::read("/sched/goroutines/waiting:goroutines")) {
        yield_now();
    }
}

fn list(address: SocketAddr, query: &str) -> Json {
    get(address, &format!("/api/goroutines?fresh=1&{query}")).json()
}

/// Returns the only group of a list.
fn only(list: &Json) -> &Json {
    let [group] = list["items"].items() else { panic!("{list:?}") };
    group
}

/// Lists until exactly `n` goroutines are found. A goroutine on its way into a wait isn't in the
/// group yet.
fn list_of(address: SocketAddr, query: &str, n: usize) -> Json {
    loop {
        let list = list(address, query);
        if list["found"].number() == n as f64 && list["items"].items().len() == 1 {
            return list;
        }
        yield_now();
    }
}

fn equal_stacks_are_one_group() {
    run(|| {
        let address = serve(Inspector::new());
        let _tx = plant(50);
        let list = list_of(address, "q=goroutines::planted", 50);
        let group = only(&list);
        assert_eq!(group["count"].number(), 50.0);
        assert_eq!(group["state"].text(), "chan receive");
        assert!(group["created"].text().contains("inspect/goroutines.rs:"), "{group:?}");
        let frames = group["frames"].items();
        assert!(frames.iter().any(|frame| frame.items()[0].text().ends_with("::planted")), "{frames:?}");
        // Main, the server, the connection, which looks, and these.
        assert_eq!(list["total"].number(), 53.0);
    });
}

fn each_goroutine_is_on_one_page() {
    const MANY: usize = 10_000;
    run(|| {
        let address = serve(Inspector::new());
        let _tx = plant(MANY);
        let list = list_of(address, "q=goroutines::planted", MANY);
        let (look, id) = (list["look"].number(), only(&list)["id"].number());
        let page = |page: usize| get(address, &format!("/api/group?look={look}&id={id}&page={page}")).json();
        let pages = page(0)["pages"].number() as usize;
        assert_eq!(pages, MANY / 100);
        let mut seen = BTreeSet::new();
        for number in 0..pages {
            let page = page(number);
            assert_eq!(page["items"].items().len(), 100);
            seen.extend(page["items"].items().iter().map(|member| member["id"].number() as u64));
        }
        assert_eq!(seen.len(), MANY);
        assert_eq!(page(pages + 7)["page"].number() as usize, pages - 1, "the last page is the nearest");
    });
}

/// The group of each goroutine is its own, as its stack has a depth of its own.
fn each_group_is_on_one_page() {
    #[inline(never)]
    fn deeper(depth: usize, rx: &Receiver<()>) {
        if depth == 0 {
            planted(rx)
        } else {
            deeper(black_box(depth - 1), rx)
        }
        black_box(());
    }
    run(|| {
        let address = serve(Inspector::new());
        let (_tx, rx) = bounded(0);
        for depth in 0..70 {
            let rx = rx.clone();
            go(move || deeper(depth, &rx));
        }
        wait_for_waiting(70);
        let first = loop {
            let first = list(address, "q=goroutines::planted");
            if first["groups"].number() == 70.0 {
                break first;
            }
            yield_now();
        };
        assert_eq!((first["pages"].number(), first["items"].items().len()), (2.0, 50));
        let second = get(address, "/api/goroutines?q=goroutines::planted&page=1").json();
        assert_eq!(second["look"], first["look"], "both pages are of one look");
        let all = [first["items"].items(), second["items"].items()].concat();
        let ids: BTreeSet<u64> = all.iter().map(|group| group["id"].number() as u64).collect();
        assert_eq!(ids.len(), 70);
    });
}

fn searches() {
    run(|| {
        let address = serve(Inspector::new());
        let (_tx, rx) = bounded(0);
        for i in 0..6 {
            let rx = rx.clone();
            let make = || drop(Builder::new().name(&format!("Worker {i}")).go(move || planted(&rx)).unwrap());
            with_labels([("tenant", if i < 4 { "acme" } else { "other" })], make);
        }
        wait_for_waiting(6);
        list_of(address, "q=planted&system=0", 6);
        for (query, n) in [
            ("q=PLANTED", 6),
            ("q=worker+3", 1),
            ("q=tenant%3Dacme", 4),
            ("q=inspect%2Fgoroutines.rs%3A", 6),
            ("q=no+such+thing", 0),
        ] {
            // Main's stack has functions of this file, too.
            let all = list(address, query);
            let items = all["items"].items();
            let mut named = items.iter().filter(|group| group["state"].text() == "chan receive");
            let count = named.next().map_or(0.0, |group| group["count"].number());
            assert_eq!((count, named.count()), (n as f64, 0), "{query}: {all:?}");
        }
    });
}

fn one_goroutine() {
    run(|| {
        let address = serve(Inspector::new());
        let _tx = plant(3);
        let list = list_of(address, "q=goroutines::planted", 3);
        let (look, id) = (list["look"].number(), only(&list)["id"].number());
        let members = get(address, &format!("/api/group?look={look}&id={id}")).json();
        let goid = members["items"].items()[0]["id"].number();
        let one = get(address, &format!("/api/goroutine?id={goid}")).json();
        assert_eq!(one["goroutine"]["id"].number(), goid);
        assert_eq!(one["goroutine"]["parent"].number(), gosched::goid() as f64);
        assert_eq!(one["group"]["frames"], only(&list)["frames"]);
        assert_eq!(get(address, "/api/goroutine?id=999999999").status, 404);
        // The number finds it, too, and only it.
        assert_eq!(list_of(address, &format!("q={goid}"), 1)["found"].number(), 1.0);
    });
}

fn markup_stays_text() {
    const NAME: &str = "<script>alert(\"1\")</script>";
    const LABEL: &str = "</td><img src=x onerror='alert(1)'>\u{2028}&amp;\n";
    run(|| {
        let address = serve(Inspector::new());
        let (_tx, rx) = bounded(0);
        with_labels([("tenant", LABEL)], || {
            drop(Builder::new().name(NAME).go(move || planted(&rx)).unwrap())
        });
        wait_for_waiting(1);
        list_of(address, "q=goroutines::planted", 1);
        let answer = get(address, "/api/goroutines?q=%3Cscript%3E");
        assert!(!answer.text().contains(['<', '>', '&', '\'', '\n', '\u{2028}']), "{}", answer.text());
        assert!(answer.head.contains("\r\nx-content-type-options: nosniff\r\n"), "{}", answer.head);
        assert!(answer.head.contains("content-security-policy: default-src 'none'"), "{}", answer.head);
        let list = answer.json();
        assert_eq!(only(&list)["name"].text(), NAME);
        assert_eq!(only(&list)["labels"].items()[0].items()[1].text(), LABEL);
    });
}

fn a_list_that_is_gone() {
    run(|| {
        let address = serve(Inspector::new());
        let look = list(address, "")["look"].number();
        let group = |look: f64| get(address, &format!("/api/group?look={look}&id=0")).status;
        assert_eq!((group(look), group(look + 1.0)), (200, 410));
        assert_eq!(get(address, &format!("/api/group?look={look}&id=99999")).status, 404);
    });
}

fn system_goroutines_only_if_asked(test: Test) {
    let process = test.process(|| {
        run(|| {
            let address = serve(Inspector::new());
            let (few, all) = (list(address, ""), list(address, "system=1"));
            assert!(few["items"].items().iter().all(|group| group["system"] == Json::Bool(false)));
            assert!(all["total"].number() >= few["total"].number());
        });
    });
    process.end().with("exit status: 0");
}
