//! The attributes of the feature `macros`: what their crate makes calls this one's functions, and so they are told of here.

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
/// It may return what any `main` may, and so use `?`:
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
/// When it returns the program ends, also if there are other goroutines, as in Go.
///
/// # Options
///
/// - `procs`: how many goroutines can run at once, a constant, as with [`set_gomaxprocs`](crate::set_gomaxprocs). It goes
///   before what the environment says.
/// - `std`: whether waits of std's park the goroutine, `true` or `false`. With the feature `std`.
///   It calls `park_std_waits` before the function, and panics if that fails.
///
/// # Errors
///
/// A function that is `async`, that has arguments, or that is generic, and an option that isn't there don't compile:
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
/// It fails if it panics, if it takes too long, and if it leaves goroutines behind: [`testing::Test`](crate::testing::Test)
/// says more of that. The attributes of a test, `#[ignore]`, `#[should_panic]`, may be there as with `#[test]`, and it may
/// return what such a test may. Since each failure is a panic, one that should panic should say with what: `expected`.
///
/// What it prints isn't captured: that is for the threads of the harness, and a goroutine is one of its own. The message of
/// its panic, too, comes at once.
///
/// # Options
///
/// - `timeout`: how long it may take, as `"500ms"`, `"10s"` or `"2m"`; a minute if nothing is said.
/// - `leaks`: whether it may leave goroutines behind, `true` or `false`; if nothing is said, it mayn't.
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
