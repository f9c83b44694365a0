//! Units and ids as newtypes, so that an address is not taken for a size or for an id. A value can
//! be any number: whether there is such a zone or file is not checked.
//!
//! [`ByteCount`] reads sizes from text: `K` and `KiB` are 1024 bytes, `KB` is 1000, likewise M, G
//! and T, in small or capital letters. A number alone, or with `B`, is in bytes; so is one in
//! hexadecimal digits after `0x`. A size is printed in the largest of B, KiB, MiB, GiB and TiB that
//! it reaches, rounded to a tenth if it is no whole number of them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize,
            Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A device of a store, counted from 0.
    DeviceId(u16)
);
id!(
    /// A zone of a device, counted from 0 in address order.
    ZoneId(u32)
);
id!(
    /// A logical block address: the index of a logical block on a device.
    Lba(u64)
);
id!(
    /// A file of a [`Store`](crate::Store). Ids grow and are never used twice.
    FileId(u64)
);
id!(
    /// A write's place in the store's total order. 56 bits on the medium.
    SeqNo(u64)
);

impl DeviceId {
    /// The device of a store that has one.
    pub const FIRST: Self = Self(0);
}

impl SeqNo {
    /// The largest sequence number that fits the medium's 56 bits.
    pub const MAX: Self = Self((1 << 56) - 1);

    /// The number after this one.
    ///
    /// # Panics
    /// When the 56 bits are used up: at a million writes a second, in 2,283 years.
    #[must_use]
    pub fn next(self) -> Self {
        assert!(self < Self::MAX, "sequence numbers are used up");
        Self(self.0 + 1)
    }
}

/// The identity of a store or device, drawn at random when it is formatted.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Uuid(pub [u8; 16]);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A number of bytes. Prints as `16 MiB`, parses `16MiB`, `16 M`, `0x1000`, `1.5GiB`, `4096`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ByteCount(pub u64);

impl ByteCount {
    /// `n` KiB.
    #[must_use]
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// `n` MiB.
    #[must_use]
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// `n` GiB.
    #[must_use]
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }
}

const UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, shift) =
            UNITS.iter().find(|(_, s)| self.0 >> s > 0).copied().unwrap_or(("B", 0));
        let text = if self.0 & ((1 << shift) - 1) == 0 {
            format!("{} {name}", self.0 >> shift)
        } else {
            format!("{:.1} {name}", self.0 as f64 / (1u64 << shift) as f64)
        };
        f.pad(&text)
    }
}

impl ByteCount {
    /// The size to the byte, followed by the rounded one: `67108865 B (64.0 MiB)`. For messages
    /// where two sizes are to be told apart that may round to the same, such as a limit and a size
    /// beyond it.
    #[must_use]
    pub fn exact(self) -> impl fmt::Display {
        Exact(self)
    }
}

impl ByteCount {
    /// The size in one unit if that is exact, and else [to the byte](Self::exact): `4 MiB`, but
    /// `4190208 B (4.0 MiB)`. For sizes that were asked for, and for limits.
    #[must_use]
    pub fn unrounded(self) -> impl fmt::Display {
        Unrounded(self)
    }
}

/// See [`ByteCount::unrounded`].
struct Unrounded(ByteCount);

impl fmt::Display for Unrounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        if text.contains('.') { self.0.exact().fmt(f) } else { f.pad(&text) }
    }
}

/// See [`ByteCount::exact`].
struct Exact(ByteCount);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(size) = self;
        if size.0 < 1 << 10 { write!(f, "{size}") } else { write!(f, "{} B ({size})", size.0) }
    }
}

/// A size that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a size such as 4096, 256KiB, 16MiB, 1.5GiB or 14TB, found {text:?}")]
pub struct ParseByteCountError {
    text: String,
}

impl FromStr for ByteCount {
    type Err = ParseByteCountError;

    /// Reads a size. `K`, `KiB` are 1024 bytes; `KB` is 1000 bytes; likewise M, G, T.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseByteCountError { text: text.to_owned() };
        let trimmed = text.trim();
        if let Some(hex) = trimmed.strip_prefix("0x") {
            // The standard library reads a sign before the digits, too.
            let digits = Some(hex).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
            let size = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            return size.map(Self).ok_or_else(wrong);
        }
        let split =
            trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1 << 40,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => return Err(wrong()),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(factor).map(Self).ok_or_else(wrong);
        }
        let part: f64 = number.parse().map_err(|_| wrong())?;
        let bytes = part * factor as f64;
        if !bytes.is_finite() || bytes < 0.0 || bytes >= u64::MAX as f64 {
            return Err(wrong());
        }
        Ok(Self(bytes as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_back_what_they_print() {
        for bytes in [0, 1, 512, 4096, 16 << 20, 3 << 30, 14 << 40] {
            let size = ByteCount(bytes);
            assert_eq!(size.to_string().parse(), Ok(size));
        }
        assert_eq!("1.5GiB".parse(), Ok(ByteCount(3 << 29)));
        assert_eq!("14TB".parse(), Ok(ByteCount(14_000_000_000_000)));
        assert_eq!(" 0xFFFFffffFFFFffff".parse(), Ok(ByteCount(u64::MAX)));
    }

    #[test]
    fn exact_sizes_differ_where_rounded_ones_do_not() {
        let (limit, beyond) = (ByteCount::mib(64), ByteCount((64 << 20) + 1));
        assert_eq!(limit.exact().to_string(), "67108864 B (64 MiB)");
        assert_eq!(beyond.exact().to_string(), "67108865 B (64.0 MiB)");
        assert_eq!(ByteCount(99).exact().to_string(), "99 B");
        assert_eq!(beyond.unrounded().to_string(), "67108865 B (64.0 MiB)");
        assert_eq!(limit.unrounded().to_string(), "64 MiB");
    }

    #[test]
    fn a_wrong_size_says_what_was_expected() {
        let hexadecimal = ["0x", "0x+5", "0x-5", "0x10000000000000000", "0xg"];
        let decimal = ["", "MiB", "12 parsecs", "-4", "+4", "99999999999TiB", "1.2.3K", "."];
        for text in decimal.into_iter().chain(hexadecimal) {
            let error = text.parse::<ByteCount>().unwrap_err();
            assert!(error.to_string().contains("expected a size"), "{text}");
        }
    }
}
