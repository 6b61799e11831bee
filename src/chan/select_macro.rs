//! [`select!`](crate::select): the macro, and the one that takes its arms apart.

/// Waits until one of several channel operations can be done, and does it.
///
/// - `recv(receiver) -> result => body` receives; the result is a `Result<T, RecvError>`.
/// - `send(sender, value) -> result => body` sends; the result is a `Result<(),
///   SendError<T>>`. The value is evaluated before the wait, as all handles are, and dropped if
///   another arm is chosen.
/// - `default => body` is chosen if no other arm can be done at once.
/// - `default(timeout) => body` is chosen if no other arm can be done before the timeout, a
///   [`Duration`](std::time::Duration), is over. The timeout is evaluated before the wait, too.
///
/// If several arms can be done, one of them is chosen at random, so that none starves. An arm
/// whose channel is closed can be done: its result is an error. `select! {}` waits forever. All
/// bodies have one type, which is that of the whole expression; `break`, `return` and `?` in a body
/// act on what surrounds the `select!`. Go's `select` statement, `select.go`.
///
/// ```
/// use gosched::{chan::bounded, select};
///
/// # // SAFETY: no thread-local is kept across a point that can park.
/// # unsafe {
/// gosched::run(|| {
///     let (tx, rx) = bounded(1);
///     let (stop, stopped) = bounded::<()>(0);
///     let mut seen = Vec::new();
///     for i in 0.. {
///         select! {
///             send(tx, i) -> sent => sent.unwrap(),
///             recv(rx) -> value => seen.push(value.unwrap()),
///             recv(stopped) -> _ => break,
///         }
///         if seen.len() == 3 {
///             stop.close();
///         }
///     }
///     assert!(seen.len() >= 3);
///
///     let idle = select! {
///         recv(bounded::<()>(0).1) -> _ => false,
///         default => true,
///     };
///     # let _ = idle;
/// })
/// # };
/// ```
///
/// # Panics
/// If it must wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
#[macro_export]
macro_rules! select {
    () => { $crate::chan::Select::new().wait_forever() };
    ($($arms:tt)+) => { $crate::__select!(@parse [] [] $($arms)+) };
}

/// Parses the arms of `select!` into `(recv (handle) (pattern) (body))` and the like (`@parse`); makes
/// a [`RecvArm`](crate::chan::RecvArm) or a [`SendArm`](crate::chan::SendArm) of each (`@make`), one
/// `match` inside the other, so that temporaries of the handles' expressions live until the end; chooses;
/// and asks each arm in turn (`@ask`).
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    (@parse [$($arms:tt)*] [$($default:tt)*]) => {
        $crate::__select!(@make [] [$($default)*] $($arms)*)
    };
    (@parse [$($arms:tt)*] $default:tt recv($r:expr) -> $p:pat => $body:block $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse [$($arms)* (recv ($r) ($p) ($body))] $default $($($rest)*)?)
    };
    (@parse [$($arms:tt)*] $default:tt recv($r:expr) -> $p:pat => $body:block $($rest:tt)+) => {
        $crate::__select!(@parse [$($arms)* (recv ($r) ($p) ($body))] $default $($rest)+)
    };
    (@parse [$($arms:tt)*] $default:tt recv($r:expr) -> $p:pat => $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse [$($arms)* (recv ($r) ($p) ($body))] $default $($($rest)*)?)
    };
    (@parse [$($arms:tt)*] $default:tt send($s:expr, $v:expr) -> $p:pat => $body:block $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse [$($arms)* (send ($s) ($v) ($p) ($body))] $default $($($rest)*)?)
    };
    (@parse [$($arms:tt)*] $default:tt send($s:expr, $v:expr) -> $p:pat => $body:block $($rest:tt)+) => {
        $crate::__select!(@parse [$($arms)* (send ($s) ($v) ($p) ($body))] $default $($rest)+)
    };
    (@parse [$($arms:tt)*] $default:tt send($s:expr, $v:expr) -> $p:pat => $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse [$($arms)* (send ($s) ($v) ($p) ($body))] $default $($($rest)*)?)
    };
    (@parse $arms:tt [] default => $body:block $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse $arms [($body)] $($($rest)*)?)
    };
    (@parse $arms:tt [] default => $body:block $($rest:tt)+) => {
        $crate::__select!(@parse $arms [($body)] $($rest)+)
    };
    (@parse $arms:tt [] default => $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse $arms [($body)] $($($rest)*)?)
    };
    (@parse $arms:tt [] default($t:expr) => $body:block $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse $arms [($t) ($body)] $($($rest)*)?)
    };
    (@parse $arms:tt [] default($t:expr) => $body:block $($rest:tt)+) => {
        $crate::__select!(@parse $arms [($t) ($body)] $($rest)+)
    };
    (@parse $arms:tt [] default($t:expr) => $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse $arms [($t) ($body)] $($($rest)*)?)
    };
    (@parse $arms:tt $default:tt $($rest:tt)+) => {
        compile_error!(concat!(
            "select! takes arms of the form `recv(receiver) -> result => body`, ",
            "`send(sender, value) -> result => body`, and at most one `default => body` or ",
            "`default(timeout) => body`; found: ",
            stringify!($($rest)+),
        ))
    };

    (@make [$($made:tt)*] $default:tt (recv ($r:expr) $p:tt $body:tt) $($arms:tt)*) => {
        match $crate::chan::RecvArm::new(&$r) {
            mut arm => $crate::__select!(@make [$($made)* (arm $p $body)] $default $($arms)*)
        }
    };
    (@make [$($made:tt)*] $default:tt (send ($s:expr) ($v:expr) $p:tt $body:tt) $($arms:tt)*) => {
        match $crate::chan::SendArm::new(&$s, $v) {
            mut arm => $crate::__select!(@make [$($made)* (arm $p $body)] $default $($arms)*)
        }
    };
    (@make [] [($default:expr)]) => { $default };
    (@make [] [($timeout:expr) ($default:expr)]) => {{
        $crate::time::sleep($timeout);
        $default
    }};
    (@make [$(($arm:ident $p:tt $body:tt))+] [($timeout:expr) ($default:expr)]) => {{
        let timeout = $timeout;
        if !$crate::chan::arms([$($arm.raw()),+], false) {
            let deadline = $crate::chan::deadline(timeout);
            let mut late = $crate::chan::RecvArm::new(&deadline);
            $crate::chan::arms([$($arm.raw(),)+ late.raw()], true);
        }
        $crate::__select!(@body [($default)] $(($arm $p $body))+)
    }};
    (@make [$(($arm:ident $p:tt $body:tt))+] [$(($default:expr))?]) => {{
        $crate::chan::arms([$($arm.raw()),+], $crate::__select!(@waits $($default)?));
        $crate::__select!(@body [$(($default))?] $(($arm $p $body))+)
    }};

    (@waits) => { true };
    (@waits $default:expr) => { false };

    // Every arm is asked: a send that wasn't chosen has to drop its value.
    (@body [$(($default:expr))?] $(($arm:ident ($p:pat) ($body:expr)))+) => {
        $crate::__select!(@ask [$(($default))?] [] $(($arm ($p) ($body)))+)
    };
    (@ask $default:tt [$($asked:tt)*] ($arm:ident $p:tt $body:tt) $($arms:tt)*) => {{
        let result = $arm.chosen();
        $crate::__select!(@ask $default [$($asked)* (result $p $body)] $($arms)*)
    }};
    (@ask [$(($default:expr))?] [$(($result:ident ($p:pat) ($body:expr)))+]) => {
        $(if let Some(result) = $result { let $p = result; $body } else)+ {
            $crate::__select!(@otherwise $($default)?)
        }
    };
    (@otherwise) => { unreachable!("select! chose no arm") };
    (@otherwise $default:expr) => { $default };
}
