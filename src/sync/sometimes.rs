//! [`Sometimes`]: that of Go's `golang.org/x/time/rate`.

use std::fmt;
use std::time::{Duration, Instant};

use crate::runtime::point;
use crate::sync::short_mutex::ShortMutex;
use crate::time::now;

/// Does something only on some of the calls: the first few, each tenth, or one after a time. For a
/// message in a log, for example, that would come too often. Go's `rate.Sometimes`, of
/// `golang.org/x/time/rate`.
///
/// The first call is done. A later call is done if one of the settings says so.
///
/// ```
/// use std::time::Duration;
/// use gosched::sync::Sometimes;
///
/// /// The first three, and then at most one in ten seconds.
/// static DROPPED: Sometimes = Sometimes::new().first(3).interval(Duration::from_secs(10));
///
/// fn on_dropped_packet() {
///     DROPPED.run(|| println!("dropped a packet"));
/// }
///
/// (0..5).for_each(|_| on_dropped_packet()); // three messages
/// ```
///
/// Its clock is that of [`time::now`](crate::time::now): in an [exploration](crate::explore) and in
/// a [`synctest`](crate::synctest) it stands still while a goroutine can run.
///
/// | in Go | here |
/// | --- | --- |
/// | `rate.Sometimes{First: 3, Every: 10}` | `Sometimes::new().first(3).every(10)` |
/// | `s.Do(f)` | `s.run(f)`, which returns what `f` returns |
///
/// In Go a call waits while the function of another one runs. Here it doesn't: only the choice is
/// one step, and two functions may run at the same time.
pub struct Sometimes {
    first: u64,
    every: u64,
    interval: Option<Duration>,
    state: ShortMutex<State>,
}

struct State {
    /// How many calls there were.
    calls: u64,
    /// When the last one was done, if there is an interval.
    last: Option<Instant>,
}

impl Sometimes {
    /// One that does only the first call.
    ///
    /// ```
    /// use gosched::sync::Sometimes;
    ///
    /// let once = Sometimes::new();
    /// assert_eq!((once.run(|| 1), once.run(|| 2)), (Some(1), None));
    /// ```
    pub const fn new() -> Self {
        let state = ShortMutex::new(State { calls: 0, last: None });
        Sometimes { first: 0, every: 0, interval: None, state }
    }

    /// Does the first `n` calls, too. Go's `First`.
    ///
    /// ```
    /// let thrice = gosched::sync::Sometimes::new().first(3);
    /// assert_eq!((0..9).filter_map(|i| thrice.run(|| i)).collect::<Vec<_>>(), [0, 1, 2]);
    /// ```
    #[must_use]
    pub const fn first(mut self, n: u64) -> Self {
        self.first = n;
        self
    }

    /// Does each `n`th call, too; none if `n` is 0. Go's `Every`.
    ///
    /// ```
    /// let third = gosched::sync::Sometimes::new().every(3);
    /// assert_eq!((0..9).filter_map(|i| third.run(|| i)).collect::<Vec<_>>(), [0, 3, 6]);
    /// ```
    #[must_use]
    pub const fn every(mut self, n: u64) -> Self {
        self.every = n;
        self
    }

    /// Does a call, too, if the last one that was done began at least this long ago; none if it is
    /// 0. Go's `Interval`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::sync::Sometimes;
    /// use gosched::{synctest, time};
    ///
    /// synctest::test(|| {
    ///     let hourly = Sometimes::new().interval(Duration::from_secs(3600));
    ///     let mut done = 0;
    ///     for _minute in 0..180 {
    ///         hourly.run(|| done += 1);
    ///         time::sleep(Duration::from_secs(60));
    ///     }
    ///     assert_eq!(done, 3);
    /// });
    /// ```
    #[must_use]
    pub const fn interval(mut self, interval: Duration) -> Self {
        self.interval = if interval.is_zero() { None } else { Some(interval) };
        self
    }

    /// Calls `f`, or doesn't: then returns `None`. Go's `Do`.
    ///
    /// ```
    /// let sometimes = gosched::sync::Sometimes::new().every(2);
    /// assert_eq!([1, 2, 3].map(|i| sometimes.run(|| i)), [Some(1), None, Some(3)]);
    /// ```
    ///
    /// # Panics
    /// As `f` does. The call counts.
    pub fn run<T>(&self, f: impl FnOnce() -> T) -> Option<T> {
        self.is_next().then(f)
    }

    /// Counts a call, and returns whether it is done.
    fn is_next(&self) -> bool {
        point("sometimes");
        let time = self.interval.map(|interval| (now(), interval));
        let mut state = self.state.lock();
        let (calls, last) = (state.calls, state.last);
        let waited = |(now, interval)| last.is_none_or(|last| now - last >= interval);
        let is_next = calls == 0
            || calls < self.first
            || self.every != 0 && calls.is_multiple_of(self.every)
            || time.is_some_and(waited);
        state.calls = calls.wrapping_add(1);
        if is_next && let Some((now, _)) = time {
            state.last = Some(now);
        }
        is_next
    }
}

impl Default for Sometimes {
    fn default() -> Self {
        Sometimes::new()
    }
}

impl fmt::Debug for Sometimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sometimes")
            .field("first", &self.first)
            .field("every", &self.every)
            .field("interval", &self.interval)
            .finish_non_exhaustive()
    }
}
