//! `terrace flush IMAGE`: writes all entries that are only in the log to tables. Later commands
//! then open the store without reading the log again.

use serde_json::json;
use terrace::ByteCount;

use super::target::Target;
use super::under::Under;
use crate::failure::Failure;
use crate::output::Output;

/// Write entries that are only in the log to tables, so that later openings need not read the log.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace flush drive.img")]
pub(crate) struct Flush {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    under: Under,
}

impl Flush {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let written = self.flush().map_err(|failure| self.target.named(failure))?;
        output.result(&json!({ "written": written }), |out| match written {
            0 => writeln!(out, "nothing to flush: all entries are in tables"),
            _ => writeln!(out, "flushed {} to tables", ByteCount(written)),
        })
    }

    /// Bytes of tables written.
    fn flush(&self) -> Result<u64, Failure> {
        let db = self.target.db_under(&self.under)?;
        db.flush()?;
        let written = db.stats().process.bytes.flush;
        db.close()?;
        Ok(written)
    }
}
