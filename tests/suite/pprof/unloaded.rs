//! Libraries that are unloaded before a profile names their code, or meanwhile.

use std::io;

use gosched::chan::bounded;
use gosched::pprof::{Profile, set_block_profile_rate, start_cpu_profile, stop_cpu_profile};
use gosched::run;

use super::decode;
use crate::harness::goroutines::go_when_this_waits;
use crate::harness::library::load;
use crate::harness::storm::storm;
use crate::harness::{Test, tests};
use crate::report::unloaded::{
    beside_one_that_comes_and_goes, calls, unload_when_named, was_unloaded, with_library,
};

tests! {
    code_that_goes_before_it_is_named
    code_that_goes_when_it_is_named
    #[slow] code_that_comes_and_goes
}

/// Returns the profile of a wait in a library that is unloaded when its code is named. The code
/// then has `names` names.
fn of_one_that_goes(names: u32) -> decode::Profile {
    set_block_profile_rate(1);
    let library = load();
    calls(&library, || {
        let (tx, rx) = bounded(0);
        let sends = go_when_this_waits(move || tx.send(()));
        assert!(rx.recv().is_ok());
        assert!(sends.join().unwrap().is_ok());
    });
    set_block_profile_rate(0);
    unload_when_named(library, names);
    let profile = decode::Profile::written(|file| Profile::Block.write_to(file));
    assert!(was_unloaded(), "the profile has asked");
    profile
}

fn code_that_goes_before_it_is_named(test: Test) {
    with_library(test, |named| {
        let process = test.process(|| {
            let profile = run(|| of_one_that_goes(0));
            // The library was there when the profile began.
            let library = profile.mappings.iter().find(|mapping| mapping.file.contains("unloaded.c"));
            assert!(!library.expect("its file is known").has_functions, "its functions aren't");
            assert!(profile.mappings[0].has_functions, "the program's are");
        });
        named(process).end().with("exit status: 0");
    });
}

/// The whole profile has the name that an address had when it was first named.
fn code_that_goes_when_it_is_named(test: Test) {
    with_library(test, |named| {
        let process = test.process(|| {
            let profile = run(|| of_one_that_goes(2));
            let named = |sample: &decode::Sample| {
                sample.stack.iter().filter(|frame| frame.function == "named").count()
            };
            assert!(profile.samples.iter().any(|sample| named(sample) == 2), "{profile:#?}");
        });
        named(process).end().with("exit status: 0");
    });
}

fn code_that_comes_and_goes(test: Test) {
    with_library(test, |named| {
        let process = test.process(|| {
            run(|| {
                beside_one_that_comes_and_goes(|| {
                    for _ in storm(20) {
                        start_cpu_profile().unwrap();
                        for _ in 0..10 {
                            Profile::Goroutine.write_to(&mut io::sink()).unwrap();
                        }
                        stop_cpu_profile(&mut io::sink()).unwrap();
                    }
                });
            });
        });
        named(process).env("GOMAXPROCS", "2").end().with("exit status: 0");
    });
}
