//! Traces that the reader accepts, and its messages for wrong traces: traces of a few events.

use super::edit::{Content, Edited};
use super::reader::Kind::*;
use super::reader::{Go, HEADER, Proc, What, read, read_whole_generations};
use super::summary::Summary;
use crate::harness::tests;

tests! {
    what_is_right_is_taken
    what_is_wrong_is_said
    what_is_cut_off_is_read_as_far_as_it_goes
    clocks_that_differ_change_nothing
    a_summary_adds_up
}

/// The numbers of states, and the number that stands for no thread.
const RUNNING_P: u64 = 1;
const IDLE_P: u64 = 2;
const ABANDONED: u64 = 4;
const RUNNABLE: u64 = 1;
const RUNNING: u64 = 2;
const SYSCALL: u64 = 3;
const WAITING: u64 = 4;
const NOBODY: u64 = u64::MAX;

/// Thread 0 has P 0 and goroutine 1; thread 1 has P 1.
fn begun(generation: u64) -> Edited {
    Edited::default()
        .thread(generation, 0, &[(ProcStatus, &[0, RUNNING_P]), (GoStatus, &[1, 0, RUNNING])])
        .thread(generation, 1, &[(ProcStatus, &[1, RUNNING_P])])
}

/// The string with number 1.
const WHY: [u64; 5] = [1, 3, b'w' as u64, b'h' as u64, b'y' as u64];

/// Adds the tables that every generation has: a clock of a gigahertz, and a string.
fn ended(trace: Edited, generation: u64) -> Edited {
    trace.table(generation, &[8], &[1_000_000_000]).table(generation, &[4, 5], &WHY)
}

/// Returns a trace with some of everything that a scheduler does, in two generations.
pub fn some_of_all() -> Vec<u8> {
    let first = begun(1)
        .thread(1, 0, &[(GoCreate, &[7, 0, 0]), (GoCreate, &[8, 0, 0]), (GoCreateBlocked, &[9, 0, 0])])
        .thread(1, 0, &[(GoSyscallBegin, &[1, 0]), (GoSyscallEnd, &[]), (GoLabel, &[1]), (GoBlock, &[1, 0])])
        .thread(1, 0, &[(GoStart, &[7, 1]), (GoUnblock, &[1, 1, 0]), (GoSwitch, &[9, 1])])
        .thread(
            1,
            0,
            &[(STWBegin, &[1, 0]), (ProcsChange, &[2, 0]), (STWEnd, &[]), (GoSwitchDestroy, &[7, 2])],
        )
        .thread(
            1,
            0,
            &[(UserTaskBegin, &[1, 0, 1, 0]), (UserRegionBegin, &[1, 1, 0]), (GoSyscallBegin, &[2, 0])],
        )
        .thread(1, 1, &[(GoStart, &[8, 1]), (ProcSteal, &[0, 3, 0]), (GoStop, &[1, 0]), (GoStart, &[1, 2])])
        .thread(1, 1, &[(GoDestroy, &[]), (ProcStop, &[]), (ProcStart, &[0, 4])])
        .thread(1, 0, &[(GoSyscallEndBlocked, &[]), (ProcStart, &[1, 1]), (GoStart, &[7, 3])])
        .thread(1, 2, &[(GoCreateSyscall, &[10])]);
    let second = ended(first, 1)
        .thread(2, 2, &[(GoStatus, &[10, 2, SYSCALL]), (GoDestroySyscall, &[])])
        .thread(
            2,
            0,
            &[(ProcStatus, &[1, RUNNING_P]), (GoStatus, &[7, 0, RUNNING]), (UserRegionEnd, &[1, 1, 0])],
        )
        .thread(2, 0, &[(UserLog, &[1, 1, 1, 0]), (UserTaskEnd, &[1, 0]), (GoDestroy, &[]), (ProcStop, &[])])
        .thread(2, 1, &[(ProcStatus, &[0, RUNNING_P]), (GoStatusStack, &[8, NOBODY, RUNNABLE, 0])])
        .thread(2, 1, &[(ProcStop, &[]), (ProcStart, &[1, 1]), (GoStart, &[8, 1]), (GoBlock, &[1, 0])]);
    ended(second, 2).bytes()
}

fn what_is_right_is_taken() {
    let trace = begun(1)
        .thread(1, 0, &[(GoCreate, &[7, 0, 0]), (GoSyscallBegin, &[1, 0]), (GoSyscallEndBlocked, &[])])
        .thread(1, 1, &[(ProcSteal, &[0, 2, 0]), (GoStart, &[7, 1]), (GoBlock, &[1, 0])]);
    let events = read(&ended(trace, 1).bytes()).unwrap();
    let of_7: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.what {
            What::Goroutine { g: 7, from, to, reason, .. } => Some((event.at.m, *from, *to, &**reason)),
            _ => None,
        })
        .collect();
    let course = [
        (Some(0), Go::Absent, Go::Runnable, ""),
        (Some(1), Go::Runnable, Go::Running, ""),
        (Some(1), Go::Running, Go::Waiting, "why"),
    ];
    assert_eq!(of_7, course);
    let stolen = What::Proc { p: 0, from: Some(Proc::Running), to: Proc::Idle };
    assert!(events.iter().any(|event| event.what == stolen && event.at.m == Some(1)), "{events:?}");
}

fn what_is_wrong_is_said() {
    let of_0 = |events: &[_]| ended(begun(1).thread(1, 0, events), 1);
    let of_1 = |events: &[_]| ended(begun(1).thread(1, 1, events), 1);
    let second = |events: &[_]| ended(ended(begun(1), 1).thread(2, 0, events), 2);
    let cases = [
        ("can come next", of_1(&[(GoStart, &[1, 1])])),
        ("can come next", of_1(&[(GoCreate, &[7, 0, 0]), (GoStart, &[7, 2])])),
        ("can come next", of_1(&[(GoUnblock, &[1, 1, 0])])),
        ("can come next", of_1(&[(ProcStart, &[2, 1])])),
        ("can come next", of_1(&[(ProcSteal, &[0, 1, 0])])),
        ("can come next", of_0(&[(GoSyscallBegin, &[1, 0]), (GoSyscallEndBlocked, &[])])),
        ("can come next", of_0(&[(GoCreateBlocked, &[7, 0, 0]), (GoSwitch, &[7, 2])])),
        ("its thread has goroutine 1 still", of_0(&[(GoCreate, &[7, 0, 0]), (GoStart, &[7, 1])])),
        ("its thread has no goroutine", of_1(&[(GoBlock, &[1, 0])])),
        ("its thread has no goroutine", of_1(&[(GoLabel, &[1])])),
        ("its thread has no P", of_0(&[(ProcStop, &[]), (GoCreate, &[7, 0, 0])])),
        ("goroutine 1 is there already", of_0(&[(GoCreate, &[1, 0, 0])])),
        ("goroutine 1 is Syscall, not Running", of_0(&[(GoSyscallBegin, &[1, 0]), (GoBlock, &[1, 0])])),
        ("goroutine 1 is Running, not Syscall", of_0(&[(GoSyscallEnd, &[])])),
        ("the P's last event was", of_0(&[(GoSyscallBegin, &[2, 0])])),
        ("names string 5", of_0(&[(GoBlock, &[5, 0])])),
        ("names stack 5", of_0(&[(GoBlock, &[1, 5])])),
        ("twice", of_0(&[(STWBegin, &[1, 0]), (STWBegin, &[1, 0])])),
        ("twice", of_0(&[(STWEnd, &[])])),
        ("task 3 begins twice", of_0(&[(UserTaskBegin, &[3, 0, 1, 0]), (UserTaskBegin, &[3, 0, 1, 0])])),
        ("the innermost region", of_0(&[(UserRegionBegin, &[3, 1, 0]), (UserRegionEnd, &[4, 1, 0])])),
        ("unknown status", of_0(&[(GoStatus, &[7, NOBODY, 9])])),
        ("twice how fast", ended(begun(1).table(1, &[8], &[1]), 1)),
        ("how fast its clock is", begun(1)),
        ("string 1 is told of twice", ended(begun(1).table(1, &[4, 5], &WHY), 1)),
        ("among the entries", ended(begun(1).table(1, &[4, 7], &[]), 1)),
        ("goroutine 1 was Running, and is Runnable", second(&[(GoStatus, &[1, 0, RUNNABLE])])),
        ("P 0 was Running, and is Idle", second(&[(ProcStatus, &[0, IDLE_P])])),
        ("nobody has made it", second(&[(GoStatus, &[9, NOBODY, WAITING])])),
        // Sequence numbers begin anew in each generation, after the status.
        ("can come next", second(&[(ProcStop, &[]), (ProcStart, &[0, 1])])),
        ("generation 3 comes after 1", ended(begun(1), 1).thread(3, 0, &[])),
    ];
    for (i, (sentence, trace)) in cases.into_iter().enumerate() {
        let why = read(&trace.bytes()).map(|_| ()).expect_err(sentence);
        assert!(why.contains(sentence), "{i}: {why}, in place of: {sentence}");
    }
    let mut at_once =
        begun(1).thread(1, 0, &[(GoCreateBlocked, &[7, 0, 0])]).thread(1, 1, &[(GoUnblock, &[7, 1, 0])]);
    for batch in &mut at_once.batches {
        let Content::Events(events) = &mut batch.content else { unreachable!("no table is there yet") };
        batch.time = 5;
        events.iter_mut().for_each(|event| event.time = 5);
    }
    let why = read(&ended(at_once, 1).bytes()).map(|_| ()).expect_err("which is the first can't be seen");
    assert!(why.contains("another thread's event has that time"), "{why}");
    assert_eq!(read(HEADER).unwrap_err(), "there is no generation");
    assert_eq!(read(b"go 1.21 trace\0\0\0").unwrap_err(), "the header is \"go 1.21 trace\\0\\0\\0\"");
}

/// The reader reads each whole generation of a trace that is cut off.
fn what_is_cut_off_is_read_as_far_as_it_goes() {
    let first = ended(begun(1), 1);
    let again = [(ProcStatus, &[0, RUNNING_P][..]), (GoStatus, &[1, 0, RUNNING])];
    let both = ended(first.clone().thread(2, 0, &again), 2).bytes();
    let of_both = read(&both).unwrap();
    let of_first = of_both.iter().filter(|event| event.generation == 1).count();
    let from = first.bytes().len();
    for length in from..both.len() {
        let (events, end) = read_whole_generations(&both[..length]);
        assert!(events.len() >= of_first, "{length}: {end:?}");
        assert!(end.is_err() || length == from || events.len() == of_both.len(), "{length} is whole");
    }
}

/// The event that woke a goroutine comes first, even if its thread's clock was ahead.
fn clocks_that_differ_change_nothing() {
    let early = [(GoStart, &[7, 1][..]), (GoBlock, &[1, 0]), (GoStart, &[7, 3])];
    let late = [(GoCreate, &[7, 0, 0][..]), (GoUnblock, &[7, 2, 0])];
    let trace = ended(begun(1).thread(1, 1, &early).thread(1, 0, &late), 1);
    let events = read(&trace.bytes()).unwrap();
    assert!(events.is_sorted_by_key(|event| event.time), "{events:?}");
    assert_eq!(events.len(), 3 + early.len() + late.len());
    assert_eq!(Summary::of(&events).wakes[&(Some(1), 7)], 1);
}

fn a_summary_adds_up() {
    let mut trace = begun(1)
        .thread(1, 0, &[(GoCreate, &[7, 0, 0]), (GoSyscallBegin, &[1, 0]), (GoSyscallEndBlocked, &[])])
        .thread(1, 1, &[(ProcSteal, &[0, 2, 0]), (GoStart, &[7, 1]), (GoBlock, &[1, 0])])
        .thread(1, 2, &[(GoUnblock, &[7, 2, 0]), (ProcStatus, &[9, ABANDONED])]);
    let times = [&[0, 1][..], &[2], &[100, 110, 500], &[300, 310, 400], &[900, 1000]];
    for (batch, times) in trace.batches.iter_mut().zip(times) {
        let Content::Events(events) = &mut batch.content else { unreachable!("no table is there yet") };
        batch.time = 0;
        events.iter_mut().zip(times).for_each(|(event, &time)| event.time = time);
    }
    let summary = Summary::of(&read(&ended(trace, 1).bytes()).unwrap());
    let (main, made) = (&summary.goroutines[&1], &summary.goroutines[&7]);
    assert_eq!((main.running, main.syscalls, main.without_p, main.runnable), (109, 390, 200, 500));
    assert_eq!((made.maker, made.is_made, made.has_ended), (Some(1), true, false));
    assert_eq!((made.runnable, made.running), (210 + 100, 90));
    assert_eq!(made.waiting.iter().map(|(why, &time)| (&**why, time)).collect::<Vec<_>>(), [("why", 500)]);
    assert_eq!(summary.wakes.iter().collect::<Vec<_>>(), [(&(None, 7), &1)]);
}
