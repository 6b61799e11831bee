//! WebSockets over real sockets.

use std::io::{ErrorKind, Write};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{iter, thread};

use gosched::context::{Context, ContextError};
use gosched::net::{TcpListener, TcpStream, UnixStream};
use gosched::{go, time};
use gosched_tungstenite::tungstenite::error::{CapacityError, ProtocolError};
use gosched_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use gosched_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use gosched_tungstenite::tungstenite::{Error, Message, Result};
use gosched_tungstenite::{Receiver, Sender, WebSocket};

type Unix = WebSocket<StdUnixStream>;

/// A server's and a client's end.
fn pair(config: WebSocketConfig) -> (Unix, Unix) {
    let (here, there) = UnixStream::pair().unwrap();
    let end = |stream, role| WebSocket::from_raw_socket(stream, role, Some(config), Vec::new());
    (end(here, Role::Server), end(there, Role::Client))
}

/// The messages that one end sends, some of which are larger than what the socket holds.
fn messages(seed: usize) -> impl Iterator<Item = Message> {
    (0..200).map(move |n| match n % 3 {
        0 => Message::text(format!("message {n} of {seed}")),
        1 => Message::binary(vec![(n + seed) as u8; n * 10]),
        _ => Message::binary(vec![(n * seed) as u8; n * 2_000]),
    })
}

fn send_all(sender: &Sender<StdUnixStream>, seed: usize) {
    messages(seed).for_each(|message| sender.send(message).unwrap());
}

/// Receives the other end's messages up to the end.
fn receive_all(receiver: Receiver<StdUnixStream>, seed: usize) {
    let mut expected = messages(seed);
    for message in receiver {
        match message.unwrap() {
            Message::Close(_) => assert!(expected.next().is_none()),
            message => assert_eq!(Some(message), expected.next()),
        }
    }
}

/// Each end sends more than the socket holds before it is read. So a reader that kept a writer
/// waiting, or a writer a reader, would end in a deadlock.
#[test]
fn halves_send_and_receive_at_once() {
    gosched::run(|| {
        let (server, client) = pair(WebSocketConfig::default());
        let (server_sender, server_receiver) = server.split();
        let (client_sender, client_receiver) = client.split();
        let received = [go(|| receive_all(server_receiver, 7)), go(|| receive_all(client_receiver, 3))];
        let clients = client_sender.clone();
        let sent = [go(move || send_all(&server_sender, 3)), go(move || send_all(&clients, 7))];
        sent.into_iter().for_each(|sent| sent.join().unwrap());
        client_sender.close(None).unwrap();
        received.into_iter().for_each(|received| received.join().unwrap());
    });
}

#[test]
fn a_ping_is_answered_while_others_send() {
    gosched::run(|| {
        let (server, client) = pair(WebSocketConfig::default());
        let (sender, receiver) = server.split();
        let receives = go(|| receiver.for_each(drop));
        for n in 0..100 {
            sender.send(Message::text(format!("{n}"))).unwrap();
            client.send(Message::Ping(vec![n].into())).unwrap();
            assert_eq!(client.recv().unwrap(), Message::text(format!("{n}")));
            assert_eq!(client.recv().unwrap(), Message::Pong(vec![n].into()));
        }
        client.close(None).unwrap();
        receives.join().unwrap();
    });
}

/// A half that lives on doesn't keep the client waiting for the end of the connection.
#[test]
fn either_end_closes() {
    gosched::run(|| {
        let frame = || CloseFrame { code: CloseCode::Away, reason: "bye".into() };
        for server_closes in [true, false] {
            let (server, client) = pair(WebSocketConfig::default());
            let (server_sender, server_receiver) = server.split();
            let (client_sender, client_receiver) = client.split();
            let closes = if server_closes { &server_sender } else { &client_sender };
            closes.close(Some(frame())).unwrap();
            let received = [go(|| server_receiver.collect()), go(|| client_receiver.collect())];
            for all in received.map(|received| received.join().unwrap()) {
                let all: Vec<Result<Message>> = all;
                assert!(matches!(&all[..], [Ok(Message::Close(Some(got)))] if *got == frame()), "{all:?}");
            }
            for sender in [server_sender, client_sender] {
                sender.close(None).unwrap();
                assert!(sender.send("late".into()).is_err());
            }
        }
    });
}

#[test]
fn a_connection_that_breaks_is_an_error() {
    gosched::run(|| {
        let (server, client) = pair(WebSocketConfig::default());
        drop(client);
        let (_, receiver) = server.split();
        let all: Vec<_> = receiver.collect();
        let broken = Error::Protocol(ProtocolError::ResetWithoutClosingHandshake);
        assert!(matches!(&all[..], [Err(error)] if error.to_string() == broken.to_string()), "{all:?}");
    });
}

#[test]
fn messages_have_a_limit() {
    gosched::run(|| {
        let (server, client) = pair(WebSocketConfig::default().max_message_size(Some(1_000)));
        client.send(Message::binary(vec![0; 1_000])).unwrap();
        client.send(Message::binary(vec![0; 1_001])).unwrap();
        assert_eq!(server.recv().unwrap().len(), 1_000);
        let error = server.recv().unwrap_err();
        assert!(
            matches!(error, Error::Capacity(CapacityError::MessageTooLong { size: 1_001, .. })),
            "{error}"
        );
    });
}

/// A receive that a context or a timeout has ended loses nothing of a message.
#[test]
fn a_receive_goes_on_after_its_end() {
    gosched::run(|| {
        let (here, mut there) = UnixStream::pair().unwrap();
        let server = WebSocket::from_raw_socket(here, Role::Server, None, Vec::new());
        // A text of five bytes, masked with zeros.
        let frame = b"\x81\x85\0\0\0\0hello";
        for byte in &frame[..frame.len() - 1] {
            there.write_all(&[*byte]).unwrap();
            let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(1));
            let Err(Error::Io(error)) = server.recv_with(&ctx) else { panic!() };
            assert_eq!(ContextError::of(&error), Some(ContextError::DeadlineExceeded));
        }
        server.stream().set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let Err(Error::Io(error)) = server.recv() else { panic!() };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        server.stream().set_read_timeout(None).unwrap();
        there.write_all(&frame[frame.len() - 1..]).unwrap();
        assert_eq!(server.recv().unwrap(), Message::text("hello"));
    });
}

/// A send that was ended is made up for by later ones.
#[test]
fn a_send_goes_on_after_its_end() {
    gosched::run(|| {
        let (server, client) = pair(WebSocketConfig::default());
        let (ctx, cancel) = Context::background().with_cancel();
        let sent = iter::from_fn(|| {
            let (ctx, _cancel) = ctx.with_timeout(Duration::from_millis(1));
            server.send_with(&ctx, Message::binary(vec![1; 100_000])).ok()
        });
        // The socket is full then, and has a part of one more.
        let sent = sent.count() + 1;
        cancel.cancel();
        let Err(Error::Io(error)) = server.send_with(&ctx, "canceled".into()) else { panic!() };
        assert_eq!(ContextError::of(&error), Some(ContextError::Canceled));
        let receives = go(move || {
            for _ in 0..sent {
                assert_eq!(client.recv().unwrap().len(), 100_000);
            }
            assert_eq!(client.recv().unwrap(), Message::text("canceled"));
            assert_eq!(client.recv().unwrap(), Message::text("last"));
        });
        server.flush().unwrap();
        server.send("last".into()).unwrap();
        receives.join().unwrap();
    });
}

#[test]
fn a_full_buffer_is_waited_for() {
    gosched::run(|| {
        let config = WebSocketConfig::default().write_buffer_size(0).max_write_buffer_size(150_000);
        let (server, client) = pair(config);
        let large = Message::binary(vec![1; 200_000]);
        assert!(matches!(server.send(large), Err(Error::WriteBufferFull(_))));
        let receives = go(move || (0..20).for_each(|_| assert_eq!(client.recv().unwrap().len(), 100_000)));
        for _ in 0..20 {
            server.send(Message::binary(vec![1; 100_000])).unwrap();
        }
        receives.join().unwrap();
    });
}

#[test]
fn a_socket_is_used_by_reference() {
    gosched::run(|| {
        let (server, client) = pair(WebSocketConfig::default());
        let server = Arc::new(server);
        let echo = go({
            let server = server.clone();
            move || {
                while let Ok(message) = server.recv() {
                    let _ = server.send(message);
                }
            }
        });
        // Threads that aren't goroutines' use it, too.
        let thread = thread::spawn(move || {
            for _ in 0..100 {
                client.send("hello".into()).unwrap();
                assert_eq!(client.recv().unwrap(), Message::text("hello"));
            }
            client.close(None).unwrap();
            while client.recv().is_ok() {}
        });
        gosched::blocking(|| thread.join()).unwrap();
        echo.join().unwrap();
    });
}

#[test]
fn clients_connect() {
    gosched::run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("ws://{}/path", listener.local_addr().unwrap());
        let server = go(move || {
            let (sender, receiver) = WebSocket::accept(listener.accept().unwrap().0).unwrap().split();
            receiver
                .map_while(Result::ok)
                .filter(Message::is_text)
                .for_each(|text| sender.send(text).unwrap());
        });
        let client = WebSocket::connect(&url).unwrap();
        client.send("hello".into()).unwrap();
        assert_eq!(client.recv().unwrap(), Message::text("hello"));
        client.close(None).unwrap();
        assert_eq!(client.recv().unwrap(), Message::Close(None));
        assert!(matches!(client.recv(), Err(Error::ConnectionClosed)));
        server.join().unwrap();
        assert!(matches!(WebSocket::connect("wss://localhost/"), Err(Error::Url(_))));
        assert!(matches!(WebSocket::connect(&url), Err(Error::Io(_))));
    });
}

#[test]
fn a_handshake_has_a_deadline() {
    gosched::run(|| {
        let (here, _there) = UnixStream::pair().unwrap();
        here.set_read_deadline(Some(Instant::now()));
        let Err(Error::Io(error)) = WebSocket::accept(here) else { panic!() };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert!(matches!(WebSocket::accept(listener.accept().unwrap().0), Err(Error::Protocol(_))));
        time::sleep(Duration::ZERO);
    });
}
