//! Reads, writes and similar operations under a context.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gosched::context::{Context, ContextError};
use gosched::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use gosched::{go, run, yield_now};

use crate::harness::goroutines::go_until_it_waits;
use crate::harness::tests;

tests! {
    reads
    through_pointers
    writes
    accepts
    connects
    deadlines_stay
    one_direction_at_a_time
    whoever_comes_next_reads_on
}

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(2);

/// Fails unless the operation was canceled.
#[track_caller]
fn canceled<T>(result: io::Result<T>) {
    let error = result.map(drop).unwrap_err();
    assert_eq!(ContextError::of(&error), Some(ContextError::Canceled), "{error}");
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Other, "context canceled".into()));
}

#[track_caller]
fn late<T>(result: io::Result<T>) {
    let error = result.map(drop).unwrap_err();
    assert_eq!(ContextError::of(&error), Some(ContextError::DeadlineExceeded), "{error}");
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

fn reads() {
    run(|| {
        let (here, mut there) = UnixStream::pair().unwrap();
        let (ctx, cancel) = Context::background().with_cancel();
        there.write_all(b"abc").unwrap();
        let mut buf = [0; 8];
        assert_eq!(ctx.with(&here).read(&mut buf).unwrap(), 3);
        let here = {
            let ctx = ctx.clone();
            let reads = go_until_it_waits(move || {
                canceled(ctx.with(&here).read(&mut [0; 8]));
                canceled(ctx.with(&here).readable());
                here
            });
            cancel.cancel();
            reads.join().unwrap()
        };
        there.write_all(b"d").unwrap();
        // It is canceled even if there is something to read.
        canceled(ctx.with(&here).read(&mut buf));
        assert_eq!((&here).read(&mut buf).unwrap(), 1);
        let (ctx, _cancel) = Context::background().with_timeout(SHORT);
        late(ctx.with(&here).read_exact(&mut buf));
        drop(there);
        assert_eq!(Context::background().with(&here).read(&mut buf).unwrap(), 0);
    });
}

fn through_pointers() {
    run(|| {
        let (here, there) = UnixStream::pair().unwrap();
        let (here, there) = (Arc::new(here), Rc::new(Box::new(there)));
        let (ctx, cancel) = Context::background().with_cancel();
        ctx.with(&there).write_all(b"abc").unwrap();
        let mut buf = [0; 3];
        ctx.with(&here).read_exact(&mut buf).unwrap();
        assert_eq!(&buf, b"abc");
        cancel.cancel();
        canceled(ctx.with(&here).read(&mut buf));
        canceled(ctx.with(&&here).read(&mut buf));
    });
}

fn writes() {
    run(|| {
        let (here, there) = UnixStream::pair().unwrap();
        let (ctx, cancel) = Context::background().with_cancel();
        let writes = go_until_it_waits(move || {
            let mut written = 0;
            let mut stream = ctx.with(&here);
            let result = loop {
                match stream.write(&[7; 4096]) {
                    Ok(n) => written += n,
                    Err(error) => break Err::<(), _>(error),
                }
            };
            canceled(result);
            written
        });
        cancel.cancel();
        let written = writes.join().unwrap();
        let mut all = Vec::new();
        (&there).read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), written);
    });
}

fn accepts() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.get_ref().local_addr().unwrap();
        let client = TcpStream::connect(addr).unwrap();
        let (_stream, from) = ctx.with(&listener).accept().unwrap();
        assert_eq!(from, client.get_ref().local_addr().unwrap());
        let accepts = {
            let ctx = ctx.clone();
            go_until_it_waits(move || canceled(ctx.with(&listener).accept()))
        };
        cancel.cancel();
        accepts.join().unwrap();
        let path = std::env::temp_dir().join(format!("gosched-context-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let (ctx, _cancel) = Context::background().with_timeout(SHORT);
        late(ctx.with(&listener).accept());
        std::fs::remove_file(path).unwrap();
    });
}

/// Connects to a server that doesn't accept: its queue of connections is full.
fn connects() {
    run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr: SocketAddr = listener.get_ref().local_addr().unwrap();
        let stream = TcpStream::begin_connect(&addr).unwrap();
        let (ctx, cancel) = Context::background().with_cancel();
        ctx.with(&stream).finish_connect().unwrap();
        cancel.cancel();
        canceled(ctx.with(&stream).finish_connect());
        // SAFETY: passes no memory.
        assert_eq!(unsafe { libc::listen(std::os::fd::AsRawFd::as_raw_fd(&listener), 0) }, 0);
        let mut streams = Vec::new();
        loop {
            let stream = TcpStream::begin_connect(&addr).unwrap();
            let (ctx, _cancel) = Context::background().with_timeout(20 * SHORT);
            match ctx.with(&stream).finish_connect() {
                Ok(()) => streams.push(stream),
                Err(error) => break late::<()>(Err(error)),
            }
        }
    });
}

/// The socket's own deadline holds as before, and doesn't end the context.
fn deadlines_stay() {
    run(|| {
        let (here, _there) = UnixStream::pair().unwrap();
        let (ctx, _cancel) = Context::background().with_timeout(LONG);
        here.set_read_deadline(Some(Instant::now() + SHORT));
        let error = ctx.with(&here).read(&mut [0]).unwrap_err();
        assert_eq!((error.kind(), ContextError::of(&error)), (ErrorKind::TimedOut, None));
        here.set_read_deadline(None);
        here.set_read_timeout(Some(SHORT)).unwrap();
        assert_eq!(ctx.with(&here).read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
        here.set_read_timeout(None).unwrap();
        let here: &UnixStream = Box::leak(Box::new(here));
        // On a slow machine a near deadline passes before there is a wait to cancel.
        let canceled_first = |far: Duration| {
            let (ctx, cancel) = ctx.with_cancel();
            let deadline = Instant::now() + far;
            here.set_read_deadline(Some(deadline));
            let reads = go(move || ctx.with(here).read(&mut [0]).unwrap_err());
            yield_now();
            cancel.cancel();
            let first = ContextError::of(&reads.join().unwrap());
            assert_eq!((&*here).read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
            assert!(Instant::now() >= deadline);
            first == Some(ContextError::Canceled)
        };
        assert!((0..).any(|i| canceled_first(5 * SHORT * (1 << i))));
    });
}

fn one_direction_at_a_time() {
    run(|| {
        let (here, mut there) = UnixStream::pair().unwrap();
        let here: &UnixStream = Box::leak(Box::new(here));
        let (ctx, cancel) = Context::background().with_cancel();
        let fills = go_until_it_waits(move || {
            let mut here = here;
            here.write_all(&vec![1; 1 << 20]).unwrap();
        });
        let reads = go_until_it_waits(move || canceled(ctx.with(here).read(&mut [0])));
        cancel.cancel();
        reads.join().unwrap();
        assert!(!fills.is_finished());
        there.read_exact(&mut vec![0; 1 << 20]).unwrap();
        fills.join().unwrap();
    });
}

/// A waiting reader gets its turn when the reader before it is canceled.
fn whoever_comes_next_reads_on() {
    run(|| {
        let (here, mut there) = UnixStream::pair().unwrap();
        let here: &UnixStream = Box::leak(Box::new(here));
        let (ctx, cancel) = Context::background().with_cancel();
        let first = go_until_it_waits(move || canceled(ctx.with(here).read(&mut [0])));
        let next = go(move || {
            let (mut here, mut buf) = (here, [0]);
            here.read(&mut buf).map(|n| (n, buf))
        });
        yield_now();
        cancel.cancel();
        first.join().unwrap();
        there.write_all(b"x").unwrap();
        assert_eq!(next.join().unwrap().unwrap(), (1, *b"x"));
    });
}
