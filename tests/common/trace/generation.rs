//! A generation: the batches of each thread, and the tables that their events refer to.

use std::collections::HashMap;
use std::fmt::Display;
use std::mem;
use std::rc::Rc;

use super::bytes::{Bytes, Result};
use super::event::Frame;
use super::kinds::{Kind, tables};

/// The most that Go's reader takes.
const MOST_BYTES: u64 = 64 << 10;
const MOST_FRAMES: u64 = 128;
const LONGEST_STRING: u64 = 1 << 10;

/// The thread of batches that no thread wrote.
const NO_THREAD: u64 = u64::MAX;

/// A batch, as it stands in the file.
pub struct Batch<'a> {
    pub generation: u64,
    pub thread: Option<u64>,
    pub time: u64,
    pub data: Bytes<'a>,
}

impl<'a> Batch<'a> {
    /// The next batch in the file.
    pub fn read(bytes: &mut Bytes<'a>) -> Result<Batch<'a>> {
        if bytes.byte()? != tables::BATCH {
            return Err("what stands where a batch begins is none".into());
        }
        let (generation, thread, time, size) =
            (bytes.number()?, bytes.number()?, bytes.number()?, bytes.number()?);
        if generation == 0 {
            return Err("a batch is of generation 0".into());
        }
        if size > MOST_BYTES {
            return Err(format!("a batch has {size} bytes"));
        }
        let data = Bytes(bytes.take(size as usize)?);
        Ok(Batch { generation, thread: (thread != NO_THREAD).then_some(thread), time, data })
    }

    /// Whether it has events of a thread, in place of a table.
    pub fn has_events(&self) -> bool {
        let first = self.data.0.first();
        !first.is_some_and(|kind| (tables::STACKS..=tables::FREQUENCY).contains(kind))
    }

    /// Adds its events to its thread's.
    fn events(&self, events: &mut Vec<Raw>) -> Result<()> {
        let mut time = self.time;
        let mut data = self.data;
        while !data.is_empty() {
            let event = Raw::read(&mut data, time)?;
            time = event.time;
            events.push(event);
        }
        Ok(())
    }
}

/// An event, as it stands in the file. Its time is in units of the trace's clock.
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    pub kind: Kind,
    pub time: u64,
    pub args: [u64; 4],
}

impl Raw {
    /// The next event in a batch, after one at `before`.
    pub fn read(data: &mut Bytes<'_>, before: u64) -> Result<Raw> {
        let number = data.byte()?;
        let kind = Kind::of(number).ok_or_else(|| format!("an event is of the unknown kind {number}"))?;
        let time = before.checked_add(data.number()?).ok_or("a time has more than 64 bits")?;
        let mut args = [0; 4];
        for arg in args.iter_mut().take(kind.roles().len()) {
            *arg = data.number()?;
        }
        Ok(Raw { kind, time, args })
    }
}

/// A look of the profiler at what runs.
pub struct Sample {
    pub time: u64,
    pub m: u64,
    pub p: u64,
    pub g: Option<u64>,
    pub stack: u64,
}

/// A generation.
#[derive(Default)]
pub struct Generation {
    pub number: u64,
    /// Units of the clock in a second.
    frequency: Option<u64>,
    pub threads: Vec<(Option<u64>, Vec<Raw>)>,
    pub samples: Vec<Sample>,
    strings: HashMap<u64, Rc<str>>,
    stacks: HashMap<u64, Rc<[Frame]>>,
    /// The frames of each stack: a place in the program, its function, its file and the line. The
    /// strings come later.
    frames: Vec<(u64, Vec<[u64; 4]>)>,
}

impl Generation {
    /// What the batches of one generation say.
    pub fn new(batches: &[Batch<'_>]) -> Result<Generation> {
        let mut new = Generation { number: batches[0].generation, ..Generation::default() };
        for batch in batches {
            new.add(batch)?;
        }
        if new.frequency.is_none() {
            return Err("a generation doesn't say how fast its clock is".into());
        }
        for (id, frames) in mem::take(&mut new.frames) {
            let frame = |[pc, function, file, line]: [u64; 4]| {
                Ok(Frame { pc, function: new.string(function)?, file: new.string(file)?, line })
            };
            let frames = frames.into_iter().map(frame).collect::<Result<_>>()?;
            once("stack", id, id == 0 || new.stacks.insert(id, frames).is_some())?;
        }
        for sample in &new.samples {
            new.stack(sample.stack)?;
        }
        new.samples.sort_by_key(|sample| sample.time);
        Ok(new)
    }

    fn add(&mut self, batch: &Batch<'_>) -> Result<()> {
        if batch.has_events() {
            let thread = batch.thread;
            let found = self.threads.iter().position(|(other, _)| *other == thread).unwrap_or_else(|| {
                self.threads.push((thread, Vec::new()));
                self.threads.len() - 1
            });
            return batch.events(&mut self.threads[found].1);
        }
        let mut data = batch.data;
        match data.byte()? {
            tables::STRINGS => entries(data, tables::STRING, |data| self.add_string(data)),
            tables::STACKS => entries(data, tables::STACK, |data| self.add_stack(data)),
            tables::CPU_SAMPLES => entries(data, tables::CPU_SAMPLE, |data| self.add_sample(data)),
            tables::FREQUENCY => {
                let frequency = data.number()?;
                if self.frequency.replace(frequency).is_some() || frequency == 0 || !data.is_empty() {
                    return Err("a generation says twice how fast its clock is, or says 0".into());
                }
                Ok(())
            }
            kind => Err(format!("a batch begins with the lone entry {kind}")),
        }
    }

    fn add_string(&mut self, data: &mut Bytes<'_>) -> Result<()> {
        let (id, length) = (data.number()?, data.number()?);
        if length > LONGEST_STRING {
            return Err(format!("a string has {length} bytes"));
        }
        let text = String::from_utf8_lossy(data.take(length as usize)?).into();
        once("string", id, id == 0 || self.strings.insert(id, text).is_some())
    }

    fn add_stack(&mut self, data: &mut Bytes<'_>) -> Result<()> {
        let (id, frames) = (data.number()?, data.number()?);
        if frames > MOST_FRAMES {
            return Err(format!("a stack has {frames} frames"));
        }
        let mut all = Vec::new();
        for _ in 0..frames {
            all.push([data.number()?, data.number()?, data.number()?, data.number()?]);
        }
        self.frames.push((id, all));
        Ok(())
    }

    fn add_sample(&mut self, data: &mut Bytes<'_>) -> Result<()> {
        let (time, m, p) = (data.number()?, data.number()?, data.number()?);
        let g = Some(data.number()?).filter(|&g| g != 0);
        self.samples.push(Sample { time, m, p, g, stack: data.number()? });
        Ok(())
    }

    /// A time in nanoseconds.
    pub fn nanoseconds(&self, time: u64) -> u64 {
        let frequency = self.frequency.expect("a generation has one");
        (u128::from(time) * 1_000_000_000 / u128::from(frequency)) as u64
    }

    /// A string of the table. Number 0 is none.
    pub fn string(&self, id: u64) -> Result<Rc<str>> {
        if id == 0 {
            return Ok("".into());
        }
        self.strings.get(&id).cloned().ok_or_else(|| missing("string", id))
    }

    /// A stack of the table, the innermost frame first. Number 0 is none.
    pub fn stack(&self, id: u64) -> Result<Rc<[Frame]>> {
        if id == 0 {
            return Ok(Rc::new([]));
        }
        self.stacks.get(&id).cloned().ok_or_else(|| missing("stack", id))
    }
}

/// Reads a table's entries, which begin with their kind.
fn entries(mut data: Bytes<'_>, kind: u8, mut read: impl FnMut(&mut Bytes<'_>) -> Result<()>) -> Result<()> {
    while !data.is_empty() {
        let found = data.byte()?;
        if found != kind {
            return Err(format!("there is an entry {found} among the entries {kind}"));
        }
        read(&mut data)?;
    }
    Ok(())
}

fn once(what: &str, id: impl Display, again: bool) -> Result<()> {
    if again { Err(format!("{what} {id} is told of twice, or is none")) } else { Ok(()) }
}

fn missing(what: &str, id: u64) -> String {
    format!("an event names {what} {id}, which its generation doesn't have")
}
