//! [`Waitable`].

use std::rc::Rc;
use std::sync::Arc;

use crate::chan::{Receiver, Sender};
use crate::net::Pollable;
use crate::sync::{Condvar, Mutex, Semaphore, WaitGroup};

/// A value on which [`Context::with`](crate::context::Context::with) waits, or a pointer to one.
///
/// ```
/// use std::io::{Read, Write};
/// use std::sync::Arc;
///
/// use gosched::context::Context;
/// use gosched::net::UnixStream;
///
/// gosched::run(|| {
///     let (ctx, _cancel) = Context::background().with_cancel();
///     let (here, mut there) = UnixStream::pair()?;
///     let here = Arc::new(here);
///     there.write_all(b"hello")?;
///     let mut buf = [0; 5];
///     ctx.with(&here).read_exact(&mut buf)?;
///     assert_eq!(&buf, b"hello");
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
///
/// A type that has such a value may implement it:
///
/// ```
/// use gosched::chan::{Receiver, bounded};
/// use gosched::context::{Context, Waitable};
///
/// struct Jobs {
///     queue: Receiver<u32>,
/// }
///
/// impl Waitable for Jobs {
///     type On = Receiver<u32>;
///
///     fn waits_on(&self) -> &Receiver<u32> {
///         &self.queue
///     }
/// }
///
/// gosched::run(|| {
///     let (tx, queue) = bounded(1);
///     tx.send(7).unwrap();
///     assert_eq!(Context::background().with(&Jobs { queue }).recv(), Ok(7));
/// });
/// ```
#[diagnostic::on_unimplemented(
    message = "no wait of `{Self}` ends with a context",
    label = "not a channel, a lock or a socket of gosched",
    note = "`Context::with` takes a `Receiver`, a `Sender`, a `Mutex`, a `Semaphore`, a `WaitGroup`, a `Condvar` \
            or a `Pollable`, such as `gosched::net::TcpStream`, and a pointer to one, such as an `Arc`",
    note = "`Context::with_mut` takes a `Child` or a `Command` of `gosched::process`"
)]
pub trait Waitable {
    /// The type that has the waits, whose functions [`With`](crate::context::With) has.
    type On: ?Sized;

    /// The value that has the waits.
    fn waits_on(&self) -> &Self::On;
}

macro_rules! themselves {
    ($([$($params:tt)*] $type:ty;)*) => {
        $(
            impl<$($params)*> Waitable for $type {
                type On = Self;

                fn waits_on(&self) -> &Self {
                    self
                }
            }
        )*
    };
}

themselves! {
    [T] Receiver<T>;
    [T] Sender<T>;
    [T: ?Sized] Mutex<T>;
    [] Semaphore;
    [] WaitGroup;
    [] Condvar;
    [T] Pollable<T>;
}

macro_rules! pointers {
    ($($pointer:ty),*) => {
        $(
            impl<T: Waitable + ?Sized> Waitable for $pointer {
                type On = T::On;

                fn waits_on(&self) -> &T::On {
                    (**self).waits_on()
                }
            }
        )*
    };
}

pointers!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);
