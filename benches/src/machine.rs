//! The machine of a measurement.

use std::fs;
use std::process::Command;
use std::thread::available_parallelism;

/// Prints the processor, the kernel, the version of rustc, and `others`: versions of other
/// compilers.
pub fn describe(others: &[&str]) {
    let cores = available_parallelism().map_or(1, usize::from);
    let rustc = Command::new("rustc").arg("--version").output();
    let rustc = rustc.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
    let rustc = rustc.unwrap_or_else(|_| "no rustc".into());
    println!("- processor: {}, {cores} cores", processor());
    println!("- kernel: {}", read("/proc/sys/kernel/osrelease"));
    println!("- compilers: {}", [&[rustc.as_str()], others].concat().join(", "));
    println!();
}

fn processor() -> String {
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
    model.map_or("unknown".into(), |model| model.trim_start_matches(['\t', ':', ' ']).into())
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().into()
}
