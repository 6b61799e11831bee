//! What each path answers.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::process;

use crate::goroutine::gomaxprocs;
use crate::inspect::http::{Answer, Request};
use crate::inspect::json::Json;
use crate::inspect::record::Recording;
use crate::inspect::serve::Server;
use crate::runtime::metrics::{PROMETHEUS_CONTENT_TYPE, write_prometheus};

/// The page. `{{nonce}}` stands for a number that is different in each answer.
const PAGE: &str = include_str!("page.html");

/// The reply to a request.
pub(super) enum Reply {
    Answer(Answer),
    /// The scheduler's state, as a stream of events.
    Live,
    /// A profile or a trace, which takes a while.
    Recording(Recording),
}

/// Returns the reply to a request that may be answered.
pub(super) fn reply(server: &Server, request: &Request) -> Reply {
    let answer = match (request.is_post, request.path.as_str()) {
        (false, "/") => page(),
        (false, "/metrics") => metrics(),
        (false, "/api/info") => Answer::json(info()),
        (false, "/api/live") => return Reply::Live,
        (false, "/api/goroutines") => server.goroutines.list(request),
        (false, "/api/group") => server.goroutines.group(request),
        (false, "/api/goroutine") => server.goroutines.one(request),
        (true, "/api/recorder") => server.recorder.switch(request),
        (true, "/api/profile" | "/api/trace") => match Recording::of(request) {
            Ok(recording) => return Reply::Recording(recording),
            Err(answer) => answer,
        },
        _ => Answer::error("404 Not Found", "there is nothing here"),
    };
    Reply::Answer(answer)
}

fn page() -> Answer {
    let nonce = nonce();
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let page = PAGE.replace("{{nonce}}", &nonce);
    Answer { policy: Some(policy), ..Answer::new("text/html; charset=utf-8", page) }
}

/// Returns digits that can't be guessed: std's hash of nothing has a random key.
fn nonce() -> String {
    let random = || RandomState::new().hash_one(());
    format!("{:016x}{:016x}", random(), random())
}

fn metrics() -> Answer {
    let mut text = Vec::new();
    // Writing to a vector doesn't fail.
    let _ = write_prometheus(&mut text);
    Answer::new(PROMETHEUS_CONTENT_TYPE, text)
}

fn info() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Json::of_object(|json| {
        json.key("program").string(&name);
        json.key("pid").integer(process::id());
        json.key("gomaxprocs").integer(gomaxprocs());
        json.key("version").string(env!("CARGO_PKG_VERSION"));
    })
}
