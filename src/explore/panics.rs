//! The messages of panics in explorations: kept for the report, and printed by it alone.

use std::panic::{set_hook, take_hook};
use std::sync::{Mutex, Once, PoisonError};

use crate::runtime::explored_number;

/// The last panic of a goroutine of an exploration.
static LAST: Mutex<Option<Panicked>> = Mutex::new(None);

#[derive(Clone, Debug)]
pub(super) struct Panicked {
    pub(super) number: u32,
    pub(super) message: String,
    pub(super) place: String,
}

/// Has panics in explorations kept: by a hook in front of the one that there is.
pub(super) fn keep() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            let Some(number) = explored_number() else { return before(info) };
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            let message = text.unwrap_or("(a value that is no text)").to_owned();
            let place = info.location().map(|place| format!("{}:{}", place.file(), place.line()));
            let panicked = Panicked { number, message, place: place.unwrap_or_default() };
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(panicked);
        }));
    });
}

pub(super) fn take() -> Option<Panicked> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).take()
}
