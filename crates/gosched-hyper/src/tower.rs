//! Services of tower's.

use hyper_util::service::TowerToHyperService;

/// Makes a service of hyper's from one of tower's, such as axum's `Router`.
///
/// ```
/// use std::io::{Write, read_to_string};
///
/// use axum::Router;
/// use axum::routing::get;
/// use gosched::go;
/// use gosched::net::{TcpListener, TcpStream};
/// use gosched_hyper::server::serve;
/// use gosched_hyper::tower;
///
/// gosched::run(|| {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     let addr = listener.local_addr()?;
///     let app = Router::new().route("/", get(async || "hello"));
///     go(move || serve(listener, tower(app)));
///
///     let mut client = TcpStream::connect(addr)?;
///     client.write_all(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")?;
///     assert!(read_to_string(client)?.ends_with("hello"));
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
pub fn tower<S>(service: S) -> TowerToHyperService<S> {
    TowerToHyperService::new(service)
}
