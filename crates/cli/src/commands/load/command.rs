//! `terrace load IMAGE [FILE]`: stores entries that `scan --values` has printed, as text or, with
//! `--format json`, as JSON. The entries are durable when the command succeeds.
//!
//! - A line is an entry. A line that is no entry ends the command with an error that names its
//!   number ([`format`](super::format)).
//! - However the command ends - well, with an error, by Ctrl-C or another signal that can be waited
//!   for - it tells the line up to which all entries are stored, and durable ([`Sink`]).
//!   `--from-line` goes on from there. With `--sorted` that is all lines, or none of this command.
//! - When the input pauses, all lines so far are stored, and durable. A process that is killed
//!   during the pause loses no line before it.
//! - A last line of text without a newline may be whole, or the input was cut off in it: nothing
//!   tells. Its entry is stored, with a warning. After a signal such a line is not stored.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::json;
use terrace::{ByteCount, KEY_BYTES_MAX, VALUE_BYTES_MAX};

use super::format::Line;
use super::input::{Input, Next};
use super::records::{Reading, Record, Records};
use super::sink::Sink;
use crate::commands::entry::Space;
use crate::commands::target::Target;
use crate::commands::under::{Consent, Under};
use crate::escape::shown;
use crate::failure::{Failure, Kind};
use crate::output::{Output, counted};
use crate::progress::Progress;
use crate::signals;

/// The longest line: the largest entry, with every byte escaped.
const LINE_MAX: usize = 8 * (VALUE_BYTES_MAX + KEY_BYTES_MAX);

/// Store entries from a file or standard input, as `scan --values` prints them.
#[derive(clap::Args)]
#[command(after_help = "\
Text has a key, a tab and a value on each line. A backslash begins an escape, one of these:
  \\\\  a backslash      \\t  a tab      \\n  a line feed      \\r  a carriage return
  \\xff  a byte         \\u{1f600}  a character
So the tab-separated text `C:\\temp` has a tab in it; `C:\\\\temp` has a backslash, and with --raw
the first one has, too. Control characters, bytes that are not UTF-8 and a byte order mark are
refused, unless a flag takes them.

A load that ends early says up to which line all is stored; `--from-line` goes on after it.

Examples:
  terrace scan drive.img --values > entries.tsv
  terrace load zns.img entries.tsv
  terrace load zns.img entries.tsv --from-line 3
  terrace scan drive.img --values --hex | terrace load zns.img --hex
  terrace scan drive.img --values --json | terrace load plain --format json --sorted")]
pub(crate) struct Load {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    under: Under,
    #[command(flatten)]
    consent: Consent,
    /// The file; standard input if it is `-` or missing
    file: Option<PathBuf>,
    #[command(flatten)]
    space: Space,
    #[command(flatten)]
    reading: Reading,
    /// Pass over the lines before this one, which are stored already; lines count from 1
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true,
          value_parser = clap::value_parser!(u64).range(1..))]
    from_line: u64,
    /// The keys are in order, each once: they go into tables directly, and become visible as a
    /// whole or, after an error, not at all
    #[arg(long)]
    sorted: bool,
}

/// Counts of the input.
#[derive(Default)]
struct Tally {
    entries: u64,
    bytes: u64,
}

impl Load {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        if let Some(format) = self.reading.format() {
            self.reading.check(format)?;
        }
        let from_file = self.file.as_deref().filter(|path| *path != Path::new("-"));
        let name = from_file.unwrap_or(Path::new("standard input"));
        let at = |error: &io::Error| Failure::path(name, error);
        let (input, size): (Box<dyn Read + Send>, u64) = match from_file {
            Some(path) => {
                let file = File::open(path).map_err(|error| at(&error))?;
                let size = file.metadata().map_err(|error| at(&error))?.len();
                (Box::new(file), size)
            }
            None => (Box::new(io::stdin()), 0),
        };
        let named = |failure| self.target.named(failure);
        let db = self.target.db_made(&self.under, self.consent.create_store)?;
        let space = self.space.make(&db).map_err(named)?;
        let before = self.from_line - 1;
        let mut sink = Sink::new(&self.target, db, space, self.sorted, before)?;
        let progress = Progress::bytes("loading", size);
        let input = Input::new(input, LINE_MAX).map_err(|error| at(&error));
        let mut tally = Tally::default();
        let ended = input
            .and_then(|input| self.lines(input, name, &mut sink, &mut tally, (output, &progress)));
        let (stored, failure) = sink.end(ended.is_err());
        drop(progress);
        let failure = match (ended, failure) {
            (Err(wrong), later) => Some(wrong.and(later)),
            (Ok(()), failure) => failure,
        };
        match failure {
            Some(failure) => Err(told(failure, stored, self.sorted, before)),
            None => {
                let Tally { entries, bytes } = tally;
                let object =
                    json!({ "entries": entries, "bytes": bytes, "stored_up_to_line": stored });
                let printed = output.result(&object, |out| {
                    let (entries, bytes) = (counted(entries, "entry", "entries"), ByteCount(bytes));
                    let up_to = format!("stored up to line {stored}");
                    writeln!(out, "loaded {entries}, {bytes} of keys and values; {up_to}")
                });
                if printed.is_err() {
                    output.note(format_args!("stored up to line {stored}, the last one"));
                }
                printed
            }
        }
    }

    /// Reads all lines; ends early by the first failure.
    fn lines(
        &self,
        mut input: Input,
        name: &Path,
        sink: &mut Sink<'_>,
        tally: &mut Tally,
        (output, progress): (&Output, &Progress),
    ) -> Result<(), Failure> {
        let (mut line, mut is_described) = (Vec::new(), false);
        let mut records = Records::new(&self.reading, name, self.from_line);
        loop {
            let next = input.next(&mut line, sink.has_something()).map_err(|error| {
                let number = records.number() + 1;
                Failure::path(name, &error).while_doing(format!("line {number}"))
            })?;
            let is_whole = match next {
                Next::Line { is_whole } => is_whole,
                Next::Pause => {
                    sink.hand_over()?;
                    continue;
                }
                Next::Signal(signal) => {
                    let message = format!("ended by {}", signals::name(signal));
                    return Err(Failure::new(Kind::Signal(signal), message));
                }
                Next::End => return records.finish(),
            };
            progress.add(line.len() as u64 + u64::from(is_whole));
            let record = records.line(&line)?;
            if !is_described && let Some(how) = records.described() {
                output.note(format_args!("{}: {how}", shown(name)));
                is_described = true;
            }
            let number = records.number();
            match record {
                Record::Whole(Line::Entry(key, value)) => {
                    if !is_whole && records.may_be_cut() {
                        warn_of_cut(output, name, number);
                    }
                    tally.entries += 1;
                    tally.bytes += (key.len() + value.len()) as u64;
                    sink.put(number, &key, &value)?;
                }
                Record::Whole(Line::Other) if number >= self.from_line => sink.skip(number),
                Record::Whole(Line::Other) | Record::Open | Record::Before => {}
            }
        }
    }
}

/// Tells that the last line may not be whole.
fn warn_of_cut(output: &Output, name: &Path, number: u64) {
    output.note(format_args!(
        "warning: {}: line {number} ends without a newline; if the input was cut off there, the \
         value that is stored is not whole",
        shown(name)
    ));
}

/// A failure, with the line up to which all is stored.
fn told(mut failure: Failure, stored: u64, sorted: bool, before: u64) -> Failure {
    failure.stored_up_to_line = Some(stored);
    failure.message += &match (stored, sorted && stored == before) {
        (0, _) => "; stored up to line 0: nothing of the input is stored".to_owned(),
        (_, true) => {
            format!("; stored up to line {stored}, as before: with --sorted nothing else is")
        }
        (_, false) => {
            let next = stored.saturating_add(1);
            format!("; stored up to line {stored}: `--from-line {next}` goes on with the next")
        }
    };
    failure
}
