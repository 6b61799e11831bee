//! The scheduler's events, as a subscriber of the tracing crate gets them.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use gosched::time::sleep;
use gosched::{go, goid, yield_now};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

use crate::settings::in_processes;

/// The fields of an event, by their names.
#[derive(Default)]
struct Fields(HashMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

/// A layer that collects all events of the scheduler.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Fields>>>);

impl<S: Subscriber> Layer<S> for Told {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "gosched::scheduler" {
            assert_eq!(*event.metadata().level(), Level::TRACE);
            let mut fields = Fields::default();
            event.record(&mut fields);
            self.0.lock().unwrap().push(fields);
        }
    }
}

impl Told {
    /// Returns the names of a goroutine's events, with the reasons of its waits.
    fn of(&self, goid: u64) -> Vec<String> {
        let text = |fields: &Fields| {
            let reason = fields.0.get("reason").map_or(String::new(), |reason| format!(" {reason}"));
            format!("{}{reason}", fields.0["message"])
        };
        let told = self.0.lock().unwrap();
        told.iter().filter(|fields| fields.0.get("goid") == Some(&goid.to_string())).map(text).collect()
    }
}

/// A layer that panics at the first event.
struct PanicsOnce(AtomicBool);

impl<S: Subscriber> Layer<S> for PanicsOnce {
    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        assert!(self.0.swap(true, Ordering::Relaxed), "at the first one");
    }
}

#[test]
fn go_on_where_a_subscriber_panics() {
    let name = format!("{}::go_on_where_a_subscriber_panics", module_path!());
    in_processes(&name, &[("2", "")], || {
        let told = Told::default();
        let panics = PanicsOnce(AtomicBool::new(false));
        let subscriber = tracing_subscriber::registry().with(panics).with(told.clone());
        tracing::subscriber::with_default(subscriber, || gosched::tracing::scheduler_events().unwrap());
        gosched::run(|| {
            loop {
                let id = go(goid).join().unwrap();
                sleep(Duration::from_millis(10));
                if told.of(id).last().is_some_and(|last| last == "GoEnd") {
                    break;
                }
            }
        });
    });
}

#[test]
fn are_told_in_their_order() {
    in_processes(&format!("{}::are_told_in_their_order", module_path!()), &[("1", ""), ("8", "")], || {
        let told = Told::default();
        let subscriber = tracing_subscriber::registry().with(told.clone());
        tracing::subscriber::with_default(subscriber, || {
            gosched::tracing::scheduler_events().unwrap();
            gosched::tracing::scheduler_events().unwrap();
        });
        let ids: Vec<u64> = gosched::run(|| {
            let goroutines: Vec<_> = (0..100)
                .map(|_| {
                    go(|| {
                        yield_now();
                        sleep(Duration::from_millis(1));
                        goid()
                    })
                })
                .collect();
            goroutines.into_iter().map(|goroutine| goroutine.join().unwrap()).collect()
        });
        for id in ids {
            while told.of(id).last().is_none_or(|last| last != "GoEnd") {
                thread::sleep(Duration::from_millis(1));
            }
            let told = told.of(id);
            assert_eq!(told[..2], ["GoCreate", "GoStart"]);
            let has = |events: &[&str]| told.windows(events.len()).any(|some| some == events);
            assert!(has(&["GoSched", "GoStart"]), "{told:?}");
            assert!(has(&["GoPark Sleep", "GoUnpark", "GoStart"]), "{told:?}");
        }
        let told = told.0.lock().unwrap();
        let is =
            |name: &str| told.iter().any(|fields| fields.0["message"] == name && fields.0.contains_key("p"));
        assert!(is("ProcStart") && is("GoStart"));
    });
}
