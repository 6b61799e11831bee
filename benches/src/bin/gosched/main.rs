//! gosched: the workloads on its safe API, and the `raw_` ones on its raw layer.

mod parked;
mod raw;
mod safe;

use gosched_benches::Args;

fn main() {
    let args = Args::parse();
    // SAFETY: there is no other thread yet.
    unsafe { std::env::set_var("GOMAXPROCS", args.procs.to_string()) };
    // SAFETY: no workload has a thread-local, and what prints doesn't park.
    unsafe {
        gosched::run(|| {
            safe::run(&args);
            raw::run(&args);
            parked::run(&args);
        });
    }
}
