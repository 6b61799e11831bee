//! The attributes of the feature `macros`. They are documented here because the code that
//! `gosched_macros` generates calls functions of this crate.

/// Runs a program's `main` on a goroutine, as [`run`](crate::run) does. With the feature `macros`.
///
/// ```
/// use gosched::chan::bounded;
/// use gosched::go;
///
/// #[gosched::main]
/// fn main() {
///     let (tx, rx) = bounded(0);
///     go(move || tx.send(6 * 7).unwrap());
///     assert_eq!(rx.recv(), Ok(42));
/// }
/// ```
///
/// `main` may have the same return types as any `main`, so it may use `?`:
///
/// ```
/// use std::error::Error;
///
/// use gosched::net::TcpListener;
///
/// #[gosched::main(procs = 4)]
/// fn main() -> Result<(), Box<dyn Error>> {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     println!("at {}, with {} P's", listener.local_addr()?, gosched::gomaxprocs());
///     Ok(())
/// }
/// ```
///
/// The program ends when `main` returns, even if other goroutines still run, as in Go.
///
/// # Options
///
/// - `procs`: how many goroutines can run at once, a constant, as with
///   [`set_gomaxprocs`](crate::set_gomaxprocs). It overrides the environment.
/// - `std`: whether waits in std park the goroutine, `true` or `false`. Needs the feature `std`.
///   With `true`, `park_std_waits` is called before the function, and a failure of it panics.
/// - `threads`: whether threads of std and of C are goroutines, `true` or `false`. Needs the
///   feature `threads`. With `true`, `make_threads_goroutines` is called before the function, and a
///   failure of it panics.
///
/// # Errors
///
/// An `async` function, a function with arguments, a generic function and an unknown option don't
/// compile:
///
/// ```compile_fail
/// #[gosched::main] // `gosched::block_on` runs a future to its end
/// async fn main() {}
/// ```
///
/// ```compile_fail
/// #[gosched::main]
/// fn main(arguments: Vec<String>) {}
/// ```
///
/// ```compile_fail
/// #[gosched::main(workers = 4)] // `procs`
/// fn main() {}
/// ```
///
/// ```compile_fail
/// #[gosched::main(procs = 0)]
/// fn main() {}
/// ```
pub use gosched_macros::main;

/// A test that runs on a goroutine, in place of std's `#[test]`. With the feature `macros`.
///
/// ```
/// use std::io;
/// use std::time::Duration;
///
/// use gosched::chan::bounded;
/// use gosched::go;
/// use gosched::net::TcpListener;
///
/// #[gosched::test]
/// fn a_value_arrives() {
///     let (tx, rx) = bounded(0);
///     go(move || tx.send(7).unwrap());
///     assert_eq!(rx.recv(), Ok(7));
/// }
///
/// #[gosched::test(timeout = "10s")]
/// fn there_is_a_port() -> io::Result<()> {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     assert_ne!(listener.local_addr()?.port(), 0);
///     Ok(())
/// }
///
/// #[gosched::test]
/// #[should_panic(expected = "nobody sends")]
/// fn a_channel_is_closed() {
///     let (tx, rx) = bounded::<()>(0);
///     drop(tx);
///     rx.recv().expect("nobody sends");
/// }
///
/// #[gosched::test(leaks = true)]
/// fn a_server_goes_on() {
///     go(|| gosched::time::sleep(Duration::MAX));
/// }
/// ```
///
/// The test fails if it panics, if it takes too long, or if it leaves goroutines behind; see
/// [`testing::Test`](crate::testing::Test). The attributes `#[ignore]` and `#[should_panic]` work
/// as with `#[test]`, and the function may have the same return types. Each kind of failure is a
/// panic, so `#[should_panic]` should name the message with `expected`.
///
/// The harness captures output only of its own threads, and a test's goroutine isn't on one. So the
/// test's output and its panic message aren't captured, and appear at once.
///
/// # Options
///
/// - `timeout`: how long the test may take, as `"500ms"`, `"10s"` or `"2m"`. The default is one
///   minute.
/// - `leaks`: whether the test may leave goroutines behind, `true` or `false`. The default is
///   `false`.
///
/// # Errors
///
/// As with [`main`](macro@crate::main):
///
/// ```compile_fail
/// #[gosched::test] // `gosched::block_on` runs a future to its end
/// async fn waits() {}
/// ```
///
/// ```compile_fail
/// #[gosched::test(timeout = 10)] // "10s"
/// fn waits() {}
/// ```
///
/// ```compile_fail
/// #[gosched::test(leaks = "maybe")]
/// fn waits() {}
/// ```
///
/// ```compile_fail
/// #[gosched::test]
/// #[gosched::test(leaks = true)] // one of the two
/// fn waits() {}
/// ```
pub use gosched_macros::test;
