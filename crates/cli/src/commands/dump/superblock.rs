//! The superblock: every block that is marked as one, and which of them counts.

use std::io::{self, Write};

use serde_json::{Value, json};
use terrace_fs::inspect::Inspector;
use terrace_fs::superblock::{Placement, Splice, Superblock};

use super::report::Report;
use crate::escape;
use crate::failure::{Failure, Kind};

/// Dumps the superblocks.
pub(crate) fn dump(report: &mut Report<'_>, store: &Inspector) -> Result<(), Failure> {
    if store.superblocks().is_empty() {
        let message = "expected a superblock, found none; format the device first";
        return Err(Failure::new(Kind::Failed, message));
    }
    for seen in store.superblocks() {
        let (region, offset) = (&seen.region, seen.offset);
        let superblock = match &seen.superblock {
            Ok(superblock) => superblock,
            Err(error) => {
                report.damage(&format!("{region} at offset {offset}"), error)?;
                continue;
            }
        };
        report.part(
            || object(superblock, region, offset, seen.is_in_force),
            |out| {
                let which = if seen.is_in_force { "in force" } else { "older" };
                writeln!(out, "{region} at offset {offset}: {which}")?;
                text(out, superblock)
            },
        )?;
    }
    Ok(())
}

fn placement(superblock: &Superblock) -> String {
    match superblock.placement {
        Placement::File => "in a file".into(),
        Placement::Slots(zone) => format!("slots in conventional zone {zone}"),
        Placement::Log([first, second]) => format!("log of zones {first} and {second}"),
    }
}

fn text(out: &mut dyn Write, superblock: &Superblock) -> io::Result<()> {
    let Superblock { uuid, generation, features, shape, head, splices, options, .. } = superblock;
    let journal_end = superblock.journal_end;
    writeln!(out, "  store       {uuid}, generation {generation}")?;
    let (compat, incompat) = (features.compat, features.incompat);
    let read_only = features.read_only_compat;
    writeln!(
        out,
        "  features    compat {compat:#x}, ro-compat {read_only:#x}, incompat {incompat:#x}"
    )?;
    writeln!(
        out,
        "  made for    {} zones of {} logical blocks of {} bytes, {} of them writable, the last {}",
        shape.zones,
        shape.zone_size,
        shape.logical_block,
        shape.zone_capacity,
        shape.last_zone_size
    )?;
    writeln!(out, "  placement   {}", placement(superblock))?;
    writeln!(
        out,
        "  journal     head at {}, frame {} of epoch {}, chain {:#010x}",
        head.at, head.sequence, head.epoch, head.chain
    )?;
    writeln!(out, "              durable before frame {journal_end}")?;
    for Splice { sequence, at, epoch } in splices {
        writeln!(out, "  splice      from frame {sequence} on at {at}, epoch {epoch}")?;
    }
    writeln!(out, "  options     {} bytes: {}", options.len(), escape::hex(options))
}

fn object(superblock: &Superblock, region: &str, offset: u64, is_in_force: bool) -> Value {
    let Superblock { uuid, generation, features, shape, head, splices, options, .. } = superblock;
    let splices = splices.iter().map(|splice| {
        json!({
            "sequence": splice.sequence,
            "zone": splice.at.zone,
            "block": splice.at.block,
            "epoch": splice.epoch,
        })
    });
    json!({
        "part": "superblock",
        "region": region,
        "offset": offset,
        "in_force": is_in_force,
        "uuid": uuid.to_string(),
        "generation": generation,
        "compat": features.compat,
        "ro_compat": features.read_only_compat,
        "incompat": features.incompat,
        "logical_block": shape.logical_block,
        "zone_size": shape.zone_size,
        "zone_capacity": shape.zone_capacity,
        "zones": shape.zones,
        "last_zone_size": shape.last_zone_size,
        "placement": placement(superblock),
        "head": {
            "zone": head.at.zone,
            "block": head.at.block,
            "sequence": head.sequence,
            "epoch": head.epoch,
            "chain": head.chain,
        },
        "journal_end": superblock.journal_end,
        "splices": splices.collect::<Value>(),
        "options_hex": escape::hex(options),
    })
}
