//! [`Published`]: a published measurement of a real drive, as a drive file states it: the [`Job`]
//! that was measured, the resulting [`Metric`], and the source.
//!
//! This module runs no job. A drive file may leave out the size, depth, region and written share of
//! a job. They are then 0 bytes, depth 1, the whole drive and 0 %.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use terrace_env::ByteCount;

use super::quantity::{ParseQuantityError, parse};
use super::{Rate, Span};

/// Request that a benchmark sends to a drive again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Reads of consecutive blocks.
    SequentialRead,
    /// Writes at the pointer of one zone after the other.
    SequentialWrite,
    /// Reads at random blocks.
    RandomRead,
    /// Writes at random blocks: of conventional zones, and of drives that have no zones.
    RandomWrite,
    /// Appends to one zone after the other.
    Append,
    /// Resets of zones.
    Reset,
    /// Finishes of zones.
    Finish,
}

impl Pattern {
    /// Its name in drive files, tables and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SequentialRead => "sequential-read",
            Self::SequentialWrite => "sequential-write",
            Self::RandomRead => "random-read",
            Self::RandomWrite => "random-write",
            Self::Append => "append",
            Self::Reset => "reset",
            Self::Finish => "finish",
        }
    }
}

/// Which part of a drive is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Region {
    /// All of it: random requests anywhere; sequential ones at places spread evenly, averaged over
    /// time as if the drive were read or written from end to end.
    #[default]
    Whole,
    /// The first zones that are written sequentially: the outer diameter of a disk.
    Outer,
    /// Places half-way.
    Middle,
    /// The last: the inner diameter.
    Inner,
    /// The conventional zones.
    Conventional,
}

impl Region {
    /// Its name in drive files, tables and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Outer => "outer",
            Self::Middle => "middle",
            Self::Inner => "inner",
            Self::Conventional => "conventional",
        }
    }
}

/// A measurement: the settings that fio would get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The request that is repeated.
    pub pattern: Pattern,
    /// Bytes of a request; none for operations on zones.
    pub size: ByteCount,
    /// Requests in flight at once.
    pub depth: u32,
    /// Region of the drive.
    pub region: Region,
    /// For operations on zones: how much of a zone has been written, in hundredths.
    pub written: u64,
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pattern, size, depth, region, written } = self;
        match pattern {
            Pattern::Reset | Pattern::Finish => {
                write!(f, "{}, zone {written} % written", pattern.name())
            }
            _ => write!(f, "{} {size} x{depth}, {}", pattern.name(), region.name()),
        }
    }
}

/// A measured metric.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub enum Metric {
    /// Bytes per second.
    Rate(Rate),
    /// Requests per second.
    PerSecond(f64),
    /// The average time of a request.
    Latency(Span),
}

impl FromStr for Metric {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(iops) = parse(text, &[("IOPS", 1.0), ("KIOPS", 1e3)]) {
            return Ok(Self::PerSecond(iops));
        }
        let rate = text.parse().map(Self::Rate);
        rate.or_else(|_| text.parse().map(Self::Latency)).map_err(|_: ParseQuantityError| {
            ParseQuantityError::new("a rate, a time, or a number of IOPS or KIOPS", text)
        })
    }
}

impl TryFrom<String> for Metric {
    type Error = ParseQuantityError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => rate.fmt(f),
            Self::PerSecond(iops) if *iops >= 10_000.0 => {
                f.pad(&format!("{:.1} KIOPS", iops / 1e3))
            }
            Self::PerSecond(iops) => f.pad(&format!("{iops:.1} IOPS")),
            Self::Latency(span) => span.fmt(f),
        }
    }
}

/// A published measurement of a drive.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Line")]
pub struct Published {
    /// How it was measured, or how we read that it was.
    pub job: Job,
    /// The measured value.
    pub metric: Metric,
    /// The publication and place.
    pub source: String,
}

/// A published measurement as it stands in a drive file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    pattern: Pattern,
    #[serde(default)]
    size: Option<String>,
    #[serde(default)]
    depth: Option<u32>,
    #[serde(default)]
    region: Region,
    #[serde(default)]
    written: u64,
    metric: Metric,
    source: String,
}

impl TryFrom<Line> for Published {
    type Error = ParseQuantityError;

    fn try_from(line: Line) -> Result<Self, Self::Error> {
        let text = line.size.as_deref().unwrap_or("0");
        let size = text
            .parse()
            .map_err(|_| ParseQuantityError::new("a size such as 4KiB or 1MiB", text))?;
        let depth = line.depth.unwrap_or(1).max(1);
        let Line { pattern, region, written, metric, source, .. } = line;
        Ok(Self { job: Job { pattern, size, depth, region, written }, metric, source })
    }
}
