//! An echo server: a goroutine for each connection, each with a stack of its own, and none with a
//! thread of its own.
//!
//! ```text
//!     cargo run --release --example echo 127.0.0.1:7777
//!     nc 127.0.0.1 7777
//! ```

#![forbid(unsafe_code)]

use std::env;
use std::io::{self, Read, Write};
use std::time::Duration;

use gosched::go;
use gosched::net::{TcpListener, TcpStream};
use gosched::time::sleep;

fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or("127.0.0.1:7777".into());
    gosched::run(|| serve(&address))
}

fn serve(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    for stream in listener.incoming() {
        match stream {
            Ok(stream) => drop(go(|| echo(stream))),
            Err(error) => {
                // There may be no descriptors left, for instance: some will be closed soon.
                eprintln!("accept: {error}");
                sleep(Duration::from_millis(10));
            }
        }
    }
    Ok(())
}

fn echo(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buf = [0; 1024];
    loop {
        match stream.read(&mut buf)? {
            0 => return Ok(()),
            n => stream.write_all(&buf[..n])?,
        }
    }
}
