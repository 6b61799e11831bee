//! Values that a context carries for a request.

use std::any::{Any, TypeId};
use std::iter;
use std::sync::Arc;

/// Names a value that a [`Context`](crate::context::Context) may have. A key is a type of the
/// program's own that serves only as a name. Code that can't name the type can't reach the value.
///
/// ```
/// use gosched::context::{Context, Key};
///
/// enum RequestId {}
/// impl Key for RequestId {
///     type Value = u64;
/// }
///
/// fn log(ctx: &Context, line: &str) -> String {
///     ctx.value::<RequestId>().map_or(line.to_owned(), |id| format!("{id}: {line}"))
/// }
///
/// let ctx = Context::background().with_value::<RequestId>(17);
/// assert_eq!(log(&ctx, "begins"), "17: begins");
/// ```
pub trait Key: 'static {
    /// The type of the value.
    type Value: Send + Sync + 'static;
}

/// A value, and the values that were there before.
pub(super) struct Entry {
    key: TypeId,
    value: Box<dyn Any + Send + Sync>,
    before: Option<Arc<Entry>>,
}

impl Entry {
    pub(super) fn new<K: Key>(value: K::Value, before: Option<Arc<Entry>>) -> Self {
        Entry { key: TypeId::of::<K>(), value: Box::new(value), before }
    }

    /// The value of this key that was added last.
    pub(super) fn find<K: Key>(&self) -> Option<&K::Value> {
        let found = iter::successors(Some(self), |entry| entry.before.as_deref());
        found.into_iter().find(|entry| entry.key == TypeId::of::<K>())?.value.downcast_ref()
    }
}

impl Drop for Entry {
    /// Drops the entries in a loop: there may be more of them than a recursion has stack for.
    fn drop(&mut self) {
        let mut before = self.before.take();
        while let Some(mut entry) = before.and_then(Arc::into_inner) {
            before = entry.before.take();
        }
    }
}
