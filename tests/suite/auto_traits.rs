//! Tables of public types: which are `Send`, and which are `Sync`.

use std::cell::Cell;
use std::marker::PhantomData;
use std::net::TcpStream;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;
use std::sync;

use gosched::chan::{self, broadcast, hchan, oneshot, watch};
use gosched::sync as ours;
use gosched::{
    AccessError, Builder, GoroutineLocal, JoinError, JoinFuture, JoinHandle, OsThreadLock, Scope,
    ScopedJoinHandle, context, explore, fs, inspect, io, iter, labels, metrics, net, netpoll, pprof, proc,
    process, runtime2, signal, testing, time,
};

use crate::harness::tests;

tests! {
    types_without_parameters
    types_with_a_parameter
    what_may_be_used_where_a_panic_is_caught
}

struct Check<T: ?Sized>(PhantomData<T>);

impl<T: ?Sized + Send> Check<T> {
    const SEND: char = '+';
}

impl<T: ?Sized + Sync> Check<T> {
    const SYNC: char = '+';
}

/// Supplies the constants of a type that none of the `impl`s above is for. An `impl` above takes
/// precedence.
trait Otherwise {
    const SEND: char = '-';
    const SYNC: char = '-';
}

impl<T: ?Sized> Otherwise for Check<T> {}

/// Whether a type is `Send`, and whether it is `Sync`.
macro_rules! found {
    ($type:ty) => {
        [<Check<$type>>::SEND, <Check<$type>>::SYNC].iter().collect::<String>()
    };
}

macro_rules! expect {
    ($($expected:literal: $($type:ty)*;)*) => {
        $($(assert_eq!(found!($type), $expected, stringify!($type));)*)*
    };
}

/// For a type with a `T` that is both, `Send` alone, `Sync` alone, and neither.
macro_rules! expect_of_t {
    ($($expected:literal: $($type:ty)*;)*) => {
        $($({
            type Of<T> = $type;
            let found = [
                found!(Of<u8>),
                found!(Of<Cell<u8>>),
                found!(Of<sync::MutexGuard<'static, u8>>),
                found!(Of<Rc<u8>>),
            ];
            assert_eq!(found.join(" "), $expected, stringify!($type));
        })*)*
    };
}

fn types_without_parameters() {
    expect! {
        "++": Builder labels::Labels Scope<'static, 'static>;
        "++": io::Stdin io::Stdout io::Stderr io::Lines;
        "++": fs::File fs::OpenOptions fs::ReadDir fs::DirEntry;
        "++": process::Command process::Child process::ChildStdin process::ChildStdout process::ChildStderr;
        "++": net::TcpStream net::TcpListener net::UdpSocket net::UnixDatagram net::Incoming<'static>;
        "++": net::UnixStream net::UnixListener net::UnixIncoming<'static>;
        "++": ours::Barrier ours::Condvar ours::Once ours::Semaphore ours::SemaphorePermit<'static>;
        "++": ours::OwnedSemaphorePermit ours::WaitGroup ours::WaitGroupGuard<'static>;
        "++": ours::AcquireFuture<'static> ours::Notify ours::NotifiedFuture<'static>;
        "++": ours::RateLimiter ours::Reservation<'static> ours::BurstError context::RateContextError;
        "++": ours::Sometimes;
        "++": signal::Signal signal::Signals time::Ticker time::Timer testing::Test<'static>;
        "++": inspect::Inspector metrics::Description metrics::Value pprof::Profile;
        "++": explore::Link explore::Pipe;
        "++": context::Context context::Canceler context::AfterFunc context::Cause;
        "++": context::ContextError context::RecvContextError context::AcquireContextError ours::AcquireError;
        // A lock belongs to its goroutine.
        "++": JoinError AccessError;
        "--": OsThreadLock;
        // The values that go to the iterator are Send, as `pull` requires.
        "++": iter::Pull<u8> iter::Pull<Cell<u8>>;
        "--": iter::Yielder<'static, u8>;

        "++": proc::Coro netpoll::PollDesc proc::Hooks proc::WorldStop proc::Frame;
        "++": proc::FrameMapRegistration proc::PreemptibleRegistration;
        "+-": proc::AdjustInfo;
        "--": proc::Event<'static> proc::SuspendGState proc::GList proc::GQueue;
        "--": hchan::Hchan hchan::HchanExt hchan::Scase hchan::Waitq;
        // At each time one thread owns their cells, by rules that the compiler doesn't know.
        "--": runtime2::G runtime2::M runtime2::P runtime2::Sudog runtime2::Gobuf runtime2::PGFree;
        "--": runtime2::GExt runtime2::MExt runtime2::PExt runtime2::SchedtExt runtime2::TimerExt;
        "--": runtime2::SchedDisable runtime2::SchedGFree;
        "+-": runtime2::TraceState runtime2::Sysmontick runtime2::Level runtime2::StackFreeList;
        // `Sync` without `Send`: safe code can't make one.
        "-+": runtime2::Schedt runtime2::Timer;
        "++": runtime2::Note runtime2::MutexKey runtime2::TimeHistogram runtime2::Name;
    }
}

fn types_with_a_parameter() {
    expect_of_t! {
        // They pass values from thread to thread.
        "++ ++ -- --": chan::Sender<T> chan::Receiver<T> chan::RecvStream<T> chan::RecvFuture<'static, T> chan::SendFuture<'static, T>;
        "++ ++ -- --": oneshot::Sender<T> oneshot::Receiver<T> oneshot::RecvFuture<T>;
        "++ ++ -- --": chan::Iter<'static, T> chan::TryIter<'static, T> chan::IntoIter<T>;
        "++ ++ -- --": JoinHandle<T> JoinFuture<T> ScopedJoinHandle<'static, T>;
        "++ ++ -- --": ours::Mutex<T> ours::ErrGroup<'static, 'static, T> ours::SingleFlight<u8, T> ours::Pool<T>;
        // These share values between threads, too.
        "++ +- -- --": ours::RwLock<T> ours::OnceLock<T> ours::LazyLock<T> ours::MutexGuard<'static, T>;
        "++ +- -- --": ours::OwnedMutexGuard<T> ours::MappedMutexGuard<'static, T> ours::Pooled<T>;
        "++ +- -- --": ours::OwnedMappedMutexGuard<u8, T> ours::OwnedMappedMutexGuard<T, u8>;
        "++ -- -- --": watch::Sender<T> watch::Receiver<T> watch::Ref<'static, T>;
        "++ -- -- --": broadcast::Sender<T> broadcast::Receiver<T>;
        "++ -- -- --": ours::RwLockReadGuard<'static, T> ours::RwLockWriteGuard<'static, T>;
        "++ -- -- --": ours::OwnedRwLockReadGuard<T> ours::OwnedRwLockWriteGuard<T>;
        "++ -- -- --": ours::MappedRwLockWriteGuard<'static, T>;
        "++ -- -- --": ours::OwnedMappedRwLockReadGuard<u8, T> ours::OwnedMappedRwLockReadGuard<T, u8>;
        "++ -- -- --": ours::OwnedMappedRwLockWriteGuard<u8, T> ours::OwnedMappedRwLockWriteGuard<T, u8>;
        "++ ++ -- --": net::ReadyQueue<T>;
        // These are like the value that they own.
        "++ +- -+ --": chan::SendTimeoutError<T> context::SendContextError<T> net::Pollable<T>;
        "++ +- -+ --": ours::PoolError<T> context::PoolContextError<T>;
        "++ +- -+ --": context::WithMut<'static, T>;
        // It has a function that makes values.
        "++ ++ ++ ++": GoroutineLocal<T>;
        // Like a reference.
        "++ -- ++ --": context::With<'static, 'static, T> runtime2::Link<T>;
        // Plain pointers.
        "-- -- -- --": runtime2::Slice<T> runtime2::FreeList<T> runtime2::Pool<T>;
    }
    // A reference to an owner of a descriptor is like any reference.
    expect! { "++": net::Pollable<&TcpStream>; }
}

/// Like std's types of these names, and the types used beside them.
fn what_may_be_used_where_a_panic_is_caught() {
    fn both<T: UnwindSafe + RefUnwindSafe>() {}
    both::<(process::Child, process::ChildStdin, process::ChildStdout)>();
    both::<(net::TcpStream, net::TcpListener, net::UdpSocket, net::UnixStream)>();
    both::<(fs::File, fs::ReadDir, io::Stdin)>();
    both::<(JoinHandle<Cell<u8>>, chan::Sender<Cell<u8>>, chan::Receiver<Cell<u8>>)>();
    both::<(ours::Condvar, ours::Barrier, ours::Once, ours::OnceLock<u8>, ours::LazyLock<u8>)>();
    both::<(ours::WaitGroup, ours::Semaphore, ours::Notify, ours::RateLimiter, ours::Sometimes)>();
    both::<(explore::Link, explore::Pipe)>();
    both::<(context::Context, context::Canceler, time::Timer, time::Ticker, signal::Signals)>();
}
