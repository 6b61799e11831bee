//! tokio: tasks without stacks of their own. It has no unbuffered channel; one of 1 stands in.

mod fanout;
mod resp;
mod wakes;

use gosched_benches::Args;
use gosched_benches::echo::{IDLE, MESSAGE, WORKLOADS, clients, silent_clients};
use gosched_benches::http;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::{spawn, yield_now};
use tokio::time::sleep;

fn main() {
    let args = Args::parse();
    let runtime = Builder::new_multi_thread().worker_threads(args.procs).enable_all().build().unwrap();
    args.timed("gosched", 2_000_000, |n| on_worker(&runtime, gosched(n)));
    args.timed("spawn", 1_000_000, |n| on_worker(&runtime, spawn_batches(n)));
    args.timed("spawn_wait", 500_000, |n| on_worker(&runtime, spawn_wait(n)));
    args.timed("pingpong", 500_000, |n| on_worker(&runtime, pingpong(n)));
    args.timed("bufchan", 5_000_000, |n| on_worker(&runtime, bufchan(n)));
    args.timed("skynet", 5, |n| on_worker(&runtime, skynet(n)));
    args.timed("sleepers", 100_000, |n| on_worker(&runtime, sleepers(n)));
    for (workload, connections) in WORKLOADS {
        if args.names(workload) {
            clients(&args, workload, runtime.block_on(serve(echo)), connections);
        }
    }
    if args.names(IDLE) {
        silent_clients(&args, IDLE, runtime.block_on(serve(echo)));
    }
    for (workload, connections) in http::WORKLOADS {
        if args.names(workload) {
            let server = serve(|stream| converse(stream, Duration::ZERO));
            http::clients(&args, workload, runtime.block_on(server), connections);
        }
    }
    for (workload, connections, wait) in http::HYPER {
        if args.names(workload) {
            let server = serve(move |stream| converse(stream, wait));
            http::clients(&args, workload, runtime.block_on(server), connections);
        }
    }
    resp::run(&args, &runtime);
    fanout::run(&args, &runtime);
    wakes::run(&args, &runtime);
}

/// Starts a server that runs until the process ends.
pub async fn serve<F: Future<Output = ()> + Send + 'static>(
    answer: impl Fn(TcpStream) -> F + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            spawn(answer(stream));
        }
    });
    address
}

async fn echo(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut buf = [0; MESSAGE];
    while stream.read_exact(&mut buf).await.is_ok() && stream.write_all(&buf).await.is_ok() {}
}

/// hyper's HTTP server.
async fn converse(stream: TcpStream, wait: Duration) {
    stream.set_nodelay(true).unwrap();
    let hello = service_fn(|_: Request<Incoming>| async {
        if !wait.is_zero() {
            sleep(wait).await;
        }
        let response = Response::builder().header("content-type", "text/plain");
        response.body(Full::new(Bytes::from_static(http::HELLO)))
    });
    // Errors come from the clients, which close their connections in the end.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), hello).await;
}

/// Runs a workload as a task: `block_on` alone would run it on the calling thread, which isn't a
/// worker.
fn on_worker<R: Send + 'static>(runtime: &Runtime, workload: impl Future<Output = R> + Send + 'static) -> R {
    runtime.block_on(runtime.spawn(workload)).unwrap()
}

async fn gosched(n: u64) {
    async fn yields(n: u64) {
        for _ in 0..n {
            yield_now().await;
        }
    }
    for task in [spawn(yields(n / 2)), spawn(yields(n / 2))] {
        task.await.unwrap();
    }
}

async fn spawn_batches(n: u64) {
    let mut batch = Vec::with_capacity(100);
    for i in 0..n {
        batch.push(spawn(async {}));
        if i % 100 == 99 {
            for task in batch.drain(..) {
                task.await.unwrap();
            }
        }
    }
}

async fn spawn_wait(n: u64) {
    for _ in 0..n {
        spawn(async {}).await.unwrap();
    }
}

async fn pingpong(n: u64) {
    let (ping, mut pinged) = channel(1);
    let (pong, mut ponged) = channel(1);
    spawn(async move {
        while let Some(value) = pinged.recv().await {
            pong.send(value).await.unwrap();
        }
    });
    for i in 0..n {
        ping.send(i).await.unwrap();
        assert_eq!(ponged.recv().await, Some(i));
    }
}

async fn bufchan(n: u64) {
    let (tx, mut rx) = channel(128);
    spawn(async move {
        for i in 0..n {
            tx.send(i).await.unwrap();
        }
    });
    let mut sum = 0;
    while let Some(value) = rx.recv().await {
        sum += value;
    }
    assert_eq!(sum, n * (n - 1) / 2);
}

async fn skynet(n: u64) {
    for _ in 0..n {
        let (out, mut sum) = channel(1);
        spawn(node(out, 0, 1_000_000));
        assert_eq!(sum.recv().await, Some(499_999_500_000));
    }
}

async fn sleepers(n: u64) {
    let tasks: Vec<_> = (0..n).map(|_| spawn(sleep(Duration::from_millis(10)))).collect();
    for task in tasks {
        task.await.unwrap();
    }
}

fn node(out: Sender<u64>, first: u64, size: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        if size == 1 {
            out.send(first).await.unwrap();
            return;
        }
        let (part, mut parts) = channel(1);
        for i in 0..10 {
            spawn(node(part.clone(), first + i * (size / 10), size / 10));
        }
        let mut sum = 0;
        for _ in 0..10 {
            sum += parts.recv().await.unwrap();
        }
        out.send(sum).await.unwrap();
    })
}
