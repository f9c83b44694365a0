//! Dumps the superblocks: one part for each block that is marked as a superblock. It says which one
//! is in force. A damaged superblock is reported, and the dump goes on. If no block is marked as
//! one, the dump fails.

use std::io::{self, Write};

use serde_json::{Value, json};
use terrace_fs::AddressSpace;
use terrace_fs::inspect::Inspector;
use terrace_fs::superblock::{Placement, Splice, Superblock};

use super::place::{addr_object, addr_text};
use super::printer::Printer;
use crate::escape;
use crate::failure::{Failure, Kind};

/// Dumps the superblocks.
pub(crate) fn dump(printer: &mut Printer<'_>, store: &Inspector) -> Result<(), Failure> {
    if store.superblocks().is_empty() {
        if let Some(error) = store.damage().first() {
            return Err(error.clone().into());
        }
        let message = "expected a superblock, found none; format the device first";
        return Err(Failure::new(Kind::Failed, message));
    }
    let space = &store.space();
    for seen in store.superblocks() {
        let (region, offset) = (&seen.region, seen.offset);
        let superblock = match &seen.superblock {
            Ok(superblock) => superblock,
            Err(error) => {
                printer.damage(&format!("{region} at offset {offset}"), error)?;
                continue;
            }
        };
        printer.part(
            || object(superblock, space, (region, offset), seen.is_in_force),
            |out| {
                let which = if seen.is_in_force { "in force" } else { "older" };
                writeln!(out, "{region} at offset {offset}: {which}")?;
                text(out, superblock, space)
            },
        )?;
    }
    Ok(())
}

fn placement(superblock: &Superblock, space: &AddressSpace) -> String {
    match superblock.placement {
        Placement::File => "in a file".into(),
        Placement::Slots(at) => format!("slots at {}", addr_text(at, space)),
        Placement::Log([first, second]) => {
            format!("log at {} and {}", addr_text(first, space), addr_text(second, space))
        }
    }
}

fn text(out: &mut dyn Write, superblock: &Superblock, space: &AddressSpace) -> io::Result<()> {
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
    let (device, devices) = (superblock.device, superblock.devices);
    writeln!(out, "  device      {device} of {devices}")?;
    if devices > 1 {
        let [last, next] = superblock.marks.map(|mark| format!("{}/{:08x}", mark.epoch, mark.tag));
        writeln!(out, "  marks       last {last}, next {next}")?;
    }
    writeln!(out, "  placement   {}", placement(superblock, space))?;
    writeln!(
        out,
        "  journal     head at {}, frame {} of epoch {}, chain {:#010x}",
        addr_text(head.at, space),
        head.sequence,
        head.epoch,
        head.chain
    )?;
    writeln!(out, "              durable before frame {journal_end}")?;
    for Splice { sequence, at, epoch } in splices {
        let at = addr_text(*at, space);
        writeln!(out, "  splice      from frame {sequence} on at {at}, epoch {epoch}")?;
    }
    writeln!(out, "  options     {} bytes: {}", options.len(), escape::hex(options))
}

fn object(
    superblock: &Superblock,
    space: &AddressSpace,
    (region, offset): (&str, u64),
    is_in_force: bool,
) -> Value {
    let Superblock { uuid, generation, features, shape, head, splices, options, .. } = superblock;
    let splices = splices.iter().map(|splice| {
        let besides = json!({ "sequence": splice.sequence, "epoch": splice.epoch });
        addr_object(splice.at, space, besides)
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
        "device": superblock.device,
        "devices": superblock.devices,
        "marks": superblock.marks.map(|mark| json!({ "epoch": mark.epoch, "tag": mark.tag })),
        "placement": placement(superblock, space),
        "head": addr_object(
            head.at,
            space,
            json!({ "sequence": head.sequence, "epoch": head.epoch, "chain": head.chain }),
        ),
        "journal_end": superblock.journal_end,
        "splices": splices.collect::<Value>(),
        "options_hex": escape::hex(options),
    })
}
