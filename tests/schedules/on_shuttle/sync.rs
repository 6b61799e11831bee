//! Locks and the like: shuttle's without poisoning, and some that shuttle lacks.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use shuttle::future::batch_semaphore::{BatchSemaphore, Fairness};
use shuttle::sync::{self, LockResult, TryLockError};
pub use shuttle::sync::{Barrier, MutexGuard, Once, RwLockReadGuard, RwLockWriteGuard};

use crate::context::{Canceler, Context};
use crate::{Scope, scope};

fn unpoisoned<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[derive(Default)]
pub struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        Mutex(sync::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        unpoisoned(self.0.lock())
    }

    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    pub fn into_inner(self) -> T {
        unpoisoned(self.0.into_inner())
    }
}

#[derive(Default)]
pub struct RwLock<T>(sync::RwLock<T>);

impl<T> RwLock<T> {
    pub const fn new(value: T) -> Self {
        RwLock(sync::RwLock::new(value))
    }

    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        unpoisoned(self.0.read())
    }

    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        unpoisoned(self.0.write())
    }

    pub fn into_inner(self) -> T {
        unpoisoned(self.0.into_inner())
    }
}

#[derive(Default)]
pub struct Condvar(sync::Condvar);

impl Condvar {
    pub const fn new() -> Self {
        Condvar(sync::Condvar::new())
    }

    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        unpoisoned(self.0.wait(guard))
    }

    pub fn wait_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        unpoisoned(self.0.wait_while(guard, condition))
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[derive(Default)]
struct Count {
    count: u32,
    waiters: u32,
}

#[derive(Default)]
pub struct WaitGroup {
    state: Mutex<Count>,
    zero: Condvar,
}

impl WaitGroup {
    pub fn new() -> Self {
        WaitGroup::default()
    }

    pub fn add(&self, n: u32) {
        let mut state = self.state.lock();
        assert!(state.count > 0 || state.waiters == 0, "add called concurrently with wait");
        state.count += n;
    }

    pub fn done(&self) {
        let mut state = self.state.lock();
        state.count = state.count.checked_sub(1).expect("no more done than added");
        if state.count == 0 {
            state.waiters = 0;
            // The lock is still held, so this doesn't wake a goroutine that adds and waits anew.
            self.zero.notify_all();
        }
    }

    pub fn wait(&self) {
        let mut state = self.state.lock();
        if state.count > 0 {
            state.waiters += 1;
            state = self.zero.wait(state);
            assert!(state.count == 0, "reused before wait has returned");
        }
    }
}

pub struct Semaphore(BatchSemaphore);

pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    n: usize,
}

impl Semaphore {
    pub fn new(permits: usize) -> Self {
        Semaphore(BatchSemaphore::new(permits, Fairness::StrictlyFair))
    }

    pub fn acquire(&self) -> SemaphorePermit<'_> {
        self.acquire_many(1)
    }

    pub fn acquire_many(&self, n: usize) -> SemaphorePermit<'_> {
        self.0.acquire_blocking(n).expect("it isn't closed");
        SemaphorePermit { semaphore: self, n }
    }

    pub fn try_acquire(&self) -> Option<SemaphorePermit<'_>> {
        self.0.try_acquire(1).ok()?;
        Some(SemaphorePermit { semaphore: self, n: 1 })
    }

    pub fn add_permits(&self, n: usize) {
        self.0.release(n);
    }

    pub fn available_permits(&self) -> usize {
        self.0.available_permits()
    }
}

impl SemaphorePermit<'_> {
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for SemaphorePermit<'_> {
    fn drop(&mut self) {
        self.semaphore.0.release(self.n);
    }
}

type Call<V> = Arc<(Mutex<Option<V>>, Condvar)>;

pub struct SingleFlight<K, V>(Mutex<HashMap<K, Call<V>>>);

impl<K: Eq + Hash + Clone, V: Clone> SingleFlight<K, V> {
    #[expect(clippy::new_without_default)]
    pub fn new() -> Self {
        SingleFlight(Mutex::new(HashMap::new()))
    }

    pub fn run(&self, key: K, f: impl FnOnce() -> V) -> V {
        let mut calls = self.0.lock();
        if let Some(call) = calls.get(&key).cloned() {
            drop(calls);
            let (value, returned) = &*call;
            let value = returned.wait_while(value.lock(), |value| value.is_none());
            return value.clone().expect("it has returned");
        }
        let call = Call::default();
        calls.insert(key.clone(), call.clone());
        drop(calls);
        let value = f();
        self.0.lock().remove(&key);
        *call.0.lock() = Some(value.clone());
        call.1.notify_all();
        value
    }
}

struct Group<E> {
    ctx: Context,
    canceler: Canceler,
    error: Mutex<Option<E>>,
}

pub struct ErrGroup<'a, 'scope, 'env: 'scope, E> {
    scope: &'a Scope<'scope, 'env>,
    group: Arc<Group<E>>,
}

pub fn err_group<'env, E, F>(ctx: &Context, f: F) -> Result<(), E>
where
    E: Send + 'env,
    F: for<'scope> FnOnce(&ErrGroup<'_, 'scope, 'env, E>) -> Result<(), E>,
{
    let (ctx, canceler) = ctx.with_cancel();
    let group = Arc::new(Group { ctx, canceler, error: Mutex::new(None) });
    scope(|scope| f(&ErrGroup { scope, group: group.clone() }))?;
    match group.error.lock().take() {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

impl<'scope, E: Send + 'scope> ErrGroup<'_, 'scope, '_, E> {
    pub fn go(&self, f: impl FnOnce(&Context) -> Result<(), E> + Send + 'scope) {
        let group = self.group.clone();
        self.scope.go(move || {
            if let Err(error) = f(&group.ctx) {
                group.error.lock().get_or_insert(error);
                group.canceler.cancel();
            }
        });
    }
}
