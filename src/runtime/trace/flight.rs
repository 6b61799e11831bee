//! The flight recorder's memory: the last generations, whole.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use crate::runtime::trace::encoder::HEADER;

/// The generations that are kept.
pub(super) struct Flight {
    /// Those that are older, in nanoseconds, aren't needed.
    min_age: i64,
    /// How many bytes of them there may be; one may be larger.
    pub(super) max_bytes: usize,
    kept: VecDeque<Generation>,
    /// The present one, as far as it was written.
    current: Vec<u8>,
}

#[derive(Clone)]
struct Generation {
    /// When it ended, in nanoseconds.
    ended: i64,
    bytes: Arc<[u8]>,
}

/// What there was at one moment.
pub(crate) struct Recording(Vec<Arc<[u8]>>);

impl Flight {
    pub(super) fn new(min_age: Duration, max_bytes: usize) -> Flight {
        let min_age = i64::try_from(min_age.as_nanos()).unwrap_or(i64::MAX);
        Flight { min_age, max_bytes, kept: VecDeque::new(), current: Vec::new() }
    }

    pub(super) fn push(&mut self, bytes: Vec<u8>) {
        if self.current.is_empty() { self.current = bytes } else { self.current.extend_from_slice(&bytes) }
    }

    /// The present generation has ended, now.
    pub(super) fn end_generation(&mut self, now: i64) {
        let bytes = mem::take(&mut self.current).into();
        self.kept.push_back(Generation { ended: now, bytes });
        let is_old = |generation: &Generation| now - generation.ended > self.min_age;
        let mut bytes: usize = self.kept.iter().map(|generation| generation.bytes.len()).sum();
        // As many as have max_bytes without the first.
        while let Some(first) = self.kept.front()
            && self.kept.len() > 1
            && (bytes - first.bytes.len() >= self.max_bytes || is_old(first))
        {
            bytes -= first.bytes.len();
            self.kept.pop_front();
        }
    }

    pub(super) fn recording(&self) -> Recording {
        Recording(self.kept.iter().map(|generation| Arc::clone(&generation.bytes)).collect())
    }
}

impl Recording {
    /// Writes it as a trace; returns how many bytes that were.
    pub(crate) fn write_to(&self, out: &mut dyn Write) -> io::Result<u64> {
        out.write_all(HEADER)?;
        self.0.iter().try_for_each(|bytes| out.write_all(bytes))?;
        out.flush()?;
        Ok((HEADER.len() + self.0.iter().map(|bytes| bytes.len()).sum::<usize>()) as u64)
    }
}
