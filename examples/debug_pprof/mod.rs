//! Profiles and traces of a running server at `/debug/pprof/`, as Go's `net/http/pprof` has them.
//! Copy this module into a program that uses gosched with its feature `pprof`. It works with any
//! server: an [`Answer`] has everything that the server must send.
//!
//! ```text
//!     go tool pprof http://localhost:8080/debug/pprof/profile?seconds=5
//!     go tool pprof -http=:8000 http://localhost:8080/debug/pprof/block
//!     curl http://localhost:8080/debug/pprof/goroutine?debug=1
//!     curl -o a.trace http://localhost:8080/debug/pprof/trace?seconds=2
//!     go tool trace a.trace
//! ```
//!
//! Requests reveal much about the program, and keep it busy: don't let strangers make any.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use gosched::pprof::{self, Profile};
use gosched::sync::Mutex;
use gosched::time::sleep;
use gosched::trace;

/// The prefix of all paths that this module answers.
const PREFIX: &str = "/debug/pprof/";

/// The default duration of a CPU profile, and of a trace, in seconds: the same as Go's.
const SECONDS: u64 = 30;
const TRACE_SECONDS: u64 = 1;

/// The answer to a request.
pub struct Answer {
    /// The number and its name.
    pub status: &'static str,
    pub content_type: &'static str,
    /// The name of the file, if the answer is a file.
    pub file: Option<String>,
    pub body: Vec<u8>,
}

/// Enables the profiles of waits. It records each wait for a lock or a channel that lasts 10 µs or
/// more, and one in ten of the unlocks for which another goroutine has waited.
pub fn begin() {
    pprof::set_block_profile_rate(10_000);
    pprof::set_mutex_profile_fraction(10);
}

/// Returns the answer to a GET of a path below [`PREFIX`], with its query. It may take as long as
/// the query's `seconds=`.
pub fn answer(path: &str) -> Answer {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let asked = |key: &str| query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
    let seconds = |default| {
        Duration::from_secs(asked("seconds").and_then(|seconds| seconds.parse().ok()).unwrap_or(default))
    };
    match path.strip_prefix(PREFIX) {
        Some("") => index(),
        Some("profile") => file("profile", |body| {
            pprof::start_cpu_profile()?;
            sleep(seconds(SECONDS));
            pprof::stop_cpu_profile(body)
        }),
        Some("trace") => file("trace", |body| {
            let written = Written::default();
            trace::start(written.clone())?;
            sleep(seconds(TRACE_SECONDS));
            trace::stop()?;
            body.append(&mut written.0.lock());
            Ok(())
        }),
        // Writing to a vector doesn't fail.
        Some("goroutine") if asked("debug") == Some("1") => text("200 OK", |body| {
            let _ = gosched::dump_goroutines_grouped(body);
        }),
        Some("goroutine") if asked("debug") == Some("2") => text("200 OK", |body| {
            let _ = gosched::dump_goroutines(body);
        }),
        name => match name.and_then(Profile::named) {
            Some(profile) => file(profile.name(), |body| profile.write_to(body)),
            None => text("404 Not Found", |body| body.extend_from_slice(b"Unknown profile\n")),
        },
    }
}

/// The bytes that a trace has written, in memory.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Lists the profiles.
fn index() -> Answer {
    let names = Profile::ALL.map(Profile::name).into_iter().chain(["profile", "trace"]);
    let links: String = names.map(|name| format!("<li><a href=\"{name}\">{name}</a></li>\n")).collect();
    let body = format!("<!doctype html>\n<title>{PREFIX}</title>\n<ul>\n{links}</ul>\n").into_bytes();
    Answer { status: "200 OK", content_type: "text/html; charset=utf-8", file: None, body }
}

fn file(name: &str, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Answer {
    let mut body = Vec::new();
    match write(&mut body) {
        Ok(()) => {
            let content_type = "application/octet-stream";
            Answer { status: "200 OK", content_type, file: Some(name.to_owned()), body }
        }
        Err(error) => text("500 Internal Server Error", |body| {
            body.extend_from_slice(format!("Could not make the profile: {error}\n").as_bytes());
        }),
    }
}

fn text(status: &'static str, write: impl FnOnce(&mut Vec<u8>)) -> Answer {
    let mut body = Vec::new();
    write(&mut body);
    Answer { status, content_type: "text/plain; charset=utf-8", file: None, body }
}

impl Answer {
    /// Writes the answer as HTTP/1.1.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let disposition = self.file.as_ref().map_or(String::new(), |name| {
            format!("Content-Disposition: attachment; filename=\"{name}\"\r\n")
        });
        let Answer { status, content_type, body, .. } = self;
        write!(
            out,
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nX-Content-Type-Options: nosniff\r\n\
             {disposition}Content-Length: {}\r\n\r\n",
            body.len(),
        )?;
        out.write_all(body)
    }
}
