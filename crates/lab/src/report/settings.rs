//! [`settings`]: the settings of an experiment in words, without those of single variants and
//! systems. A setting that the experiment does not give is left out; it has its default.

use terrace::{CachePolicy, Compression};
use terrace_env::ByteCount;
use terrace_zone::timing::Size;

use super::Chapter;
use crate::experiment::{DeviceDescription, Location, StoreDescription};
use crate::plot::Unit;
use crate::run::{LogWrites, MetadataWrites, Outcome};

/// The name of a setting, and its value.
type Setting = (&'static str, String);

/// Settings of an experiment.
pub(super) fn settings(chapter: &Chapter, outcomes: &[Outcome]) -> Vec<Setting> {
    let experiment = &chapter.experiment;
    let mut said = vec![("drive", experiment.drive.clone())];
    let all = || "all of the drive".to_owned();
    said.push(("space", experiment.space.map_or_else(all, bytes)));
    said.extend(of_store(&experiment.store));
    for phase in &experiment.phases {
        let mut words = format!("{} operations", Unit::Count.show(phase.operations as f64));
        if let Some(records) = phase.records {
            words += &format!(" on {} records", Unit::Count.show(records as f64));
        }
        let sizes = [
            ("keys", phase.key_size.map(|it| it.to_string())),
            ("values", phase.value_size.clone()),
        ];
        for (what, size) in sizes {
            if let Some(size) = size {
                words += &format!(", {what} of {size} bytes");
            }
        }
        let chooser = phase.chooser.as_ref().map(|it| format!(", records chosen by {it}"));
        words += &chooser.unwrap_or_default();
        let scans = phase.scan_length.map(|records| format!(", scans of {records} records"));
        words += &scans.unwrap_or_default();
        words += &phase.clients.map_or(String::new(), |clients| format!(", {clients} clients"));
        words += &phase.arrivals.as_ref().map_or(String::new(), |it| format!(", arriving {it}"));
        words += if phase.wait_idle { ", until no job and no reclaim is due" } else { "" };
        words += if phase.measured { "" } else { "; not measured" };
        let name = phase.name();
        let workload = if name == phase.workload { String::new() } else { format!("{name}: ") };
        said.push(("phase", format!("{workload}{}, {words}", phase.workload)));
    }
    if !experiment.variants.is_empty() {
        let names = experiment.variants.iter().map(|variant| variant.name.as_str());
        said.push(("variants", names.collect::<Vec<_>>().join(", ")));
    }
    let measured = outcomes.iter().find(|outcome| outcome.experiment == experiment.name);
    said.extend(measured.map(|it| ("run at", format!("{}, seed {}", it.scale, it.seed))));
    said
}

fn bytes(size: Size) -> String {
    ByteCount(size.0).to_string()
}

/// Settings of the store. Every field is named here: none can be forgotten.
fn of_store(store: &StoreDescription) -> Vec<Setting> {
    let StoreDescription {
        device,
        memtable_size,
        memtables_max,
        block_size,
        filter_bits,
        memory,
        io_size,
        flush_every,
        workers,
        compression,
        compressible_to,
        synced,
        synced_every,
        logged,
        log: _,
        metadata: _,
        log_device: _,
        offload,
        offload_size,
        log_writes,
        log_chunk,
        metadata_writes,
        log_buffer,
        file_cache,
        cache_policy,
    } = store;
    let synced = synced.filter(|synced| *synced).map(|_| "each waits for the medium".to_owned());
    let every = |every| format!("of a client, one in {every} waits for the medium");
    let all = [
        ("device", device.as_ref().map(of_device)),
        ("memtable", memtable_size.map(bytes)),
        ("block", block_size.map(bytes)),
        ("memory", memory.map(bytes)),
        ("reads and writes of jobs", io_size.map(bytes)),
        ("jobs flush the drive after", flush_every.map(bytes)),
        ("workers", workers.map(|count| count.to_string())),
        ("memtables at once", memtables_max.map(|most| most.to_string())),
        ("bits of a filter", filter_bits.map(|bits| bits.to_string())),
        ("compression", compression.map(|it| of_compression(it).to_owned())),
        ("values compress", compressible_to.map(|part| format!("to {part} % of their bytes"))),
        ("writes", synced.or_else(|| synced_every.map(every))),
        ("log", logged.filter(|logged| !logged).map(|_| "none".to_owned())),
        ("log that may be unsynced", log_buffer.map(bytes)),
        ("writes of the log", log_writes.map(|it| of_log_writes(it).to_owned())),
        ("log that gathers", log_chunk.map(bytes)),
        ("writes of metadata", metadata_writes.map(|it| of_metadata_writes(it).to_owned())),
        ("file cache", file_cache.map(bytes)),
        ("leaves the cache first", cache_policy.map(|it| of_cache_policy(it).to_owned())),
        ("offload device", offload.clone()),
        ("size of it", offload_size.map(bytes)),
    ];
    let given = all.into_iter().filter_map(|(name, value)| Some((name, value?)));
    given.chain(places(store)).collect()
}

fn of_device(device: &DeviceDescription) -> String {
    let banded = |band: Option<Size>| {
        band.map_or(String::new(), |band| format!(", with bands of {}", bytes(band)))
    };
    match device {
        DeviceDescription::Zoned { band } => format!("zones{}", banded(*band)),
        DeviceDescription::Plain { drive: None } => "without zones".to_owned(),
        DeviceDescription::Plain { drive: Some(drive) } => format!("without zones: {drive}"),
        DeviceDescription::DriveManaged { drive, band } => {
            format!("hides its bands: {drive}{}", banded(*band))
        }
        DeviceDescription::Tracks { track, overlap } => {
            format!("tracks of {}; a write destroys the next {overlap}", bytes(*track))
        }
    }
}

fn of_compression(compression: Compression) -> &'static str {
    match compression {
        Compression::None => "none",
        Compression::Lz4 => "LZ4",
        Compression::Zstd => "Zstandard",
    }
}

fn of_log_writes(writes: LogWrites) -> &'static str {
    match writes {
        LogWrites::Gathered => "several at a time, without a wait",
        LogWrites::Waiting => "each append waits",
        LogWrites::Forced => "each append waits for the medium",
        LogWrites::Journaled => "each sync is followed by a write of metadata",
    }
}

fn of_metadata_writes(writes: MetadataWrites) -> &'static str {
    match writes {
        MetadataWrites::Together => "one for each transaction",
        MetadataWrites::ByFile => "one for each table, and two for the list of tables",
    }
}

fn of_cache_policy(policy: CachePolicy) -> &'static str {
    match policy {
        CachePolicy::FifoByFile => "the oldest file, as a whole",
        CachePolicy::FifoByBlock => "the oldest file, block by block",
        CachePolicy::ByLevel => "the newest file of the deepest level",
    }
}

/// Where log and metadata are, as far as the experiment says it.
fn places(store: &StoreDescription) -> Vec<(&'static str, String)> {
    let words = |place: Location| match place {
        Location::Drive => "on the drive".to_owned(),
        Location::Conventional => "in conventional zones of the drive".to_owned(),
        Location::Sequential => "in sequential zones after the store".to_owned(),
        Location::Middle => "in the middle of the disk".to_owned(),
        Location::LogDevice => {
            format!("on a log device: {}", store.log_device.as_deref().unwrap_or("none"))
        }
        Location::Free => "on a log device, at no cost".to_owned(),
    };
    match (store.log, store.metadata) {
        (log, Some(metadata)) if log != Some(metadata) => {
            let log = log.map(|log| ("log", words(log)));
            log.into_iter().chain([("metadata", words(metadata))]).collect()
        }
        (log, _) => log.map(|log| ("log and metadata", words(log))).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings that say where log and metadata are come together, and are counted apart.
    #[test]
    fn every_setting_of_a_store_is_told() {
        let size = Some(Size(4 << 20));
        let store = StoreDescription {
            device: Some(DeviceDescription::Tracks { track: Size(1 << 20), overlap: 2 }),
            memtable_size: size,
            memtables_max: Some(2),
            block_size: size,
            filter_bits: Some(10),
            memory: size,
            io_size: size,
            flush_every: size,
            workers: Some(3),
            compression: Some(Compression::Lz4),
            compressible_to: Some(50),
            synced: Some(true),
            synced_every: None,
            logged: Some(false),
            log: None,
            metadata: None,
            log_device: None,
            offload: Some("wd-zn540".to_owned()),
            offload_size: size,
            log_writes: Some(LogWrites::Journaled),
            log_chunk: size,
            metadata_writes: Some(MetadataWrites::ByFile),
            log_buffer: size,
            file_cache: size,
            cache_policy: Some(CachePolicy::ByLevel),
        };
        let told = of_store(&store);
        assert_eq!(told.len(), 21, "{told:?}");
        assert!(told.contains(&("compression", "LZ4".to_owned())));
        let device = "tracks of 1 MiB; a write destroys the next 2".to_owned();
        assert!(told.contains(&("device", device)), "{told:?}");
        assert!(of_store(&StoreDescription::default()).is_empty());
        let every = StoreDescription { synced_every: Some(9), ..StoreDescription::default() };
        assert_eq!(of_store(&every)[0].1, "of a client, one in 9 waits for the medium");
        let places = StoreDescription {
            log: Some(Location::LogDevice),
            metadata: Some(Location::Middle),
            log_device: Some("flash".to_owned()),
            ..StoreDescription::default()
        };
        let told = of_store(&places);
        assert_eq!(told[0], ("log", "on a log device: flash".to_owned()));
        assert_eq!(told[1].0, "metadata");
    }
}
