//! Functions that tests of sockets share.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{self, Ipv4Addr, Shutdown, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net as unix;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::net::{TcpListener, TcpStream, UnixStream};
use gosched::time::sleep;
use gosched::{blocking, go};

use crate::harness::polled::{MS, stream_pair};

/// A stream of std's, or of this crate's.
pub trait Stream: AsFd + Send + Sync + Sized {
    fn pair() -> (Self, Self);
    fn get(&self, buf: &mut [u8]) -> io::Result<usize>;
    fn put(&self, buf: &[u8]) -> io::Result<usize>;
    fn end(&self, how: Shutdown);
    fn error(&self) -> io::Result<Option<io::Error>>;
}

macro_rules! streams {
    ($($ty:ty, $pair:expr, $waits:expr;)*) => {
        $(
            impl Stream for $ty {
                fn pair() -> (Self, Self) {
                    $pair
                }

                fn get(&self, buf: &mut [u8]) -> io::Result<usize> {
                    let mut this = self;
                    $waits(|| this.read(buf))
                }

                fn put(&self, buf: &[u8]) -> io::Result<usize> {
                    let mut this = self;
                    $waits(|| this.write(buf))
                }

                fn end(&self, how: Shutdown) {
                    // The stream may have ended.
                    let _ = self.shutdown(how);
                }

                fn error(&self) -> io::Result<Option<io::Error>> {
                    self.take_error()
                }
            }
        )*
    };
}

fn in_place<R>(f: impl FnOnce() -> R) -> R {
    f()
}

streams! {
    TcpStream, tcp_pair(), in_place;
    UnixStream, stream_pair(), in_place;
    net::TcpStream, { let (a, b) = tcp_pair(); (in_blocking_mode(a.into()), in_blocking_mode(b.into())) }, blocking;
    unix::UnixStream, unix::UnixStream::pair().unwrap(), blocking;
}

fn in_blocking_mode(stream: net::TcpStream) -> net::TcpStream {
    stream.set_nonblocking(false).unwrap();
    stream
}

/// Listens at an address of this process's own: no other process gets the port after this one has
/// closed it.
pub fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((own_ip(), 0)).unwrap();
    let addr = listener.local_addr().unwrap();
    (listener, addr)
}

/// Returns an address of this machine that no other process uses.
pub fn own_ip() -> Ipv4Addr {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 64 | high, middle, low)
}

pub fn tcp_pair() -> (TcpStream, TcpStream) {
    let (listener, addr) = listen();
    let client = go(move || TcpStream::connect(addr).unwrap());
    let (server, peer) = listener.accept().unwrap();
    let client = client.join().unwrap();
    assert_eq!(client.local_addr().unwrap(), peer);
    assert_eq!(server.peer_addr().unwrap(), peer);
    (client, server)
}

/// Sets an option of a socket.
fn set<T>(socket: &impl AsFd, option: libc::c_int, value: T) {
    let (fd, len) = (socket.as_fd().as_raw_fd(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the kernel reads the value.
    let ret = unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, option, (&raw const value).cast(), len) };
    assert_eq!(ret, 0);
}

/// Makes a close break the connection, which the other end notices. (The other end of a local
/// socket notices that, too, if there is unread data.)
pub fn to_be_reset(socket: &impl AsFd) {
    set(socket, libc::SO_LINGER, libc::linger { l_onoff: 1, l_linger: 0 });
}

/// Makes the close wait until all written data have arrived, for an hour at most.
pub fn to_linger(socket: &impl AsFd) {
    set(socket, libc::SO_LINGER, libc::linger { l_onoff: 1, l_linger: 3600 });
}

/// Makes writers wait sooner.
pub fn small_buffer(socket: &impl AsFd) {
    set(socket, libc::SO_SNDBUF, 8192);
}

/// Opens as many descriptors as possible.
pub fn all_descriptors() -> Vec<File> {
    let mut all = Vec::new();
    loop {
        match File::open("/dev/null") {
            Ok(file) => all.push(file),
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) => return all,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Calls `f` until it doesn't fail for lack of a descriptor.
pub fn when_there_are_descriptors<R>(mut f: impl FnMut() -> io::Result<R>, wanting: &AtomicUsize) -> R {
    loop {
        match f() {
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                wanting.fetch_add(1, Ordering::Relaxed);
                sleep(MS);
            }
            result => return result.unwrap(),
        }
    }
}
