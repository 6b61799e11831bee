//! A span belongs to the goroutine that has entered it, on whichever thread the goroutine runs, and
//! to no other. So the goroutine's log lines show its own spans.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use gosched::chan::{Receiver, Sender, bounded};
use gosched::{Builder, go, goid, iter, scope, sync, time, yield_now};
use tracing::span::{Attributes, Id};
use tracing::{Event, Span, Subscriber, info, info_span, subscriber};
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use crate::settings::in_processes;
use crate::spans::{Lines, spans};

const GOROUTINES: u64 = 1000;

/// Runs a function on a goroutine, in a process for each number of P's.
fn on_goroutines(name: &str, test: fn()) {
    in_processes(&format!("{}::{name}", module_path!()), &[("2", ""), ("8", "")], || gosched::run(test));
}

/// Lines in the default format, each preceded by the number of its goroutine.
struct Numbered(Format<Full, ()>);

impl<S, F> FormatEvent<S, F> for Numbered
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    F: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, ctx: &FmtContext<'_, S, F>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        write!(to, "goroutine {} ", goid())?;
        self.0.format_event(ctx, to, event)
    }
}

/// A layer that counts the events. It also notes each span around an event that another goroutine
/// than the event's has made.
#[derive(Default)]
struct Owners {
    events: AtomicUsize,
    foreign: Mutex<Vec<Id>>,
}

/// The goroutine that made a span.
struct Owner(u64);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for &'static Owners {
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        ctx.span(id).expect("it is new").extensions_mut().insert(Owner(goid()));
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        self.events.fetch_add(1, Ordering::Relaxed);
        for span in ctx.event_scope(event).into_iter().flatten() {
            if span.extensions().get::<Owner>().is_none_or(|owner| owner.0 != goid()) {
                self.foreign.lock().unwrap().push(span.id());
            }
        }
    }
}

/// The spans and the message of each line that a goroutine logs. It parks in several ways between
/// them.
const SAID: [(&str, &str); 6] = [
    ("request", "has yielded"),
    ("request:query", "has received"),
    ("request:query:row", "has the lock"),
    ("request:query:row", "has slept"),
    ("request:query", "is out of the row"),
    ("request", "ends"),
];

fn request(n: u64, next: &Sender<u64>, previous: &Receiver<u64>, lock: &sync::Mutex<u64>) {
    let _request = info_span!("request", n).entered();
    yield_now();
    info!(n, "has yielded");
    {
        let _query = info_span!("query", n).entered();
        next.send(n).unwrap();
        previous.recv().unwrap();
        info!(n, "has received");
        info_span!("row", n).in_scope(|| {
            let mut rows = lock.lock();
            *rows += 1;
            yield_now();
            info!(n, "has the lock");
            drop(rows);
            time::sleep(Duration::from_micros(n));
            info!(n, "has slept");
        });
        yield_now();
        info!(n, "is out of the row");
    }
    yield_now();
    info!(n, "ends");
}

/// Returns the lines that goroutine `goid` must log, which is the `n`th.
fn expected(goid: u64, n: u64) -> Vec<String> {
    let line = |(spans, message): &(&str, &str)| {
        let spans: Vec<String> = spans.split(':').map(|span| format!("{span}{{n={n}}}")).collect();
        format!("goroutine {goid}  INFO {}: {message} n={n}", spans.join(":"))
    };
    SAID.iter().map(line).collect()
}

#[test]
fn lines_have_the_spans_of_who_wrote_them() {
    on_goroutines("lines_have_the_spans_of_who_wrote_them", || {
        let owners: &'static Owners = Box::leak(Box::default());
        let lines = Lines::default();
        let format = Numbered(Format::default().with_ansi(false).with_target(false).without_time());
        let fmt = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(lines.clone());
        let all = tracing_subscriber::registry().with(owners).with(fmt.event_format(format));
        subscriber::set_global_default(all).unwrap();

        // Goroutine `n` sends to the next one, and the last one sends to the first.
        let (sends, mut receives): (Vec<_>, Vec<_>) = (0..GOROUTINES).map(|_| bounded(1)).unzip();
        receives.rotate_right(1);
        let lock = Arc::new(sync::Mutex::new(0));
        let requests: Vec<_> = (0..GOROUTINES)
            .zip(sends.into_iter().zip(receives))
            .map(|(n, (next, previous))| {
                let lock = lock.clone();
                go(move || {
                    request(n, &next, &previous, &lock);
                    (goid(), n)
                })
            })
            .collect();
        let ended: Vec<_> = requests.into_iter().map(|request| request.join().unwrap()).collect();

        let text = lines.text();
        for (goid, n) in ended {
            let number = format!(" n={n}");
            let own: Vec<&str> = text.lines().filter(|line| line.ends_with(&number)).collect();
            assert_eq!(own, expected(goid, n));
        }
        assert_eq!(text.lines().count(), SAID.len() * GOROUTINES as usize);
        assert_eq!(owners.events.load(Ordering::Relaxed), text.lines().count());
        assert_eq!(*owners.foreign.lock().unwrap(), []);
        assert_eq!(*lock.lock(), GOROUTINES);
    });
}

#[test]
fn a_new_goroutine_is_in_no_span() {
    on_goroutines("a_new_goroutine_is_in_no_span", || {
        subscriber::set_global_default(Registry::default()).unwrap();
        let _request = info_span!("request").entered();
        assert!(go(spans).join().unwrap().is_empty());
        assert!(thread::spawn(spans).join().unwrap().is_empty());
        assert_eq!(spans(), ["request"]);
    });
}

#[test]
fn a_span_that_is_handed_over_goes_on() {
    on_goroutines("a_span_that_is_handed_over_goes_on", || {
        subscriber::set_global_default(Registry::default()).unwrap();
        let request = info_span!("request").entered();
        let queries: Vec<_> = (0..GOROUTINES)
            .map(|n| {
                let span = Span::current();
                go(move || {
                    let inside = span.in_scope(|| {
                        yield_now();
                        let _query = info_span!("query", n).entered();
                        yield_now();
                        spans()
                    });
                    (inside, spans())
                })
            })
            .collect();
        // The goroutines still hold the span.
        drop(request);
        for query in queries {
            let (inside, after) = query.join().unwrap();
            assert_eq!(inside, ["query", "request"]);
            assert!(after.is_empty());
        }
    });
}

#[test]
fn goroutines_begin_in_the_span_of_who_made_them() {
    on_goroutines("goroutines_begin_in_the_span_of_who_made_them", || {
        subscriber::set_global_default(Registry::default()).unwrap();
        gosched::tracing::inherit_spans();
        assert!(go(spans).join().unwrap().is_empty());
        let request = info_span!("request").entered();
        let queries: Vec<_> = (0..GOROUTINES)
            .map(|n| {
                go(move || {
                    let at_first = spans();
                    let query = info_span!("query", n).entered();
                    let row = go(|| {
                        yield_now();
                        spans()
                    });
                    let mut fields = iter::pull(|out| out.yield_(spans()));
                    yield_now();
                    let field = fields.next().unwrap();
                    let scoped = scope(|s| s.go(spans).join().unwrap());
                    drop(query);
                    (at_first, [row.join().unwrap(), field, scoped], spans())
                })
            })
            .collect();
        // The goroutines still hold the span.
        drop(request);
        for query in queries {
            let (at_first, inside, at_last) = query.join().unwrap();
            assert_eq!(at_first, ["request"]);
            inside.iter().for_each(|spans| assert_eq!(*spans, ["query", "request"]));
            assert_eq!(at_last, ["request"]);
        }
        assert!(spans().is_empty());
    });
}

/// A layer that counts the spans that have been closed.
struct Closed(&'static AtomicUsize);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Closed {
    fn on_close(&self, _: Id, _: Context<'_, S>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_span_is_closed_when_the_last_that_began_in_it_has_ended() {
    on_goroutines("a_span_is_closed_when_the_last_that_began_in_it_has_ended", || {
        static CLOSED: AtomicUsize = AtomicUsize::new(0);
        subscriber::set_global_default(Registry::default().with(Closed(&CLOSED))).unwrap();
        std::panic::set_hook(Box::new(|_| {}));
        gosched::tracing::inherit_spans();
        let (tx, rx) = bounded::<()>(0);
        let ends: [fn(); 3] = [|| (), || panic!("it fails"), || gosched::goexit()];
        let request = info_span!("request").entered();
        let all: Vec<_> = ends
            .into_iter()
            .map(|end| {
                let rx = rx.clone();
                go(move || {
                    rx.recv().unwrap_err();
                    assert_eq!(spans(), ["request"]);
                    end();
                })
            })
            .collect();
        drop(request);
        assert_eq!(CLOSED.load(Ordering::Relaxed), 0);
        drop(tx);
        for one in all {
            drop(one.join());
        }
        assert_eq!(CLOSED.load(Ordering::Relaxed), 1);
    });
}

#[test]
#[expect(unsafe_code)]
fn who_shares_thread_locals_begins_in_no_span() {
    on_goroutines("who_shares_thread_locals_begins_in_no_span", || {
        subscriber::set_global_default(Registry::default()).unwrap();
        gosched::tracing::inherit_spans();
        let request = info_span!("request").entered();
        // SAFETY: `spans` doesn't park, so it keeps no reference to a thread-local across a park.
        let lean = unsafe { Builder::new().shared_locals() };
        assert!(lean.go(spans).unwrap().join().unwrap().is_empty());
        assert_eq!(spans(), ["request"]);
        drop(request);
    });
}

#[test]
fn main_begins_in_the_span_of_its_thread() {
    let name = format!("{}::main_begins_in_the_span_of_its_thread", module_path!());
    in_processes(&name, &[("2", "")], || {
        subscriber::set_global_default(Registry::default()).unwrap();
        gosched::tracing::inherit_spans();
        let _program = info_span!("program").entered();
        assert_eq!(gosched::run(|| (spans(), go(spans).join().unwrap())), (spans(), spans()));
        assert_eq!(spans(), ["program"]);
    });
}

#[test]
fn a_log_tells_which_goroutine_it_was() {
    on_goroutines("a_log_tells_which_goroutine_it_was", || {
        let lines = Lines::default();
        let mut builder = env_logger::Builder::new();
        builder.filter_level(log::LevelFilter::Info);
        builder.format(|to, record| writeln!(to, "goroutine {}: {}", goid(), record.args()));
        builder.target(env_logger::Target::Pipe(Box::new(lines.clone()))).init();
        let log = move |n: u64| {
            log::info!("{n} begins");
            yield_now();
            log::info!("{n} ends");
            [format!("goroutine {}: {n} begins", goid()), format!("goroutine {}: {n} ends", goid())]
        };
        let all: Vec<_> = (0..GOROUTINES).map(|n| go(move || log(n))).collect();
        let mut expected: Vec<String> = all.into_iter().flat_map(|one| one.join().unwrap()).collect();
        let text = lines.text();
        let mut lines: Vec<&str> = text.lines().collect();
        expected.sort();
        lines.sort();
        assert_eq!(lines, expected);
    });
}
