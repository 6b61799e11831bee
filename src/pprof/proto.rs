//! Messages of protocol buffers, as bytes: <https://protobuf.dev/programming-guides/encoding>.

/// A message that is being written, field by field.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

/// The wire types of fields: a number, or a length and then that number of bytes.
const VARINT: u64 = 0;
const LEN: u64 = 2;

impl Message {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// A number, in groups of seven bits, the lowest first.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Writes a number; 0 is left out, because a reader takes a missing field for 0.
    pub(super) fn number(&mut self, field: u64, value: u64) -> &mut Self {
        if value != 0 {
            self.varint(field << 3 | VARINT);
            self.varint(value);
        }
        self
    }

    pub(super) fn bytes(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        self.varint(field << 3 | LEN);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Writes several numbers. Negative ones are written as 64 bits.
    pub(super) fn numbers(&mut self, field: u64, values: impl IntoIterator<Item = u64>) -> &mut Self {
        let mut all = Message::default();
        values.into_iter().for_each(|value| all.varint(value));
        self.message(field, &all)
    }

    pub(super) fn message(&mut self, field: u64, message: &Message) -> &mut Self {
        self.bytes(field, &message.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the encoding's description.
    #[test]
    fn as_described() {
        let mut message = Message::default();
        message.number(1, 150).number(3, 0).bytes(2, b"testing").numbers(6, [3, 270, 86942]);
        let expected = b"\x08\x96\x01\x12\x07testing\x32\x06\x03\x8e\x02\x9e\xa7\x05";
        assert_eq!(message.into_bytes(), expected);
    }
}
