//! WebSockets of HTTP servers.

use std::convert::Infallible;
use std::io::{Read, Write};

use gosched::go;
use gosched::net::{TcpListener, TcpStream};
use gosched_hyper::server::Server;
use gosched_tungstenite::tungstenite::{Error, Message, Result};
use gosched_tungstenite::{WebSocket, upgrade};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};

/// Echoes messages, with halves.
async fn echo(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let response = upgrade(request, None, |socket| {
        let (sender, receiver) = socket.split();
        receiver.map_while(Result::ok).filter(Message::is_text).for_each(|text| sender.send(text).unwrap());
    });
    Ok(response.map_or_else(
        |error| {
            let response = Response::builder().status(StatusCode::BAD_REQUEST);
            response.body(error.to_string()).unwrap()
        },
        |response| response.map(|()| String::new()),
    ))
}

#[test]
fn a_request_is_upgraded() {
    gosched::run(|| {
        for server in [Server::new(), Server::http1(http1::Builder::new())] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let addr = listener.local_addr().unwrap();
            go(move || server.serve(listener, service_fn(echo)));
            let clients: Vec<_> = (0..20)
                .map(|n| {
                    go(move || {
                        let socket = WebSocket::connect(format!("ws://{addr}/")).unwrap();
                        for i in 0..20 {
                            let text = Message::text(format!("message {i} of {n}"));
                            socket.send(text.clone()).unwrap();
                            assert_eq!(socket.recv().unwrap(), text);
                        }
                        socket.close(None).unwrap();
                        assert_eq!(socket.recv().unwrap(), Message::Close(None));
                        assert!(matches!(socket.recv(), Err(Error::ConnectionClosed)));
                    })
                })
                .collect();
            clients.into_iter().for_each(|client| client.join().unwrap());
        }
    });
}

/// A client may send before it has the answer.
#[test]
fn a_message_comes_with_the_request() {
    gosched::run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        go(move || Server::new().serve(listener, service_fn(echo)));
        let mut stream = TcpStream::connect(addr).unwrap();
        let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
        // A text of five bytes, masked with zeros.
        stream.write_all(&[&request[..], b"\x81\x85\0\0\0\0hello"].concat()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n\x81\x05hello") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.extend(byte);
        }
        assert!(answer.starts_with(b"HTTP/1.1 101"));
    });
}

#[test]
fn another_request_isnt_upgraded() {
    gosched::run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        go(move || Server::new().serve(listener, service_fn(echo)));
        let mut stream = TcpStream::connect(addr).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
        let answer = std::io::read_to_string(stream).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    });
}
