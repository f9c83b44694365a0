//! Effects of a scale on the figures of an experiment: [`remarks_on_scale`] says them in words, and
//! [`unfit`] says of a claim why a run at this scale does not answer it.
//!
//! With [`ScaleMode::Delays`], at `1/n`, there are an n-th of the operations, and a read or a
//! synced write that waits for the head takes an n-th of its time. So:
//!
//! - Rates of reads are up to n times those of the full drive. Their ratios hold.
//! - Where reads and writes are mixed, reads weigh as little as an n-th of their true weight.
//!   Neither rates nor ratios hold.
//! - In both modes, tables of less than [`TABLE_MIN`] hold few entries and are padded to blocks of
//!   4 KiB. Bytes written for a byte do not hold.
//! - A write to the log that would have less than a block has a block. Times do not hold.
//!
//! With `all_reads` the number of reads is that of the full drive, and the first two do not apply.
//!
//! `run::scaling` has the rules of scaling, and smaller effects. At full scale there is none.

use terrace_zone::timing::{Scale, ScaleMode};

use crate::experiment::{Claim, Experiment, Measure, PhaseDescription, StoreDescription};
use crate::workload::Preset;

/// A sixteenth of LevelDB's 4 MiB: write amplification is compared from there on.
const TABLE_MIN: u64 = 256 << 10;

/// The block of a drive.
const BLOCK: u64 = 4096;

/// Effects of the scale on the figures of the experiment, a sentence or two each.
#[must_use]
pub fn remarks_on_scale(experiment: &Experiment, scale: Scale) -> Vec<String> {
    let n = scale.divisor();
    if n == 1 {
        return Vec::new();
    }
    let mut remarks = Vec::new();
    let delays = experiment.scale_by == ScaleMode::Delays;
    let few_reads = delays && !experiment.all_reads;
    let measured = experiment.phases.iter().filter(|phase| phase.measured);
    let named = |load: Load| -> Option<String> {
        let phases = measured.clone().filter(|phase| Load::of(phase) == load);
        let names: Vec<&str> = phases.map(PhaseDescription::name).collect();
        (few_reads && !names.is_empty()).then(|| names.join(", "))
    };
    remarks.extend(named(Load::Reads).map(|phases| {
        format!(
            "At {scale} a read that waits for the head takes an n-th of its time (n = {n}), and \
             there are an n-th of them: rates of {phases} are up to {n} times those of the full \
             drive. Only their ratios can be compared."
        )
    }));
    remarks.extend(named(Load::Mixed).map(|phases| {
        format!(
            "At {scale} reads weigh as little as {scale} of their true weight: \
             neither rates nor ratios of {phases} are those of the full drive."
        )
    }));
    if experiment.all_reads {
        remarks.push(format!(
            "At {scale} there are as many reads and scans as on the full drive, which take an n-th \
             of their time (n = {n}), and an n-th of the writes. So reads have the right \
             weight, except for the transfer of a block, which takes n times its time; a scan has \
             an n-th of its records."
        ));
    }
    let stores = experiment.variants.iter().map(|variant| &variant.store);
    let synced =
        |store: &StoreDescription| store.synced == Some(true) || store.synced_every.is_some();
    if delays && stores.chain([&experiment.store]).any(synced) {
        remarks.push(format!(
            "At {scale} a synced write takes an n-th of its time (n = {n}), and there are an n-th \
             of them: rates of synced writes are up to {n} times those of the full drive."
        ));
    }
    remarks.extend(small_tables(experiment, scale));
    remarks
}

/// Why a run at this scale does not answer the claim; `None` if it does.
pub(super) fn unfit(experiment: &Experiment, claim: &Claim, scale: Scale) -> Option<String> {
    let n = scale.divisor();
    if let Some(why) = small_chunk(experiment, claim, scale) {
        return Some(why);
    }
    let Measure::Metric { metric, than } = &claim.quantity.measure else { return None };
    if n > 1 && metric.starts_with("write_amplification") {
        return small_tables(experiment, scale);
    }
    let timed = n > 1 && (metric == "kv_per_second" || metric == "seconds");
    if !timed || experiment.scale_by != ScaleMode::Delays || experiment.all_reads {
        return None;
    }
    let name = claim.quantity.phase.as_deref();
    let mut measured = experiment.phases.iter().filter(|phase| phase.measured);
    let phase = measured.find(|phase| name.is_none_or(|name| phase.name() == name))?;
    match Load::of(phase) {
        Load::Mixed => {
            Some(format!("At {scale} reads weigh as little as {scale} of their true weight."))
        }
        Load::Reads if than.is_none() => {
            Some(format!("At {scale} rates of reads are up to {n} times those of the full drive."))
        }
        Load::Reads | Load::Writes => None,
    }
}

/// Says that tables are too small for the written bytes to be those of the full drive.
fn small_tables(experiment: &Experiment, scale: Scale) -> Option<String> {
    let full = experiment.store.memtable_size?.0;
    let size = full / scale.divisor();
    (full >= TABLE_MIN && size < TABLE_MIN).then(|| {
        format!(
            "At {scale} memtables are of {} KiB: tables as large hold few entries and are padded \
             to blocks of 4 KiB, so that bytes written for a byte are not those of the full drive.",
            size >> 10
        )
    })
}

/// Says that a write to the log of a run that the claim is about would be less than a block.
fn small_chunk(experiment: &Experiment, claim: &Claim, scale: Scale) -> Option<String> {
    let variants = experiment.variants.iter().filter(|variant| claim.is_about(&variant.name));
    let stores = variants.map(|variant| &variant.store).chain([&experiment.store]);
    let size = stores.filter_map(|store| store.log_chunk).map(|size| size.0).min()?;
    let shrunk = size / scale.divisor();
    (size >= BLOCK && shrunk < BLOCK).then(|| {
        format!(
            "At {scale} a write to the log has {shrunk} bytes, less than a block, so that the log \
             takes other shares of the time than on the full drive."
        )
    })
}

/// Operations of the clients of a phase.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Load {
    Reads,
    Writes,
    Mixed,
}

impl Load {
    fn of(phase: &PhaseDescription) -> Self {
        match phase.workload.parse::<Preset>() {
            Ok(preset) if preset.reads() && preset.writes() => Self::Mixed,
            Ok(preset) if preset.reads() => Self::Reads,
            _ => Self::Writes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, scale: &str) -> (Vec<String>, usize) {
        said_of(&Experiment::find(name).unwrap().remove(0), scale)
    }

    fn said_of(experiment: &Experiment, scale: &str) -> (Vec<String>, usize) {
        let scale: Scale = scale.parse().unwrap();
        let claims = experiment.claims.iter();
        let unfit = claims.filter(|claim| unfit(experiment, claim, scale).is_some()).count();
        (remarks_on_scale(experiment, scale), unfit)
    }

    #[test]
    fn reads_and_mixtures_are_told_from_loads() {
        let of_few_reads = |name: &str| {
            let mut experiment = Experiment::find(name).unwrap().remove(0);
            experiment.all_reads = false;
            said_of(&experiment, "1/16")
        };
        let (remarks, unfit) = of_few_reads("geardb/fig12");
        assert_eq!((remarks.len(), unfit), (1, 0), "{remarks:?}");
        assert!(remarks[0].contains("rates of readrandom, readseq are up to 16 times"));
        let (remarks, unfit) = of_few_reads("geardb/fig13");
        // All but the two loads and C, which only reads.
        assert_eq!(unfit, 4, "{remarks:?}");
        assert!(remarks.iter().any(|it| it.contains("neither rates nor ratios of ycsb-a, ")));
        assert_eq!(said("geardb/fig10a", "1/16"), (Vec::new(), 0));
    }

    #[test]
    fn a_mixture_with_all_reads_answers_its_claims() {
        let (remarks, unfit) = said("geardb/fig13", "1/16");
        assert_eq!((remarks.len(), unfit), (1, 0), "{remarks:?}");
        assert!(remarks[0].contains("as many reads and scans as on the full drive"), "{remarks:?}");
    }

    #[test]
    fn bytes_written_are_not_compared_where_tables_are_small() {
        let (remarks, unfit) = said("geardb/fig16", "1/64");
        assert!(remarks[0].contains("memtables are of 64 KiB"), "{remarks:?}");
        assert!(unfit >= 2, "{unfit}");
        assert_eq!(said("geardb/fig16", "1/16"), (Vec::new(), 0));
        // Memtables of 256 MiB leave tables of 4.
        assert_eq!(said("bluefs/fig12", "1/64"), (Vec::new(), 0));
    }

    #[test]
    fn a_write_to_the_log_of_less_than_a_block_answers_no_claim() {
        let unfit_at = |scale: &str| said("bluefs/fig9", scale).1;
        assert_eq!((unfit_at("1/128"), unfit_at("1/256")), (0, 2));
    }

    #[test]
    fn a_scale_of_bandwidths_leaves_delays_as_they_are_and_the_full_drive_everything() {
        assert_eq!(said("bluefs/fig14", "1/16"), (Vec::new(), 0));
        assert_eq!(said("geardb/fig13", "1/1"), (Vec::new(), 0));
    }
}
