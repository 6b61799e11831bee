//! Changed and handmade traces: the bytes of batches and events.

use super::reader::{Batch, HEADER, Kind, Raw, generations};

/// A trace, as a file contains it.
#[derive(Clone, Default)]
pub struct Edited {
    pub batches: Vec<EditedBatch>,
}

#[derive(Clone)]
pub struct EditedBatch {
    pub generation: u64,
    pub thread: Option<u64>,
    pub time: u64,
    pub content: Content,
}

#[derive(Clone)]
pub enum Content {
    Events(Vec<Raw>),
    Table(Vec<u8>),
}

impl Edited {
    /// Parses a trace that can be read.
    pub fn new(trace: &[u8]) -> Edited {
        let batches = generations(trace).unwrap().flat_map(|generation| generation.unwrap());
        Edited { batches: batches.map(EditedBatch::new).collect() }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = HEADER.to_vec();
        self.batches.iter().for_each(|batch| batch.write(&mut bytes));
        bytes
    }

    /// Appends a batch of a thread's events, each a moment after the one before.
    pub fn thread(mut self, generation: u64, m: u64, events: &[(Kind, &[u64])]) -> Edited {
        let first = 1000 * self.batches.len() as u64;
        let mut time = first;
        let event = |&(kind, numbers): &(Kind, &[u64])| {
            time += 1;
            let mut args = [0; 4];
            args[..numbers.len()].copy_from_slice(numbers);
            Raw { kind, time, args }
        };
        let content = Content::Events(events.iter().map(event).collect());
        self.batches.push(EditedBatch { generation, thread: Some(m), time: first, content });
        self
    }

    /// Adds a batch that begins with `kinds`, and has these numbers.
    pub fn table(mut self, generation: u64, kinds: &[u8], numbers: &[u64]) -> Edited {
        let mut table = kinds.to_vec();
        numbers.iter().for_each(|&number| write_number(&mut table, number));
        self.batches.push(EditedBatch { generation, thread: None, time: 0, content: Content::Table(table) });
        self
    }
}

impl EditedBatch {
    fn new(batch: Batch<'_>) -> EditedBatch {
        let Batch { generation, thread, time, .. } = batch;
        if !batch.has_events() {
            return EditedBatch { generation, thread, time, content: Content::Table(batch.data.0.to_vec()) };
        }
        let (mut data, mut last) = (batch.data, time);
        let mut events = Vec::new();
        while !data.is_empty() {
            let event = Raw::read(&mut data, last).unwrap();
            last = event.time;
            events.push(event);
        }
        EditedBatch { generation, thread, time, content: Content::Events(events) }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        let content = match &self.content {
            Content::Table(table) => table.clone(),
            Content::Events(events) => {
                let (mut content, mut last) = (Vec::new(), self.time);
                for event in events {
                    content.push(event.kind as u8);
                    write_number(&mut content, event.time - last);
                    event.args[..event.kind.roles().len()]
                        .iter()
                        .for_each(|&arg| write_number(&mut content, arg));
                    last = event.time;
                }
                content
            }
        };
        bytes.push(1);
        for number in [self.generation, self.thread.unwrap_or(u64::MAX), self.time, content.len() as u64] {
            write_number(bytes, number);
        }
        bytes.extend(content);
    }
}

fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}
