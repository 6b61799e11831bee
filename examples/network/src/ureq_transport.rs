//! ureq on goroutines, as a module to copy: [`Sockets`] makes connections, which ureq's own TLS can
//! use, and [`Names`] resolves names.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Instant;

use gosched::blocking;
use gosched::net::TcpStream;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, ShutdownHandle, Transport,
};
use ureq::{Error, Timeout};

/// Connects by TCP, unless an earlier connector in the chain, such as a proxy's, has done so.
#[derive(Debug)]
pub struct Sockets;

impl<In: Transport> Connector<In> for Sockets {
    type Out = Either<In, Socket>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        if let Some(transport) = chained {
            return Ok(Some(Either::A(transport)));
        }
        let deadline = deadline(&details.timeout);
        let mut result = Err(Error::HostNotFound);
        for addr in &details.addrs {
            result = connect(addr, deadline).map_err(|error| told(error, details.timeout.reason));
            if result.is_ok() {
                break;
            }
        }
        let (stream, config) = (result?, details.config);
        stream.set_nodelay(config.no_delay())?;
        let stream = Arc::new(Stream(stream));
        (details.register_shutdown)(Arc::downgrade(&stream) as Weak<dyn ShutdownHandle>)?;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(Either::B(Socket { stream, buffers })))
    }
}

fn connect(addr: &SocketAddr, deadline: Option<Instant>) -> io::Result<TcpStream> {
    let stream = TcpStream::begin_connect(addr)?;
    stream.set_write_deadline(deadline);
    stream.finish_connect()?;
    Ok(stream)
}

/// Returns the time at which an operation that begins now must end, if there is one.
fn deadline(timeout: &NextTimeout) -> Option<Instant> {
    // A timeout that never comes is too long to be added.
    Instant::now().checked_add(*timeout.after)
}

/// Converts an error to ureq's.
fn told(error: io::Error, reason: Timeout) -> Error {
    if error.kind() == ErrorKind::TimedOut { Error::Timeout(reason) } else { error.into() }
}

/// A connection.
#[derive(Debug)]
pub struct Socket {
    stream: Arc<Stream>,
    buffers: LazyBuffers,
}

#[derive(Debug)]
struct Stream(TcpStream);

impl ShutdownHandle for Stream {
    fn shutdown(&self) {
        self.0.close();
    }
}

impl Transport for Socket {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let (mut stream, timeout) = (&self.stream.0, timeout.for_write());
        stream.set_write_deadline(deadline(&timeout));
        stream.write_all(&self.buffers.output()[..amount]).map_err(|error| told(error, timeout.reason))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let (mut stream, timeout) = (&self.stream.0, timeout.for_read());
        stream.set_read_deadline(deadline(&timeout));
        let amount =
            stream.read(self.buffers.input_append_buf()).map_err(|error| told(error, timeout.reason))?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        // std's `peek` doesn't wait. It returns at once if the connection has ended, or has bytes
        // that nobody has asked for.
        let peeked = self.stream.0.get_ref().peek(&mut [0]);
        peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }
}

/// Resolves names as ureq does, and holds no P meanwhile.
#[derive(Debug, Default)]
pub struct Names(DefaultResolver);

impl Resolver for Names {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        blocking(|| self.0.resolve(uri, config, timeout))
    }
}
