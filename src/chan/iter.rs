//! Iterators over a channel's values.

use std::fmt;

use crate::chan::Receiver;

/// Receives and waits for each value: made by [`Receiver::iter`].
///
/// ```
/// use gosched::chan::bounded;
///
/// gosched::run(|| {
///     let (tx, rx) = bounded(0);
///     gosched::go(move || (1..=3).for_each(|n| tx.send(n).unwrap()));
///     let mut sum = 0;
///     for n in &rx {
///         sum += n;
///     }
///     assert_eq!(sum, 6);
/// });
/// ```
#[must_use = "an iterator receives nothing until it is asked for a value"]
pub struct Iter<'a, T>(&'a Receiver<T>);

/// Receives and waits for no value: made by [`Receiver::try_iter`].
///
/// ```
/// use gosched::chan::bounded;
///
/// let (tx, rx) = bounded(3);
/// tx.send(1).unwrap();
/// tx.send(2).unwrap();
/// assert_eq!(rx.try_iter().collect::<Vec<_>>(), [1, 2]); // the channel is still open
/// ```
#[must_use = "an iterator receives nothing until it is asked for a value"]
pub struct TryIter<'a, T>(&'a Receiver<T>);

/// [`Iter`] that owns its receiver.
///
/// ```
/// use gosched::chan::{Receiver, bounded};
///
/// fn numbers() -> impl Iterator<Item = u32> {
///     let (tx, rx): (_, Receiver<u32>) = bounded(0);
///     gosched::go(move || (1..=3).for_each(|n| tx.send(n).unwrap()));
///     rx.into_iter()
/// }
///
/// gosched::run(|| assert_eq!(numbers().sum::<u32>(), 6));
/// ```
#[must_use = "an iterator receives nothing until it is asked for a value"]
pub struct IntoIter<T>(Receiver<T>);

impl<'a, T> Iter<'a, T> {
    pub(crate) fn new(receiver: &'a Receiver<T>) -> Self {
        Iter(receiver)
    }
}

impl<'a, T> TryIter<'a, T> {
    pub(crate) fn new(receiver: &'a Receiver<T>) -> Self {
        TryIter(receiver)
    }
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}

impl<T> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Iter { .. }")
    }
}

impl<T> fmt::Debug for TryIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("TryIter { .. }")
    }
}

impl<T> fmt::Debug for IntoIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("IntoIter { .. }")
    }
}
