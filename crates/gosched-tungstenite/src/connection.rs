//! [`Connection`]: what the halves of a WebSocket share.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use gosched::context::Context;
use gosched::net::Pollable;
use gosched::sync::Mutex;
use rustix::net::{Shutdown, shutdown};
use tungstenite::protocol::{CloseFrame, Role};
use tungstenite::{Error, Message, Result, WebSocket};

use crate::Socket;
use crate::stream::Stream;

/// The most bytes that one read takes.
const CHUNK: usize = 16 << 10;

/// A connection. Where several of its mutexes are held, they were locked in the order of the
/// fields.
pub(crate) struct Connection<T> {
    stream: Arc<Pollable<T>>,
    role: Role,
    /// Locked by the goroutine that receives. The buffer of its reads, which is empty between them.
    receiving: Mutex<Vec<u8>>,
    /// Locked by the goroutine that sends, until the kernel has its message.
    sending: Mutex<()>,
    /// The protocol. No goroutine holds it while it waits.
    socket: Mutex<WebSocket<Stream<T>>>,
}

impl<T: Socket> Connection<T> {
    /// A connection after its handshake.
    pub(crate) fn new(stream: Arc<Pollable<T>>, mut socket: WebSocket<Stream<T>>, role: Role) -> Self {
        socket.get_mut().open();
        let (receiving, sending, socket) = (Mutex::default(), Mutex::default(), Mutex::new(socket));
        Connection { stream, role, receiving, sending, socket }
    }

    pub(crate) fn stream(&self) -> &Pollable<T> {
        &self.stream
    }

    /// Waits for a message.
    #[track_caller]
    pub(crate) fn recv(&self, ctx: &Context) -> Result<Message> {
        let mut buf = self.receiving.lock();
        loop {
            let mut socket = self.socket.lock();
            let result = socket.read();
            if let Ok(Message::Ping(_)) = result {
                // Answers it. Without room that is left to the next call, which gets an error, too.
                let _ = socket.flush();
            }
            drop(socket);
            if !would_block(&result) {
                return self.checked(result);
            }
            buf.resize(CHUNK, 0);
            match T::read_waiting(&self.stream, ctx, &mut buf) {
                Ok(n) => buf.truncate(n),
                Err(error) => {
                    buf.clear();
                    return Err(error.into());
                }
            }
            self.socket.lock().get_mut().give(&mut buf);
        }
    }

    /// Gives a message to the protocol, and waits until the kernel has it.
    #[track_caller]
    pub(crate) fn send(&self, ctx: &Context, mut message: Message) -> Result<()> {
        let _turn = self.sending.lock();
        let mut flushed = false;
        loop {
            let result = self.socket.lock().write(message);
            match result {
                // There is room for the message when others have been sent, or never.
                Err(Error::WriteBufferFull(returned)) if !flushed => message = *returned,
                result if would_block(&result) || result.is_ok() => return self.flushed(ctx),
                result => return self.checked(result),
            }
            self.flushed(ctx)?;
            flushed = true;
        }
    }

    /// Waits until the kernel has all messages.
    #[track_caller]
    pub(crate) fn flush(&self, ctx: &Context) -> Result<()> {
        let _turn = self.sending.lock();
        self.flushed(ctx)
    }

    /// Begins the close handshake.
    #[track_caller]
    pub(crate) fn close(&self, code: Option<CloseFrame>) -> Result<()> {
        let _turn = self.sending.lock();
        let mut result = self.socket.lock().close(code);
        if would_block(&result) {
            result = self.flushed(&Context::background());
        }
        match self.checked(result) {
            Err(Error::ConnectionClosed | Error::AlreadyClosed) => Ok(()),
            result => result,
        }
    }

    /// [`flush`](Self::flush) with the turn to send.
    #[track_caller]
    fn flushed(&self, ctx: &Context) -> Result<()> {
        loop {
            let result = self.socket.lock().flush();
            if !would_block(&result) {
                return self.checked(result);
            }
            ctx.with(&*self.stream).writable()?;
        }
    }

    /// Returns a result. If the server's close handshake is over, ends the stream, which the client
    /// waits for: a half of the WebSocket may live on.
    fn checked<R>(&self, result: Result<R>) -> Result<R> {
        if matches!((&result, self.role), (Err(Error::ConnectionClosed), Role::Server)) {
            // It fails if the client has gone.
            let _ = shutdown(self.stream.get_ref().as_fd(), Shutdown::Write);
        }
        result
    }
}

/// Whether the protocol has to wait for the socket.
fn would_block<R>(result: &Result<R>) -> bool {
    matches!(result, Err(Error::Io(error)) if is_would_block(error))
}

fn is_would_block(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}
