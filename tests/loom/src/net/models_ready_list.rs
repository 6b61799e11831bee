//! Goroutines that wait for nodes. (loom fails if all threads are blocked, and a thread that waits
//! in vain is blocked.)

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use crate::net::ready_list::{Linked, ReadyList};
use crate::runtime::netpoll::pipe::{Arc, check, thread};
use crate::runtime::{goready, set_over};

struct Node {
    next: Cell<*mut Node>,
    number: usize,
}

// SAFETY: the list protects the link.
unsafe impl Send for Node {}

impl Linked for Node {
    fn next(&self) -> &Cell<*mut Node> {
        &self.next
    }
}

fn add(list: &ReadyList<Node>, number: usize) {
    let node = Box::new(Node { next: Cell::new(ptr::null_mut()), number });
    match list.add(node) {
        Ok(Some(gp)) => goready(gp),
        Ok(None) => {}
        Err(_) => panic!("it is open"),
    }
}

fn take(list: &ReadyList<Node>) -> usize {
    list.take("a model").expect("it is open").number
}

/// Each thread takes one node. So each node wakes one that waits, or the last one that was woken.
#[test]
fn each_takes_one() {
    check(|| {
        let list = Arc::new(ReadyList::new());
        let takers = [(); 2].map(|()| {
            let list = list.clone();
            thread::spawn(move || take(&list))
        });
        add(&list, 1);
        add(&list, 2);
        assert_eq!(takers.map(|taker| taker.join().unwrap()).iter().sum::<usize>(), 3);
    });
}

#[test]
fn two_threads_add() {
    check(|| {
        let list = Arc::new(ReadyList::new());
        let adds = {
            let list = list.clone();
            thread::spawn(move || add(&list, 1))
        };
        let taker = {
            let list = list.clone();
            thread::spawn(move || take(&list))
        };
        add(&list, 2);
        let first = take(&list);
        assert_eq!(first + taker.join().unwrap(), 3);
        adds.join().unwrap();
    });
}

#[test]
fn a_close_ends_waits() {
    check(|| {
        let list = Arc::new(ReadyList::<Node>::new());
        let takers = [(); 2].map(|()| {
            let list = list.clone();
            thread::spawn(move || list.take("a model").map_or(0, |node| node.number))
        });
        add(&list, 1);
        list.close();
        assert_eq!(takers.map(|taker| taker.join().unwrap()).iter().sum::<usize>(), 1);
    });
}

/// A thread that unwinds instead of waiting leaves the node to the other, also if it was woken.
#[test]
fn one_unwinds() {
    check(|| {
        let list = Arc::new(ReadyList::new());
        let unwinds = {
            let list = list.clone();
            thread::spawn(move || {
                set_over();
                if let Ok(number) = catch_unwind(AssertUnwindSafe(|| take(&list))) {
                    add(&list, number);
                }
            })
        };
        let taker = {
            let list = list.clone();
            thread::spawn(move || take(&list))
        };
        add(&list, 1);
        unwinds.join().unwrap();
        assert_eq!(taker.join().unwrap(), 1);
    });
}
