//! A chat server. Each client has one goroutine that reads and one that writes, and all lines go
//! through the room. The server tells a client that has been silent for too long so, and drops it.
//! SIGTERM ends the server. The clients are in the same program, which sends itself the signal at
//! the end. [The same in Go](go/chat/main.go).
//!
//! ```text
//! cargo run --release --example chat
//! ```

#![forbid(unsafe_code)]

use std::error::Error;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use gosched::chan::{Receiver, Sender, bounded};
use gosched::context::{Context, ContextError};
use gosched::net::{TcpListener, TcpStream};
use gosched::signal::{self, Signal};
use gosched::{blocking, go, scope};

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    gosched::run(|| {
        let signals = signal::notify([Signal::TERM])?;
        let (ctx, cancel) = Context::background().with_cancel();
        // Two servers: the strict one drops a silent client soon, and the lenient one gives time to
        // clients that talk, also on a slow machine.
        let (strict, lenient) = (TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?);
        let (strict_addr, addr) = (strict.local_addr()?, lenient.local_addr()?);
        let server = go(move || {
            scope(|s| {
                s.go(|| serve(&ctx, &strict, Duration::from_millis(10)));
                s.go(|| serve(&ctx, &lenient, Duration::from_secs(60)));
            });
        });

        print!("who is silent reads: {}", io::read_to_string(TcpStream::connect(strict_addr)?)?);

        let ada = client(addr, "ada", &[("bob has come", "hello, bob"), ("bob: hello, ada", "good night")]);
        println!("ada reads: {}", ada.recv()?);
        let bob = client(addr, "bob", &[("ada: hello, bob", "hello, ada"), ("ada: good night", "/quit")]);
        bob.iter().for_each(|line| println!("bob reads: {line}"));
        ada.iter().take(5).for_each(|line| println!("ada reads: {line}"));

        blocking(|| Command::new("/bin/sh").args(["-c", "kill -TERM $PPID"]).status())?;
        println!("{} has come", signals.c().recv()?);
        cancel.cancel();
        ada.iter().for_each(|line| println!("ada reads: {line}"));
        server.join().expect("no goroutine has panicked");
        println!("the servers have stopped");
        Ok(())
    })
}

/// Returns the lines that a client reads. `answers` has the client's answers to some of these
/// lines.
fn client(addr: SocketAddr, name: &'static str, answers: &'static [(&str, &str)]) -> Receiver<String> {
    let (send, read) = bounded(16);
    go(move || {
        let stream = TcpStream::connect(addr)?;
        stream.set_nodelay(true)?;
        writeln!(&stream, "{name}")?;
        for line in BufReader::new(&stream).lines() {
            let line = line?;
            if let Some((_, answer)) = answers.iter().find(|(to, _)| *to == line) {
                writeln!(&stream, "{answer}")?;
            }
            send.send(line)?;
        }
        Ok::<_, Failure>(())
    });
    read
}

/// A message to the room.
enum Event {
    Come(Sender<String>),
    Say(String),
    Leave(Sender<String>),
}

/// Serves until the context has ended, each client has been told, and all goroutines have ended.
fn serve(ctx: &Context, listener: &TcpListener, idle: Duration) {
    scope(|s| {
        let (room, events) = bounded(0);
        s.go(|| keep(events));
        while let Ok((stream, _)) = ctx.with(listener).accept() {
            let room = room.clone();
            s.go(move || talk(ctx, &stream, idle, &room));
        }
    });
}

/// Runs the room, as long as a client may come.
fn keep(events: Receiver<Event>) {
    let mut members = Vec::new();
    for event in events {
        match event {
            Event::Come(member) => members.push(member),
            Event::Leave(member) => members.retain(|other| !member.same_channel(other)),
            // The room waits for nobody: a client that doesn't read misses lines.
            Event::Say(line) => members.iter().for_each(|member| drop(member.try_send(line.clone()))),
        }
    }
}

/// Serves a client until it leaves, or has to.
fn talk(ctx: &Context, stream: &TcpStream, idle: Duration, room: &Sender<Event>) -> io::Result<()> {
    // Sends each line at once. Go does so without being asked.
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(idle))?;
    stream.set_write_timeout(Some(idle))?;
    scope(|s| {
        let (told, lines) = bounded(16);
        s.go(move || lines.iter().try_for_each(|line: String| writeln!(&*stream, "{line}")));
        let last = match listen(BufReader::new(ctx.with(stream)), &told, room) {
            Err(error) if ContextError::of(&error).is_some() => "the server stops",
            Err(error) if error.kind() == ErrorKind::TimedOut => "you were silent for too long",
            _ => "good-bye",
        };
        // If the client doesn't read, nobody writes this line.
        told.send(last.to_owned()).ok();
    });
    Ok(())
}

/// Passes a client's arrival, the lines that follow its name, and its leaving on to the room.
fn listen(stream: impl BufRead, told: &Sender<String>, room: &Sender<Event>) -> io::Result<()> {
    let tell = |event| room.send(event).expect("the room is kept as long as somebody may talk");
    let mut lines = stream.lines();
    let Some(name) = lines.next().transpose()? else { return Ok(()) };
    tell(Event::Come(told.clone()));
    tell(Event::Say(format!("{name} has come")));
    let mut said = lines.take_while(|line| !matches!(line.as_deref(), Ok("/quit")));
    let end = said.try_for_each(|line| line.map(|line| tell(Event::Say(format!("{name}: {line}")))));
    tell(Event::Leave(told.clone()));
    tell(Event::Say(format!("{name} has left")));
    end
}
