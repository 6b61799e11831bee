//! A server that can't have another descriptor: alone in its process, whose limit it changes.

use std::convert::Infallible;
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;

use gosched::net::TcpListener;
use gosched::{blocking, go};
use gosched_hyper::server::serve;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use rustix::process::{Resource, getrlimit, setrlimit};

#[test]
fn a_server_without_descriptors_goes_on_when_it_has_some() {
    gosched::run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let hello =
            service_fn(async |_: Request<Incoming>| Ok::<_, Infallible>(Response::new("hello".to_owned())));
        let server = go(move || serve(listener, hello));
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = Some(100);
        setrlimit(Resource::Nofile, limit).unwrap();
        // The client's connection exists, but the server has no descriptor for its end. A thread
        // connects, so that the goroutines have made their own descriptors before.
        let mut all = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            all.push(file);
        }
        all.pop();
        let mut stream = blocking(|| TcpStream::connect(addr)).unwrap();
        assert!(File::open("/dev/null").is_err());
        stream.write_all(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
        // Accepting fails now, some times.
        gosched::time::sleep(std::time::Duration::from_millis(30));
        assert!(!server.is_finished());
        drop(all);
        let mut answer = String::new();
        blocking(|| stream.read_to_string(&mut answer)).unwrap();
        assert!(answer.ends_with("hello"), "{answer}");
    });
}
