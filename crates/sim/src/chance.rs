//! Numbers that look random and are the same for the same seed, on every machine.

/// A sequence of such numbers.
///
/// # Source
///
/// `SplitMix64`: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 17.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number, of so many bits; at least one and at most 64.
    pub fn bits(&mut self, bits: u32) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) >> (64 - bits)
    }
}

/// Returns a part of a whole, such as a time in picoseconds: one of 1,024, each as likely, that depends on nothing but the time and the thread.
pub(crate) fn part_of(whole: u64, now: u64, thread: u32) -> u64 {
    const BITS: u32 = 10;
    let mut chance = Chance::new(now ^ u64::from(thread).rotate_right(16));
    let part = (u128::from(whole) * u128::from(chance.bits(BITS))) >> BITS;
    u64::try_from(part).unwrap_or(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_whole_are_spread_over_it() {
        let parts: Vec<u64> = (0..1_000).map(|now| part_of(100, now, 3)).collect();
        assert!(parts.iter().all(|&part| part < 100));
        let mean = parts.iter().sum::<u64>() / 1_000;
        assert!((45..55).contains(&mean), "{mean}");
        assert_eq!(part_of(100, 7, 3), parts[7]);
        assert_eq!(part_of(u64::MAX, 7, 3) >> 32, part_of(1 << 32, 7, 3) - 1);
    }

    #[test]
    fn the_sequence_is_that_of_the_authors_generator() {
        let mut chance = Chance::new(1_234_567);
        let first = [(); 3].map(|()| chance.bits(64));
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }
}
