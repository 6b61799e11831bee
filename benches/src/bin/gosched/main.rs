//! gosched: the workloads on its safe API, the `raw_` ones on its raw layer, and the `std_` ones on
//! std's channels and sockets.

mod beside;
mod echo;
mod fanout;
mod grow;
mod http;
mod hyper;
mod library;
mod monitor;
mod parked;
mod raw;
mod resp;
mod safe;
mod std_waits;
mod wakes;
mod workloads;

use std::env::{set_var, var_os};

use gosched_benches::Args;

fn main() {
    let args = Args::parse();
    let cold = args.is_only(grow::COLD);
    // SAFETY: there is no other thread yet.
    unsafe {
        set_var("GOMAXPROCS", args.procs.to_string());
        if cold {
            // Without this setting, a goroutine that ends leaves its grown stack for the next one.
            set_var("GODEBUG", "stackkeep=0");
        }
    }
    if var_os("LEAN").is_some() {
        // SAFETY: no workload has a thread-local, and what prints doesn't park.
        unsafe { gosched::set_default_shared_locals() }.expect("it comes first");
    }
    gosched::run(|| {
        if cold {
            return grow::run_cold(&args);
        }
        safe::run(&args);
        raw::run(&args);
        grow::run(&args);
        monitor::run(&args);
        echo::run(&args);
        http::run(&args);
        hyper::run(&args);
        resp::run(&args);
        fanout::run(&args);
        beside::run(&args);
        library::run(&args);
        parked::run(&args);
        wakes::run(&args);
        std_waits::run(&args);
    });
}
