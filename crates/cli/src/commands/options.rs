//! `terrace options STORE`: shows the options that shape a store's tables, or changes the given
//! ones. The store remembers them. New tables are made with them; a table that is there keeps its
//! form until a merge takes it.
//!
//! [`Tables`] is the same options as `format` takes them.

use std::io::{self, Write};

use serde::Serialize;
use terrace::{ByteCount, LevelCompression, TableOptions};
use terrace_fs::Access;

use super::target::Target;
use crate::failure::Failure;
use crate::output::Output;

/// Show or change how a store's new tables are made.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace options drive.img
  terrace options drive.img --compression mixed --filter-bits 15")]
pub(crate) struct StoreOptions {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    tables: Tables,
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
    /// The names of those that were ever stated; the others are defaults.
    stated: Vec<&'static str>,
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
            stated: stated.map(|(name, _)| name).collect(),
        }
    }

    /// All of them in words, on one line.
    pub(crate) fn line(&self) -> String {
        let default = |name| if self.stated.contains(&name) { "" } else { " (default)" };
        let first_keys = match (self.stated.contains(&"first_keys"), self.first_keys) {
            (false, _) => "",
            (true, false) => ", no first keys in indexes",
            (true, true) => ", first keys in indexes",
        };
        format!(
            "compression {}{}, filters of {} bits for a key{}, blocks of {}{}{first_keys}",
            self.compression,
            default("compression"),
            self.filter_bits,
            default("filter_bits"),
            self.block_size,
            default("block_size"),
        )
    }
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
        if !self.tables.is_given() {
            let db = self.target.db(Access::ReadOnly)?;
            return Ok(Answer { remembered: Remembered::of(&db.table_options()), changed: false });
        }
        let db = self.target.db(Access::ReadWrite)?;
        let before = db.table_options();
        db.set_table_options(self.tables.stated())?;
        let after = db.table_options();
        db.close()?;
        Ok(Answer { remembered: Remembered::of(&after), changed: after != before })
    }
}

impl Answer {
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
