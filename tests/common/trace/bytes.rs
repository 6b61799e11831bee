//! What a trace's bytes are made of.

/// What can't be read, and why: a sentence.
pub type Result<T> = std::result::Result<T, String>;

/// The bytes that are left.
#[derive(Clone, Copy)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(n)
            .ok_or_else(|| format!("{n} bytes of {} are asked for", self.0.len()))?;
        self.0 = rest;
        Ok(taken)
    }

    /// A number, seven bits in a byte, the lowest first.
    pub fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("a number has more than 64 bits".into())
    }
}
