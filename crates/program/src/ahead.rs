//! Memory that is asked for before it is needed.

/// Asks for an entry of a slice, which may lie beyond its end: it is fetched while other work goes on.
///
/// A replay goes through the operations of many threads by turns. Each thread's lie one after the other, but processors that fetch
/// ahead by themselves give up where there are more than some dozen of such sequences.
#[inline]
pub(crate) fn fetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let entry = slice.as_ptr().wrapping_add(index);
        #[expect(
            unsafe_code,
            reason = "it is one instruction, which safe Rust has no name for"
        )]
        // SAFETY: A prefetch reads nothing and never faults, whatever the address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(entry.cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
