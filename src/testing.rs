//! Runs tests on a goroutine, and checks that they end in time and leave no goroutine behind.
//!
//! [`Test`] is for any harness. With the feature `macros` the attribute `#[gosched::test]` uses it
//! to make tests for std's harness.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use crate::chan::{RecvTimeoutError, Sender, bounded};
use crate::goroutine::cannot;
use crate::runtime::period;
use crate::{Builder, dump_goroutines, goroutine_local, run};

/// Runs a test on a goroutine. It fails
///
/// - if it panics, with the same panic;
/// - if it takes longer than its [`timeout`](Self::timeout);
/// - if a goroutine is left, unless its [`leaks`](Self::leaks) are allowed.
///
/// In the last two cases the stacks of all goroutines are on stderr; the harness of `cargo test`
/// has them with the failure. Goroutines can't be ended from outside, so goroutines that hang or
/// are left stay as they are. After a failure, no goroutines are looked for that the test has left.
///
/// Tests may run at once, each on a thread of the harness, and share one scheduler.
///
/// ```
/// use std::time::Duration;
/// use gosched::go;
/// use gosched::testing::Test;
///
/// let sum = Test::new("squares").timeout(Duration::from_secs(10)).run(|| {
///     let squares: Vec<_> = (1..=3).map(|n| go(move || n * n)).collect();
///     squares.into_iter().map(|square| square.join().unwrap()).sum::<u32>()
/// });
/// assert_eq!(sum, 14);
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a test does nothing until `run` is called"]
pub struct Test<'a> {
    name: &'a str,
    timeout: Duration,
    leaks: bool,
}

/// The time for goroutines that are about to end when the test does.
const GRACE_NS: i64 = 5_000_000_000;

/// As large as the stack of `run`'s main, because tests on threads may recurse as deep.
const STACK: usize = 8 << 20;

goroutine_local! {
    /// The value that all goroutines of a test inherit from the goroutine of its function. When the
    /// last of them has ended, the channel is closed.
    inherit static OF_TEST: RefCell<Option<Arc<Sender<()>>>> = RefCell::new(None);
}

impl<'a> Test<'a> {
    /// Makes a test of that name. It has a minute, and may leave no goroutine.
    pub fn new(name: &'a str) -> Self {
        Test { name, timeout: Duration::from_secs(60), leaks: false }
    }

    /// Sets how long it may take.
    ///
    /// ```should_panic
    /// use std::time::Duration;
    /// use gosched::chan::bounded;
    /// use gosched::testing::Test;
    ///
    /// Test::new("hangs").timeout(Duration::from_millis(20)).run(|| {
    ///     let (_tx, rx) = bounded::<()>(0);
    ///     rx.recv()
    /// });
    /// ```
    pub fn timeout(self, timeout: Duration) -> Self {
        Test { timeout, ..self }
    }

    /// Sets whether goroutines may be left: goroutines that the test has made, or that these have
    /// made, and that haven't ended five seconds after it. They are known by a value that they
    /// [inherit](crate::goroutine_local!). So a goroutine isn't known if it was made by a timer, by
    /// the end of a context, by a thread, or by a destructor of a thread-local.
    ///
    /// ```
    /// use gosched::chan::bounded;
    /// use gosched::go;
    /// use gosched::testing::Test;
    ///
    /// Test::new("leaves_one").leaks(true).run(|| {
    ///     let (tx, rx) = bounded::<()>(0);
    ///     go(move || rx.recv());
    ///     std::mem::forget(tx);
    /// });
    /// ```
    pub fn leaks(self, allowed: bool) -> Self {
        Test { leaks: allowed, ..self }
    }

    /// Runs it, and returns what `test` returns. Starts the runtime if needed. The calling thread
    /// waits; it must not be a goroutine's.
    ///
    /// ```should_panic
    /// gosched::testing::Test::new("fails").run(|| assert_eq!(1 + 1, 3));
    /// ```
    ///
    /// # Panics
    /// If the test fails; and as [`gosched::run`](fn@run) does.
    #[track_caller]
    pub fn run<T: Send + 'static>(self, test: impl FnOnce() -> T + Send + 'static) -> T {
        run(|| ());
        let (of_test, ends) = bounded(0);
        let of_test = Arc::new(of_test);
        let left = Arc::downgrade(&of_test);
        let test = move || {
            OF_TEST.with_borrow_mut(|place| *place = Some(of_test));
            test()
        };
        let handle = match Builder::new().name(self.name).stack_size(STACK).go(test) {
            Ok(handle) => handle,
            Err(error) => cannot("testing::Test::run", &error),
        };
        let Ok(result) = handle.join_timeout(self.timeout) else {
            print_stacks();
            panic!(
                "gosched: the test {:?} hasn't ended after {:?}: what each goroutine does is printed above",
                self.name, self.timeout
            );
        };
        let value = result.unwrap_or_else(|error| {
            // The hook printed its message on the goroutine, where no harness collects it.
            eprintln!("{error}");
            error.resume_panic()
        });
        if !self.leaks
            && ends.recv_timeout(Duration::from_nanos(period(GRACE_NS).cast_unsigned()))
                == Err(RecvTimeoutError::Timeout)
        {
            print_stacks();
            panic!(
                "gosched: the test {:?} has left goroutines behind, {} of them: what each goroutine does is \
                 printed above; have them end, or allow it by `leaks = true`",
                self.name,
                left.strong_count()
            );
        }
        value
    }
}

/// Prints the stacks of all goroutines in one go, by `eprintln!`, whose output a harness collects.
fn print_stacks() {
    let mut stacks = Vec::new();
    dump_goroutines(&mut stacks).expect("a Vec takes what is written");
    eprintln!("{}", String::from_utf8_lossy(&stacks));
}
