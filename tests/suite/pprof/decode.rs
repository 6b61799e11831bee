//! Reads `profile.proto`.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use flate2::read::GzDecoder;

/// A field of a message.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    fn number(&self) -> u64 {
        match self {
            Value::Number(number) => *number,
            Value::Bytes(_) => panic!("a number was expected"),
        }
    }

    fn bytes(&self) -> &'a [u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::Number(_) => panic!("bytes were expected"),
        }
    }

    /// Returns the fields of a message, with their numbers.
    fn fields(&self) -> Vec<(u64, Value<'a>)> {
        fields(self.bytes())
    }

    /// Returns the numbers, one after the other.
    fn numbers(&self) -> Vec<u64> {
        let mut rest = self.bytes();
        let mut numbers = Vec::new();
        while !rest.is_empty() {
            numbers.push(varint(&mut rest));
        }
        numbers
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let end = bytes.iter().position(|byte| byte & 0x80 == 0).expect("the end of a number") + 1;
    let (number, rest) = bytes.split_at(end);
    *bytes = rest;
    number.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f))
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Value<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)),
            2 => {
                let len = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(len);
                bytes = rest;
                Value::Bytes(value)
            }
            other => panic!("a field of type {other}"),
        };
        fields.push((key >> 3, value));
    }
    fields
}

/// Returns the last number of a field in a message; 0 if there is none.
fn number(fields: &[(u64, Value<'_>)], of: u64) -> u64 {
    fields.iter().rev().find(|(field, _)| *field == of).map_or(0, |(_, value)| value.number())
}

/// A function in a stack.
#[derive(Clone, Debug)]
pub struct Frame {
    pub function: String,
    pub file: String,
    pub line: u64,
}

#[derive(Debug)]
pub struct Sample {
    /// The innermost function first, inlined functions included.
    pub stack: Vec<Frame>,
    pub values: Vec<i64>,
    pub labels: BTreeMap<String, String>,
}

impl Sample {
    /// Returns whether the stack has a function whose name ends with `function`.
    pub fn is_in(&self, function: &str) -> bool {
        self.stack.iter().any(|frame| frame.function.ends_with(function))
    }
}

#[derive(Debug)]
pub struct Mapping {
    pub file: String,
    pub build_id: String,
    pub has_functions: bool,
}

#[derive(Debug)]
pub struct Profile {
    /// The type and the unit of each value.
    pub types: Vec<(String, String)>,
    pub samples: Vec<Sample>,
    pub mappings: Vec<Mapping>,
    pub period: u64,
    pub nanoseconds: u64,
}

impl Profile {
    /// Reads the profile that `write` writes.
    pub fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Profile {
        let mut file = Vec::new();
        write(&mut file).unwrap();
        Profile::read(&file)
    }

    pub fn read(file: &[u8]) -> Profile {
        let mut bytes = Vec::new();
        GzDecoder::new(file).read_to_end(&mut bytes).expect("a file of gzip's");
        let profile = fields(&bytes);
        let all = |of: u64| profile.iter().filter(move |(field, _)| *field == of).map(|(_, value)| value);
        let strings: Vec<&str> =
            all(6).map(|value| str::from_utf8(value.bytes()).expect("a string")).collect();
        assert_eq!(strings.first(), Some(&""), "the first string");
        let string = |fields: &[(u64, Value<'_>)], of| strings[number(fields, of) as usize].to_owned();
        let functions: HashMap<u64, (String, String)> = all(5)
            .map(|value| value.fields())
            .map(|function| (number(&function, 1), (string(&function, 2), string(&function, 4))))
            .collect();
        let mappings = all(3).map(|value| value.fields()).map(|mapping| Mapping {
            file: string(&mapping, 5),
            build_id: string(&mapping, 6),
            has_functions: number(&mapping, 7) == 1,
        });
        let locations: HashMap<u64, Vec<Frame>> = all(4)
            .map(|value| value.fields())
            .map(|location| {
                let lines = location.iter().filter(|(field, _)| *field == 4).map(|(_, line)| line.fields());
                let frames = lines.map(|line| {
                    let (function, file) = functions[&number(&line, 1)].clone();
                    Frame { function, file, line: number(&line, 2) }
                });
                (number(&location, 1), frames.collect())
            })
            .collect();
        let samples = all(2).map(|value| value.fields()).map(|sample| {
            let numbers = |of: u64| {
                sample.iter().filter(move |(field, _)| *field == of).flat_map(|(_, value)| value.numbers())
            };
            let labels = sample.iter().filter(|(field, _)| *field == 3).map(|(_, value)| value.fields());
            Sample {
                stack: numbers(1).flat_map(|location| locations[&location].clone()).collect(),
                values: numbers(2).map(|value| value as i64).collect(),
                labels: labels.map(|label| (string(&label, 1), string(&label, 2))).collect(),
            }
        });
        let types = all(1).map(|value| value.fields()).map(|kind| (string(&kind, 1), string(&kind, 2)));
        Profile {
            types: types.collect(),
            samples: samples.collect(),
            mappings: mappings.collect(),
            period: number(&profile, 12),
            nanoseconds: number(&profile, 10),
        }
    }

    /// Returns the sum of a value over the samples whose stack has a function whose name ends with
    /// `function`.
    pub fn sum(&self, function: &str, value: usize) -> i64 {
        let samples = self.samples.iter().filter(|sample| sample.is_in(function));
        samples.map(|sample| sample.values[value]).sum()
    }

    /// Fails unless the values are of these types.
    pub fn has_types(&self, expected: &[(&str, &str)]) {
        let types: Vec<(&str, &str)> =
            self.types.iter().map(|(kind, unit)| (kind.as_str(), unit.as_str())).collect();
        assert_eq!(types, expected);
        assert!(self.samples.iter().all(|sample| sample.values.len() == expected.len()));
    }
}
