//! [`SingleFlight`]: Go's `golang.org/x/sync/singleflight`.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;

use crate::runtime::{must_wait, outside_of_run};
use crate::sync::{Condvar, Mutex};

/// Does work that many goroutines want at the same time once for all of them. Callers that come
/// while the work is being done wait, and get a clone of its result. Nothing is kept afterwards:
/// for a later caller the work is done anew.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use std::time::Duration;
/// use gosched::sync::SingleFlight;
/// use gosched::time::sleep;
///
/// gosched::run(|| {
///     let (flights, queries) = (SingleFlight::new(), AtomicU32::new(0));
///     gosched::scope(|s| {
///         for _ in 0..100 {
///             s.go(|| {
///                 let answer = flights.run("the question", || {
///                     queries.fetch_add(1, Ordering::Relaxed);
///                     sleep(Duration::from_millis(10));
///                     42
///                 });
///                 assert_eq!(answer, 42);
///             });
///         }
///     });
///     assert!(queries.into_inner() < 100);
/// });
/// ```
pub struct SingleFlight<K, V> {
    calls: Mutex<HashMap<K, Arc<Call<V>>>>,
}

/// The work that is being done for a key.
struct Call<V> {
    state: Mutex<State<V>>,
    changed: Condvar,
}

enum State<V> {
    Running,
    Returned(V),
    /// The function has panicked, or ended by `goexit`.
    Unwound,
}

impl<K: Eq + Hash + Clone, V: Clone> SingleFlight<K, V> {
    /// Makes one that does no work yet.
    ///
    /// ```
    /// use gosched::sync::SingleFlight;
    ///
    /// gosched::run(|| {
    ///     let pages: SingleFlight<&str, usize> = SingleFlight::new();
    ///     assert_eq!(pages.run("/index", || 200), 200);
    /// });
    /// ```
    pub fn new() -> Self {
        SingleFlight { calls: Mutex::new(HashMap::new()) }
    }

    /// Returns the result of `f`, or that of another function that was running for this key when
    /// this call began. If the other function has panicked, calls `f` nevertheless. Go's `Do`.
    ///
    /// `f` may call this for other keys; a call for its own key is a deadlock. The clones are made
    /// one after the other.
    ///
    /// ```
    /// use gosched::sync::SingleFlight;
    ///
    /// gosched::run(|| {
    ///     let users = SingleFlight::new();
    ///     let name = users.run(17, || {
    ///         users.run(18, || "a friend's".to_owned()); // for another key
    ///         "gopher".to_owned()
    ///     });
    ///     assert_eq!(name, "gopher");
    /// });
    /// ```
    ///
    /// # Panics
    /// As `f` does, and as the key's `Hash`, `Eq` and `Clone` do. If it is called inside
    /// [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn run(&self, key: K, f: impl FnOnce() -> V) -> V {
        // A caller that can't wait is refused at once. Later the others would wait for the end of
        // its work.
        drop(must_wait("sync::SingleFlight::run"));
        loop {
            let mut calls = self.calls.lock();
            let Some(call) = calls.get(&key).cloned() else {
                let call = Arc::new(Call { state: Mutex::new(State::Running), changed: Condvar::new() });
                calls.insert(key.clone(), call.clone());
                drop(calls);
                return Flight { flights: self, key, call, end: State::Unwound }.fly(f);
            };
            drop(calls);
            let state = call.changed.wait_while(call.state.lock(), |state| matches!(state, State::Running));
            if let State::Returned(value) = &*state {
                return value.clone();
            }
        }
    }

    /// Makes the next call for this key do the work anew, even while it is being done. Go's
    /// `Forget`.
    ///
    /// ```
    /// use gosched::sync::SingleFlight;
    ///
    /// gosched::run(|| {
    ///     let pages = SingleFlight::new();
    ///     let page = pages.run("/index", || {
    ///         pages.forget("/index"); // it has changed: who comes now doesn't wait for this one
    ///         assert_eq!(pages.run("/index", || "new"), "new");
    ///         "old"
    ///     });
    ///     assert_eq!(page, "old");
    /// });
    /// ```
    pub fn forget<Q: Eq + Hash + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        let forgotten = self.calls.lock().remove_entry(key);
        drop(forgotten);
    }
}

/// A function that runs for a key. However it ends, the waiters learn of the end.
struct Flight<'a, K: Eq + Hash, V> {
    flights: &'a SingleFlight<K, V>,
    key: K,
    call: Arc<Call<V>>,
    end: State<V>,
}

impl<K: Eq + Hash, V: Clone> Flight<'_, K, V> {
    fn fly(mut self, f: impl FnOnce() -> V) -> V {
        let value = f();
        self.end = State::Returned(value.clone());
        value
    }
}

impl<K: Eq + Hash, V> Drop for Flight<'_, K, V> {
    fn drop(&mut self) {
        // Not ended by a run: later callers would wait for the end of this call forever.
        let mut calls = outside_of_run(|| self.flights.calls.lock());
        // The entry is found by its key, whose code is the program's and may panic. In that case
        // all entries are searched, because otherwise later callers would find the end of this call
        // forever.
        let removed = catch_unwind(AssertUnwindSafe(|| {
            // Unless the entry was forgotten, and another call runs by now.
            let own = calls.get(&self.key).is_some_and(|call| Arc::ptr_eq(call, &self.call));
            own.then(|| calls.remove_entry(&self.key))
        }));
        let left: Vec<_> = match removed {
            Ok(_) => Vec::new(),
            Err(_) => calls.extract_if(|_, call| Arc::ptr_eq(call, &self.call)).collect(),
        };
        drop(calls);
        // Set before anything of the program's is dropped.
        *outside_of_run(|| self.call.state.lock()) = mem::replace(&mut self.end, State::Unwound);
        self.call.changed.notify_all();
        drop(left);
        // If this unwinds already, it has its own panic.
        match removed {
            Err(payload) if !thread::panicking() => resume_unwind(payload),
            _ => {}
        }
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Default for SingleFlight<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> fmt::Debug for SingleFlight<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("SingleFlight { .. }")
    }
}
