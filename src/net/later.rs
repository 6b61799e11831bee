//! [`go_when_readable`]: waits for a descriptor without a goroutine.

use std::io;
use std::mem;
use std::os::fd::AsFd;
use std::panic::Location;
use std::sync::Arc;

use crate::goroutine::{Builder, cannot};
use crate::net::Pollable;
use crate::runtime::print::eprintln;
use crate::runtime::runtime2::G;
use crate::runtime::{
    Inherited, Later, Mode, get_prof_label, getg, goready, poll_runtime_poll_later, set_own_label, throw,
    tsan,
};

/// The argument of [`go_when_readable`]: a [`Pollable`], or an [`Arc`] of one.
pub trait Readable: Sealed + Send + 'static {}

impl<S: Sealed + Send + 'static> Readable for S {}

/// Keeps other crates from implementing [`Readable`].
pub trait Sealed {
    /// The type that owns the descriptor.
    type Owner: AsFd;

    /// Returns the pollable, the same one on each call.
    fn pollable(&self) -> &Pollable<Self::Owner>;
}

impl<T: AsFd> Sealed for Pollable<T> {
    type Owner = T;

    fn pollable(&self) -> &Pollable<T> {
        self
    }
}

impl<T: AsFd> Sealed for Arc<Pollable<T>> {
    type Owner = T;

    fn pollable(&self) -> &Pollable<T> {
        self
    }
}

/// Runs `f` on a new goroutine as soon as `stream` has something to read, or its end, an error, a
/// [deadline](Pollable::set_read_deadline) or a [`close`](Pollable::close) has come, which the
/// first read of `f` then returns. Until then no goroutine waits, and reports show none: the wait
/// takes some hundred bytes. Go has no counterpart.
///
/// A goroutine that waits in a read of an idle connection takes a page of memory, besides the
/// values on its stack and its buffers. A server of many such connections can end the goroutine
/// instead, where it has nothing to remember, as a rule between two requests:
///
/// ```
/// use std::io::{Read, Write};
/// use gosched::go;
/// use gosched::net::{TcpListener, TcpStream, go_when_readable};
///
/// /// Answers a message, and waits for the next.
/// fn echo(mut stream: TcpStream) {
///     let mut buf = [0; 4];
///     if stream.read_exact(&mut buf).is_ok() && stream.write_all(&buf).is_ok() {
///         go_when_readable(stream, echo);
///     }
/// }
///
/// gosched::run(|| {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     let addr = listener.local_addr()?;
///     go(move || listener.incoming().flatten().for_each(|stream| go_when_readable(stream, echo)));
///     let mut stream = TcpStream::connect(addr)?;
///     for message in [b"one ", b"two "] {
///         stream.write_all(message)?;
///         let mut answer = [0; 4];
///         stream.read_exact(&mut answer)?;
///         assert_eq!(&answer, message);
///     }
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
///
/// Bytes that were read already, for instance into a [`BufReader`](std::io::BufReader), don't count
/// as readable: `f` is run when more bytes come. So a server goes on while its buffer has bytes,
/// and drops the buffer then.
///
/// If `stream` is in an [`Arc`], other goroutines may write to it meanwhile, set a deadline, or
/// close it. A read by another goroutine waits until `f` has begun. A
/// [timeout](Pollable::set_read_timeout) doesn't count, because this isn't a read. Now and then `f`
/// is run without a cause; then its first read waits. The goroutine of `f` has no handle, inherits
/// the same as a goroutine of [`go`](crate::go), and may run before this returns. The result of `f`
/// is dropped there, and a panic is handled as in any goroutine that isn't joined.
///
/// It can be called on any thread once the runtime has started. It waits only for its turn, while
/// another goroutine reads. If a goroutine calls it and then computes for long, new bytes are
/// noticed late, by 10 ms as a rule, because no other thread may be polling.
///
/// # Panics
/// If the runtime hasn't started, or if it must wait for its turn inside
/// [`blocking`](crate::blocking). If there is no memory for a goroutine when `f` is to run, the
/// process ends.
#[track_caller]
pub fn go_when_readable<S, F, R>(stream: S, f: F)
where
    S: Readable,
    F: FnOnce(S) -> R + Send + 'static,
{
    // `Builder::new` itself, a function without a size, so that the wait keeps no builder.
    if let Err(error) = make_when_readable(Location::caller(), Builder::new, stream, f) {
        cannot("net::go_when_readable", &error)
    }
}

impl Builder {
    /// [`net::go_when_readable`](go_when_readable) for a goroutine with a name, with a stack of
    /// another size, or with the thread-locals of its thread. Until the goroutine begins, these
    /// settings take less than a hundred bytes more.
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// use gosched::Builder;
    /// use gosched::chan::bounded;
    /// use gosched::net::UnixStream;
    ///
    /// gosched::run(|| {
    ///     let (mut ours, theirs) = UnixStream::pair()?;
    ///     let (tx, rx) = bounded(1);
    ///     let reader = Builder::new().name("reader").stack_size(4 << 20);
    ///     reader.go_when_readable(theirs, move |mut theirs| {
    ///         let mut buf = [0; 5];
    ///         tx.send(theirs.read_exact(&mut buf).map(|()| buf)).unwrap();
    ///     })?;
    ///     ours.write_all(b"hello")?;
    ///     assert_eq!(&rx.recv().unwrap()?, b"hello");
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// - The runtime hasn't started.
    /// - The stack size is more than 1 GiB ([`InvalidInput`](io::ErrorKind::InvalidInput)).
    /// - The goroutine is to have [thread-locals of its own](crate#thread-locals), but can't here
    ///   ([`Unsupported`](io::ErrorKind::Unsupported)).
    ///
    /// In each case `f` and `stream` are dropped.
    ///
    /// # Panics
    /// If it must wait for its turn inside [`blocking`](crate::blocking). If there is no memory for
    /// a goroutine when `f` is to run, the process ends.
    #[track_caller]
    pub fn go_when_readable<S, F, R>(self, stream: S, f: F) -> io::Result<()>
    where
        S: Readable,
        F: FnOnce(S) -> R + Send + 'static,
    {
        make_when_readable(Location::caller(), move || self, stream, f)
    }
}

/// Begins the wait, with the builder that `builder` returns.
fn make_when_readable<S, F, R, B>(
    created_at: &'static Location<'static>,
    builder: B,
    stream: S,
    f: F,
) -> io::Result<()>
where
    S: Readable,
    F: FnOnce(S) -> R + Send + 'static,
    B: Fn() -> Builder + Send + 'static,
{
    builder().kind()?;
    let (inherited, labels) = (Inherited::new(), getg().and_then(get_prof_label));
    let pollable = stream.pollable();
    let mut drained = pollable.registration.turn_to_read().lock();
    let wait = pollable.registration.before_read(&mut drained, pollable.as_fd());
    // It stays this connection's turn to read until the goroutine ends the turn.
    mem::forget(drained);
    let call = move || {
        // SAFETY: the turn was taken above, and its guard was forgotten.
        unsafe { stream.pollable().registration.turn_to_read().force_unlock() };
        if let Some(gp) = getg() {
            // If a goroutine has ended the wait, this goroutine has that one's labels.
            drop(set_own_label(gp, labels));
        }
        drop(f(stream));
    };
    let rest = Rest::boxed(created_at, builder, inherited, call);
    match wait {
        // SAFETY: `make` takes `rest`, once. The stream is in it, with its registration.
        Some(pd) => unsafe { poll_runtime_poll_later(pd, Mode::Read, rest) },
        None => {
            // SAFETY: nobody else has `rest`.
            if let Some(gp) = unsafe { ((*rest).make)(rest) } {
                goready(gp);
            }
        }
    }
    Ok(())
}

/// The data that waits in place of a goroutine.
#[repr(C)]
struct Rest<B, C> {
    /// The first field, so that its address is that of the whole struct.
    later: Later,
    created_at: &'static Location<'static>,
    /// Returns the builder of the goroutine.
    builder: B,
    inherited: Inherited,
    /// The function that the goroutine calls.
    call: C,
}

// SAFETY: the inherited values were made for this goroutine, and nobody else has any of them.
unsafe impl<B: Send, C: Send> Send for Rest<B, C> {}

impl<B, C> Rest<B, C>
where
    B: Fn() -> Builder + Send + 'static,
    C: FnOnce() + Send + 'static,
{
    /// Boxes a `Rest`, for [`make`](Self::make).
    fn boxed(
        created_at: &'static Location<'static>,
        builder: B,
        inherited: Inherited,
        call: C,
    ) -> *mut Later {
        let later = Later { make: Self::make };
        let rest = Box::into_raw(Box::new(Rest { later, created_at, builder, inherited, call }));
        tsan::release(rest);
        rest.cast()
    }

    /// Makes the goroutine, which waits until it is made ready.
    ///
    /// # Safety
    /// [`boxed`](Self::boxed) has returned `later`, and this is called once with it.
    unsafe fn make(later: *mut Later) -> Option<&'static G> {
        // SAFETY: `later` is the first field of a box that nobody else has.
        let mut rest = unsafe { Box::from_raw(later.cast::<Self>()) };
        let inherited = mem::replace(&mut rest.inherited, Inherited::NONE);
        let (created_at, builder) = (rest.created_at, (rest.builder)());
        // The goroutine unpacks the box: the call may be larger than the stack here, which is g0's
        // as a rule.
        let unpack = move || {
            // Acquired here, because `make` may run on g0, where ThreadSanitizer sees nothing.
            tsan::acquire(&raw const *rest);
            let call = {
                let rest = rest;
                rest.call
            };
            call()
        };
        match builder.make_waiting(created_at, &mut Some(unpack), inherited) {
            Ok(gp) => Some(gp),
            Err(error) => {
                eprintln!("gosched::net::go_when_readable: {error}");
                throw("out of memory for a goroutine")
            }
        }
    }
}
