//! Where in `src/` is what the tests look for.

/// Go's four large structs, and the small ones that they are made of.
pub const RUNTIME2: &str = "src/runtime/data/runtime2.rs";

/// What this port adds to them.
pub const ADDED: &str = "src/runtime/data/ext.rs";

/// Where a Go file's structs are.
pub fn structs_of(go_file: &str) -> &'static str {
    match go_file {
        "runtime2.go" => RUNTIME2,
        "chan.go" => "src/runtime/data/hchan.rs",
        "netpoll.go" => "src/runtime/netpoll/poll_desc.rs",
        "time.go" => "src/runtime/data/timer.rs",
        _ => panic!("where are the structs of {go_file}?"),
    }
}
