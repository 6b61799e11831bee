//! The part of gosched's interface that the programs with bugs use, built on shuttle, so that
//! shuttle explores the same programs.
//!
//! Goroutines are shuttle's threads, and locks and conditions are shuttle's, too. Channels behave
//! as Go's, and switch as shuttle's do: an operation has one scheduling point, before it. Shuttle
//! has no clock, so a timeout may end at any moment.

pub mod chan;
pub mod context;
mod select;
pub mod sync;
pub mod time;

#[doc(hidden)]
pub use select::{recv, select_arms, send};
pub use shuttle::thread::{JoinHandle, ScopedJoinHandle, spawn as go, yield_now};

use shuttle::thread;

pub struct Scope<'scope, 'env: 'scope>(&'scope thread::Scope<'scope, 'env>);

pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&Scope<'scope, 'env>) -> T,
{
    thread::scope(|scope| f(&Scope(scope)))
}

impl<'scope> Scope<'scope, '_> {
    pub fn go<F, T>(&self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.0.spawn(f)
    }
}

/// `select!` with two arms.
#[macro_export]
macro_rules! select {
    ($a:ident($($of_a:expr),+) -> $in_a:pat => $do_a:expr, $b:ident($($of_b:expr),+) -> $in_b:pat => $do_b:expr $(,)?) => {
        match ($crate::__arm!($a $($of_a),+), $crate::__arm!($b $($of_b),+)) {
            (mut a, mut b) => {
                if $crate::select_arms(&mut [&mut a, &mut b]) == 0 {
                    let $in_a = a.done();
                    $do_a
                } else {
                    let $in_b = b.done();
                    $do_b
                }
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __arm {
    (recv $receiver:expr) => {
        $crate::recv(&$receiver)
    };
    (send $sender:expr, $value:expr) => {
        $crate::send(&$sender, $value)
    };
}
