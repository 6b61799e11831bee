//! [`upgrade`]: WebSockets of HTTP servers.

use std::net::TcpStream;

use gosched::go;
use gosched_hyper::server::downcast;
use hyper::{Request, Response};
use tungstenite::Result;
use tungstenite::handshake::server::create_response_with_body;
use tungstenite::protocol::{Role, WebSocketConfig};

use crate::WebSocket;

/// Answers a client's handshake in a handler of a gosched-hyper server for TCP. When the answer is
/// sent, a new goroutine calls `f` with the WebSocket. If the connection fails before, `f` is
/// dropped.
///
/// With axum:
///
/// ```
/// use axum::Router;
/// use axum::body::Body;
/// use axum::extract::Request;
/// use axum::http::StatusCode;
/// use axum::response::{IntoResponse, Response};
/// use axum::routing::get;
/// use gosched::go;
/// use gosched::net::TcpListener;
/// use gosched_hyper::{server::serve, tower};
/// use gosched_tungstenite::tungstenite::Message;
/// use gosched_tungstenite::{WebSocket, upgrade};
///
/// async fn echo(request: Request) -> Response {
///     let upgraded = upgrade(request, None, |socket| {
///         while let Ok(message) = socket.recv() {
///             let _ = socket.send(message);
///         }
///     });
///     match upgraded {
///         Ok(response) => response.map(|()| Body::empty()),
///         Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
///     }
/// }
///
/// gosched::run(|| {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     let url = format!("ws://{}/echo", listener.local_addr()?);
///     go(move || serve(listener, tower(Router::new().route("/echo", get(echo)))));
///
///     let socket = WebSocket::connect(&url)?;
///     socket.send("hello".into())?;
///     assert_eq!(socket.recv()?, Message::text("hello"));
///     Ok::<(), gosched_tungstenite::tungstenite::Error>(())
/// })
/// .unwrap();
/// ```
///
/// # Errors
/// tungstenite's, if the request isn't a client's handshake.
///
/// # Panics
/// If the configuration is invalid: on the new goroutine.
pub fn upgrade<B>(
    request: Request<B>,
    config: Option<WebSocketConfig>,
    f: impl FnOnce(WebSocket<TcpStream>) + Send + 'static,
) -> Result<Response<()>> {
    let response = create_response_with_body(&request, || ())?;
    let upgrade = hyper::upgrade::on(request);
    go(move || {
        let Ok(upgraded) = gosched::block_on(upgrade) else { return };
        if let Ok((stream, read)) = downcast(upgraded) {
            f(WebSocket::from_raw_socket(stream, Role::Server, config, read));
        }
    });
    Ok(response)
}
