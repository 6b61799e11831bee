//! Traces in which one event is changed: the reader must notice. Otherwise reading a trace would
//! prove little.
//!
//! - An event gets another sequence number in its goroutine or its P, or names another goroutine or
//!   P. That is never right.
//! - Two neighbours in a thread's batch change places. If both change what the thread has (its P,
//!   its goroutine), that is never right, except for the pairs in [`both_ways`]. If one could as
//!   well be nearby (a goroutine is made or woken, a label is set), either the result is wrong, or
//!   each goroutine and each P does the same as before, in the same order.

use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use super::edit::{Content, Edited};
use super::made_up::some_of_all;
use super::reader::Kind::*;
use super::reader::{Event, Kind, Raw, Role, What, read};
use super::said::trace_of_some;
use crate::harness::rng::Rng;
use crate::harness::{Test, tests};

tests! {
    each_change_of_one_event_is_seen
    changes_of_a_programs_trace_are_seen
}

fn each_change_of_one_event_is_seen() {
    assert_seen("made_up", &some_of_all(), usize::MAX);
}

fn changes_of_a_programs_trace_are_seen(test: Test) {
    assert_seen("programs", &trace_of_some(test), 2_000);
}

/// A change of one event: the one in a batch, at an index.
#[derive(Clone, Copy, Debug)]
enum Mutation {
    /// One of the event's numbers, counted from the first, gets another value.
    Argument { batch: usize, index: usize, argument: usize, value: u64 },
    /// The event changes places with the next one.
    Swap { batch: usize, index: usize },
}

use Mutation::{Argument, Swap};

/// Changes a trace in at most `most` places, and fails if the reader doesn't notice.
///
/// If the environment variable `TRACE_MUTATIONS` names a folder, all changed traces are written
/// there, for another reader. In front of each are a byte, 1 if it was accepted, and its length, in
/// four bytes.
fn assert_seen(name: &str, trace: &[u8], most: usize) {
    let mut rng = Rng::seeded();
    let original = Edited::new(trace);
    let course = course(&read(trace).expect("it is right as it is"));
    let mut all = mutations(&original, &mut rng);
    assert!(all.len() > 80, "only {} can be changed", all.len());
    let folder = env::var_os("TRACE_MUTATIONS").map(PathBuf::from);
    let mut file = folder.map(|folder| BufWriter::new(File::create(folder.join(name)).expect("a file")));
    for i in 0..most.min(all.len()) {
        let other = i + rng.below(all.len() - i);
        all.swap(i, other);
        let mutation = all[i];
        let (changed, neighbours) = apply(&original, mutation);
        let bytes = changed.bytes();
        let outcome = read(&bytes);
        if let Some(file) = &mut file {
            file.write_all(&[outcome.is_ok().into()]).expect("room");
            file.write_all(&(bytes.len() as u32).to_le_bytes()).expect("room");
            file.write_all(&bytes).expect("room");
        }
        let Ok(events) = outcome else { continue };
        let may_be = matches!(mutation, Swap { .. }) && !must_keep(neighbours.map(|raw| raw.kind));
        assert!(may_be, "{mutation:?} isn't seen: {neighbours:?}");
        assert!(self::course(&events) == course, "{mutation:?} has others change: {neighbours:?}");
    }
}

/// Returns the possible changes.
fn mutations(trace: &Edited, rng: &mut Rng) -> Vec<Mutation> {
    let mut all = Vec::new();
    for (batch, content) in trace.batches.iter().map(|batch| &batch.content).enumerate() {
        let Content::Events(events) = content else { continue };
        for (index, event) in events.iter().enumerate() {
            let roles = event.kind.roles();
            let counted = roles.iter().position(|&role| role == Role::Sequence);
            for argument in counted.into_iter() {
                let value = event.args[argument];
                let further = value.wrapping_add(2 + rng.below(1 << 20) as u64);
                all.extend([value.wrapping_sub(1), value.wrapping_add(1), further].map(|value| Argument {
                    batch,
                    index,
                    argument,
                    value,
                }));
            }
            let named = roles.first().is_some_and(|role| matches!(role, Role::G | Role::P));
            if named && counted.is_some() {
                // No goroutine or P has such a number.
                let value = event.args[0] + (1 << 40);
                all.push(Argument { batch, index, argument: 0, value });
            }
            if index + 1 < events.len() {
                all.push(Swap { batch, index });
            }
        }
    }
    all
}

/// Returns the trace, changed, and the event with its next neighbour.
fn apply(trace: &Edited, mutation: Mutation) -> (Edited, [Raw; 2]) {
    let mut changed = trace.clone();
    let (Argument { batch, index, .. } | Swap { batch, index }) = mutation;
    let Content::Events(events) = &mut changed.batches[batch].content else {
        unreachable!("only events are changed")
    };
    let neighbours = [events[index], events[(index + 1).min(events.len() - 1)]];
    match mutation {
        Argument { argument, value, .. } => events[index].args[argument] = value,
        Swap { .. } => {
            let times = neighbours.map(|event| event.time);
            events.swap(index, index + 1);
            (events[index].time, events[index + 1].time) = (times[0], times[1]);
        }
    }
    (changed, neighbours)
}

/// Returns whether the event sets what its thread has from then on.
fn says_what_its_thread_has(kind: Kind) -> bool {
    matches!(
        kind,
        ProcStart
            | ProcStop
            | GoCreateSyscall
            | GoStart
            | GoDestroy
            | GoDestroySyscall
            | GoStop
            | GoBlock
            | GoSyscallBegin
            | GoSyscallEnd
            | GoSyscallEndBlocked
            | GoSwitch
            | GoSwitchDestroy
    )
}

/// Returns whether two such neighbours may be in either order: a goroutine in a system call needs
/// no P, and a P needs no goroutine.
fn both_ways(neighbours: [Kind; 2]) -> bool {
    matches!(
        neighbours,
        [ProcStart, GoSyscallEndBlocked | GoCreateSyscall]
            | [GoSyscallEndBlocked | GoCreateSyscall, ProcStart]
    )
}

/// Returns whether two neighbours mustn't change places.
fn must_keep(neighbours: [Kind; 2]) -> bool {
    neighbours.into_iter().all(says_what_its_thread_has) && !both_ways(neighbours)
}

/// Returns the events of each goroutine and of each P, in order.
fn course(events: &[Event]) -> BTreeMap<(&'static str, u64), Vec<String>> {
    let mut course: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for event in events {
        let (who, what) = match &event.what {
            What::Goroutine { g, from, to, reason, .. } => {
                (("goroutine", *g), format!("{from:?} {to:?} {reason}"))
            }
            What::Proc { p, from, to } => (("P", *p), format!("{from:?} {to:?}")),
            _ => continue,
        };
        course.entry(who).or_default().push(what);
    }
    course
}
