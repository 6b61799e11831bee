//! The messages of panics in explorations. They are kept for the report, and only the report prints
//! them.

use std::panic::{set_hook, take_hook};
use std::sync::{Mutex, Once, PoisonError};

use crate::goroutine::message as message_of;
use crate::runtime::explored_number;

/// The last panic of a goroutine of an exploration.
static LAST: Mutex<Option<Panicked>> = Mutex::new(None);

struct Panicked {
    number: u32,
    text: Option<String>,
    place: String,
}

/// Keeps the messages of panics in explorations, by a hook in front of the current one.
pub(super) fn keep() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            let Some(number) = explored_number() else { return before(info) };
            let text = message_of(info.payload()).map(str::to_owned);
            let place = info.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
            let panicked = Panicked { number, text, place: place.unwrap_or_default() };
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(panicked);
        }));
    });
}

/// The report's text for a panic that has left goroutine `number`. The place of the panic isn't
/// known if no hook was called for it: `resume_unwind` calls none, and the program may have set its
/// own. Then the last panic that was kept is another one.
pub(super) fn message(number: u32, text: Option<String>) -> String {
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).take();
    let last = last.filter(|last| (last.number, &last.text) == (number, &text));
    let place = last.map(|last| last.place).unwrap_or_default();
    format!("goroutine {number} panics{place}: {}", text.as_deref().unwrap_or("(a value that is no text)"))
}
