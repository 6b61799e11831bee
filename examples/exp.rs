#![allow(missing_docs)]
use gosched::explore::{Explorer, Strategy};
use gosched::{chan, go, sync::Mutex, time};
use std::sync::Arc;
use std::time::{Duration, Instant};
fn main() {
    let what = std::env::args().nth(1).unwrap();
    match what.as_str() {
        "abba" => {
            let f = Explorer::new().strategy(Strategy::Random).check(|| {
                let (a, b) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
                let (a2, b2) = (a.clone(), b.clone());
                let h = go(move || {
                    let _x = a2.lock();
                    let _y = b2.lock();
                });
                {
                    let _y = b.lock();
                    let _x = a.lock();
                }
                h.join().unwrap();
            });
            println!("{}", f.unwrap_err());
        }
        "leak" => {
            let f = Explorer::new().check(|| {
                let (tx, rx) = chan::bounded(0);
                go(move || {
                    time::sleep(Duration::from_secs(3600));
                    let _ = tx.send(1);
                });
                let _ = rx.recv_timeout(Duration::from_secs(3600));
                std::mem::forget(rx);
            });
            println!("{}", f.unwrap_err());
        }
        "panic" => {
            let f = Explorer::new().check(|| {
                let (tx, rx) = chan::bounded(2);
                let tx2 = tx.clone();
                go(move || tx.send(1).unwrap());
                go(move || tx2.send(2).unwrap());
                assert_eq!(rx.recv(), Ok(1));
            });
            println!("{}", f.unwrap_err());
        }
        "stuck" => {
            let f = Explorer::new().check(|| {
                go(|| {
                    loop {
                        std::hint::spin_loop()
                    }
                });
            });
            println!("{}", f.unwrap_err());
            Explorer::new().run(|| {
                go(|| ()).join().unwrap();
            });
        }
        "speed" => {
            let n: u64 = std::env::args().nth(2).map_or(200_000, |n| n.parse().unwrap());
            let start = Instant::now();
            let r = Explorer::new().strategy(Strategy::Random).iterations(n).check(|| {
                let m = Arc::new(Mutex::new(0));
                let hs: Vec<_> = (0..10)
                    .map(|_| {
                        let m = m.clone();
                        go(move || {
                            for _ in 0..5 {
                                *m.lock() += 1;
                            }
                        })
                    })
                    .collect();
                for h in hs {
                    h.join().unwrap()
                }
                assert_eq!(*m.lock(), 50);
            });
            println!(
                "{:?} {} /s",
                r.map_err(|e| e.to_string()),
                (n as f64 / start.elapsed().as_secs_f64()) as u64
            );
            let s = std::fs::read_to_string("/proc/self/status").unwrap();
            println!(
                "{}",
                s.lines()
                    .filter(|l| l.starts_with("VmRSS") || l.starts_with("VmHWM"))
                    .collect::<Vec<_>>()
                    .join(" ")
            );
        }
        "timers" => {
            let n: usize = std::env::args().nth(2).map_or(1_000_000, |n| n.parse().unwrap());
            let start = Instant::now();
            let r = Explorer::new().strategy(Strategy::Random).iterations(1).max_choices(u64::MAX).check(
                move || {
                    let hs: Vec<_> = (0..n)
                        .map(|i| {
                            time::Timer::after_func(Duration::from_secs(3600), move || {
                                std::hint::black_box(i);
                            })
                        })
                        .collect();
                    time::sleep(Duration::from_secs(3601));
                    drop(hs);
                },
            );
            println!("{:?} {:?}", r.map_err(|e| e.to_string()), start.elapsed());
        }
        _ => {}
    }
}
