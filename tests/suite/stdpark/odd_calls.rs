//! Unusual calls on descriptors.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, process, ptr};

use crate::harness::sandbox::{NO_FILTER, refuse};
use crate::harness::sockets::{own_ip, to_be_reset};
use crate::harness::{Test, tests};
use crate::stdpark::descriptors::*;

tests! {
    small_sets_of_a_select
    bits_that_only_poll_has
    a_reset_in_the_middle_of_a_write
    a_shutdown_ends_a_receive_of_packets
    what_is_no_listener_accepts_nothing
    a_connect_that_is_refused_twice
    messages_that_are_sent_in_part
    records_and_their_timeout
    room_that_the_receiver_has_not
    a_named_pipe
    what_is_open_the_other_way
    a_sandbox_without_flags
    a_sandbox_without_options
    a_sandbox_without_polls
    a_sandbox_without_attempts
    a_sandbox_without_short_polls
    a_sandbox_without_descriptors_of_processes
}

/// For `n` descriptors, the kernel reads and writes only a part of a set. The rest needn't exist.
fn small_sets_of_a_select() {
    live(|| {
        // SAFETY: no memory is passed.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping of two pages, the second of which is unmapped again.
        let end = unsafe {
            let pages = libc::mmap(ptr::null_mut(), 2 * page, access, flags, -1, 0);
            assert_ne!(pages, libc::MAP_FAILED);
            let end = pages.byte_add(page);
            assert_eq!(libc::munmap(end, page), 0);
            end.expose_provenance()
        };
        same_on_both((1, 1), |on| {
            let (mut a, b) = UnixStream::pair().unwrap();
            let fd = b.as_raw_fd();
            let selects = on.start(move || {
                let set: *mut u64 = ptr::with_exposed_provenance_mut(end - size_of::<u64>());
                let none = ptr::null_mut();
                // SAFETY: the page's last word, which nobody else uses; the number is below 64.
                unsafe {
                    *set = 1 << fd;
                    (libc::select(fd + 1, set.cast(), none, none, ptr::null_mut()), *set >> fd)
                }
            });
            a.write_all(b"x").unwrap();
            let selected = selects();
            drop(b);
            selected
        });
    });
}

fn bits_that_only_poll_has() {
    live(|| {
        same_on_both((1, libc::POLLRDNORM), |on| {
            let (mut a, b) = UnixStream::pair().unwrap();
            let polls = on.start(move || {
                let mut fds = libc::pollfd { fd: b.as_raw_fd(), events: libc::POLLRDNORM, revents: 0 };
                // SAFETY: one such struct.
                (unsafe { libc::poll(&mut fds, 1, -1) }, fds.revents)
            });
            a.write_all(b"x").unwrap();
            polls()
        });
    });
}

/// The write returns the number of bytes written. The next call reports the reset.
fn a_reset_in_the_middle_of_a_write() {
    const LARGE: usize = 32 << 20;
    live(|| {
        same_on_both(ErrorKind::ConnectionReset, |on| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut writer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (reader, _) = listener.accept().unwrap();
            let writes = on.start(move || {
                let written = writer.write(&vec![7; LARGE]);
                written.and_then(|_| writer.read(&mut [0])).unwrap_err().kind()
            });
            to_be_reset(&reader);
            drop(reader);
            writes()
        });
    });
}

/// `recv` with `MSG_DONTWAIT` finds nothing, and the kernel reports an end.
fn a_shutdown_ends_a_receive_of_packets() {
    live(|| {
        same_on_both(Ok(0), |on| {
            let (a, _b) = UnixDatagram::pair().unwrap();
            let other = a.try_clone().unwrap();
            let reader = on.start(move || recv(&a, 8, 0));
            other.shutdown(Shutdown::Both).unwrap();
            reader()
        });
        same_on_both(Ok(0), |on| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(socket.local_addr().unwrap()).unwrap();
            let other = socket.try_clone().unwrap();
            let reader = on.start(move || recv(&socket, 8, 0));
            // SAFETY: no memory is passed.
            assert_eq!(unsafe { libc::shutdown(other.as_raw_fd(), libc::SHUT_RDWR) }, 0);
            reader()
        });
    });
}

fn accept(socket: &impl AsRawFd, flags: i32) -> Result<usize, i32> {
    // SAFETY: no memory is passed.
    result(unsafe { libc::accept4(socket.as_raw_fd(), ptr::null_mut(), ptr::null_mut(), flags) } as isize)
}

fn what_is_no_listener_accepts_nothing() {
    live(|| {
        let nothing = (Err(libc::EINVAL), Err(libc::ENOTSOCK), Err(libc::EINVAL));
        same_where_nobody_parks(nothing, |on| {
            on.begin(|| {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                let (pipe, _writer) = std::io::pipe().unwrap();
                (accept(&stream, 0), accept(&pipe, 0), accept(&listener, 1))
            })()
        });
    });
}

fn a_connect_that_is_refused_twice() {
    live(|| {
        same_where_nobody_parks([Err(libc::ECONNREFUSED); 2], |on| {
            on.begin(|| {
                // Nobody listens there any more.
                let port = TcpListener::bind((own_ip(), 0)).unwrap().local_addr().unwrap().port();
                // SAFETY: a new socket, and an address, which is all zeros but for the port.
                unsafe {
                    let socket = OwnedFd::from_raw_fd(libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0));
                    let mut to: libc::sockaddr_in = std::mem::zeroed();
                    to.sin_family = libc::AF_INET as u16;
                    to.sin_port = port.to_be();
                    to.sin_addr.s_addr = u32::from_ne_bytes(own_ip().octets());
                    [(); 2].map(|()| {
                        let to: *const libc::sockaddr_in = &to;
                        result(libc::connect(socket.as_raw_fd(), to.cast(), size_of_val(&*to) as u32) as isize)
                    })
                }
            })()
        });
    });
}

/// On a stream, a gap would precede the second message.
fn messages_that_are_sent_in_part() {
    const LARGE: usize = 8 << 20;
    live(|| {
        same_on_both((1, true, 0), |on| {
            let (a, _b) = UnixStream::pair().unwrap();
            a.set_write_timeout(Some(Duration::from_millis(5))).unwrap();
            on.start(move || {
                let mut bytes = [vec![1_u8; LARGE], vec![2_u8; 64]];
                let mut buffers = bytes
                    .each_mut()
                    .map(|bytes| libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() });
                // SAFETY: all zero is a message of nothing.
                let mut msgs: [libc::mmsghdr; 2] = unsafe { std::mem::zeroed() };
                for (msg, buffer) in msgs.iter_mut().zip(&mut buffers) {
                    (msg.msg_hdr.msg_iov, msg.msg_hdr.msg_iovlen) = (buffer, 1);
                }
                // SAFETY: two messages, of a buffer each.
                let sent = unsafe { libc::sendmmsg(a.as_raw_fd(), msgs.as_mut_ptr(), 2, 0) };
                (sent, (1..LARGE as u32).contains(&msgs[0].msg_len), msgs[1].msg_len)
            })()
        });
    });
}

/// On a socket of records, `read` acts like `recv`.
fn records_and_their_timeout() {
    live(|| {
        same_on_both(Err(libc::EAGAIN), |on| {
            let mut pair = [0; 2];
            // SAFETY: there is room for two numbers, of new descriptors.
            let [a, _b] = unsafe {
                assert_eq!(libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0, pair.as_mut_ptr()), 0);
                pair.map(|fd| UnixStream::from(OwnedFd::from_raw_fd(fd)))
            };
            a.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
            on.start(move || read(a.as_raw_fd(), 8))()
        });
    });
}

/// The kernel reports room in the sender's buffer even while the receiver's is full. Few waits end
/// in vain.
fn room_that_the_receiver_has_not() {
    const PAUSE: Duration = Duration::from_millis(1);
    live(|| {
        let path = env::temp_dir().join(format!("gosched-receiver-{}", process::id()));
        let receiver = UnixDatagram::bind(&path).unwrap();
        let sender = UnixDatagram::unbound().unwrap();
        sender.set_nonblocking(true).unwrap();
        while sender.send_to(b"x", &path).is_ok() {}
        sender.set_nonblocking(false).unwrap();
        let (before, begun) = (parks(), Instant::now());
        let sends = On::Goroutine.start({
            let path = path.clone();
            move || sender.send_to(b"y", &path).unwrap()
        });
        std::thread::sleep(20 * PAUSE);
        let waits = parks() - before;
        let most = 10 + begun.elapsed().div_duration_f64(PAUSE) as u64;
        assert!(waits <= most, "{waits} waits");
        while receiver.recv(&mut [0; 8]).unwrap() != 1 {}
        receiver.set_nonblocking(true).unwrap();
        while receiver.recv(&mut [0; 8]).is_ok() {}
        assert_eq!(sends(), 1);
        fs::remove_file(path).unwrap();
    });
}

/// A read doesn't wait for a first writer. A large write is written whole.
fn a_named_pipe() {
    const LARGE: usize = 200_000;
    live(|| {
        let path = env::temp_dir().join(format!("gosched-fifo-{}", process::id()));
        let mut name = path.as_os_str().as_bytes().to_vec();
        name.push(0);
        // SAFETY: a name.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr().cast(), 0o600) }, 0);
        let open = |flags: i32| {
            // SAFETY: a name, and a new descriptor.
            let file =
                unsafe { File::from_raw_fd(libc::open(name.as_ptr().cast(), flags | libc::O_NONBLOCK)) };
            // SAFETY: no memory is passed.
            assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, 0) }, 0);
            file
        };
        same_where_nobody_parks(Ok(0), |on| {
            let reader = open(libc::O_RDONLY);
            on.begin(move || read(reader.as_raw_fd(), 8))()
        });
        same_where_nobody_parks((Ok(LARGE), LARGE), |on| {
            let mut reader = open(libc::O_RDONLY);
            let writer = open(libc::O_WRONLY);
            let writes = on.begin(move || write(writer.as_raw_fd(), LARGE));
            let mut all = Vec::new();
            reader.read_to_end(&mut all).unwrap();
            (writes(), all.len())
        });
        fs::remove_file(path).unwrap();
    });
}

fn what_is_open_the_other_way() {
    live(|| {
        same_where_nobody_parks((Err(libc::EBADF), Err(libc::EBADF)), |on| {
            on.begin(|| {
                // SAFETY: a new descriptor, which is open for reads.
                let events = unsafe { File::from_raw_fd(libc::inotify_init()) };
                let (_reader, writer) = std::io::pipe().unwrap();
                (write(events.as_raw_fd(), 1), read(writer.as_raw_fd(), 1))
            })()
        });
    });
}

/// Waits and connects where system calls are refused.
fn in_a_sandbox(test: Test, numbers: &[libc::c_long]) {
    if test.skipped_in_emulator(NO_FILTER) {
        return;
    }
    for errno in [libc::EPERM, libc::ENOSYS] {
        let process = test.process(|| {
            let errno = env::var("ERRNO").unwrap().parse().unwrap();
            numbers.iter().for_each(|&number| refuse(number, None, errno));
            live(|| {
                let byte_of = |rx: RawFd, tx: RawFd| {
                    let reads = On::Goroutine.begin(move || read(rx, 8));
                    // Usually this is long enough for a first try.
                    std::thread::sleep(Duration::from_millis(2));
                    assert_eq!(write(tx, 1), Ok(1));
                    assert_eq!(reads(), Ok(1));
                };
                let (rx, tx) = std::io::pipe().unwrap();
                byte_of(rx.as_raw_fd(), tx.as_raw_fd());
                let (a, b) = UnixStream::pair().unwrap();
                byte_of(a.as_raw_fd(), b.as_raw_fd());
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let addr = listener.local_addr().unwrap();
                let accepts = On::Goroutine.begin(move || drop(listener.accept().unwrap()));
                TcpStream::connect(addr).unwrap();
                accepts();
                // Nobody listens there any more.
                assert_eq!(TcpStream::connect(addr).unwrap_err().kind(), ErrorKind::ConnectionRefused);
                assert_eq!(Command::new("sh").args(["-c", "exit 3"]).status().unwrap().code(), Some(3));
                a.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
                assert_eq!(recv(&a, 1, 0), Err(libc::EAGAIN));
            });
        });
        process.env("ERRNO", &errno.to_string()).end().with("exit status: 0");
    }
}

fn a_sandbox_without_flags(test: Test) {
    in_a_sandbox(test, &[libc::SYS_fcntl]);
}

fn a_sandbox_without_options(test: Test) {
    in_a_sandbox(test, &[libc::SYS_getsockopt]);
}

fn a_sandbox_without_polls(test: Test) {
    in_a_sandbox(test, &[libc::SYS_ppoll]);
}

fn a_sandbox_without_attempts(test: Test) {
    in_a_sandbox(test, &[libc::SYS_preadv2, libc::SYS_pwritev2]);
}

fn a_sandbox_without_short_polls(test: Test) {
    in_a_sandbox(test, &[libc::SYS_epoll_pwait2]);
}

fn a_sandbox_without_descriptors_of_processes(test: Test) {
    in_a_sandbox(test, &[libc::SYS_pidfd_open]);
}
