//! [`inherit_spans`]: goroutines that begin in the span of who made them.

use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;

use ::tracing::Span;
use ::tracing::span::EnteredSpan;

use crate::runtime::{Key, Values, with_values};

/// From now on, each goroutine that the caller's goroutine makes begins in the span that the caller is in at that time; and
/// so do those that it makes itself, and so on. Otherwise a new goroutine is in no span, as a new thread isn't.
///
/// At the start of a program's main function, that is all goroutines.
///
/// ```
/// use gosched::go;
/// use tracing::{info, info_span};
///
/// gosched::run(|| {
///     gosched::tracing::inherit_spans();
///     let request = info_span!("request", number = 17).entered();
///     let query = go(|| {
///         let _query = info_span!("query").entered();
///         info!("this is in request{{number=17}}:query");
///     });
///     drop(request);
///     query.join().unwrap();
/// });
/// ```
///
/// The goroutine is in that span until its function has returned, and the span isn't closed before that. It is so for goroutines
/// of [`go`](crate::go()), of a scope, of [`iter::pull`](crate::iter::pull), and for [`run`](crate::run)'s, if a thread has
/// called this before it; what a timer, the end of a context or a waker begins is in none, nor is a
/// goroutine that [shares thread-locals](crate::Builder::shared_locals), where the current span is the thread's.
///
/// It says nothing of the subscriber: a new goroutine has the one that is everybody's, as a new thread has.
pub fn inherit_spans() {
    with_values(|values| {
        values.get(&MAKERS_SPAN, || Rc::new(Inside::default()));
        values.on_begin(begin);
    });
}

/// What a goroutine has if those that it makes begin in its span.
#[derive(Default)]
struct Inside {
    /// The maker's, until the goroutine begins.
    makers: Cell<Option<Span>>,
    /// The same from then on: it is left when this is dropped, and that is before the thread-locals are.
    entered: Cell<Option<EnteredSpan>>,
}

/// It has a size, and so an address of its own, by which keys are told apart.
struct MakersSpan(#[expect(dead_code, reason = "nobody reads it")] u8);

static MAKERS_SPAN: MakersSpan = MakersSpan(0);

impl Key for MakersSpan {
    fn inherit(&self, _: &dyn Any) -> Option<Rc<dyn Any>> {
        Some(Rc::new(Inside { makers: Cell::new(Some(Span::current())), entered: Cell::new(None) }))
    }
}

/// A goroutine begins that has inherited these values.
fn begin(values: &Values) {
    let inside = values.get(&MAKERS_SPAN, || Rc::new(Inside::default()));
    let inside = inside.as_ref().and_then(|value| value.downcast_ref::<Inside>());
    let inside = inside.expect("who began its maker in a span has left it one");
    inside.entered.set(inside.makers.take().map(Span::entered));
}
