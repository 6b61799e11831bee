//! The places in `src/` that the tests read.

/// Go's four large structs, and the small structs in them.
pub const RUNTIME2: &str = "src/runtime/data/runtime2.rs";

/// The fields that this port adds to them.
pub const ADDED: &str = "src/runtime/data/ext.rs";

/// Returns the file with a Go file's structs.
pub fn structs_of(go_file: &str) -> &'static str {
    match go_file {
        "runtime2.go" => RUNTIME2,
        "chan.go" => "src/runtime/data/hchan.rs",
        "netpoll.go" => "src/runtime/netpoll/poll_desc.rs",
        "time.go" => "src/runtime/data/timer.rs",
        _ => panic!("where are the structs of {go_file}?"),
    }
}
