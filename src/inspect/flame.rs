//! A profile as a tree of functions, which the page draws as a flame graph.
//!
//! The tree is made from the file, a compressed `profile.proto`, so it shows what `go tool pprof`
//! shows. The last value of each sample counts: time, if the profile has one.

use std::collections::HashMap;
use std::io::Read;

use flate2::read::GzDecoder;

use crate::inspect::json::Json;

/// The most nodes that are sent. The smallest are left out.
const NODES: usize = 8000;

/// The most bytes of a profile, decompressed.
const PROFILE: u64 = 256 << 20;

/// Returns the tree of a compressed profile, as JSON; none if it is no profile.
///
/// `strings` has texts once. A node is `[parent, function, file, line, value]`, with the numbers of
/// a node and of two strings. A parent comes before its children, and the root is node 0.
pub(super) fn flame_graph(file: &[u8]) -> Option<String> {
    let mut bytes = Vec::new();
    GzDecoder::new(file).take(PROFILE).read_to_end(&mut bytes).ok()?;
    let profile = Parsed::of(&bytes)?;
    Some(Tree::of(&profile).to_json())
}

/// The value of a field of a message.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message of protocol buffers, with their numbers. Ends early if the message is
/// broken.
struct Fields<'a>(&'a [u8]);

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Field<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = varint(&mut self.0)?;
        let field = match key & 7 {
            0 => Field::Number(varint(&mut self.0)?),
            2 => {
                let len = usize::try_from(varint(&mut self.0)?).ok()?;
                let (bytes, rest) = self.0.split_at_checked(len)?;
                self.0 = rest;
                Field::Bytes(bytes)
            }
            _ => return None,
        };
        Some((key >> 3, field))
    }
}

/// Appends the numbers of a repeated field.
fn push_numbers(numbers: &mut Vec<u64>, field: &Field<'_>) {
    match field {
        Field::Number(number) => numbers.push(*number),
        Field::Bytes(bytes) => {
            let mut bytes = *bytes;
            numbers.extend(std::iter::from_fn(|| varint(&mut bytes)));
        }
    }
}

/// Returns the numbers of the fields `1` to `N` of a message, 0 for those that aren't there.
fn numbers<const N: usize>(message: &[u8]) -> [u64; N] {
    let mut found = [0; N];
    for (field, value) in Fields(message) {
        if let (Field::Number(number), Some(place)) = (value, found.get_mut((field as usize).wrapping_sub(1)))
        {
            *place = number;
        }
    }
    found
}

/// The name, the file (as numbers of strings) and the line of a frame.
type Frame = (u64, u64, u64);

/// The parts of a profile that a flame graph needs.
#[derive(Default)]
struct Parsed<'a> {
    strings: Vec<&'a str>,
    /// The kind and the unit of each value, as numbers of strings.
    values: Vec<[u64; 2]>,
    /// Each sample's locations, the innermost first, and its value.
    samples: Vec<(Vec<u64>, u64)>,
    /// The frames of each location, the innermost first.
    locations: HashMap<u64, Vec<Frame>>,
    /// In nanoseconds.
    duration: u64,
}

impl<'a> Parsed<'a> {
    fn of(bytes: &'a [u8]) -> Option<Parsed<'a>> {
        let mut parsed = Parsed::default();
        let mut lines: HashMap<u64, Vec<[u64; 2]>> = HashMap::new();
        let mut functions: HashMap<u64, [u64; 4]> = HashMap::new();
        for (number, field) in Fields(bytes) {
            match (number, field) {
                (1, Field::Bytes(kind)) => parsed.values.push(numbers(kind)),
                (2, Field::Bytes(sample)) => parsed.samples.push(sample_of(sample)),
                (4, Field::Bytes(location)) => {
                    let [id] = numbers(location);
                    let of_lines = Fields(location).filter_map(|(number, field)| match field {
                        Field::Bytes(line) if number == 4 => Some(numbers(line)),
                        _ => None,
                    });
                    lines.insert(id, of_lines.collect());
                }
                (5, Field::Bytes(function)) => {
                    let [id, name, system_name, file] = numbers(function);
                    functions.insert(id, [id, name, system_name, file]);
                }
                (6, Field::Bytes(text)) => parsed.strings.push(std::str::from_utf8(text).ok()?),
                (10, Field::Number(duration)) => parsed.duration = duration,
                _ => {}
            }
        }
        for (id, lines) in lines {
            let frames = lines.iter().filter_map(|[function, line]| {
                functions.get(function).map(|[_, name, _, file]| (*name, *file, *line))
            });
            parsed.locations.insert(id, frames.collect());
        }
        (!parsed.strings.is_empty()).then_some(parsed)
    }

    fn string(&self, number: u64) -> &'a str {
        self.strings.get(number as usize).copied().unwrap_or_default()
    }
}

fn sample_of(message: &[u8]) -> (Vec<u64>, u64) {
    let (mut locations, mut values) = (Vec::new(), Vec::new());
    for (number, field) in Fields(message) {
        match number {
            1 => push_numbers(&mut locations, &field),
            2 => push_numbers(&mut values, &field),
            _ => {}
        }
    }
    (locations, values.last().copied().unwrap_or(0))
}

/// A function in the place where its callers have called it.
struct Node {
    parent: usize,
    frame: Frame,
    value: u64,
}

/// Functions by their callers.
struct Tree<'a> {
    profile: &'a Parsed<'a>,
    nodes: Vec<Node>,
}

impl<'a> Tree<'a> {
    fn of(profile: &'a Parsed<'a>) -> Tree<'a> {
        let mut nodes = vec![Node { parent: 0, frame: (0, 0, 0), value: 0 }];
        // Functions that differ only in their line are one.
        let mut children: HashMap<(usize, u64, u64), usize> = HashMap::new();
        for (locations, value) in &profile.samples {
            nodes[0].value += value;
            let mut at = 0;
            for location in locations.iter().rev() {
                let frames = profile.locations.get(location).map_or(&[][..], Vec::as_slice);
                for frame in frames.iter().rev() {
                    at = *children.entry((at, frame.0, frame.1)).or_insert_with(|| {
                        nodes.push(Node { parent: at, frame: *frame, value: 0 });
                        nodes.len() - 1
                    });
                    nodes[at].value += value;
                }
            }
        }
        Tree { profile, nodes }
    }

    /// Returns the least value of nodes that are sent.
    fn least(&self) -> u64 {
        let mut values: Vec<u64> = self.nodes.iter().map(|node| node.value).collect();
        values.sort_unstable_by(|a, b| b.cmp(a));
        values.get(NODES).map_or(0, |value| value + 1)
    }

    fn to_json(&self) -> String {
        let least = self.least();
        let [kind, unit] = self.profile.values.last().copied().unwrap_or_default();
        let mut strings: Vec<&str> = Vec::new();
        let mut known: HashMap<u64, usize> = HashMap::new();
        let mut new_numbers = vec![0; self.nodes.len()];
        let mut sent = 0;
        Json::of_object(|json| {
            json.key("kind").string(self.profile.string(kind));
            json.key("unit").string(self.profile.string(unit));
            json.key("duration").number(self.profile.duration as f64 / 1e9);
            json.key("nodes").array(|json| {
                for (i, node) in self.nodes.iter().enumerate() {
                    // A parent's value isn't less than its child's.
                    if node.value < least && i != 0 {
                        continue;
                    }
                    new_numbers[i] = sent;
                    sent += 1;
                    let mut number_of = |string: u64| {
                        *known.entry(string).or_insert_with(|| {
                            strings.push(self.profile.string(string));
                            strings.len() - 1
                        })
                    };
                    let (name, file, line) = node.frame;
                    let (name, file) = (number_of(name), number_of(file));
                    json.array(|json| {
                        json.integer(new_numbers[node.parent]);
                        json.integer(name);
                        json.integer(file);
                        json.integer(line);
                        json.integer(node.value);
                    });
                }
            });
            json.key("strings").array(|json| strings.iter().for_each(|string| json.string(string)));
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message: keys, and numbers or messages.
    fn message(fields: &[(u8, &[u8])]) -> Vec<u8> {
        fields
            .iter()
            .flat_map(|(key, value)| [&[*key << 3 | 2, value.len() as u8], *value].concat())
            .collect()
    }

    #[test]
    fn a_tree_of_two_stacks() {
        // Functions 1 and 2, each at the location of its number; 2 calls 1.
        let profile = message(&[
            (1, &[8, 1, 16, 2]),
            (2, &message(&[(1, &[1, 2]), (2, &[5])])),
            (2, &message(&[(1, &[2]), (2, &[7])])),
            (4, &[&[8, 1][..], &message(&[(4, &[8, 1, 16, 10])])].concat()),
            (4, &[&[8, 2][..], &message(&[(4, &[8, 2, 16, 20])])].concat()),
            (5, &[8, 1, 16, 3, 32, 5]),
            (5, &[8, 2, 16, 4, 32, 5]),
            (6, b""),
            (6, b"cpu"),
            (6, b"nanoseconds"),
            (6, b"inner"),
            (6, b"<outer>"),
            (6, b"a.rs"),
        ]);
        let profile = Parsed::of(&profile).unwrap();
        let json = Tree::of(&profile).to_json();
        assert_eq!(
            json,
            "{\"kind\":\"cpu\",\"unit\":\"nanoseconds\",\"duration\":0,\"nodes\":[[0,0,0,0,12],[0,1,2,20,12],\
             [1,3,2,10,5]],\"strings\":[\"\",\"\\u003couter\\u003e\",\"a.rs\",\"inner\"]}"
        );
    }

    #[test]
    fn broken_profiles() {
        assert!(flame_graph(b"no gzip").is_none());
        assert!(Parsed::of(&[0x0a, 0xff]).is_none());
        assert!(varint(&mut &[0xff; 12][..]).is_none());
    }
}
