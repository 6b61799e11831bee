//! The variance of types with parameters. A covariant type also stands for one with a shorter
//! lifetime; an invariant one doesn't. A type that gives values out may be covariant. A type that
//! takes values in mustn't be, nor one that is shared with code that puts some in.
//!
//! The tests are in the documentation, and fail if the compiler disagrees with these tables.
//! Nothing is contravariant. (`Select` and its arms say it where they are.)

/// The names of a `T` that is a subtype, and of one that is a supertype, in the tests. A function
/// that takes any text is also one that takes a static text.
macro_rules! any {
    () => {
        "type Any = for<'a> fn(&'a str);\ntype Static = fn(&'static str);\n"
    };
}

/// The tests of a type. The first test is there for wrong names: code could fail to compile for any
/// reason.
macro_rules! tests {
    ($(#[$why:meta])* $name:ident $given:expr, covariant $shorten:expr, $lengthen:expr) => {
        $(#[$why])*
        #[doc = concat!("```\n", $given, $shorten, "```\n")]
        #[doc = concat!("```compile_fail\n", $given, $lengthen, "```\n")]
        struct $name;
    };
    ($(#[$why:meta])* $name:ident $given:expr, invariant $shorten:expr, $lengthen:expr) => {
        $(#[$why])*
        #[doc = concat!("```\n", $given, "```\n")]
        #[doc = concat!("```compile_fail\n", $given, $shorten, "```\n")]
        #[doc = concat!("```compile_fail\n", $given, $lengthen, "```\n")]
        struct $name;
    };
}

/// A table of types with a parameter `T`.
macro_rules! types {
    ($($(#[$why:meta])* $name:ident $type:literal $variance:ident;)*) => {$(
        tests! {
            $(#[$why])*
            $name
            concat!("use gosched::*;\n", any!(), "type Of<T> = ", $type, ";\nfn same(it: Of<Any>) -> Of<Any> { it }\n"),
            $variance "fn shorten(it: Of<Any>) -> Of<Static> { it }\n",
            "fn lengthen(it: Of<Static>) -> Of<Any> { it }\n"
        }
    )*};
}

/// A table of types with a lifetime `'x`.
macro_rules! lifetimes {
    ($($(#[$why:meta])* $name:ident $type:literal $variance:ident;)*) => {$(
        tests! {
            $(#[$why])*
            $name
            concat!("use gosched::*;\ntype Of<'x> = ", $type, ";\nfn same<'a>(it: Of<'a>) -> Of<'a> { it }\n"),
            $variance "fn shorten<'a>(it: Of<'static>) -> Of<'a> { it }\n",
            "fn lengthen<'a>(it: Of<'a>) -> Of<'static> { it }\n"
        }
    )*};
}

mod types {
    types! {
        /// A receiver would get values that are gone.
        Sender "chan::Sender<T>" invariant;
        /// Values only come out of it, or it drops them.
        Receiver "chan::Receiver<T>" covariant;
        /// As those of `chan`.
        OneshotSender "chan::oneshot::Sender<T>" invariant;
        OneshotReceiver "chan::oneshot::Receiver<T>" covariant;
        OneshotRecvFuture "chan::oneshot::RecvFuture<T>" covariant;
        /// Values go in, for others.
        BroadcastSender "chan::broadcast::Sender<T>" invariant;
        /// It shares the values with code that puts some in.
        BroadcastReceiver "chan::broadcast::Receiver<T>" invariant;
        /// It may replace the value.
        WatchSender "chan::watch::Sender<T>" invariant;
        /// It shares the value with code that replaces it.
        WatchReceiver "chan::watch::Receiver<T>" invariant;
        /// It only reads, and refers to the value apart from the lock.
        Ref "chan::watch::Ref<'static, T>" covariant;
        /// It belongs to a receiver.
        RecvFuture "chan::RecvFuture<'static, T>" covariant;
        /// It belongs to a sender.
        SendFuture "chan::SendFuture<'static, T>" invariant;
        /// It is a receiver.
        #[cfg(feature = "futures")]
        RecvStream "chan::RecvStream<T>" covariant;
        /// It belongs to a receiver.
        Iter "chan::Iter<'static, T>" covariant;
        /// It belongs to a receiver.
        TryIter "chan::TryIter<'static, T>" covariant;
        /// It is a receiver.
        IntoIter "chan::IntoIter<T>" covariant;
        /// It owns a value.
        SendTimeoutError "chan::SendTimeoutError<T>" covariant;
        /// It owns a value.
        JoinContextError "context::JoinContextError<T>" covariant;
        SendContextError "context::SendContextError<T>" covariant;
        /// It refers to a `T`.
        With "context::With<'static, 'static, T>" covariant;
        /// Its holder may replace the `T`.
        WithMut "context::WithMut<'static, T>" invariant;
        /// The result comes out of it once.
        JoinHandle "JoinHandle<T>" covariant;
        /// It is borrowed mutably to take a goroutine in.
        JoinSet "JoinSet<T>" covariant;
        /// It has the handle.
        JoinFuture "JoinFuture<T>" covariant;
        /// The result comes out of it once.
        ScopedJoinHandle "ScopedJoinHandle<'static, T>" covariant;
        /// It makes values, and clones the current one.
        GoroutineLocal "GoroutineLocal<T>" invariant;
        ScopedValue "ScopedValue<T>" invariant;
        /// Values go in, for the iterator.
        Yielder "iter::Yielder<'static, T>" invariant;
        /// Values only come out of it. But the type has the cell that they come through; and a `T`
        /// here has no lifetime that could be shorter.
        Pull "iter::Pull<T>" invariant;
        /// A goroutine that locks it may replace the value.
        Mutex "sync::Mutex<T>" invariant;
        /// It may replace the value.
        MutexGuard "sync::MutexGuard<'static, T>" invariant;
        /// It may replace the value.
        OwnedMutexGuard "sync::OwnedMutexGuard<T>" invariant;
        /// It may replace the value.
        MappedMutexGuard "sync::MappedMutexGuard<'static, T>" invariant;
        /// It has the mutex.
        OwnedMappedMutexGuard "sync::OwnedMappedMutexGuard<T, ()>" invariant;
        /// It may replace the part.
        PartOfMutexGuard "sync::OwnedMappedMutexGuard<(), T>" invariant;
        /// A goroutine that locks it may replace the value.
        RwLock "sync::RwLock<T>" invariant;
        /// It only reads, and refers to the value apart from the lock.
        RwLockReadGuard "sync::RwLockReadGuard<'static, T>" covariant;
        /// It may replace the value.
        RwLockWriteGuard "sync::RwLockWriteGuard<'static, T>" invariant;
        /// It has the lock, and when it is dropped, others may have it.
        OwnedRwLockReadGuard "sync::OwnedRwLockReadGuard<T>" invariant;
        /// It may replace the value.
        OwnedRwLockWriteGuard "sync::OwnedRwLockWriteGuard<T>" invariant;
        /// It may replace the value.
        MappedRwLockWriteGuard "sync::MappedRwLockWriteGuard<'static, T>" invariant;
        /// It has the lock.
        OwnedMappedRwLockReadGuard "sync::OwnedMappedRwLockReadGuard<T, ()>" invariant;
        /// It only reads, and refers to the part apart from the lock.
        PartOfRwLockReadGuard "sync::OwnedMappedRwLockReadGuard<(), T>" covariant;
        /// It has the lock.
        OwnedMappedRwLockWriteGuard "sync::OwnedMappedRwLockWriteGuard<T, ()>" invariant;
        /// It may replace the part.
        PartOfRwLockWriteGuard "sync::OwnedMappedRwLockWriteGuard<(), T>" invariant;
        /// Objects go in, for others.
        ObjectPool "sync::Pool<T>" invariant;
        /// Its object goes back, for others.
        Pooled "sync::Pooled<T>" invariant;
        /// It owns a value.
        PoolError "sync::PoolError<T>" covariant;
        /// It owns a value.
        PoolContextError "context::PoolContextError<T>" covariant;
        /// The errors of failed goroutines go in.
        ErrGroup "sync::ErrGroup<'static, 'static, T>" invariant;
        /// Values go in, for others.
        SingleFlight "sync::SingleFlight<u8, T>" invariant;
        /// Any code that shares it may set the value.
        OnceLock "sync::OnceLock<T>" invariant;
        /// The function makes a value, which all that share it see.
        LazyLock "sync::LazyLock<T>" invariant;
        /// Values go in, for others.
        ReadyQueue "net::ReadyQueue<T>" invariant;
        /// It owns a `T`, and has no other use of it.
        Pollable "net::Pollable<T>" covariant;
        /// Any code that shares it may set it.
        Link "runtime2::Link<T>" invariant;
        /// Any code that shares it may set it.
        Slice "runtime2::Slice<T>" invariant;
        /// Any code that shares it may change it.
        FreeList "runtime2::FreeList<T>" invariant;
        /// Any code that shares it may change it.
        Pool "runtime2::Pool<T>" invariant;
    }
}

mod lifetimes {
    lifetimes! {
        /// The scope ends exactly when the lifetime does: what its goroutines borrow is measured by
        /// that.
        Scope "Scope<'x, 'static>" invariant;
        /// Likewise. (A function of it, as 'env has to outlive the scope's lifetime.)
        ScopeEnv "for<'s> fn(&'s Scope<'s, 'x>)" invariant;
        /// It refers to the scope.
        ScopedJoinHandle "ScopedJoinHandle<'x, u8>" covariant;
        /// Its texts are only read.
        CodePlace "proc::CodePlace<'x>" covariant;
        /// It refers to the semaphore.
        AcquireFuture "sync::AcquireFuture<'x>" covariant;
        /// It refers to the `Notify`.
        NotifiedFuture "sync::NotifiedFuture<'x>" covariant;
        /// It refers to the limiter.
        Reservation "sync::Reservation<'x>" covariant;
        /// It refers to the receiver or the sender.
        Ref "chan::watch::Ref<'x, u8>" covariant;
        /// It refers to the receiver.
        RecvFuture "chan::RecvFuture<'x, u8>" covariant;
        /// It refers to the sender.
        SendFuture "chan::SendFuture<'x, u8>" covariant;
        /// It refers to the receiver.
        Iter "chan::Iter<'x, u8>" covariant;
        /// It refers to the receiver.
        TryIter "chan::TryIter<'x, u8>" covariant;
        /// It refers to what the generator and the iterator share.
        Yielder "iter::Yielder<'x, u8>" covariant;
        /// It refers to the mutex.
        MutexGuard "sync::MutexGuard<'x, u8>" covariant;
        /// It refers to the lock.
        RwLockReadGuard "sync::RwLockReadGuard<'x, u8>" covariant;
        /// It refers to the lock.
        RwLockWriteGuard "sync::RwLockWriteGuard<'x, u8>" covariant;
        /// It refers to the mutex.
        MappedMutexGuard "sync::MappedMutexGuard<'x, u8>" covariant;
        /// It refers to the lock.
        MappedRwLockWriteGuard "sync::MappedRwLockWriteGuard<'x, u8>" covariant;
        /// As a scope.
        ErrGroup "sync::ErrGroup<'x, 'static, u8>" invariant;
        /// It refers to a context.
        With "context::With<'x, 'static, u8>" covariant;
        /// It also refers to what it waits for.
        WithOn "context::With<'static, 'x, u8>" covariant;
        /// Likewise.
        WithMut "context::WithMut<'x, u8>" covariant;
        /// It refers to the semaphore.
        SemaphorePermit "sync::SemaphorePermit<'x>" covariant;
        /// It refers to the wait group.
        WaitGroupGuard "sync::WaitGroupGuard<'x>" covariant;
        /// It refers to the listener.
        Incoming "net::Incoming<'x>" covariant;
        /// It refers to the listener.
        UnixIncoming "net::UnixIncoming<'x>" covariant;
        /// It refers to its name.
        Test "testing::Test<'x>" covariant;
        /// It refers to the subject of the event.
        Event "proc::Event<'x>" covariant;
    }
}
