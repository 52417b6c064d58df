//! The one place that knows bincode: little-endian, integers of variable length, nothing left over.
//!
//! bincode is at its last release. Its encoding is simple and written down, so a successor could be written here without
//! another file changing. Sealed traces and schedule files use it.

use bincode::{
    config::{self, Configuration},
    error::{DecodeError, EncodeError},
    serde::{decode_from_slice, encode_to_vec},
};
use serde::{Serialize, de::DeserializeOwned};

/// Why bytes could not be decoded, or a value not encoded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are no such value.
    #[error("{0}")]
    Decode(#[from] DecodeError),
    /// The value cannot be encoded.
    #[error("{0}")]
    Encode(#[from] EncodeError),
    /// The value ends before the bytes do.
    #[error("{0} bytes too many")]
    Excess(usize),
}

/// Encodes a value.
///
/// # Errors
///
/// When a value cannot be encoded; data in memory always can.
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, Error> {
    Ok(encode_to_vec(value, config::standard())?)
}

/// Decodes a value from all of the bytes.
///
/// A string claims its length in memory before its bytes are there, so hostile bytes could claim any amount. The limit
/// on claims must be a constant, and a claim can be eight times as long as what it is encoded in; hence the steps.
///
/// # Errors
///
/// When the bytes are no such value, or more than one.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    match bytes.len() {
        0..0x1_0000 => decode_up_to::<T, 0x10_0000>(bytes),
        0x1_0000..0x10_0000 => decode_up_to::<T, 0x100_0000>(bytes),
        0x10_0000..0x100_0000 => decode_up_to::<T, 0x1000_0000>(bytes),
        0x100_0000..0x1000_0000 => decode_up_to::<T, 0x1_0000_0000>(bytes),
        _ => decode_up_to::<T, 0x100_0000_0000>(bytes),
    }
}

/// Decodes a value that claims no more than a limit.
fn decode_up_to<T: DeserializeOwned, const LIMIT: usize>(bytes: &[u8]) -> Result<T, Error> {
    let limited: Configuration<_, _, config::Limit<LIMIT>> =
        config::standard().with_limit::<LIMIT>();
    let (value, used) = decode_from_slice(bytes, limited)?;
    match bytes.len() - used {
        0 => Ok(value),
        excess => Err(Error::Excess(excess)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_encode_to_one_byte_each_stay_below_the_limit() {
        for count in [10_usize, 70_000, 1_100_000] {
            let values = vec![(1_u64, Some(2_u64)); count];
            let decoded: Vec<(u64, Option<u64>)> = decode(&encode(&values).unwrap()).unwrap();
            assert_eq!(decoded, values);
        }
    }
}
