//! [`select!`](crate::select): the macro, and the internal macro that parses its arms.

/// Waits until one of several channel operations can be done, and does it.
///
/// - `recv(receiver) -> result => body` receives; the result is a `Result<T, RecvError>`. The
///   receiver of a ticker or a timer is `ticker.c()`, of signals `signals.c()`, and of a context's
///   end `ctx.done()`.
/// - `send(sender, value) -> result => body` sends; the result is a `Result<(),
///   SendError<T>>`. The value is evaluated before the wait, as all handles are, and dropped if
///   another arm is chosen.
/// - `default => body` is chosen if no other arm can be done at once.
/// - `default(timeout) => body` is chosen if no other arm can be done before the timeout, a
///   [`Duration`](std::time::Duration), is over. The timeout is evaluated before the wait, too.
///
/// If several arms can be done, one of them is chosen at random, so that none starves. With
/// `biased;` before the arms, the first of them is chosen, in the order in which they stand. Then
/// the arms behind one that can always be done starve. (The syntax is tokio's.)
///
/// An arm whose channel is closed can be done: its result is an error. `select! {}` waits forever.
/// All bodies have one type, which is that of the whole expression. `break`, `return` and `?` in a
/// body act on the code around the `select!`. Go's `select` statement, `select.go`.
///
/// ```
/// use gosched::{chan::bounded, select};
///
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
///     assert!(idle);
/// });
/// ```
///
/// # Arms that are switched off
///
/// `recv(receiver) -> result, if condition => body`, and likewise for `send`: if the condition is
/// false, the arm takes no part. Unlike the guard of a `match` arm, the condition can't use the
/// received value: it stands behind a comma, as in tokio, and is evaluated before the wait. If it
/// is false, the value of a `send` isn't evaluated, so that value may rely on the condition. (The
/// value is evaluated in a block of its own, so it can't borrow from a temporary.)
///
/// A handle may also be an `Option` of a handle, or of a reference to one. With `None`, the arm
/// takes no part, as with Go's nil channel. [`never`](crate::chan::never) is such a receiver, too.
/// If no arm takes part and there is no `default`, the `select!` waits forever.
///
/// ```
/// use gosched::chan::{Receiver, Sender, bounded};
/// use gosched::select;
///
/// /// Passes on what comes, and keeps what nobody has taken yet, four at the most.
/// fn buffer(input: Receiver<u32>, output: Sender<u32>) {
///     let (mut input, mut kept) = (Some(input), Vec::new());
///     while input.is_some() || !kept.is_empty() {
///         select! {
///             biased; // rather empty than full
///             send(output, kept[0]) -> sent, if !kept.is_empty() => match sent {
///                 Ok(()) => drop(kept.remove(0)),
///                 Err(_) => return, // nobody is there any more
///             },
///             recv(input) -> value, if kept.len() < 4 => match value {
///                 Ok(value) => kept.push(value),
///                 Err(_) => input = None, // the end: from now on this arm takes no part
///             },
///         }
///     }
/// }
///
/// let (tx, input) = bounded(9);
/// (0..9).for_each(|i| tx.send(i).unwrap());
/// tx.close();
/// let (output, values) = bounded(9);
/// buffer(input, output);
/// assert_eq!(values.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
/// ```
///
/// # Panics
/// If it must wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
#[macro_export]
macro_rules! select {
    () => { $crate::chan::Select::new().wait_forever() };
    (biased; $($arms:tt)+) => { $crate::__select!(@in arms_in_order $($arms)+) };
    ($($arms:tt)+) => { $crate::__select!(@in arms $($arms)+) };
}

/// Implements `select!` in four steps:
/// - `@arm` and `@body` parse each arm, before and after its `=>`, into
///   `(recv (handle) (guard) (pattern) (body))` and the like.
/// - `@make` makes a [`RecvArm`](crate::chan::RecvArm) or a [`SendArm`](crate::chan::SendArm) of
///   each arm. The `match` of each arm is inside that of the arm before, so that temporaries of the
///   handles' expressions live until the end.
/// - The function whose name `@in` was given chooses an arm.
/// - `@ask` asks each arm whether it was chosen, and runs the body.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    (@in $arms:ident $($rest:tt)+) => {{
        // A handle is found through any type that dereferences to it, as a method's receiver is.
        #[allow(unused_imports)]
        use $crate::chan::{AsReceiver as _, AsSender as _};
        $crate::__select!(@arm $arms [] $($rest)+)
    }};

    (@arm $select:ident [$($arms:tt)*]) => {
        $crate::__select!(@make $select [] [] $($arms)*)
    };
    (@arm $select:ident $arms:tt recv($r:expr $(,)?) -> $p:pat => $($rest:tt)+) => {
        $crate::__select!(@body $select $arms (recv ($r) (true) ($p)) $($rest)+)
    };
    (@arm $select:ident $arms:tt recv($r:expr $(,)?) -> $p:pat, if $on:expr => $($rest:tt)+) => {
        $crate::__select!(@body $select $arms (recv ($r) ($on) ($p)) $($rest)+)
    };
    (@arm $select:ident $arms:tt send($s:expr, $v:expr $(,)?) -> $p:pat => $($rest:tt)+) => {
        $crate::__select!(@body $select $arms (send ($s) (::core::option::Option::Some($v)) ($p)) $($rest)+)
    };
    (@arm $select:ident $arms:tt send($s:expr, $v:expr $(,)?) -> $p:pat, if $on:expr => $($rest:tt)+) => {
        $crate::__select!(@body $select $arms (send ($s) (
            if $on { ::core::option::Option::Some($v) } else { ::core::option::Option::None }
        ) ($p)) $($rest)+)
    };
    (@arm $select:ident $arms:tt default => $($rest:tt)+) => {
        $crate::__select!(@body $select $arms (default) $($rest)+)
    };
    (@arm $select:ident $arms:tt default($t:expr $(,)?) => $($rest:tt)+) => {
        $crate::__select!(@body $select $arms (default ($t)) $($rest)+)
    };
    (@arm $select:ident $arms:tt $($rest:tt)+) => { $crate::__select!(@error $($rest)+) };

    (@body $select:ident [$($arms:tt)*] ($($arm:tt)+) $body:block $(, $($rest:tt)*)?) => {
        $crate::__select!(@arm $select [$($arms)* ($($arm)+ ($body))] $($($rest)*)?)
    };
    (@body $select:ident [$($arms:tt)*] ($($arm:tt)+) $body:block $($rest:tt)+) => {
        $crate::__select!(@arm $select [$($arms)* ($($arm)+ ($body))] $($rest)+)
    };
    (@body $select:ident [$($arms:tt)*] ($($arm:tt)+) $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@arm $select [$($arms)* ($($arm)+ ($body))] $($($rest)*)?)
    };
    (@body $select:ident $arms:tt $arm:tt $($rest:tt)+) => { $crate::__select!(@error $($rest)+) };

    (@error $($rest:tt)+) => {
        ::core::compile_error!(::core::concat!(
            "select! takes arms of the form `recv(receiver) -> result => body`, ",
            "`send(sender, value) -> result => body`, each with `, if condition` before the `=>` or not, ",
            "and at most one `default => body` or `default(timeout) => body`; found: ",
            ::core::stringify!($($rest)+),
        ))
    };

    (@make $select:ident [$($made:tt)*] $default:tt (recv ($r:expr) ($on:expr) $p:tt $body:tt) $($arms:tt)*) => {
        match $crate::chan::RecvArm::new((&$r).__receiver(), $on, &mut $crate::chan::Place::empty()) {
            mut __arm => $crate::__select!(@make $select [$($made)* (__arm $p $body)] $default $($arms)*)
        }
    };
    (@make $select:ident [$($made:tt)*] $default:tt (send ($s:expr) ($v:expr) $p:tt $body:tt) $($arms:tt)*) => {
        match $crate::chan::SendArm::new((&$s).__sender(), &mut $crate::chan::Place::empty(), $v) {
            mut __arm => $crate::__select!(@make $select [$($made)* (__arm $p $body)] $default $($arms)*)
        }
    };
    (@make $select:ident $made:tt [] (default $($default:tt)+) $($arms:tt)*) => {
        $crate::__select!(@make $select $made [$($default)+] $($arms)*)
    };
    (@make $select:ident $made:tt $default:tt (default $($second:tt)+) $($arms:tt)*) => {
        $crate::__select!(@error a second default)
    };
    (@make $select:ident [] [($default:expr)]) => { $default };
    (@make $select:ident [] [($timeout:expr) ($default:expr)]) => {{
        $crate::time::sleep($timeout);
        $default
    }};
    (@make $select:ident [$(($arm:ident $p:tt $body:tt))+] [($timeout:expr) ($default:expr)]) => {{
        let __timeout = $timeout;
        if !$crate::chan::$select([$($arm.raw()),+], false) {
            let __deadline = $crate::chan::deadline(__timeout);
            let mut __place = $crate::chan::Place::empty();
            let mut __late = $crate::chan::RecvArm::new(__deadline.__receiver(), true, &mut __place);
            $crate::chan::$select([$($arm.raw(),)+ __late.raw()], true);
        }
        $crate::__select!(@ask [($default)] $(($arm $p $body))+)
    }};
    (@make $select:ident [$(($arm:ident $p:tt $body:tt))+] [$(($default:expr))?]) => {{
        $crate::chan::$select([$($arm.raw()),+], $crate::__select!(@waits $($default)?));
        $crate::__select!(@ask [$(($default))?] $(($arm $p $body))+)
    }};

    (@waits) => { true };
    (@waits $default:expr) => { false };

    // Every arm is asked before a body runs: a send that wasn't chosen has to drop its value.
    (@ask [$(($default:expr))?] $(($arm:ident ($p:pat) ($body:expr)))+) => {{
        $(let $arm = $arm.chosen();)+
        $(if let ::core::option::Option::Some(__result) = $arm { let ($p) = __result; $body } else)+ {
            $crate::__select!(@otherwise $($default)?)
        }
    }};
    (@otherwise) => { ::core::unreachable!("select! chose no arm") };
    (@otherwise $default:expr) => { $default };
}
