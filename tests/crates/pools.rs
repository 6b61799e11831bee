//! Executors and pools, which keep what they run in a thread-local; and `stacker`, which keeps the
//! limit of the stack in one.

use std::time::Duration;

use futures::StreamExt;
use futures::executor::LocalPool;
use futures::task::LocalSpawnExt;
use rayon::prelude::*;

use crate::works;

works! {
    rayon_sums
    tokio_of_one_thread
    futures_local_pool
    stacker_grows
}

fn rayon_sums(n: u64, pause: &dyn Fn()) -> String {
    let sum: u64 = (0..100 + n).into_par_iter().map(|i| i * i).sum();
    pause();
    let (one, other) = rayon::join(|| n + 1, || n + 2);
    pause();
    format!("{sum} {one} {other} {:?}", rayon::current_thread_index())
}

fn tokio_of_one_thread(n: u64, pause: &dyn Fn()) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let result = runtime.block_on(async {
        let (tx, rx) = tokio::sync::oneshot::channel();
        let task = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_micros(10)).await;
            tx.send(n + 1).unwrap();
        });
        pause();
        let got = rx.await.unwrap();
        task.await.unwrap();
        pause();
        (got, tokio::runtime::Handle::try_current().is_ok())
    });
    pause();
    format!("{result:?} {}", tokio::runtime::Handle::try_current().is_ok())
}

fn futures_local_pool(n: u64, pause: &dyn Fn()) -> String {
    let mut pool = LocalPool::new();
    let (tx, rx) = futures::channel::mpsc::unbounded();
    for i in 0..3 {
        let tx = tx.clone();
        pool.spawner().spawn_local(async move { tx.unbounded_send(n + i).unwrap() }).unwrap();
    }
    drop(tx);
    pause();
    let all = pool.run_until(async {
        pause();
        rx.collect::<Vec<_>>().await
    });
    pause();
    format!("{all:?} {}", futures::executor::block_on(async { n }))
}

/// Runs on a stack that `stacker` allocates, which isn't the goroutine's.
fn stacker_grows(n: u64, pause: &dyn Fn()) -> String {
    let sum = stacker::grow(256 << 10, || {
        pause();
        gosched::blocking(|| n + stacker::maybe_grow(64 << 10, 128 << 10, || 1))
    });
    pause();
    sum.to_string()
}
