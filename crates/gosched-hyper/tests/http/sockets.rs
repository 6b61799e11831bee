//! Sockets in futures that something else polls.

use std::future::poll_fn;
use std::io::{Read, Write};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::thread;

use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use gosched::chan::bounded;
use gosched::net::UnixStream;
use gosched::{block_on, go, num_goroutine};
use gosched_hyper::{GoschedExecutor, GoschedIo};
use hyper::rt::{Executor, Read as _, ReadBuf, Write as _};

type Io = GoschedIo<std::os::unix::net::UnixStream>;

/// Reads bytes, until there are as many or the end has come.
async fn read(io: &mut Io, len: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < len {
        let mut bytes = [0; 1024];
        let most = bytes.len().min(len - all.len());
        let mut buf = ReadBuf::new(&mut bytes[..most]);
        poll_fn(|task| Pin::new(&mut *io).poll_read(task, buf.unfilled())).await.unwrap();
        if buf.filled().is_empty() {
            break;
        }
        all.extend(buf.filled());
    }
    all
}

async fn write_all(io: &mut Io, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let n = poll_fn(|task| Pin::new(&mut *io).poll_write(task, bytes)).await.unwrap();
        bytes = &bytes[n..];
    }
}

fn pair() -> (Io, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (GoschedIo::new(ours), theirs)
}

/// Echoes until the end.
fn echo(mut stream: UnixStream) {
    let mut buf = [0; 1000];
    while let Ok(n @ 1..) = stream.read(&mut buf) {
        stream.write_all(&buf[..n]).unwrap();
    }
}

/// Sends and receives more than the sockets hold.
async fn converse(mut io: Io, n: usize) {
    for len in [1, 1_000, 100_000] {
        let bytes: Vec<u8> = (0..len).map(|i| (i * n) as u8).collect();
        write_all(&mut io, &bytes).await;
        assert_eq!(read(&mut io, len).await, bytes);
    }
}

/// Several sockets in one future, whose parts may have wakers of their own.
#[test]
fn several_sockets_share_a_task() {
    gosched::run(|| {
        let streams = || {
            (1..10).map(|n| {
                let (io, theirs) = pair();
                go(move || echo(theirs));
                converse(io, n)
            })
        };
        block_on(join_all(streams()));
        block_on(FuturesUnordered::from_iter(streams()).collect::<()>());
        let (tx, rx) = bounded(0);
        let (all, unordered) = (join_all(streams()), FuturesUnordered::from_iter(streams()));
        GoschedExecutor::new().execute(async move {
            all.await;
            unordered.collect::<()>().await;
            tx.send(()).unwrap();
        });
        rx.recv().unwrap();
    });
}

/// A task that calls `block_on` waits there, and not in the task's own socket.
#[test]
fn a_task_blocks_on_another_socket() {
    gosched::run(|| {
        for outer_waits in [true, false] {
            let (tx, rx) = bounded(0);
            let ((mut outer, mut outers), (mut inner, inners)) = (pair(), pair());
            go(move || echo(inners));
            GoschedExecutor::new().execute(async move {
                let mut reading = pin!(read(&mut outer, 5));
                if outer_waits {
                    // The task's goroutine shall wait in this socket, too.
                    assert!(poll_fn(|task| Poll::Ready(reading.as_mut().poll(task).is_pending())).await);
                }
                gosched::block_on(async {
                    write_all(&mut inner, b"inner").await;
                    assert_eq!(read(&mut inner, 5).await, b"inner");
                });
                tx.send(reading.await).unwrap();
            });
            outers.write_all(b"outer").unwrap();
            assert_eq!(rx.recv().unwrap(), b"outer");
        }
    });
}

/// A socket goes from one task to another while the first one's goroutine waits in it.
#[test]
fn a_socket_changes_its_task() {
    gosched::run(|| {
        for ends in [true, false] {
            let ((hands, handed), (tx, rx)) = (bounded::<Io>(1), bounded(1));
            let (mut io, mut theirs) = pair();
            let (_keep, never) = bounded::<()>(1);
            GoschedExecutor::new().execute(async move {
                let mut reading = Box::pin(read(&mut io, 5));
                assert!(poll_fn(|task| Poll::Ready(reading.as_mut().poll(task).is_pending())).await);
                drop(reading);
                hands.send(io).unwrap();
                if !ends {
                    let _ = never.recv_async().await;
                }
            });
            let mut io = handed.recv().unwrap();
            GoschedExecutor::new().execute(async move { tx.send(read(&mut io, 5).await).unwrap() });
            theirs.write_all(b"hello").unwrap();
            assert_eq!(rx.recv().unwrap(), b"hello");
        }
    });
}

/// The goroutine of a task is the only one that its socket needs.
#[test]
fn a_task_waits_on_its_own_goroutine() {
    gosched::run(|| {
        let (mut io, mut theirs) = pair();
        let (tx, rx) = bounded(0);
        GoschedExecutor::new().execute(async move {
            for _ in 0..1_000 {
                tx.send(read(&mut io, 1).await).unwrap();
            }
        });
        let mut most = 0;
        for n in 0..1_000_u32 {
            theirs.write_all(&[n as u8]).unwrap();
            assert_eq!(rx.recv().unwrap(), [n as u8]);
            most = most.max(num_goroutine());
        }
        // Other tests run in this process, and have fewer.
        assert!(most < 10_000);
    });
}

/// Threads that aren't goroutines' poll it, too.
#[test]
fn a_thread_blocks_on_a_socket() {
    gosched::run(|| {
        let (io, theirs) = pair();
        go(move || echo(theirs));
        let thread = thread::spawn(|| futures_executor::block_on(converse(io, 3)));
        gosched::blocking(|| thread.join()).unwrap();
    });
}
