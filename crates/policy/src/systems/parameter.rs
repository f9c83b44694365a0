//! [`Parameter`]: a parameter of systems: its name, kind and range, the reason for the range, and
//! how it is read and written as text.
//!
//! [`Parameter::read`] refuses text that is no value of the kind, and values out of the range.
//! [`Parameter::check`] checks the range in a [`System`] that a program makes by setting fields.
//! Conditions between several parameters, or between a parameter and the store, are in
//! [`System::check`].

use terrace_env::{ByteCount, Limit, OutOfRange};

use super::System;

/// Kind of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Percent,
    Size,
    /// 1 for `on`, 0 for `off`.
    Switch,
    /// A word, by its number among these.
    Word(&'static [&'static str]),
}

/// A parameter of a system, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterText {
    /// Name, as in `--system NAME:parameter=value`.
    pub name: &'static str,
    /// Effect of the parameter, in a line.
    pub meaning: &'static str,
    /// Values that it may have, and the reason for their bounds.
    pub expected: String,
    /// Its value; `None` where the value is fitted to the store.
    pub value: Option<String>,
}

/// A column of the table of systems. [`ParameterText`] has its words.
#[derive(Clone, Copy)]
pub struct Parameter {
    /// Name of the parameter, its bounds, and the reason for them.
    pub(super) limit: Limit<u64>,
    /// Effect of the parameter, in a line.
    pub(super) meaning: &'static str,
    pub(super) kind: Kind,
    /// Sets it to a value within the limit.
    pub(super) set: fn(&mut System, u64),
    /// Its value; `None` where it is fitted to the store.
    pub(super) get: fn(&System) -> Option<u64>,
}

impl Parameter {
    /// Name of the parameter.
    pub(super) fn name(&self) -> &'static str {
        self.limit.option
    }

    /// Values that the parameter may have, and the reason for the bounds, in words.
    pub(super) fn expected(&self) -> String {
        let Limit { least, most, reason, .. } = self.limit;
        let [from, to] = [least, most].map(|value| compact(ByteCount(value)));
        match self.kind {
            Kind::Number => format!("a number from {least} to {most} ({reason})"),
            Kind::Percent => format!("a number of percent from {least} to {most} ({reason})"),
            Kind::Size => format!("a size such as 16MiB, from {from} to {to} ({reason})"),
            Kind::Switch => "on or off".to_owned(),
            Kind::Word(words) => format!("one of {}", words.join(", ")),
        }
    }

    /// Reads a value; `None` for one that the parameter cannot have.
    pub(super) fn read(&self, system: &mut System, text: &str) -> Option<()> {
        let value = match self.kind {
            Kind::Number | Kind::Percent => text.parse().ok()?,
            Kind::Size => text.parse::<ByteCount>().ok()?.0,
            Kind::Switch => u64::from(match text {
                "on" => true,
                "off" => false,
                _ => return None,
            }),
            Kind::Word(words) => words.iter().position(|word| *word == text)? as u64,
        };
        self.limit.check(value).ok()?;
        (self.set)(system, value);
        Some(())
    }

    /// Writes it; `None` where it is the row's own.
    pub(super) fn text(&self, system: &System) -> Option<String> {
        let value = (self.get)(system)?;
        if (self.get)(&System::of(system.row)) == Some(value) {
            return None;
        }
        self.show(value)
    }

    /// The parameter of a system, in words.
    pub(super) fn described(&self, system: &System) -> ParameterText {
        let value = (self.get)(system).and_then(|value| self.show(value));
        let (name, meaning, expected) = (self.name(), self.meaning, self.expected());
        ParameterText { name, meaning, expected, value }
    }

    fn show(&self, value: u64) -> Option<String> {
        Some(match self.kind {
            Kind::Number | Kind::Percent => value.to_string(),
            Kind::Size => compact(ByteCount(value)),
            Kind::Switch => if value > 0 { "on" } else { "off" }.to_owned(),
            Kind::Word(words) => (*words.get(usize::try_from(value).ok()?)?).to_owned(),
        })
    }

    /// Checks that it is within its range.
    pub(super) fn check(&self, system: &System) -> Result<(), OutOfRange> {
        let Some(value) = (self.get)(system) else { return Ok(()) };
        self.limit.check(value).map_err(|error| {
            let Limit { least, most, .. } = self.limit;
            let show = |value: u64| match self.kind {
                Kind::Size => ByteCount(value).to_string(),
                _ => value.to_string(),
            };
            let expected = format!("{} to {}", show(least), show(most)).into();
            let option = format!("{} of {}", self.name(), system.name()).into();
            OutOfRange { option, got: show(value).into(), expected, ..error }
        })
    }
}

/// A size in the largest unit that shows all of it.
fn compact(size: ByteCount) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let whole = units.iter().find(|(_, shift)| size.0.trailing_zeros() >= *shift && size.0 > 0);
    whole.map_or(size.0.to_string(), |(unit, shift)| format!("{}{unit}", size.0 >> shift))
}
