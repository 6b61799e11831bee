//! A hash function for numbers that no attacker chooses.

use std::hash::{BuildHasherDefault, Hasher};

/// Multiplies, and mixes the halves of the product.
#[derive(Default)]
pub(super) struct Fast(u64);

impl Hasher for Fast {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

pub(super) type FastMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Fast>>;
