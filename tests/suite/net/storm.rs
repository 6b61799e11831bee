//! Connections while signals keep interrupting every thread; and while everything else goes wrong,
//! too.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gosched::net::{Pollable, TcpStream, UnixListener, UnixStream};
use gosched::sync::Mutex;
use gosched::time::sleep;
use gosched::{scope, yield_now};

use crate::harness::interrupts::{INTERRUPTS, in_a_storm};
use crate::harness::polled::*;
use crate::harness::rng::{Rng, number};
use crate::harness::sockets::*;
use crate::harness::{Test, tests};

tests! {
    signals_while_all_wait
    all_at_once
}

/// Returns a listener of this machine, whose address ends with the process.
fn listen_here() -> (UnixListener, SocketAddr) {
    let addr = SocketAddr::from_abstract_name(format!("gosched-{}", std::process::id())).unwrap();
    (UnixListener::bind_addr(&addr).unwrap(), addr)
}

/// Signals come in an accept, in a connect, and in the poller, until there were many.
fn signals_while_all_wait(test: Test) {
    with_one_p_and_several(test, || {
        in_a_storm(|| {
            let (ref a, ref b) = tcp_pair();
            let (ref listener, ref addr) = listen_here();
            // SAFETY: no memory is passed.
            assert_eq!(unsafe { libc::listen(listener.as_fd().as_raw_fd(), 0) }, 0);
            // On a slow machine each signal takes a while.
            let began = Instant::now();
            let over = || {
                let interrupts = INTERRUPTS.load(Ordering::Relaxed);
                interrupts > 3000 || interrupts > 300 && began.elapsed() > Duration::from_secs(1)
            };
            scope(|s| {
                s.go(|| while a.get(&mut [0]).unwrap() == 1 && a.put(b"!").unwrap() == 1 {});
                s.go(|| {
                    while !over() {
                        // One connection is in the queue, and the others wait for room in it. Then
                        // all wait for this goroutine.
                        let clients = [(); 4].map(|()| s.go(|| UnixStream::connect_addr(addr).unwrap()));
                        sleep(5 * MS);
                        for _ in 0..4 {
                            listener.accept().unwrap().0.put(b"?").unwrap();
                        }
                        for client in clients {
                            assert_eq!(read_one(client.join().unwrap()).unwrap(), b'?');
                        }
                    }
                });
                b.set_read_timeout(Some(MS)).unwrap();
                while !over() {
                    assert_eq!(kind(b.get(&mut [0])), ErrorKind::TimedOut);
                    b.put(b"!").unwrap();
                    b.set_read_timeout(None).unwrap();
                    assert_eq!(read_one(b).unwrap(), b'!');
                    b.set_read_timeout(Some(MS)).unwrap();
                }
                b.end(Shutdown::Both);
            });
        });
    });
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// No fault: only a half close, before all data are sent.
    None,
    /// One end's deadlines are moved all the time.
    Deadlines,
    /// One end is closed while it reads and writes.
    Close,
    /// One end is closed while it reads and writes, and the connection is reset.
    Reset,
}

/// The longest chunk.
const MOST: usize = 5000;

/// The faults of a connection, and its data.
#[derive(Clone, Copy, Debug)]
struct Plan {
    id: usize,
    fault: Fault,
    /// The end that has the fault: 0 is the client.
    at: usize,
    /// How much each end sends: the client, and the server.
    lens: [usize; 2],
    /// The most that an end sends at a time.
    chunk: usize,
}

impl Plan {
    fn new(id: usize, rng: &mut Rng) -> Self {
        let fault = [Fault::None, Fault::Deadlines, Fault::Close, Fault::Reset][rng.below(4)];
        let (most, chunk) = if rng.below(2) == 0 { (400, 1) } else { (300_000, MOST) };
        Plan { id, fault, at: rng.below(2), lens: [rng.below(most), rng.below(most)], chunk }
    }

    fn is_tcp(&self) -> bool {
        self.id.is_multiple_of(2)
    }

    /// Returns a chunk of the data that one end sends.
    fn bytes(&self, end: usize, at: usize, len: usize) -> &'static [u8] {
        const PERIOD: usize = 65521;
        static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let mut rng = Rng::new(0);
            let bytes = Vec::from_iter((0..PERIOD).map(|_| rng.next() as u8));
            [&bytes[..], &bytes[..MOST]].concat()
        });
        let begin = (at + (2 * self.id + end) * 101) % PERIOD;
        &BYTES[begin..begin + len]
    }
}

/// How far one direction came at one end, and the error that stopped it.
type Ended = (usize, Option<ErrorKind>);

/// Returns a deadline: none, a far one, or a near one.
fn some_time(rng: &mut Rng) -> Option<Instant> {
    let ahead = [None, Some(HOUR), Some(Duration::from_micros(rng.below(3000) as u64))];
    ahead[rng.below(3)].map(|ahead| Instant::now() + ahead)
}

/// One end of a connection.
struct End<'a, S> {
    stream: &'a S,
    plan: Plan,
    /// 0 for the client's end.
    number: usize,
}

impl<T: Sync> End<'_, Pollable<T>>
where
    Pollable<T>: Stream,
{
    /// Sends and receives everything, with its fault. Returns how far it has received, and how far
    /// it has sent.
    fn run(&self, rng: &mut Rng) -> [Ended; 2] {
        let mut rngs = [rng.fork(), rng.fork(), rng.fork()];
        let [first, second, third] = &mut rngs;
        scope(|s| {
            let receiver = s.go(|| self.receive(first));
            let sender = s.go(|| self.send(second));
            if self.plan.at == self.number {
                self.suffer(third);
            }
            [receiver.join().unwrap(), sender.join().unwrap()]
        })
    }

    /// Returns the length of the next chunk. Sometimes waits before.
    fn chunk(&self, rng: &mut Rng) -> usize {
        match rng.below(300) {
            0 => sleep(Duration::from_micros(rng.below(1000) as u64)),
            1..20 => yield_now(),
            _ => {}
        }
        1 + rng.below(self.plan.chunk)
    }

    /// Returns whether a direction has ended only for now. The direction then gets another
    /// deadline.
    fn later(&self, error: ErrorKind, rng: &mut Rng, set: fn(&Pollable<T>, Option<Instant>)) -> bool {
        let later = error == ErrorKind::TimedOut && self.plan.fault == Fault::Deadlines;
        if later {
            set(self.stream, some_time(rng));
        }
        later
    }

    fn receive(&self, rng: &mut Rng) -> Ended {
        let mut sum = 0;
        loop {
            let mut buf = vec![0; self.chunk(rng)];
            match self.stream.get(&mut buf).map_err(|error| error.kind()) {
                Ok(0) => return (sum, None),
                Ok(n) => {
                    assert!(buf[..n] == *self.plan.bytes(1 - self.number, sum, n), "{:?}", self.plan);
                    sum += n;
                }
                Err(error) if self.later(error, rng, Pollable::set_read_deadline) => {}
                Err(error) => return (sum, Some(error)),
            }
        }
    }

    fn send(&self, rng: &mut Rng) -> Ended {
        let (mut sum, len) = (0, self.plan.lens[self.number]);
        while sum < len {
            let bytes = self.plan.bytes(self.number, sum, self.chunk(rng).min(len - sum));
            match self.stream.put(bytes).map_err(|error| error.kind()) {
                Ok(n) => sum += n,
                Err(error) if self.later(error, rng, Pollable::set_write_deadline) => {}
                Err(error) => return (sum, Some(error)),
            }
        }
        self.stream.end(Shutdown::Write);
        (sum, None)
    }

    fn suffer(&self, rng: &mut Rng) {
        let a_while = |rng: &mut Rng| sleep(Duration::from_micros(rng.below(3000) as u64));
        match self.plan.fault {
            Fault::None => {}
            Fault::Deadlines => {
                for _ in 0..40 {
                    for set in [Pollable::set_read_deadline, Pollable::set_write_deadline] {
                        let passed = rng.below(3) == 0;
                        set(self.stream, if passed { Some(Instant::now()) } else { some_time(rng) });
                    }
                    a_while(rng);
                }
            }
            Fault::Close | Fault::Reset => {
                a_while(rng);
                if self.plan.fault == Fault::Reset {
                    to_be_reset(self.stream);
                }
                self.stream.close();
            }
        }
    }
}

/// The outcomes of each connection's two ends.
type Ends = Mutex<Vec<[Option<[Ended; 2]>; 2]>>;

/// Runs one end of a connection. Its first byte tells the server the number of the connection.
fn one_end<T: Sync>(stream: Pollable<T>, plans: &[Plan], id: Option<usize>, mut rng: Rng, ends: &Ends)
where
    Pollable<T>: Stream,
{
    small_buffer(&stream);
    let (id, number) = match id {
        Some(id) => (stream.put(&[id as u8]).map(|_| id), 0),
        None => (first_byte(&stream), 1),
    };
    match id {
        Ok(id) => {
            let end = End { stream: &stream, plan: plans[id], number };
            let ended = end.run(&mut rng);
            drop(stream);
            ends.lock()[id][number] = Some(ended);
        }
        Err(error) => assert!(matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof)),
    }
}

/// Reads the first byte, which tells the server the number of the connection.
fn first_byte(stream: &impl Stream) -> io::Result<usize> {
    let mut byte = [0];
    match stream.get(&mut byte)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(usize::from(byte[0])),
    }
}

/// Fails unless both ends came as far as they could.
fn check(plan: &Plan, ends: &[Option<[Ended; 2]>; 2]) {
    let says = || format!("{plan:?}: {ends:?}");
    let fails = matches!(plan.fault, Fault::Close | Fault::Reset);
    let &[Some(client), server] = ends else { panic!("{}", says()) };
    // The connection may have ended before it was accepted.
    let Some(server) = server else { return assert!(fails, "{}", says()) };
    for (number, [(received, end), (sent, failed)], there) in [(0, client, server), (1, server, client)] {
        let (of_receiver, of_sender): (&[ErrorKind], &[ErrorKind]) = match (fails, plan.at == number) {
            (false, _) => (&[], &[]),
            (true, true) => (&[ErrorKind::BrokenPipe], &[ErrorKind::BrokenPipe]),
            (true, false) => {
                (&[ErrorKind::ConnectionReset], &[ErrorKind::ConnectionReset, ErrorKind::BrokenPipe])
            }
        };
        assert!(end.is_none_or(|end| of_receiver.contains(&end)), "{}", says());
        assert!(failed.is_none_or(|failed| of_sender.contains(&failed)), "{}", says());
        assert!(received <= there[1].0 && (fails || received == there[1].0), "{}", says());
        assert!(failed.is_some() || sent == plan.lens[number], "{}", says());
        // An end that failed before its half close has broken off the connection.
        if plan.fault == Fault::Reset && plan.is_tcp() && plan.at != number && there[1].1.is_some() {
            assert!([end, failed].contains(&Some(ErrorKind::ConnectionReset)), "{}", says());
        }
    }
}

fn open_descriptors() -> usize {
    let links =
        fs::read_dir("/proc/self/fd").unwrap().flatten().flat_map(|entry| fs::read_link(entry.path()));
    // The runtime's own thread opens such files for a moment, at any time.
    links.filter(|link| !link.starts_with("/proc") && !link.starts_with("/sys")).count()
}

/// Makes the connections, every second one a local socket, while descriptors run out again and
/// again.
fn connect_all(plans: &[Plan], rng: &mut Rng, ends: &Ends) {
    let (ref wanting, ref over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (ref tcp, tcp_addr) = listen();
    let (ref here, ref here_addr) = listen_here();
    scope(|s| {
        s.go(|| {
            while !over.load(Ordering::Relaxed) {
                let all = all_descriptors();
                sleep(2 * MS);
                drop(all);
                sleep(5 * MS);
            }
        });
        scope(|s| {
            let (mut of_tcp, mut of_here) = (rng.fork(), rng.fork());
            s.go(move || {
                for _ in (0..plans.len()).step_by(2) {
                    let (stream, _) = when_there_are_descriptors(|| tcp.accept(), wanting);
                    let rng = of_tcp.fork();
                    s.go(move || one_end(stream, plans, None, rng, ends));
                }
            });
            s.go(move || {
                for _ in (1..plans.len()).step_by(2) {
                    let (stream, _) = when_there_are_descriptors(|| here.accept(), wanting);
                    let rng = of_here.fork();
                    s.go(move || one_end(stream, plans, None, rng, ends));
                }
            });
            for plan in plans {
                let (id, rng) = (plan.id, rng.fork());
                s.go(move || {
                    if plan.is_tcp() {
                        let stream = when_there_are_descriptors(|| TcpStream::connect(tcp_addr), wanting);
                        one_end(stream, plans, Some(id), rng, ends);
                    } else {
                        let stream =
                            when_there_are_descriptors(|| UnixStream::connect_addr(here_addr), wanting);
                        one_end(stream, plans, Some(id), rng, ends);
                    }
                });
            }
        });
        over.store(true, Ordering::Relaxed);
    });
}

fn all_at_once(test: Test) {
    with_one_p_and_several(test, || {
        limit_descriptors(512);
        let mut rng = Rng::seeded();
        drop(tcp_pair());
        let before = open_descriptors();
        for _ in 0..number("STRESS_TIMES").unwrap_or(3) {
            let plans: Vec<Plan> = (0..100).map(|id| Plan::new(id, &mut rng)).collect();
            let ends: Ends = Mutex::new(vec![[None; 2]; plans.len()]);
            in_a_storm(|| connect_all(&plans, &mut rng, &ends));
            plans.iter().zip(&*ends.lock()).for_each(|(plan, ends)| check(plan, ends));
        }
        assert_eq!(open_descriptors(), before);
    });
}
