//! `dump_json`, read by a parser.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;

use gosched::chan::{Receiver, bounded};
use gosched::labels::with_labels;
use gosched::runtime2::{TraceBlockReason, WaitReason};
use gosched::{Builder, dump_json, go, goid, proc, run, yield_now};
use serde_json::{Value, json};

/// Frames in which a goroutine waits.
#[inline(never)]
fn outer(rx: &Receiver<()>) {
    black_box(inner(rx));
}

#[inline(never)]
fn inner(rx: &Receiver<()>) -> bool {
    black_box(rx.recv().is_ok())
}

fn taken() -> Value {
    let mut text = Vec::new();
    dump_json(&mut text).unwrap();
    serde_json::from_slice(&text)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&text)))
}

/// Returns the group of a goroutine, and the goroutine.
fn found(dump: &Value, id: u64) -> (&Value, &Value) {
    let groups = dump["groups"].as_array().unwrap();
    let both = groups.iter().find_map(|group| {
        let goroutines = group["goroutines"].as_array().unwrap();
        Some((group, goroutines.iter().find(|goroutine| goroutine["id"] == id)?))
    });
    both.unwrap_or_else(|| panic!("no goroutine {id} in {dump:#}"))
}

/// Takes dumps until these goroutines are in one group that waits for a channel. Returns the dump.
fn until_grouped(ids: &[u64]) -> Value {
    loop {
        let dump = taken();
        let (group, _) = found(&dump, ids[0]);
        let count = group["goroutines"].as_array().unwrap().len();
        if group["state"] == "chan receive" && count == ids.len() {
            return dump;
        }
        yield_now();
    }
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn fields() {
    run(|| {
        let (_tx, rx) = bounded::<()>(0);
        let (tell, told) = bounded(3);
        let mut line = 0;
        for i in 0..3 {
            let (tell, rx) = (tell.clone(), rx.clone());
            let waits = move || {
                tell.send(goid()).unwrap();
                outer(&rx);
            };
            let name = if i == 0 { "first" } else { "" };
            with_labels([("part", "mail"), ("number", &i.to_string())], || {
                line = line!() + 1;
                Builder::new().name(name).go(waits).unwrap()
            });
        }
        let ids = [(); 3].map(|()| told.recv().unwrap());
        let dump = until_grouped(&ids);
        assert_eq!(dump["version"], 1);
        assert_eq!(keys(&dump), BTreeSet::from(["version", "goroutines", "groups"]));
        let groups = dump["groups"].as_array().unwrap();
        let counts = groups.iter().map(|group| group["goroutines"].as_array().unwrap().len());
        assert_eq!(dump["goroutines"], counts.sum::<usize>());

        let (group, _) = found(&dump, ids[0]);
        let expected = ["state", "locked_to_thread", "system", "stack", "frames", "created", "goroutines"];
        assert_eq!(keys(group), BTreeSet::from(expected));
        assert_eq!(group["locked_to_thread"], false);
        assert_eq!(group["system"], false);
        assert_eq!(group["stack"], "all");
        let frames = group["frames"].as_array().unwrap();
        assert!(
            frames.iter().all(|frame| keys(frame) == BTreeSet::from(["function", "file", "line"])),
            "{group:#}"
        );
        let functions: Vec<&str> = frames.iter().filter_map(|frame| frame["function"].as_str()).collect();
        assert!(functions[0].ends_with("json::inner"), "the innermost comes first: {functions:?}");
        assert!(functions[1].ends_with("json::outer"), "{functions:?}");
        assert!(functions.iter().all(|name| !name.starts_with("gosched::runtime::")), "{functions:?}");
        assert_eq!(keys(&group["created"]), BTreeSet::from(["function", "file", "line", "column"]));
        assert_eq!(group["created"]["function"], Value::Null);
        assert_eq!(group["created"]["file"], file!());
        assert_eq!(group["created"]["line"], line);
        assert!(group["created"]["column"].is_u64());

        for (i, id) in ids.iter().enumerate() {
            let (_, goroutine) = found(&dump, *id);
            assert_eq!(keys(goroutine), BTreeSet::from(["id", "name", "parent", "waited_ms", "labels"]));
            assert_eq!(goroutine["parent"], goid());
            let number = goroutine["labels"]["number"].as_str().unwrap();
            assert_eq!(goroutine["labels"], json!({"part": "mail", "number": number}));
            assert_eq!(goroutine["name"], if number == "0" { json!("first") } else { Value::Null }, "{i}");
            assert!(goroutine["waited_ms"].is_null() || goroutine["waited_ms"].is_u64(), "{goroutine:#}");
        }
        let (mine, goroutine) = found(&dump, goid());
        assert_eq!(mine["state"].as_str().map(|state| state.starts_with("running")), Some(true), "{mine:#}");
        assert_eq!(goroutine["waited_ms"], Value::Null);
    });
}

#[test]
fn escapes() {
    const TEXT: &str = "\"quotes\" \\ \n\t\r\0\u{1b}\u{7f} ü \u{2028} \u{1f980}";
    run(|| {
        let (_tx, rx) = bounded::<()>(0);
        let (tell, told) = bounded(1);
        let waits = move || {
            tell.send(goid()).unwrap();
            outer(&rx);
        };
        with_labels([(TEXT, TEXT)], || Builder::new().name("a \"b\"\\\n").go(waits).unwrap());
        let dump = until_grouped(&[told.recv().unwrap()]);
        let groups = dump["groups"].as_array().unwrap();
        let mut all = groups.iter().flat_map(|group| group["goroutines"].as_array().unwrap());
        let found = all.find(|goroutine| goroutine["name"] == "a \"b\"\\\n").expect("its name");
        assert_eq!(found["labels"], json!({ TEXT: TEXT }));
    });
}

/// Parks for good.
unsafe extern "C" fn parks(_: *mut c_void) {
    // SAFETY: on a goroutine, which nobody makes ready.
    unsafe { proc::gopark(None, ptr::null_mut(), WaitReason::DebugCall, TraceBlockReason::Generic, 1) };
}

/// Its place of creation is a function.
#[test]
fn a_raw_goroutine() {
    run(|| {
        // SAFETY: it fits its stack.
        unsafe { proc::newproc(Some(parks), ptr::null_mut()) };
        loop {
            let dump = taken();
            let groups = dump["groups"].as_array().unwrap();
            let Some(group) = groups.iter().find(|group| group["state"] == WaitReason::DebugCall.as_str())
            else {
                yield_now();
                continue;
            };
            let made = group["created"]["function"].as_str().expect("a function has made it");
            assert!(made.contains("json::a_raw_goroutine"), "{group:#}");
            assert_eq!(group["created"]["column"], Value::Null);
            return;
        }
    });
}

/// A group that is longer than the pieces that are written.
#[test]
fn many_parts() {
    const N: usize = 2000;
    run(|| {
        let (_tx, rx) = bounded::<()>(0);
        let (tell, told) = bounded(N);
        for _ in 0..N {
            let (tell, rx) = (tell.clone(), rx.clone());
            let waits = move || {
                tell.send(goid()).unwrap();
                outer(&rx);
            };
            go(waits);
        }
        let ids: Vec<u64> = (0..N).map(|_| told.recv().unwrap()).collect();
        let dump = until_grouped(&ids);
        ids.iter().for_each(|id| _ = found(&dump, *id));
    });
}
