//! A fast hash for the tables that every event is looked up in. Their keys come from our own recorder, not from an
//! adversary.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map with the fast hash.
pub(super) type FastMap<K, V> = HashMap<K, V, FastState>;

/// What makes the hashes.
pub(super) type FastState = BuildHasherDefault<Mixer>;

/// Multiplies and rotates, once a word.
#[derive(Clone, Copy, Default)]
pub(super) struct Mixer(u64);

impl Mixer {
    fn mix(&mut self, word: u64) {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(ODD);
    }
}

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        // The high bits are the well mixed ones, and tables use both ends.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.mix(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.mix(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.mix(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.mix(value.cast_unsigned() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_neighbours_do_not_collide() {
        let hashes: std::collections::BTreeSet<u64> = (0..10_000_u64)
            .map(|index| {
                let mut mixer = Mixer::default();
                mixer.write_u64(0x5555_0000_0000 + index * 64);
                mixer.finish()
            })
            .collect();
        assert_eq!(hashes.len(), 10_000);
    }
}
