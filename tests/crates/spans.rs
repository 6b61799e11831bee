//! Logs, spans, errors and panics, which depend on what the thread is doing.

use std::io::Write;
use std::sync::{Arc, Mutex, Once};

use anyhow::Context;
use tracing::{info, info_span, subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;

use crate::works;

works! {
    tracing_spans
    tracing_of_a_scope
    log_by_env_logger
    anyhow_backtraces
    panics_that_are_caught
}

/// Returns the names of the spans that the caller is in, the innermost first.
pub fn spans() -> Vec<String> {
    tracing::dispatcher::get_default(|dispatch| {
        let registry = dispatch.downcast_ref::<Registry>().expect("the registry is the subscriber");
        let current = dispatch.current_span();
        let Some(span) = current.id().and_then(|id| registry.span(id)) else { return Vec::new() };
        span.scope().map(|span| span.metadata().name().to_string()).collect()
    })
}

/// Spans of the global subscriber.
fn tracing_spans(n: u64, pause: &dyn Fn()) -> String {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| subscriber::set_global_default(tracing_subscriber::registry()).unwrap());
    let mut seen = Vec::new();
    let outer = info_span!("outer", n).entered();
    pause();
    seen.push(spans());
    {
        let _inner =
            if n.is_multiple_of(2) { info_span!("even").entered() } else { info_span!("odd").entered() };
        pause();
        seen.push(spans());
    }
    pause();
    seen.push(spans());
    drop(outer);
    pause();
    seen.push(spans());
    format!("{seen:?}")
}

/// A writer that collects the lines of a subscriber.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Lines;

    fn make_writer(&'a self) -> Lines {
        self.clone()
    }
}

/// Lines of a subscriber that is the default of this thread only.
fn tracing_of_a_scope(n: u64, pause: &dyn Fn()) -> String {
    let lines = Lines::default();
    let layer = tracing_subscriber::fmt::layer().with_writer(lines.clone()).without_time().with_ansi(false);
    subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        pause();
        let _span = info_span!("request", n).entered();
        for step in 0..3 {
            pause();
            info!(step, "done");
        }
    });
    lines.text()
}

/// env_logger formats a line in a buffer that belongs to the thread.
fn log_by_env_logger(n: u64, pause: &dyn Fn()) -> String {
    static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    static INSTALLED: Once = Once::new();
    struct Store;
    impl Write for Store {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            LINES.lock().unwrap().push(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    INSTALLED.call_once(|| {
        let mut builder = env_logger::Builder::new();
        builder.filter_level(log::LevelFilter::Info).format(|to, record| writeln!(to, "{}", record.args()));
        builder.target(env_logger::Target::Pipe(Box::new(Store))).init();
    });
    /// A value that logs while it is formatted.
    struct Nested<'a>(u64, &'a dyn Fn());
    impl std::fmt::Display for Nested<'_> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            self.1();
            log::info!("inner {}", self.0);
            self.1();
            write!(f, "outer {}", self.0)
        }
    }
    log::info!("{}", Nested(n, pause));
    let mut lines = LINES.lock().unwrap();
    let mut take = |line: String| {
        let i = lines.iter().position(|have| *have == line);
        i.map(|i| lines.swap_remove(i))
    };
    format!("{:?} {:?}", take(format!("inner {n}\n")), take(format!("outer {n}\n")))
}

fn anyhow_backtraces(n: u64, pause: &dyn Fn()) -> String {
    let fails = || -> anyhow::Result<()> {
        pause();
        "x".parse::<u64>().context(format!("reading {n}"))?;
        Ok(())
    };
    let error = fails().context("working").unwrap_err();
    let backtrace = std::backtrace::Backtrace::force_capture();
    pause();
    let captured = matches!(backtrace.status(), std::backtrace::BacktraceStatus::Captured);
    format!("{error:#} {captured}")
}

/// std counts a thread's panics in a thread-local.
fn panics_that_are_caught(n: u64, pause: &dyn Fn()) -> String {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    struct Pauses<'a>(&'a dyn Fn());
    impl Drop for Pauses<'_> {
        fn drop(&mut self) {
            (self.0)();
            assert!(std::thread::panicking());
        }
    }
    let panics = || {
        let _pauses = Pauses(pause);
        pause();
        panic!("{n}");
    };
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).unwrap_err();
    pause();
    format!("{} {}", caught.downcast_ref::<String>().unwrap(), std::thread::panicking())
}
