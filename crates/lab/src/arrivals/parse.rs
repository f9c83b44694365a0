//! The text form of a [`Process`]: a name, a colon, the rate in arrivals per second, and then
//! parameters, as in `b-model:1700,bias=0.75`.
//!
//! | text | parameters, with their defaults |
//! |---|---|
//! | `constant:RATE` | |
//! | `poisson:RATE` | |
//! | `b-model:RATE`, `self-similar:RATE` | `bias=0.75`, from 0.5 to 1; `span`, no default here |
//! | `sine:RATE`, `diurnal:RATE` | `amplitude=0.5`, `period=60`, `step`, `gaps`, `shape` |
//! | `curve:RATE/RATE/...`, `curve:FILE` | `step=1`, `gaps`, `shape` |
//!
//! - A rate is at most 10^9. It is at least 10^-6, but in a curve it may be 0.
//! - Times are in seconds, or have a unit: `ns`, `us`, `ms`, `min`, `h`, `s`. The shortest time is
//!   100 ns, the longest 10^9 s.
//! - The `step` of a sine, if given, is from a millionth to a half of the period. The `amplitude`
//!   is from 0 to 1.
//! - `gaps` is `exponential`, the default, or `pareto`. `shape`, from 1.001 to 100
//!   and 1.5 by default, is refused without `gaps=pareto`.
//! - The text after `curve:`, up to a comma, is the path of a file, unless it is a number, or
//!   numbers with slashes between them. The file has a rate on each line. Empty lines and lines
//!   that begin with `#` are passed over. The file is read when the text is parsed; a curve is
//!   printed with the rates themselves.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use terrace_env::text::{SETTINGS_MAX, read_file};

use super::{Envelope, Gaps, Process};

/// Units of time, with their seconds; of two that end alike the longer comes first.
const UNITS: [(&str, f64); 7] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("min", 60.0),
    ("h", 3600.0),
    ("d", 86_400.0),
    ("s", 1.0),
];

/// The longest time that can be given, in seconds: over 30 years.
const TIME_MAX: f64 = 1e9;

/// The highest rate, also in a curve: one arrival in a nanosecond.
const RATE_MAX: f64 = 1e9;

/// The most steps of a sine.
const STEPS_MAX: f64 = 1e6;

/// A text that is no process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcessError {
    /// There is no process of this name.
    #[error(
        "expected constant:RATE, poisson:RATE, b-model:RATE, sine:RATE, curve:RATE/RATE/... or \
         curve:FILE, found `{found}`"
    )]
    Name {
        /// Text found.
        found: String,
    },
    /// A process has no such parameter.
    #[error("{process}: expected {expected}, found `{found}`")]
    Parameter {
        /// The process.
        process: String,
        /// Parameters that it has.
        expected: String,
        /// Text found.
        found: String,
    },
    /// A value that cannot be.
    #[error("{what}: expected {expected}, found `{found}`")]
    Value {
        /// Which value.
        what: String,
        /// Values that can be.
        expected: String,
        /// Text found.
        found: String,
    },
    /// The file of a curve cannot be read.
    #[error("the curve {path}: {problem}")]
    Curve {
        /// The file.
        path: String,
        /// Message of the system.
        problem: String,
    },
}

impl FromStr for Process {
    type Err = ProcessError;

    fn from_str(text: &str) -> Result<Self, ProcessError> {
        let unknown = || ProcessError::Name { found: text.to_owned() };
        let (name, rest) = text.split_once(':').ok_or_else(unknown)?;
        let (head, parameters) = rest.split_once(',').map_or((rest, ""), |parts| parts);
        let known: &[&str] = match name {
            "constant" | "poisson" => &[],
            "b-model" | "self-similar" => &["bias", "span"],
            "sine" | "diurnal" => &["amplitude", "period", "step", "gaps", "shape"],
            "curve" => &["step", "gaps", "shape"],
            _ => return Err(unknown()),
        };
        let given = Given::read(name, known, parameters)?;
        let expected = "a rate per second from 10^-6 to 10^9";
        let rate = || number("the rate", head, 1e-6, RATE_MAX, expected);
        Ok(match name {
            "constant" => Self::Constant { rate: rate()? },
            "poisson" => Self::Poisson { rate: rate()? },
            "b-model" | "self-similar" => Self::SelfSimilar {
                rate: rate()?,
                bias: given.number("bias", 0.75, 0.5, 1.0, "a bias from 0.5 to 1")?,
                span: given.time("span")?,
            },
            "sine" | "diurnal" => given.sine(rate()?)?,
            _ => {
                let step = given.time("step")?.unwrap_or(Duration::from_secs(1));
                let envelope = curve(head, step)?;
                Self::Curve { envelope, gaps: given.gaps()? }
            }
        })
    }
}

/// Parameters of a text.
struct Given<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Given<'a> {
    fn read(process: &str, known: &[&str], text: &'a str) -> Result<Self, ProcessError> {
        let mut given: Vec<(&str, &str)> = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let pair = part.split_once('=').filter(|(key, _)| {
                known.contains(key) && !given.iter().any(|(other, _)| other == key)
            });
            let wrong = || {
                let expected = match known {
                    [] => "no parameters".to_owned(),
                    some => format!("each of {}= at most once", some.join("=, ")),
                };
                ProcessError::Parameter {
                    process: process.to_owned(),
                    expected,
                    found: part.to_owned(),
                }
            };
            given.push(pair.ok_or_else(wrong)?);
        }
        Ok(Self(given))
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    fn number(
        &self,
        key: &str,
        default: f64,
        least: f64,
        most: f64,
        expected: &str,
    ) -> Result<f64, ProcessError> {
        self.get(key).map_or(Ok(default), |text| number(key, text, least, most, expected))
    }

    fn time(&self, key: &str) -> Result<Option<Duration>, ProcessError> {
        self.get(key).map(|text| parse_time(key, text)).transpose()
    }

    fn gaps(&self) -> Result<Gaps, ProcessError> {
        let shape = self.get("shape").unwrap_or("1.5");
        let expected = "a shape above 1 and up to 100";
        let shape_number = number("shape", shape, 1.001, 100.0, expected)?;
        match self.get("gaps") {
            Some("pareto") => Ok(Gaps::Pareto(shape_number)),
            None | Some("exponential") if self.get("shape").is_none() => Ok(Gaps::Exponential),
            None | Some("exponential") => Err(wrong("shape", "gaps=pareto with it", shape)),
            Some(other) => Err(wrong("gaps", "exponential or pareto", other)),
        }
    }

    fn sine(&self, rate: f64) -> Result<Process, ProcessError> {
        let amplitude = "an amplitude from 0 to 1";
        let amplitude = self.number("amplitude", 0.5, 0.0, 1.0, amplitude)?;
        let period = self.time("period")?.unwrap_or(Duration::from_secs(60));
        let step = self.time("step")?;
        if let Some(step) = step
            && (step > period / 2 || period.as_secs_f64() / step.as_secs_f64() > STEPS_MAX)
        {
            let expected = "up to half of the period, and a millionth of it or more";
            return Err(wrong("step", expected, self.get("step").unwrap_or_default()));
        }
        Ok(Process::Sine { rate, amplitude, period, step, gaps: self.gaps()? })
    }
}

fn wrong(what: &str, expected: &str, found: &str) -> ProcessError {
    let (what, expected) = (what.to_owned(), expected.to_owned());
    ProcessError::Value { what, expected, found: found.to_owned() }
}

fn number(
    what: &str,
    text: &str,
    least: f64,
    most: f64,
    expected: &str,
) -> Result<f64, ProcessError> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| wrong(what, expected, text))
}

/// Reads a time from 100 ns on; a number without a unit is in seconds. `what` is said in an error.
pub fn parse_time(what: &str, text: &str) -> Result<Duration, ProcessError> {
    let unit = UNITS.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)));
    let (digits, seconds) = unit.unwrap_or((text, 1.0));
    let number: Option<f64> = digits.trim_end().parse().ok().map(|number: f64| number * seconds);
    let valid = number.filter(|number| (1e-7..=TIME_MAX).contains(number));
    let expected = "a time from 100ns to 11574d, such as 60, 500ms, 2h or 30d";
    valid.map(Duration::from_secs_f64).ok_or_else(|| wrong(what, expected, text))
}

/// Rates with slashes between them, or in a file.
fn curve(text: &str, step: Duration) -> Result<Envelope, ProcessError> {
    let inline: Option<Vec<f64>> = text.split('/').map(|rate| rate.parse().ok()).collect();
    let expected = "rates per second up to 10^9, none below 0, and one at least above";
    let is_rate = |rate: &f64| (0.0..=RATE_MAX).contains(rate);
    if let Some(rates) = inline {
        if !rates.iter().all(is_rate) {
            return Err(wrong("the curve", expected, text));
        }
        return Envelope::new(rates, step).ok_or_else(|| wrong("the curve", expected, text));
    }
    let problem = |problem: String| ProcessError::Curve { path: text.to_owned(), problem };
    let contents = read_file(Path::new(text), SETTINGS_MAX);
    let contents = contents.map_err(|error| problem(error.to_string()))?;
    let mut rates = Vec::new();
    for (line, number) in contents.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let rate = line.parse().ok().filter(is_rate);
        let wrong =
            || problem(format!("line {number}: expected a rate per second, found `{line}`"));
        rates.push(rate.ok_or_else(wrong)?);
    }
    Envelope::new(rates, step).ok_or_else(|| problem(format!("expected {expected}")))
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant { rate } => write!(f, "constant:{rate}"),
            Self::Poisson { rate } => write!(f, "poisson:{rate}"),
            Self::SelfSimilar { rate, bias, span } => {
                write!(f, "b-model:{rate},bias={bias}")?;
                span.map_or(Ok(()), |span| write!(f, ",span={}", span.as_secs_f64()))
            }
            Self::Sine { rate, amplitude, period, step, gaps } => {
                let period = period.as_secs_f64();
                write!(f, "sine:{rate},amplitude={amplitude},period={period}")?;
                if let Some(step) = step {
                    write!(f, ",step={}", step.as_secs_f64())?;
                }
                write!(f, ",{gaps}")
            }
            Self::Curve { envelope, gaps } => {
                let rates: Vec<String> = envelope.rates().iter().map(f64::to_string).collect();
                let step = envelope.step().as_secs_f64();
                write!(f, "curve:{},step={step},{gaps}", rates.join("/"))
            }
        }
    }
}

impl fmt::Display for Gaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exponential => f.write_str("gaps=exponential"),
            Self::Pareto(shape) => write!(f, "gaps=pareto,shape={shape}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_reads_back_and_other_names_are_understood() {
        for (text, printed) in [
            ("constant:1700", "constant:1700"),
            ("poisson:0.5", "poisson:0.5"),
            ("self-similar:1700", "b-model:1700,bias=0.75"),
            ("b-model:1700,span=2min,bias=0.65", "b-model:1700,bias=0.65,span=120"),
            ("sine:10", "sine:10,amplitude=0.5,period=60,gaps=exponential"),
            (
                "diurnal:10,period=24h,gaps=pareto,shape=1.1,step=250ms",
                "sine:10,amplitude=0.5,period=86400,step=0.25,gaps=pareto,shape=1.1",
            ),
            ("curve:1/2.5/0,step=60", "curve:1/2.5/0,step=60,gaps=exponential"),
        ] {
            let process: Process = text.parse().unwrap();
            assert_eq!(process.to_string(), printed);
            assert_eq!(printed.parse::<Process>().unwrap(), process);
        }
    }

    #[test]
    fn what_cannot_be_is_told_with_what_can() {
        for (text, message) in [
            ("poison:5", "expected constant:RATE, poisson:RATE, b-model:RATE, sine:RATE, "),
            ("poisson", "found `poisson`"),
            ("poisson:0", "the rate: expected a rate per second from 10^-6 to 10^9, found `0`"),
            ("poisson:1e300", "a rate per second from 10^-6 to 10^9, found `1e300`"),
            ("poisson:inf", "the rate: expected a rate per second from 10^-6 to 10^9, found `inf`"),
            ("poisson:5,bias=0.6", "poisson: expected no parameters, found `bias=0.6`"),
            ("b-model:5,bias=0.4", "bias: expected a bias from 0.5 to 1, found `0.4`"),
            ("b-model:5,bias", "b-model: expected each of bias=, span= at most once, found `bias`"),
            ("b-model:5,bias=.6,bias=.7", "at most once, found `bias=.7`"),
            (
                "b-model:5,span=1y",
                "span: expected a time from 100ns to 11574d, such as 60, 500ms, 2h or 30d",
            ),
            ("sine:5,gaps=normal", "gaps: expected exponential or pareto, found `normal`"),
            ("sine:5,shape=1.5", "shape: expected gaps=pareto with it, found `1.5`"),
            ("sine:5,gaps=pareto,shape=1", "shape: expected a shape above 1 and up to 100"),
            ("sine:5,period=10,step=6", "step: expected up to half of the period"),
            ("curve:0/0", "the curve: expected rates per second up to 10^9, none below 0, and one"),
            (
                "curve:5/1000000001",
                "up to 10^9, none below 0, and one at least above, found `5/100",
            ),
            ("curve:5/inf", "up to 10^9, none below 0, and one at least above, found `5/inf`"),
            ("curve:no-such-file", "the curve no-such-file: "),
        ] {
            let error = text.parse::<Process>().unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn a_curve_is_read_from_its_file_and_a_wrong_line_is_named() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let write = |file: &mut tempfile::NamedTempFile, text: &str| {
            std::io::Write::write_all(file, text.as_bytes()).unwrap();
            format!("curve:{},step=3", file.path().display())
        };
        let text = write(&mut file, "# of Tuesday\n100\n\n 50.5\n");
        let process: Process = text.parse().unwrap();
        assert_eq!(process.to_string(), "curve:100/50.5,step=3,gaps=exponential");
        let text = write(&mut file, "many\n");
        let error = text.parse::<Process>().unwrap_err().to_string();
        assert!(error.ends_with("line 5: expected a rate per second, found `many`"), "{error}");
    }
}
