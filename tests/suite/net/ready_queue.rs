//! Values that wait for descriptors, and for goroutines: [`ReadyQueue`].

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gosched::chan::{Sender, unbounded};
use gosched::context::Context;
use gosched::net::{ReadyQueue, TcpStream, UnixStream};
use gosched::sync::Mutex;
use gosched::{blocking, go, run, scope};

use crate::harness::explored::{in_any_order, times};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::panics::panics;
use crate::harness::polled::*;
use crate::harness::sockets::listen;
use crate::harness::{Test, tests};

tests! {
    values_come_in_order
    who_has_waited_shortest_goes_on
    every_value_is_taken
    one_that_unwinds_is_not_woken
    one_that_unwinds_leaves_its_value_to_another
    a_close_ends_waits
    threads_push_and_pop
    what_needs_no_wait_works_in_blocking
    a_value_waits_for_its_stream
    what_ends_a_streams_wait
    it_is_the_values_turn_to_read
    few_serve_many
    values_are_dropped
    a_destructor_that_panics_leaves_no_value
}

pub fn values_come_in_order() {
    in_any_order(|| {
        let queue = ReadyQueue::new();
        for n in 0..5 {
            queue.push(n).unwrap();
        }
        assert_eq!([(); 5].map(|()| queue.pop()), [0, 1, 2, 3, 4].map(Some));
    });
}

pub fn who_has_waited_shortest_goes_on() {
    in_any_order(|| {
        let queue = Arc::new(ReadyQueue::new());
        let pop = || {
            let queue = queue.clone();
            go_until_it_waits(move || queue.pop())
        };
        let (first, second) = (pop(), pop());
        queue.push(1).unwrap();
        assert_eq!(second.join().unwrap(), Some(1));
        let third = pop();
        queue.push(2).unwrap();
        assert_eq!(third.join().unwrap(), Some(2));
        queue.push(3).unwrap();
        assert_eq!(first.join().unwrap(), Some(3));
    });
}

/// Each goroutine takes one value, so all have to be woken, in whatever order.
pub fn every_value_is_taken() {
    in_any_order(|| {
        let n = times(100, 3);
        let (queue, taken) = (ReadyQueue::new(), Mutex::new(Vec::new()));
        scope(|s| {
            for i in 0..n {
                s.go(|| {
                    let value = queue.pop().unwrap();
                    taken.lock().push(value);
                });
                if i % 2 == 1 {
                    let queue = &queue;
                    s.go(move || (i - 1..=i).for_each(|i| queue.push(i).unwrap()));
                }
            }
            if n % 2 == 1 {
                queue.push(n - 1).unwrap();
            }
        });
        let mut taken = taken.into_inner();
        taken.sort();
        assert!(taken.into_iter().eq(0..n));
    });
}

pub fn one_that_unwinds_is_not_woken() {
    in_any_order(|| {
        let (queue, (ctx, cancel)) = (Arc::new(ReadyQueue::new()), Context::background().with_cancel());
        let waits = go_until_it_waits({
            let queue = queue.clone();
            move || queue.pop()
        });
        let ended = ctx.run(|| {
            cancel.cancel();
            queue.pop()
        });
        assert!(ended.is_err());
        queue.push(1).unwrap();
        assert_eq!(waits.join().unwrap(), Some(1));
    });
}

/// A wait ends with its run when values come, and the other goroutine takes those that are left.
pub fn one_that_unwinds_leaves_its_value_to_another() {
    in_any_order(|| {
        for _ in 0..times(100, 1) {
            let (queue, (ctx, cancel)) = (ReadyQueue::new(), Context::background().with_cancel());
            let (tx, taken) = unbounded();
            let takes = || {
                while let Some(value) = queue.pop() {
                    tx.send(value).unwrap();
                }
            };
            scope(|s| {
                s.go(|| {
                    let _ = ctx.run(takes);
                });
                s.go(takes);
                s.go(|| cancel.cancel());
                for value in 0..3 {
                    queue.push(value).unwrap();
                }
                for _ in 0..3 {
                    taken.recv().unwrap();
                }
                queue.close();
            });
        }
    });
}

pub fn a_close_ends_waits() {
    in_any_order(|| {
        let queue = Arc::new(ReadyQueue::<u32>::new());
        let waits = [(); 3].map(|()| {
            let queue = queue.clone();
            go_until_it_waits(move || queue.pop())
        });
        queue.close();
        queue.close();
        for wait in waits {
            assert_eq!(wait.join().unwrap(), None);
        }
        assert_eq!(queue.push(1), Err(1));
        assert_eq!(queue.pop(), None);
    });
}

fn threads_push_and_pop() {
    const N: usize = 1000;
    run(|| {
        let queue = ReadyQueue::new();
        let sum = AtomicUsize::new(0);
        let pops = || {
            while let Some(n) = queue.pop() {
                sum.fetch_add(n, Ordering::Relaxed);
            }
        };
        thread::scope(|threads| {
            let popping = [threads.spawn(pops), threads.spawn(pops)];
            scope(|s| {
                let pushes = || (1..=N).for_each(|n| queue.push(n).unwrap());
                s.go(pops);
                s.go(pushes);
                s.go(pushes);
                threads.spawn(pushes);
                blocking(pushes);
                s.go(|| {
                    while sum.load(Ordering::Relaxed) < 4 * N * (N + 1) / 2 {
                        gosched::yield_now();
                    }
                    queue.close();
                });
            });
            blocking(|| popping.map(|popping| popping.join().unwrap()));
        });
        assert_eq!(sum.into_inner(), 4 * N * (N + 1) / 2);
    });
}

fn what_needs_no_wait_works_in_blocking() {
    run(|| {
        let queue = ReadyQueue::new();
        blocking(|| {
            queue.push(1).unwrap();
            assert_eq!(queue.pop(), Some(1));
            let message = panics(|| queue.pop());
            assert!(message.contains("a pop"), "{message}");
        });
        // The pop that has panicked doesn't wait any more.
        queue.push(2).unwrap();
        assert_eq!(queue.pop(), Some(2));
    });
}

fn a_value_waits_for_its_stream(test: Test) {
    with_one_p_and_several(test, || {
        let queue = ReadyQueue::new();
        let pairs: [_; 3] = std::array::from_fn(|_| stream_pair());
        let streams = pairs.map(|(a, b)| (Arc::new(a), b));
        for (n, (a, _)) in streams.iter().enumerate() {
            queue.push_when_readable(a, n);
        }
        for n in [2, 0, 1] {
            let (a, mut b) = (&streams[n].0, &streams[n].1);
            b.write_all(b"x").unwrap();
            assert_eq!(queue.pop(), Some(n));
            assert_eq!(read_one(&**a).unwrap(), b'x');
        }
        // What is there is found at once, also without a goroutine that polls.
        let (a, mut b) = (&streams[0].0, &streams[0].1);
        b.write_all(b"yz").unwrap();
        for byte in *b"yz" {
            queue.push_when_readable(a, 9);
            assert_eq!(queue.pop(), Some(9));
            assert_eq!(read_one(&**a).unwrap(), byte);
        }
        // After a read of all that there was.
        for n in 0..100 {
            b.write_all(b"1").unwrap();
            a.readable().unwrap();
            assert_eq!(a.try_read(&mut [0; 8]).unwrap(), 1);
            if n % 2 == 0 {
                b.write_all(b"2").unwrap();
            }
            queue.push_when_readable(a, n);
            if n % 2 == 1 {
                b.write_all(b"2").unwrap();
            }
            assert_eq!(queue.pop(), Some(n));
            assert_eq!(read_one(&**a).unwrap(), b'2');
        }
    });
}

fn what_ends_a_streams_wait(test: Test) {
    with_one_p_and_several(test, || {
        let queue = Arc::new(ReadyQueue::new());
        let ends: [fn(&UnixStream, UnixStream); 4] = [
            |_, b| drop(b),
            |a, b| {
                a.set_read_deadline(Some(Instant::now()));
                std::mem::forget(b);
            },
            |a, b| {
                a.set_read_deadline(Some(Instant::now() + 20 * MS));
                std::mem::forget(b);
            },
            |a, b| {
                a.close();
                std::mem::forget(b);
            },
        ];
        for end in ends {
            let (a, b) = stream_pair();
            let a = Arc::new(a);
            queue.push_when_readable(&a, "waits");
            let popping = go_until_it_waits({
                let queue = queue.clone();
                move || queue.pop()
            });
            end(&a, b);
            assert_eq!(popping.join().unwrap(), Some("waits"));
            // It has ended, so the next wait does at once.
            queue.push_when_readable(&a, "ended");
            assert_eq!(queue.pop(), Some("ended"));
        }
    });
}

/// Another goroutine reads when the value was taken, and not before.
fn it_is_the_values_turn_to_read(test: Test) {
    with_one_p_and_several(test, || {
        let queue = ReadyQueue::new();
        let (a, mut b) = stream_pair();
        let a = Arc::new(a);
        queue.push_when_readable(&a, ());
        let reads = go_until_it_waits({
            let a = a.clone();
            move || read_one(&*a).unwrap()
        });
        b.write_all(b"x").unwrap();
        let_them_wait();
        assert!(!reads.is_finished());
        queue.pop();
        assert_eq!(reads.join().unwrap(), b'x');
    });
}

/// Two goroutines serve all connections, which come and go.
fn few_serve_many(test: Test) {
    fn serve(queue: &ReadyQueue<Arc<TcpStream>>) {
        while let Some(stream) = queue.pop() {
            let mut buf = [0; 64];
            match stream.try_read(&mut buf) {
                Ok(0) => continue,
                Ok(n) => (&*stream).write_all(&buf[..n]).unwrap(),
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
            }
            queue.push_when_readable(&stream, stream.clone());
        }
    }
    with_one_p_and_several(test, || {
        let (listener, addr) = listen();
        let queue = Arc::new(ReadyQueue::new());
        let servers = [(); 2].map(|()| {
            let queue = queue.clone();
            go(move || serve(&queue))
        });
        let accepting = queue.clone();
        go(move || {
            for stream in listener.incoming() {
                let stream = Arc::new(stream.unwrap());
                accepting.push_when_readable(&stream, stream.clone());
            }
        });
        scope(|s| {
            for i in 0..50_u8 {
                s.go(move || {
                    let mut stream = TcpStream::connect(addr).unwrap();
                    for n in 0..50_u8 {
                        let sent = [i ^ n; 64];
                        stream.write_all(&sent).unwrap();
                        let mut got = [0; 64];
                        stream.read_exact(&mut got).unwrap();
                        assert_eq!(sent, got);
                    }
                });
            }
        });
        queue.close();
        for server in servers {
            server.join().unwrap();
        }
    });
}

/// Sends when it is dropped, which may take its time.
#[derive(Debug)]
struct Dropped(Sender<&'static str>, &'static str);

impl Drop for Dropped {
    fn drop(&mut self) {
        gosched::time::sleep(Duration::from_millis(1));
        self.0.send(self.1).unwrap();
    }
}

fn values_are_dropped(test: Test) {
    with_one_p_and_several(test, || {
        let (tx, rx) = unbounded();
        let (queue, (a, mut b), (c, d)) = (ReadyQueue::new(), stream_pair(), stream_pair());
        let (a, c) = (Arc::new(a), Arc::new(c));
        queue.push(Dropped(tx.clone(), "there")).unwrap();
        queue.push_when_readable(&a, Dropped(tx.clone(), "readable"));
        queue.push_when_readable(&c, Dropped(tx.clone(), "closed"));
        drop(queue);
        assert_eq!(rx.try_recv(), Ok("there"));
        assert!(rx.try_recv().is_err());
        // The poller itself finds that the queue is gone.
        b.write_all(b"x").unwrap();
        assert_eq!(rx.recv(), Ok("readable"));
        assert_eq!(read_one(&*a).unwrap(), b'x');
        c.close();
        assert_eq!(rx.recv(), Ok("closed"));
        drop(d);
    });
}

/// Panics when it is dropped.
struct Panics;

impl Drop for Panics {
    fn drop(&mut self) {
        panic!("of a destructor");
    }
}

/// The values behind it are dropped, and their streams can be read.
fn a_destructor_that_panics_leaves_no_value(test: Test) {
    with_one_p_and_several(test, || {
        let (queue, kept, (a, mut b)) = (ReadyQueue::new(), Arc::new(()), stream_pair());
        let a = Arc::new(a);
        assert!(queue.push((Some(Panics), kept.clone())).is_ok());
        assert!(queue.push((None, kept.clone())).is_ok());
        b.write_all(b"x").unwrap();
        queue.push_when_readable(&a, (None, kept.clone()));
        assert!(go(move || drop(queue)).join().is_err());
        assert_eq!(read_one(&*a).unwrap(), b'x');
        assert_eq!(Arc::strong_count(&kept), 1);
    });
}
