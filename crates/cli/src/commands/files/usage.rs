//! `terrace fs df` tells how the space of a drive or a directory is used: bytes free, used and
//! dead, files and bytes by kind, and zones by state and by use.

use std::collections::BTreeMap;
use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};
use terrace::ByteCount;
use terrace_env::store::{FileKind, SpaceInfo};
use terrace_fs::DeviceUsage;

use super::super::target::Target;
use super::super::zones::{dead_name_of, list_devices, use_name};
use super::listing::kind_name;
use super::opened::Opened;
use crate::escape::Visible;
use crate::failure::Failure;
use crate::output::Output;

const KINDS: [FileKind; 3] = [FileKind::Table, FileKind::Log, FileKind::Client];

/// Tell how the space is used.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace fs df files.img")]
pub(crate) struct Usage {
    #[command(flatten)]
    target: Target,
}

/// Files of one kind.
#[derive(Clone, Copy, Default)]
struct Sum {
    files: u64,
    bytes: u64,
}

/// How many zones are in each state, or used for each purpose, in words.
type Zones = BTreeMap<&'static str, u64>;

impl Usage {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let opened = Opened::view(&self.target)?;
        let system = self.target.remembered_system(opened.store())?;
        let mut kinds = [Sum::default(); KINDS.len()];
        let mut names = 0;
        for file in opened.files.all() {
            names += file.names.len();
            for (kind, sum) in KINDS.iter().zip(&mut kinds) {
                if *kind == file.kind {
                    sum.files += 1;
                    sum.bytes += file.size;
                }
            }
        }
        let (mut states, mut uses) = (Zones::new(), Zones::new());
        for zone in opened.fs().map(terrace::Fs::zones).transpose()?.unwrap_or_default() {
            *states.entry(zone.state.name()).or_default() += 1;
            *uses.entry(use_name(zone.used_for)).or_default() += 1;
        }
        let devices = opened.fs().map(terrace::Fs::devices).unwrap_or_default();
        let space = opened.store().space();
        let of_kinds: Vec<Value> = KINDS
            .iter()
            .zip(&kinds)
            .map(|(kind, sum)| json!({ "kind": kind, "files": sum.files, "bytes": sum.bytes }))
            .collect();
        let json = json!({
            "space": space, "kinds": of_kinds, "names": names, "system": system,
            "zones_by_state": states, "zones_by_use": uses, "devices": devices,
        });
        output.result(&json, |out| {
            if let Some(system) = &system {
                writeln!(out, "holds a store under the system {}", Visible(system))?;
            }
            print_space(out, &space, dead_name_of(&devices))?;
            print_kinds(out, &kinds)?;
            print_zones(out, "zones by state", &states)?;
            print_zones(out, "zones by use", &uses)?;
            print_devices(out, &devices)
        })
    }
}

fn print_space(out: &mut dyn Write, space: &SpaceInfo, dead_name: &str) -> io::Result<()> {
    let SpaceInfo { capacity, free, live, dead, pinned, reserved, kept, for_puts } = space;
    writeln!(
        out,
        "capacity {capacity}: free {free}, used {live}, {dead_name} {dead}, pinned {pinned}"
    )?;
    writeln!(
        out,
        "for new files {for_puts}; kept for jobs that give space back {kept}, set aside {reserved}"
    )
}

fn print_kinds(out: &mut dyn Write, kinds: &[Sum]) -> io::Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["kind", "files", "size"]);
    for column in [1, 2] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for (kind, sum) in KINDS.iter().zip(kinds) {
        let size = ByteCount(sum.bytes).to_string();
        table.add_row([kind_name(*kind).to_owned(), sum.files.to_string(), size]);
    }
    writeln!(out, "{table}")
}

fn print_zones(out: &mut dyn Write, what: &str, zones: &Zones) -> io::Result<()> {
    if zones.is_empty() {
        return Ok(());
    }
    let counts: Vec<String> = zones.iter().map(|(name, count)| format!("{name} {count}")).collect();
    writeln!(out, "{what}: {}", counts.join(", "))
}

fn print_devices(out: &mut dyn Write, devices: &[DeviceUsage]) -> io::Result<()> {
    list_devices(out, devices, false)
}
