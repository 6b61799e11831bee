//! [`go_when_readable`]: waiting without a goroutine.

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
    Inherited, Later, Mode, acquire, get_prof_label, getg, goready, poll_runtime_poll_later, release,
    set_own_label, throw,
};

/// What [`go_when_readable`] takes: a [`Pollable`], or an [`Arc`] of one.
pub trait Readable: Sealed + Send + 'static {}

impl<S: Sealed + Send + 'static> Readable for S {}

/// So that nobody else has it.
pub trait Sealed {
    /// What the descriptor belongs to.
    type Owner: AsFd;

    /// The same one each time.
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

/// Runs `f` on a new goroutine as soon as there is something to read from `stream`, or its end has come, an error, a
/// [deadline](Pollable::set_read_deadline), or a [`close`](Pollable::close): then the first read of `f` says so.
/// Until then nobody waits: there is no goroutine, which reports would show, but some hundred bytes. Go has none like it.
///
/// A connection on which nothing is said for a while takes a page of memory if a goroutine waits in a read of it, and
/// whatever that has on its stack and in buffers. A server of many such connections ends the goroutine instead where
/// nothing has to be remembered, as a rule between two requests:
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
/// What was read already, into a [`BufReader`](std::io::BufReader) for instance, isn't there to be read: `f` is run when
/// more comes. So a server goes on while its buffer has something, and drops the buffer then.
///
/// In an [`Arc`], others may write to the stream meanwhile, set a deadline, or close it; who reads waits until `f` has
/// begun. A [timeout](Pollable::set_read_timeout) doesn't count: this is no read. `f` may be run for nothing, now and
/// then: its first read waits then. Its goroutine has no handle, inherits what [`go`](crate::go)'s would, and may run
/// before this returns; the result of `f` is dropped there, and a panic ends as that of any goroutine that nobody joins.
///
/// It can be called on any thread once the runtime has started, and waits only for its turn, while somebody else reads.
/// Who calls it on a goroutine and then computes for long has what comes noticed late, by 10 ms as a rule, as nobody else may
/// be polling.
///
/// # Panics
/// If the runtime hasn't started, or it must wait for its turn inside [`blocking`](crate::blocking). If there is no
/// memory for a goroutine when `f` is to run, the process ends.
#[track_caller]
pub fn go_when_readable<S, F, R>(stream: S, f: F)
where
    S: Readable,
    F: FnOnce(S) -> R + Send + 'static,
{
    // The function itself, which takes no place where it waits.
    if let Err(error) = make_when_readable(Location::caller(), Builder::new, stream, f) {
        cannot("net::go_when_readable", &error)
    }
}

impl Builder {
    /// [`net::go_when_readable`](go_when_readable) for a goroutine with a name, with a stack of another size, or with the
    /// thread-locals of its thread. To know of that takes less than a hundred bytes more until it begins.
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
    /// - It is to have [thread-locals of its own](crate#thread-locals), and can't here
    ///   ([`Unsupported`](io::ErrorKind::Unsupported)).
    ///
    /// Then `f` and `stream` are dropped.
    ///
    /// # Panics
    /// If it must wait for its turn inside [`blocking`](crate::blocking). If there is no memory for a goroutine when `f` is to
    /// run, the process ends.
    #[track_caller]
    pub fn go_when_readable<S, F, R>(self, stream: S, f: F) -> io::Result<()>
    where
        S: Readable,
        F: FnOnce(S) -> R + Send + 'static,
    {
        make_when_readable(Location::caller(), move || self, stream, f)
    }
}

/// Waits with the builder that `builder` returns.
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
    // It stays this connection's turn until the goroutine ends it.
    mem::forget(drained);
    let call = move || {
        // SAFETY: for the guard above.
        unsafe { stream.pollable().registration.turn_to_read().force_unlock() };
        if let Some(gp) = getg() {
            // It has those of who has ended the wait, if that was a goroutine.
            drop(set_own_label(gp, labels));
        }
        drop(f(stream));
    };
    let rest = Rest::boxed(created_at, builder, inherited, call);
    match wait {
        // SAFETY: `make` takes it, once, and the stream is in there, with its registration.
        Some(pd) => unsafe { poll_runtime_poll_later(pd, Mode::Read, rest) },
        // SAFETY: nobody else has it.
        None => goready(unsafe { ((*rest).make)(rest) }),
    }
    Ok(())
}

/// What waits in place of a goroutine.
#[repr(C)]
struct Rest<B, C> {
    /// The first field, so that its address is that of all.
    later: Later,
    created_at: &'static Location<'static>,
    /// Returns what makes the goroutine.
    builder: B,
    inherited: Inherited,
    /// What the goroutine calls.
    call: C,
}

// SAFETY: what is inherited was made for this goroutine, and nobody else has any of it.
unsafe impl<B: Send, C: Send> Send for Rest<B, C> {}

impl<B, C> Rest<B, C>
where
    B: Fn() -> Builder + Send + 'static,
    C: FnOnce() + Send + 'static,
{
    /// Boxes one, for [`make`](Self::make).
    fn boxed(
        created_at: &'static Location<'static>,
        builder: B,
        inherited: Inherited,
        call: C,
    ) -> *mut Later {
        let later = Later { make: Self::make };
        let rest = Box::into_raw(Box::new(Rest { later, created_at, builder, inherited, call }));
        release(rest);
        rest.cast()
    }

    /// Makes the goroutine, which waits to be made ready.
    ///
    /// # Safety
    /// [`boxed`](Self::boxed) has returned `later`, and this is called once with it.
    unsafe fn make(later: *mut Later) -> &'static G {
        // SAFETY: so it is the first field of a box that nobody else has.
        let mut rest = unsafe { Box::from_raw(later.cast::<Self>()) };
        let inherited = mem::replace(&mut rest.inherited, Inherited::NONE);
        let (created_at, builder) = (rest.created_at, (rest.builder)());
        // The goroutine unpacks it: it may be larger than the stack here, which is g0's as a rule.
        let unpack = move || {
            // Here, as this may be on g0 before, where nothing is seen.
            acquire(&raw const *rest);
            let call = {
                let rest = rest;
                rest.call
            };
            call()
        };
        match builder.make_waiting(created_at, &mut Some(unpack), inherited) {
            Ok(gp) => gp,
            Err(error) => {
                eprintln!("gosched::net::go_when_readable: {error}");
                throw("out of memory for a goroutine")
            }
        }
    }
}
