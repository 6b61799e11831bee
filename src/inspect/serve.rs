//! Connections: accepted, counted, answered.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{self, Shutdown};
use std::os::fd::AsFd;
use std::os::unix;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::goroutine::Builder;
use crate::inspect::goroutines::Goroutines;
use crate::inspect::guard::Guard;
use crate::inspect::http::{Answer, Request, read_request};
use crate::inspect::record::Recorder;
use crate::inspect::routes::{Reply, reply};
use crate::net::Pollable;
use crate::time::sleep;

/// The most connections at once.
const CONNECTIONS: usize = 32;

/// How long to wait after an error of `accept` that passes.
const PAUSE: Duration = Duration::from_millis(10);

/// How long a client without the token waits for its answer.
const PENALTY: Duration = Duration::from_millis(200);

/// How much of a refused request is read, and for how long, so that the client gets the answer: a
/// close with unread bytes would drop it.
const UNREAD: u64 = 256 << 10;
const UNREAD_FOR: Duration = Duration::from_secs(1);

/// A kind of connection.
pub(super) trait Client: AsFd + Send + Sized + 'static {
    /// Tells the client that nothing more comes.
    fn end(stream: &Pollable<Self>) -> io::Result<()>;
}

impl Client for net::TcpStream {
    fn end(stream: &Pollable<Self>) -> io::Result<()> {
        stream.shutdown(Shutdown::Write)
    }
}

impl Client for unix::net::UnixStream {
    fn end(stream: &Pollable<Self>) -> io::Result<()> {
        stream.shutdown(Shutdown::Write)
    }
}

/// What the connections of a server share.
pub(super) struct Server {
    guard: Guard,
    connections: AtomicUsize,
    pub(super) goroutines: Goroutines,
    pub(super) recorder: Recorder,
}

/// A connection that counts.
struct Connection(Arc<Server>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Accepts connections until that fails for good, and answers each on a goroutine of its own.
pub(super) fn accept_loop<T>(guard: Guard, accept: impl Fn() -> io::Result<Pollable<T>>) -> io::Result<()>
where
    T: Client,
    Pollable<T>: Read + Write,
{
    let server = Arc::new(Server {
        guard,
        connections: AtomicUsize::new(0),
        goroutines: Goroutines::default(),
        recorder: Recorder::default(),
    });
    loop {
        let stream = match accept() {
            Ok(stream) => stream,
            Err(error) if passes(&error) => {
                sleep(PAUSE);
                continue;
            }
            Err(error) => return Err(error),
        };
        if server.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
            // Dropping it tells the client enough.
            server.connections.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let connection = Connection(server.clone());
        // Without memory for a goroutine, the connection is closed.
        let _ = Builder::new().name("gosched::inspect").go(move || {
            // An error means that the client has left.
            let _ = converse(&connection.0, stream);
        });
    }
}

/// Whether a later `accept` may succeed after this error: the client has left, or something is
/// short.
fn passes(error: &io::Error) -> bool {
    let short = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM, libc::ECONNABORTED, libc::EPROTO];
    error.kind() == ErrorKind::Interrupted || error.raw_os_error().is_some_and(|errno| short.contains(&errno))
}

/// Answers the request of a connection.
fn converse<T>(server: &Server, mut stream: Pollable<T>) -> io::Result<()>
where
    T: Client,
    Pollable<T>: Read + Write,
{
    let request = match read_request(&mut stream)? {
        Some(Ok(request)) => request,
        Some(Err(refused)) => {
            refused.write_to(&mut stream)?;
            T::end(&stream)?;
            stream.set_read_deadline(Some(Instant::now() + UNREAD_FOR));
            io::copy(&mut stream.take(UNREAD), &mut io::sink())?;
            return Ok(());
        }
        None => return Ok(()),
    };
    let checked = server.guard.check_origin(&request).and_then(|()| check_token(server, &request));
    match checked {
        Err(refused) => refused.write_to(&mut stream),
        Ok(()) => match reply(server, &request) {
            Reply::Answer(answer) => answer.write_to(&mut stream),
            Reply::Live => server.live(stream),
            Reply::Recording(recording) => server.record(&recording, stream),
        },
    }
}

/// Checks the token, except for the page itself, which holds no data.
fn check_token(server: &Server, request: &Request) -> Result<(), Answer> {
    if request.path == "/" {
        return Ok(());
    }
    server.guard.check_token(request).inspect_err(|_| sleep(PENALTY))
}
