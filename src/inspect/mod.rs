//! A page about the running program, for a browser, with the feature `inspect`: what its goroutines
//! do, what the scheduler does, profiles and traces.
//!
//! ```no_run
//! use gosched::net::TcpListener;
//!
//! gosched::run(|| {
//!     let listener = TcpListener::bind("127.0.0.1:7070")?;
//!     gosched::go(|| gosched::inspect::serve(listener));
//!     // ... what the program does; the page is http://127.0.0.1:7070/
//!     Ok::<(), std::io::Error>(())
//! })
//! .unwrap();
//! ```
//!
//! The page is one file without parts from elsewhere. It shows all goroutines, those with equal
//! stacks together, and finds them by function, state, name, label or number. It shows P's, threads
//! and latencies as they change, draws flame graphs of profiles, and saves profiles and traces as
//! files. `docs/guide/inspect.md` has pictures.
//!
//! `/metrics` on the same socket answers Prometheus.
//!
//! # Security
//!
//! The page reveals much about the program, and keeps it busy.
//!
//! - Nothing listens unless the program calls [`serve`] or an [`Inspector`].
//! - A TCP listener must be on a loopback address. For any other address, a
//!   [token](Inspector::token) is needed.
//! - Requests whose `Host` isn't this machine are refused, so that a web site can't reach the page
//!   by changing what its name resolves to (DNS rebinding). [`Inspector::host`] allows further
//!   names. Requests that a page of another origin makes are refused, too.
//! - There are at most 32 connections, and a request has at most 8 KiB and ten seconds to arrive.
//!   One profile or trace is made at a time.
//!
//! On a loopback address without a token, every user of the machine may look. A Unix socket in a
//! folder of the user's own, or a token, prevents that. There is no TLS: for a connection over a
//! network, use a tunnel or a proxy.
//!
//! # Cost
//!
//! Without a client, a goroutine waits for a connection. An open page asks for the scheduler's
//! state once a second, which takes some 50 µs. The list of goroutines suspends each goroutine for
//! a moment, as [`dump_goroutines`](crate::dump_goroutines) does, and is made when the page asks
//! for it.
//!
//! While a goroutine waits for a connection, the runtime finds no deadlock of all others.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `serve.rs` | connections: accepted, counted, answered |
//! | `http.rs` | requests and answers of HTTP/1.1 |
//! | `guard.rs` | which requests are refused |
//! | `routes.rs` | what each path answers |
//! | `goroutines.rs` | goroutines by group: searched, sorted, in pages |
//! | `live.rs` | the scheduler's state as a stream of events |
//! | `record.rs` | profiles and traces |
//! | `flame.rs` | a profile as a tree of functions |
//! | `json.rs` | a writer for JSON |
//! | `page.html` | the page |

mod flame;
mod goroutines;
mod guard;
mod http;
mod json;
mod live;
mod record;
mod routes;
mod serve;

use std::io;
use std::net;
use std::os::unix;

use crate::inspect::guard::Guard;
use crate::net::{TcpListener, UnixListener};

/// Serves the page on a listener, with the default settings: see [`Inspector`]. Returns only on an
/// error.
///
/// ```no_run
/// use gosched::net::TcpListener;
///
/// gosched::run(|| gosched::inspect::serve(TcpListener::bind("127.0.0.1:7070")?)).unwrap();
/// ```
///
/// In Go, the import of `net/http/pprof` adds such pages to the default server.
///
/// # Errors
/// As [`Inspector::serve`].
pub fn serve(listener: TcpListener) -> io::Result<()> {
    Inspector::new().serve(listener)
}

/// The page's server, with settings.
///
/// ```no_run
/// use gosched::inspect::Inspector;
/// use gosched::net::TcpListener;
///
/// gosched::run(|| {
///     let token = std::fs::read_to_string("/run/secrets/inspect")?;
///     let listener = TcpListener::bind("0.0.0.0:7070")?;
///     gosched::go(move || Inspector::new().token(token.trim()).host("build-7.example.org").serve(listener));
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "nothing listens until `serve` is called"]
pub struct Inspector {
    guard: Guard,
}

impl Inspector {
    /// Returns a server without a token.
    ///
    /// ```
    /// let inspector = gosched::inspect::Inspector::new();
    /// ```
    pub fn new() -> Inspector {
        Inspector::default()
    }

    /// Sets a secret that each request for data must have: 16 bytes or more. The page asks for it,
    /// and takes it from an address that ends with `#token=...`. A tool sends the header
    /// `Authorization: Bearer ...`.
    ///
    /// ```
    /// let inspector = gosched::inspect::Inspector::new().token("correct horse battery staple");
    /// ```
    pub fn token(mut self, token: &str) -> Inspector {
        self.guard.token = Some(token.to_owned());
        self
    }

    /// Allows requests to this name, without a port, besides `localhost` and loopback addresses.
    /// With a token, every address is allowed, but no other name.
    ///
    /// ```
    /// let inspector = gosched::inspect::Inspector::new().host("debug.example.org");
    /// ```
    pub fn host(mut self, name: &str) -> Inspector {
        self.guard.hosts.push(name.to_ascii_lowercase());
        self
    }

    /// Serves the page on a TCP listener. Returns only on an error.
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the listener isn't on a loopback address
    /// and there is no token, or if the token is shorter than 16 bytes. Errors of `accept`, except
    /// those that pass, such as too many open files.
    pub fn serve(self, listener: TcpListener) -> io::Result<()> {
        self.guard.check_settings(Some(listener.local_addr()?.ip()))?;
        serve::accept_loop::<net::TcpStream>(self.guard, || Ok(listener.accept()?.0))
    }

    /// Serves the page on a Unix socket: `curl --unix-socket PATH http://localhost/metrics`. The
    /// permissions of the path decide which users may look. Returns only on an error.
    ///
    /// ```no_run
    /// use gosched::inspect::Inspector;
    /// use gosched::net::UnixListener;
    ///
    /// gosched::run(|| Inspector::new().serve_unix(UnixListener::bind("/run/user/1000/inspect")?)).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`serve`](Self::serve), except that no token is needed.
    pub fn serve_unix(self, listener: UnixListener) -> io::Result<()> {
        self.guard.check_settings(None)?;
        serve::accept_loop::<unix::net::UnixStream>(self.guard, || Ok(listener.accept()?.0))
    }
}
