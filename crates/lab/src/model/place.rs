//! [`Place`]: the medium of a script's store: emulated drives in memory, or a device.
//!
//! The power of a device cannot be cut. In place of that, the store is dropped without a close. The
//! device keeps all written bytes, so less may be missing afterwards than after a power cut.

use std::sync::Arc;

use terrace::{Append, Db, FormatOptions, Fs, Options, TableOptions};
use terrace_env::random::{Random, RngCore};
use terrace_zone::emulator::Drives;
use terrace_zone::{Device, PowerCut};

use super::setting::Setting;

/// See the [module](self).
pub(super) enum Place {
    Drives(Drives),
    Device(Arc<dyn Device>),
}

impl Place {
    /// The drives of a setting, new and in memory.
    pub(super) fn emulated(setting: &Setting, random: &mut Random) -> Result<Self, String> {
        let shapes = [Some(setting.geometry.clone()), setting.second.clone()];
        let drives = Drives::in_memory(shapes.into_iter().flatten(), random.next_u64())
            .map_err(|error| error.to_string())?;
        let timing = random.next_u64();
        drives.set_timing(|| setting.timing(timing));
        Ok(Self::Drives(drives))
    }

    pub(super) fn format(&self, options: &FormatOptions) -> Result<(), String> {
        let formatted = match self {
            Self::Drives(drives) => Fs::format(drives, options),
            Self::Device(device) => Fs::format(Arc::clone(device), options),
        };
        formatted.map_err(|error| format!("format: {error}"))
    }

    /// Opens the store under any options: its remembered options for tables are changed to these.
    pub(super) fn open(&self, options: Options) -> Result<Db, String> {
        let (tables, changes) = (options.tables(), !options.read_only);
        let options = options.with_tables(TableOptions::default());
        let options = options.merge_operator(Append::new(b""));
        let opened = match self {
            Self::Drives(drives) => Db::open_device(drives, options),
            Self::Device(device) => Db::open_device(Arc::clone(device), options),
        };
        let db = opened.map_err(|error| format!("opening: {error}"))?;
        if changes && tables.or(db.table_options()) != db.table_options() {
            let changed = db.set_table_options(tables);
            changed.map_err(|error| format!("other options of tables: {error}"))?;
        }
        Ok(db)
    }

    /// Checks the file system.
    pub(super) fn check(&self) -> Result<(), String> {
        let report = match self {
            Self::Drives(drives) => Fs::check(drives),
            Self::Device(device) => Fs::check(Arc::clone(device)),
        };
        let report = report.map_err(|error| format!("check: {error}"))?;
        if report.is_clean() { Ok(()) } else { Err(format!("check: {:?}", report.problems)) }
    }

    /// Cuts the power, unless this is a device.
    pub(super) fn power_cut(&self, cut: PowerCut, random: &mut Random) -> Result<(), String> {
        match self {
            Self::Drives(drives) => {
                drives.power_cut(cut, random).map_err(|error| error.to_string())
            }
            Self::Device(_) => Ok(()),
        }
    }

    pub(super) fn power_on(&self) {
        if let Self::Drives(drives) = self {
            drives.power_on();
        }
    }
}
