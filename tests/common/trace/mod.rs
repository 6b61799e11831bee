//! A reader of execution traces, as Go 1.23 writes them (and Go 1.22). It accepts what Go's own
//! reader accepts, and reports what is wrong with any other trace. It doesn't know the events of a
//! garbage collector. It is stricter than Go's reader in three cases: a state of number 0, a
//! goroutine that stops the world twice, and events of the same time on several threads, not all of
//! which can come.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `bytes.rs` | bytes and numbers |
//! | `event.rs` | `Event`: what a reader is told |
//! | `generation.rs` | `Generation`: batches, and the tables of strings and stacks |
//! | `kinds.rs` | `Kind`: Go's numbers of the events, and what each has |
//! | `order/` | `Order`: which of the threads' events comes next |

mod bytes;
mod event;
mod generation;
mod kinds;
mod order;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bytes::Bytes;
pub use bytes::Result;
pub use event::{Event, Go, Proc, What};
pub use generation::{Batch, Generation, Raw};
pub use kinds::{Kind, Role};
use order::Order;

/// The first bytes of a file.
pub const HEADER: &[u8; 16] = b"go 1.23 trace\0\0\0";
const OLDER_HEADER: &[u8; 16] = b"go 1.22 trace\0\0\0";

/// Returns the events of a trace, in order. Fails if any part of the trace is wrong.
pub fn read(trace: &[u8]) -> Result<Vec<Event>> {
    let (events, end) = read_whole_generations(trace);
    end.map(|()| events)
}

/// Returns the events before the place where the trace is cut off, or wrong. Then the second value
/// says how.
pub fn read_whole_generations(trace: &[u8]) -> (Vec<Event>, Result<()>) {
    let mut events = Vec::new();
    let end = read_into(trace, &mut events);
    (events, end)
}

fn read_into(trace: &[u8], events: &mut Vec<Event>) -> Result<()> {
    let mut order = Order::default();
    for generation in generations(trace)? {
        let generation = Generation::new(&generation?)?;
        merge(&generation, &mut order)?;
        events.append(&mut order.take());
    }
    Ok(())
}

/// Returns the batches of each generation. For a generation that is cut off, returns only that it
/// is.
pub fn generations(trace: &[u8]) -> Result<impl Iterator<Item = Result<Vec<Batch<'_>>>>> {
    let header = trace.first_chunk().ok_or("there is no header")?;
    if ![HEADER, OLDER_HEADER].contains(&header) {
        return Err(format!("the header is {:?}", String::from_utf8_lossy(header)));
    }
    let mut bytes = Bytes(&trace[header.len()..]);
    if bytes.is_empty() {
        return Err("there is no generation".into());
    }
    let mut first = Some(Batch::read(&mut bytes));
    Ok(std::iter::from_fn(move || {
        let batch = match first.take()? {
            Ok(batch) => batch,
            Err(why) => return Some(Err(why)),
        };
        let number = batch.generation;
        let mut batches = vec![batch];
        while !bytes.is_empty() {
            match Batch::read(&mut bytes) {
                Ok(batch) if batch.generation == number => batches.push(batch),
                Ok(batch) if batch.generation == number + 1 => {
                    first = Some(Ok(batch));
                    break;
                }
                Ok(batch) => {
                    let out = format!("generation {} comes after {number}", batch.generation);
                    return Some(Err(out));
                }
                Err(why) => {
                    first = Some(Err(why));
                    break;
                }
            }
        }
        Some(Ok(batches))
    }))
}

/// Makes the events of all threads come: the earliest first, or the earliest of those that can
/// come. (If the earliest can't come, and another one has the same time, Go's reader sorts them
/// anew, and may never look at the other one.)
fn merge(generation: &Generation, order: &mut Order) -> Result<()> {
    let mut next: BinaryHeap<_> = generation
        .threads
        .iter()
        .enumerate()
        .filter_map(|(thread, (_, events))| Some(Reverse((events.first()?.time, Reverse(thread), 0))))
        .collect();
    let mut sample = 0;
    while let Some(&Reverse((earliest, ..))) = next.peek() {
        while generation.samples.get(sample).is_some_and(|sample| sample.time < earliest) {
            order.sample(sample, generation)?;
            sample += 1;
        }
        let mut waiting = Vec::new();
        let came = loop {
            let Some(Reverse((time, Reverse(thread), i))) = next.pop() else { break false };
            let (m, events) = &generation.threads[thread];
            if order.advance(*m, &events[i], generation)? {
                next.extend(events.get(i + 1).map(|event| Reverse((event.time, Reverse(thread), i + 1))));
                break true;
            }
            let other = next.peek().is_some_and(|&Reverse((other, ..))| other == time);
            if waiting.is_empty() && other {
                return Err(format!(
                    "{:?} can't come at {time}, and another thread's event has that time",
                    events[i]
                ));
            }
            waiting.push(Reverse((time, Reverse(thread), i)));
        };
        if !came {
            let events: Vec<_> = waiting
                .iter()
                .map(|&Reverse((_, Reverse(thread), i))| {
                    let (m, events) = &generation.threads[thread];
                    (m, events[i])
                })
                .collect();
            return Err(format!(
                "in generation {}, none of these can come next: {events:?}",
                generation.number
            ));
        }
        next.extend(waiting);
    }
    (sample..generation.samples.len()).try_for_each(|sample| order.sample(sample, generation))
}
