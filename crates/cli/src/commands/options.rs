//! `terrace options STORE`: shows the options that shape a store's tables, or changes the given
//! ones. The store remembers them. New tables are made with them; a table that is there keeps its
//! form until a merge takes it.
//!
//! With `--space` they are those of one key space, which is made if options are given and it is not
//! there. It has a time to live in addition.
//!
//! [`Tables`] is the same options as `format` takes them.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;
use terrace::{ByteCount, KeySpaceOptions, LevelCompression, TableOptions};
use terrace_fs::Access;

use super::duration::duration;
use super::entry::no_space;
use super::target::Target;
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// Show or change how the new tables of a store, or of one of its key spaces, are made.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace options drive.img
  terrace options drive.img --compression mixed --filter-bits 15
  terrace options drive.img --space sessions --ttl 30min --filter-bits 15")]
pub(crate) struct StoreOptions {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    tables: Tables,
    /// The key space whose own options these are; made if it is not there and options are given
    #[arg(long, value_name = "NAME")]
    space: Option<String>,
    /// How long an entry of the key space stays that is put without an expiry: `30min`, `7d`;
    /// `forever` for no end
    #[arg(long, value_name = "TIME", requires = "space", value_parser = ttl)]
    ttl: Option<Duration>,
}

fn ttl(text: &str) -> Result<Duration, String> {
    match text {
        "forever" => Ok(Duration::ZERO),
        text => duration(text).map_err(|wrong| format!("{wrong}; or `forever`")),
    }
}

/// Options of tables, as one types them.
#[derive(clap::Args)]
pub(crate) struct Tables {
    /// How tables are compressed: `none`, `lz4`, `zstd`, or `mixed`, which is LZ4, and Zstandard in
    /// the last level; or two of the first three, as in `none,zstd`, for the upper levels and the
    /// last
    #[arg(long, value_name = "CODEC")]
    compression: Option<LevelCompression>,
    /// Bits per key of the filters that tell absent keys without a read; 0: no filters
    #[arg(long, value_name = "BITS")]
    filter_bits: Option<u8>,
    /// The size of the blocks that tables are read by
    #[arg(long, value_name = "SIZE")]
    block_size: Option<ByteCount>,
    /// Whether indexes have the first key of each block: short scans of many runs read less, and
    /// indexes take more memory
    #[arg(long, value_name = "on|off", value_parser = on_off)]
    first_keys: Option<bool>,
}

fn on_off(text: &str) -> Result<bool, &'static str> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("expected `on` or `off`"),
    }
}

impl Tables {
    /// The options that were typed; those that were not are not stated.
    pub(crate) fn stated(&self) -> TableOptions {
        let Self { compression, filter_bits, block_size, first_keys } = *self;
        TableOptions { block_size, compression, filter_bits, first_keys }
    }

    /// Whether any was typed.
    fn is_given(&self) -> bool {
        self.stated() != TableOptions::default()
    }
}

/// Options that a store remembers, as they are printed.
#[derive(Serialize)]
pub(crate) struct Remembered {
    compression: LevelCompression,
    filter_bits: u8,
    block_size: ByteCount,
    first_keys: bool,
    /// How long entries of a key space stay that are put without an expiry, in milliseconds; 0: for
    /// ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    /// The names of those that were ever stated; the others are defaults, or those of the store.
    stated: Vec<&'static str>,
    #[serde(skip)]
    is_of_space: bool,
}

impl Remembered {
    pub(crate) fn of(tables: &TableOptions) -> Self {
        let shape = tables.shape();
        let stated = [
            ("compression", tables.compression.is_some()),
            ("filter_bits", tables.filter_bits.is_some()),
            ("block_size", tables.block_size.is_some()),
            ("first_keys", tables.first_keys.is_some()),
        ];
        let stated = stated.into_iter().filter(|(_, is_stated)| *is_stated);
        Self {
            compression: shape.compression,
            filter_bits: shape.filter_bits,
            block_size: shape.block_size,
            first_keys: shape.first_keys,
            ttl_ms: None,
            stated: stated.map(|(name, _)| name).collect(),
            is_of_space: false,
        }
    }

    /// Those of a key space with these options of its own, in a store with those of `tables`.
    pub(crate) fn of_space(own: &KeySpaceOptions, tables: &TableOptions) -> Self {
        let KeySpaceOptions { block_size, compression, filter_bits, ttl } = *own;
        let own = TableOptions { block_size, compression, filter_bits, first_keys: None };
        let Self { mut stated, .. } = Self::of(&own);
        stated.extend(ttl.map(|_| "ttl_ms"));
        let ttl_ms = ttl.unwrap_or_default().as_millis();
        let ttl_ms = Some(u64::try_from(ttl_ms).unwrap_or(u64::MAX));
        Self { ttl_ms, stated, is_of_space: true, ..Self::of(&own.or(*tables)) }
    }

    /// All of them in words, on one line.
    pub(crate) fn line(&self) -> String {
        let other = if self.is_of_space { " (of the store)" } else { " (default)" };
        let default = |name| if self.stated.contains(&name) { "" } else { other };
        let first_keys = match (self.stated.contains(&"first_keys"), self.first_keys) {
            (false, _) => "",
            (true, false) => ", no first keys in indexes",
            (true, true) => ", first keys in indexes",
        };
        let ttl = match self.ttl_ms {
            None => String::new(),
            Some(0) => ", entries stay".to_owned(),
            Some(ttl) => format!(", {}", stay(Duration::from_millis(ttl))),
        };
        format!(
            "compression {}{}, filters of {} bits for a key{}, blocks of {}{}{first_keys}{ttl}",
            self.compression,
            default("compression"),
            self.filter_bits,
            default("filter_bits"),
            self.block_size,
            default("block_size"),
        )
    }
}

/// The options that a key space has of its own, in words.
pub(crate) fn own_options(options: &KeySpaceOptions) -> String {
    let KeySpaceOptions { block_size, compression, filter_bits, ttl } = options;
    let parts = [
        compression.map(|compression| format!("compression {compression}")),
        filter_bits.map(|bits| format!("filters of {bits} bits for a key")),
        block_size.map(|size| format!("blocks of {size}")),
        ttl.map(|ttl| if ttl.is_zero() { "entries stay".to_owned() } else { stay(ttl) }),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn stay(ttl: Duration) -> String {
    format!("entries stay for {} s", ttl.as_secs_f64())
}

#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    remembered: Remembered,
    /// Whether this call has changed any.
    changed: bool,
}

impl StoreOptions {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let answer = self.answer().map_err(|failure| self.target.named(failure))?;
        output.result(&answer, |out| answer.print(out))
    }

    fn answer(&self) -> Result<Answer, Failure> {
        if let Some(space) = &self.space {
            return self.answer_of_space(space);
        }
        if !self.tables.is_given() {
            let db = self.target.db(Access::ReadOnly)?;
            return Ok(Answer::of(Remembered::of(&db.table_options()), false));
        }
        let db = self.target.db(Access::ReadWrite)?;
        let before = db.table_options();
        db.set_table_options(self.tables.stated())?;
        let after = db.table_options();
        db.close()?;
        Ok(Answer::of(Remembered::of(&after), after != before))
    }

    /// The options of a key space; those of the store that it has none of its own for.
    fn answer_of_space(&self, name: &str) -> Result<Answer, Failure> {
        let TableOptions { block_size, compression, filter_bits, first_keys } =
            self.tables.stated();
        if first_keys.is_some() {
            let message = "expected an option that a key space can have of its own, found \
                           `--first-keys`, which is of the whole store";
            return Err(Failure::new(Kind::Usage, message));
        }
        let stated = KeySpaceOptions { block_size, compression, filter_bits, ttl: self.ttl };
        let access = if stated.is_none() { Access::ReadOnly } else { Access::ReadWrite };
        let db = self.target.db(access)?;
        let (before, after) = if stated.is_none() {
            let space = db.key_space(name).map_err(|_| no_space(&db, name))?;
            (space.options(), space.options())
        } else {
            let space = db.create_key_space(name)?;
            let before = space.options();
            space.set_options(stated)?;
            (before, space.options())
        };
        let remembered = Remembered::of_space(&after, &db.table_options());
        if !stated.is_none() {
            db.close()?;
        }
        Ok(Answer::of(remembered, after != before))
    }
}

impl Answer {
    fn of(remembered: Remembered, changed: bool) -> Self {
        Self { remembered, changed }
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.remembered.line())?;
        if self.changed {
            writeln!(
                out,
                "new tables are made so; those that are there stay until they are merged"
            )?;
        }
        Ok(())
    }
}
