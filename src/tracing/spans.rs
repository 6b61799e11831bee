//! [`inherit_spans`]: goroutines begin in the span of the goroutine that made them.

use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;

use ::tracing::Span;
use ::tracing::span::EnteredSpan;

use crate::runtime::{Key, Values, with_values};

/// Makes each goroutine that the caller's goroutine makes from now on begin in the span that its
/// maker is in at that time. The same holds for the goroutines that these make, and so on.
/// Otherwise a new goroutine is in no span, like a new thread.
///
/// A call at the start of a program's main function covers all goroutines.
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
/// The goroutine is in that span until its function has returned, and the span isn't closed before
/// that. This holds for goroutines of [`go`](crate::go()), of a scope and of
/// [`iter::pull`](crate::iter::pull). It holds for [`run`](crate::run)'s goroutine if a thread has
/// called this before it. A goroutine that a timer, the end of a context or a waker begins is in no
/// span. Nor is a goroutine that [shares thread-locals](crate::Builder::shared_locals), where the
/// current span is the thread's.
///
/// The subscriber isn't inherited: a new goroutine has the global one, like a new thread.
pub fn inherit_spans() {
    with_values(|values| {
        values.get(&MAKERS_SPAN, || Rc::new(Inside::default()));
        values.on_begin(enter_makers_span);
    });
}

/// The value of a goroutine whose new goroutines begin in its span.
#[derive(Default)]
struct Inside {
    /// The maker's span, until the goroutine begins.
    makers: Cell<Option<Span>>,
    /// The same span from then on. It is left when this is dropped, which is before the
    /// thread-locals are.
    entered: Cell<Option<EnteredSpan>>,
}

/// The type has a size, so the static has an address of its own, by which keys are told apart.
struct MakersSpan(#[expect(dead_code, reason = "nobody reads it")] u8);

static MAKERS_SPAN: MakersSpan = MakersSpan(0);

impl Key for MakersSpan {
    fn inherit(&self, _: &dyn Any) -> Option<Rc<dyn Any>> {
        Some(Rc::new(Inside { makers: Cell::new(Some(Span::current())), entered: Cell::new(None) }))
    }
}

/// Called when a goroutine begins that has inherited these values.
fn enter_makers_span(values: &Values) {
    let inside = values.get(&MAKERS_SPAN, || Rc::new(Inside::default()));
    let inside = inside.as_ref().and_then(|value| value.downcast_ref::<Inside>());
    let inside = inside.expect("who began its maker in a span has left it one");
    inside.entered.set(inside.makers.take().map(Span::entered));
}
