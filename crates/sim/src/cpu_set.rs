//! Sets of CPUs.

/// A set of CPUs, a bit each.
#[derive(Clone, Debug)]
pub(crate) struct CpuSet {
    words: Vec<u64>,
}

impl CpuSet {
    /// Returns an empty set of some of so many CPUs.
    pub fn none(cpus: u32) -> Self {
        Self {
            words: vec![0; (cpus as usize).div_ceil(64)],
        }
    }

    /// Returns the set of so many CPUs.
    pub fn all(cpus: u32) -> Self {
        let mut all = Self::none(cpus);
        for cpu in 0..cpus {
            all.insert(cpu);
        }
        all
    }

    pub fn insert(&mut self, cpu: u32) {
        self.words[cpu as usize / 64] |= 1 << (cpu % 64);
    }

    pub fn remove(&mut self, cpu: u32) {
        self.words[cpu as usize / 64] &= !(1 << (cpu % 64));
    }

    pub fn contains(&self, cpu: u32) -> bool {
        self.words[cpu as usize / 64] >> (cpu % 64) & 1 == 1
    }

    /// Returns the CPU with the lowest number.
    pub fn first(&self) -> Option<u32> {
        first_of(self.words.iter().copied())
    }

    /// Returns the CPU with the lowest number that is in both sets.
    pub fn first_common(&self, other: &Self) -> Option<u32> {
        first_of(self.words.iter().zip(&other.words).map(|(a, b)| a & b))
    }

    /// Returns the CPU with the lowest number that is in this set and not in the other.
    pub fn first_outside(&self, other: &Self) -> Option<u32> {
        first_of(self.words.iter().zip(&other.words).map(|(a, b)| a & !b))
    }

    /// Returns the CPUs in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let words = self.words.iter().enumerate();
        words.flat_map(|(index, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(index as u32 * 64 + bit)
            })
        })
    }
}

fn first_of(words: impl Iterator<Item = u64>) -> Option<u32> {
    let mut words = words.enumerate();
    words
        .find(|(_, word)| *word != 0)
        .map(|(index, word)| index as u32 * 64 + word.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_come_in_the_order_of_their_numbers() {
        let mut set = CpuSet::none(200);
        assert_eq!(set.first(), None);
        for cpu in [130, 5, 63, 64] {
            set.insert(cpu);
        }
        set.remove(64);
        assert!(set.contains(63) && !set.contains(64));
        assert_eq!(set.iter().collect::<Vec<_>>(), [5, 63, 130]);
        let mut other = CpuSet::all(200);
        other.remove(5);
        assert_eq!(set.first_common(&other), Some(63));
        assert_eq!(set.first_outside(&other), Some(5));
        assert_eq!(CpuSet::all(65).iter().count(), 65);
    }
}
