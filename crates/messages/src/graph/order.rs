//! The order in which operations that become free at once are seen to: sends, receives, work.
//!
//! LogGOPSim sorts them by that alone with the sort of the GNU C++ library, which keeps the order of equals for 16 and fewer
//! and not for more. The order decides who gets the CPU first, so that this does the same.
//!
//! # Source
//!
//! The algorithm: D. R. Musser, *Introspective Sorting and Selection Algorithms*, 1997, as `std::sort` of GCC does it.

/// Up to so many, insertion keeps equals in order.
const FEW: usize = 16;

/// Sorts by a key, as said above.
pub(super) fn sort_by_key<T: Copy>(items: &mut [T], key: impl Fn(&T) -> u8 + Copy) {
    partition(items, key);
    let few = items.len().min(FEW);
    for place in 1..few {
        let item = items[place];
        if key(&item) < key(&items[0]) {
            items.copy_within(0..place, 1);
            items[0] = item;
        } else {
            insert(items, place, key);
        }
    }
    for place in few..items.len() {
        insert(items, place, key);
    }
}

fn insert<T: Copy>(items: &mut [T], mut place: usize, key: impl Fn(&T) -> u8) {
    let item = items[place];
    while place > 0 && key(&item) < key(&items[place - 1]) {
        items[place] = items[place - 1];
        place -= 1;
    }
    items[place] = item;
}

fn partition<T: Copy>(mut items: &mut [T], key: impl Fn(&T) -> u8 + Copy) {
    while items.len() > FEW {
        let cut = around_median(items, key);
        let (left, right) = items.split_at_mut(cut);
        partition(right, key);
        items = left;
    }
}

/// Puts what is before the median of three to the left of what is behind it; returns where the right side begins.
fn around_median<T: Copy>(items: &mut [T], key: impl Fn(&T) -> u8) -> usize {
    let last = items.len() - 1;
    let before = |a: &T, b: &T| key(a) < key(b);
    let (a, b, c) = (1, items.len() / 2, last);
    let median = if before(&items[a], &items[b]) {
        if before(&items[b], &items[c]) {
            b
        } else if before(&items[a], &items[c]) {
            c
        } else {
            a
        }
    } else if before(&items[a], &items[c]) {
        a
    } else if before(&items[b], &items[c]) {
        c
    } else {
        b
    };
    items.swap(0, median);
    let pivot = items[0];
    let (mut low, mut high) = (1, items.len());
    loop {
        while before(&items[low], &pivot) {
            low += 1;
        }
        high -= 1;
        while before(&pivot, &items[high]) {
            high -= 1;
        }
        if low >= high {
            return low;
        }
        items.swap(low, high);
        low += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::sort_by_key;

    #[test]
    fn few_equals_keep_their_order() {
        let mut items: Vec<(u8, u32)> =
            (0..16).map(|number| ((number % 3) as u8, number)).collect();
        let mut stable = items.clone();
        stable.sort_by_key(|item| item.0);
        sort_by_key(&mut items, |item| item.0);
        assert_eq!(items, stable);
    }

    #[test]
    fn many_are_sorted_too() {
        for count in [17, 30, 100, 1_000] {
            let mut items: Vec<u8> = (0..count)
                .map(|number: u32| (number * 7 % 5) as u8)
                .collect();
            sort_by_key(&mut items, |item| *item);
            assert!(items.is_sorted());
        }
    }
}
