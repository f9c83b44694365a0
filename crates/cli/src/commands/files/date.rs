//! Times of modification: seconds since the beginning of 1970, UTC, as the plug-ins and `fs put`
//! give them. Zero stands for an unknown time.

use std::time::{Duration, SystemTime};

/// Seconds since the beginning of 1970; 0 for a time before it.
pub(super) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The time now.
#[expect(clippy::disallowed_methods, reason = "a file of a user has the time of day")]
pub(super) fn now() -> u64 {
    seconds(SystemTime::now())
}

/// The host's form of a time; `None` if it is unknown, or the host has no such time.
pub(super) fn of_host(modified: u64) -> Option<SystemTime> {
    let since = Duration::from_secs((modified > 0).then_some(modified)?);
    SystemTime::UNIX_EPOCH.checked_add(since)
}

/// A time in words, `2026-03-01 12:30:00`; `-` if it is unknown. A number that is no time of the
/// next millennia, because its unit is another one, is shown as it is.
pub(super) fn words(modified: u64) -> String {
    const DAY: u64 = 24 * 3600;
    // The year 10000.
    const END: u64 = 253_402_300_800;
    if modified == 0 {
        return "-".to_owned();
    }
    if modified >= END {
        return modified.to_string();
    }
    let (year, month, day) = civil(modified / DAY);
    let second = modified % DAY;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// Year, month and day of a day since the beginning of 1970.
fn civil(mut day: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    loop {
        let days = 365 + u64::from(is_leap(year));
        if day < days {
            break;
        }
        day -= days;
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    (year, month, day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_date() {
        for (modified, expected) in [
            (0, "-"),
            (1, "1970-01-01 00:00:01"),
            (951_782_400, "2000-02-29 00:00:00"),
            (951_868_800, "2000-03-01 00:00:00"),
            (1_767_225_599, "2025-12-31 23:59:59"),
            (1_767_225_600, "2026-01-01 00:00:00"),
            (1_735_603_200, "2024-12-31 00:00:00"),
            (1_735_689_600, "2025-01-01 00:00:00"),
            (4_107_542_400, "2100-03-01 00:00:00"),
            (253_402_300_799, "9999-12-31 23:59:59"),
            (1_767_225_599_000, "1767225599000"),
        ] {
            assert_eq!(words(modified), expected);
        }
        assert_eq!(of_host(7).map(seconds), Some(7));
        assert_eq!(of_host(0), None);
    }
}
