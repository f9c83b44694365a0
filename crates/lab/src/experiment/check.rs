//! Checks the values of an experiment whose file already has the right form, and reports the first
//! flaw found, such as an unknown name, a name given twice, or an impossible number.
//!
//! Of the settings of a store it checks those that have a limit of their own, each by itself. It
//! does not check points that depend on the scale of a run, such as tables that become too small.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::str::FromStr;

use terrace::{ByteCount, System, limits};
use terrace_env::Limit;
use terrace_zone::timing::{Drive, Scale, Size, Span};

use super::claim::{Claim, Measure, Quantity, Than};
use super::{
    Experiment, PhaseDescription, Plot, SETTING, StoreDescription, leading_number, parameter_of,
};
use crate::arrivals::Process;
use crate::run::{Metrics, Sample};
use crate::workload::{Chooser, KEY_SIZE_MIN, Preset, Sizes};

/// The shortest time between two samples. A sample takes about 4 KiB, and a run can be hours long:
/// these are 36,000 in each of them.
const SAMPLE_EVERY_MIN: Span = Span(100_000_000);

/// Something wrong, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    /// The field: `plot[0].series[1]`.
    pub(super) field: String,
    /// Value expected.
    pub(super) expected: String,
    /// Value found.
    pub(super) found: String,
}

/// Result of a check: nothing, or the flaw of a field.
type Check = Result<(), Flaw>;

/// The first thing that is wrong.
pub(super) fn flaw(experiment: &Experiment) -> Option<Flaw> {
    all(experiment).err()
}

fn all(experiment: &Experiment) -> Check {
    drive(experiment)?;
    let Experiment { systems, phases, variants, sample_every, .. } = experiment;
    let expected = format!("at least {SAMPLE_EVERY_MIN}");
    ensure(*sample_every >= SAMPLE_EVERY_MIN, "sample_every", expected, sample_every)?;
    some("systems", "a system", systems.len())?;
    for (index, system) in systems.iter().enumerate() {
        reads::<System>(&format!("systems[{index}]"), system)?;
    }
    distinct("systems", "", systems.iter().map(String::as_str))?;
    store("store", &experiment.store)?;
    for (row, of_row) in &experiment.store_of {
        store(&format!("store_of.{row}"), of_row)?;
    }
    let rows: Vec<String> = systems.iter().filter_map(|it| row_of(it)).collect();
    for row in experiment.store_of.keys() {
        one_of(&format!("store_of.{row}"), row, &rows)?;
    }
    some("phase", "a phase", phases.len())?;
    for (index, it) in phases.iter().enumerate() {
        phase(&format!("phase[{index}]"), it)?;
    }
    distinct("phase", ".name", phases.iter().map(PhaseDescription::name))?;
    let measured = phases.iter().any(|phase| phase.measured);
    ensure(measured, "phase", "one that is measured", "none")?;
    for (index, variant) in variants.iter().enumerate() {
        let factor = variant.operations_factor.unwrap_or(1.0);
        let field = format!("variant[{index}].operations_factor");
        ensure(factor.is_finite() && factor > 0.0, &field, "more than 0", factor)?;
        let clients = variant.clients.unwrap_or(1);
        ensure(clients > 0, &format!("variant[{index}].clients"), "at least 1", clients)?;
        if let Some(process) = &variant.arrivals {
            reads::<Process>(&format!("variant[{index}].arrivals"), process)?;
        }
        if let Some(workload) = &variant.workload {
            let field = format!("variant[{index}].workload");
            one_of(&field, workload, &PhaseDescription::workloads())?;
        }
        if let Some(chooser) = &variant.chooser {
            reads::<Chooser>(&format!("variant[{index}].chooser"), chooser)?;
        }
        store(&format!("variant[{index}].store"), &variant.store)?;
        let Some(systems) = &variant.systems else { continue };
        some(&format!("variant[{index}].systems"), "a system", systems.len())?;
        for (at, system) in systems.iter().enumerate() {
            one_of(&format!("variant[{index}].systems[{at}]"), system, &experiment.systems)?;
        }
    }
    distinct("variant", ".name", variants.iter().map(|variant| variant.name.as_str()))?;
    for (index, it) in experiment.plots.iter().enumerate() {
        plot(&format!("plot[{index}]"), it, experiment)?;
    }
    let mut claims = experiment.claims.iter().enumerate();
    claims.try_for_each(|(index, it)| claim(&format!("claim[{index}]"), it, experiment))
}

/// The name of a system's row.
fn row_of(system: &str) -> Option<String> {
    system.parse::<System>().ok().map(|system| system.name().to_owned())
}

/// The drive is there, and has the space.
fn drive(experiment: &Experiment) -> Check {
    let found = || format!("{:?}", experiment.drive);
    let drive = find_drive("drive", &experiment.drive)?;
    let spaces = experiment.variants.iter().enumerate();
    let spaces = spaces.map(|(index, it)| (format!("variant[{index}].space"), it.space));
    for (field, space) in std::iter::once(("space".to_owned(), experiment.space)).chain(spaces) {
        let Some(space) = space.map(|space| ByteCount(space.0)) else { continue };
        let whole = drive.geometry(Scale::FULL);
        let whole = whole.map_err(|error| Flaw::new("drive", error.to_string(), found()))?;
        let zone = ByteCount(whole.zone_size * u64::from(whole.logical_block));
        let expected = format!("a zone of {zone} to the {} of the drive", whole.capacity());
        ensure((zone..=whole.capacity()).contains(&space), &field, expected, space)?;
    }
    Ok(())
}

fn find_drive(field: &str, name: &str) -> Result<Drive, Flaw> {
    Drive::find(name).map_err(|error| Flaw::said(field, &error.to_string(), name))
}

/// Settings of a store, each within the limits of its option, and drives that are there.
fn store(field: &str, store: &StoreDescription) -> Check {
    for (of, name) in [("log_device", &store.log_device), ("offload", &store.offload)] {
        let found = name.as_ref().map(|name| find_drive(&format!("{field}.{of}"), name));
        found.transpose()?;
    }
    let size = |size: Option<Size>, limit| within(field, size.map(|size| ByteCount(size.0)), limit);
    size(store.memtable_size, limits::MEMTABLE_SIZE)?;
    size(store.block_size, limits::BLOCK_SIZE)?;
    size(store.memory, limits::MEMORY)?;
    size(store.io_size, limits::IO_SIZE)?;
    size(store.file_cache, limits::FILE_CACHE)?;
    let count = |count: Option<usize>, limit| within(field, count.map(|count| count as u64), limit);
    count(store.memtables_max, limits::MEMTABLES_MAX)?;
    count(store.workers, limits::WORKERS)?;
    within(field, store.filter_bits, limits::FILTER_BITS)
}

/// An option of a store, if it is given, within its limit.
fn within<T: Copy + PartialOrd + Display>(field: &str, given: Option<T>, limit: Limit<T>) -> Check {
    let Some(error) = given.and_then(|value| limit.check(value).err()) else { return Ok(()) };
    let expected = format!("{} ({})", error.expected, error.reason);
    Err(Flaw::new(&format!("{field}.{}", limit.option), expected, error.got))
}

fn phase(field: &str, phase: &PhaseDescription) -> Check {
    let PhaseDescription { workload, operations, records, key_size, clients, .. } = phase;
    one_of(&format!("{field}.workload"), workload, &PhaseDescription::workloads())?;
    ensure(*operations > 0, &format!("{field}.operations"), "at least 1", operations)?;
    let records = records.unwrap_or(1);
    ensure(records > 0, &format!("{field}.records"), "at least 1", records)?;
    let key_size = key_size.unwrap_or(KEY_SIZE_MIN);
    let expected = format!("at least {KEY_SIZE_MIN} bytes");
    ensure(key_size >= KEY_SIZE_MIN, &format!("{field}.key_size"), expected, key_size)?;
    let clients = clients.unwrap_or(1);
    ensure(clients > 0, &format!("{field}.clients"), "at least 1", clients)?;
    if let Some(sizes) = &phase.value_size {
        reads::<Sizes>(&format!("{field}.value_size"), sizes)?;
    }
    if let Some(length) = phase.scan_length {
        let field = format!("{field}.scan_length");
        let scans = workload.parse().is_ok_and(Preset::scans);
        ensure(scans, &field, "none in a workload without scans", length)?;
        ensure(length > 0, &field, "at least 1", length)?;
    }
    if let Some(chooser) = &phase.chooser {
        reads::<Chooser>(&format!("{field}.chooser"), chooser)?;
    }
    if let Some(process) = phase.arrivals.as_ref().filter(|_| !phase.is_back_to_back()) {
        reads::<Process>(&format!("{field}.arrivals"), process)?;
    }
    Ok(())
}

fn plot(field: &str, plot: &Plot, experiment: &Experiment) -> Check {
    match plot {
        Plot::Timeline { series, .. } => {
            some(&format!("{field}.series"), "a series", series.len())?;
            let known = Sample::names();
            let mut series = series.iter().enumerate();
            series.try_for_each(|(at, name)| one_of(&format!("{field}.series[{at}]"), name, &known))
        }
        Plot::Bars { metrics, .. } => {
            some(&format!("{field}.metrics"), "a metric", metrics.len())?;
            let mut metrics = metrics.iter().enumerate();
            metrics.try_for_each(|(at, name)| metric(&format!("{field}.metrics[{at}]"), name))
        }
        Plot::Points { x, y, .. } => {
            metric(&format!("{field}.x"), x)?;
            metric(&format!("{field}.y"), y)
        }
        Plot::Ratio { system, metric: name, by, published, published_at, .. } => {
            one_of(&format!("{field}.system"), system, &experiment.systems)?;
            metric(&format!("{field}.metric"), name)?;
            let field_of = |name: &str| format!("{field}.{name}");
            let marked = published.is_finite() && *published > 0.0;
            ensure(marked, &field_of("published"), "more than 0", published)?;
            let at = published_at.unwrap_or(0.0);
            ensure(at.is_finite(), &field_of("published_at"), "a number", at)?;
            constant(&field_of("by"), by, experiment)
        }
        Plot::Merges { .. }
        | Plot::Addresses { .. }
        | Plot::FreeRuns { .. }
        | Plot::ZonesSorted { .. }
        | Plot::ZonesCumulative { .. } => Ok(()),
    }
}

/// The constant of a ratio is one in which something differs.
fn constant(field: &str, by: &str, experiment: &Experiment) -> Check {
    if by == SETTING {
        let variants = experiment.variants.iter();
        let wrong = variants.map(|it| &it.name).find(|name| leading_number(name).is_none());
        let count = experiment.variants.len();
        let expected = "a parameter of several of the systems, or several variants";
        ensure(count > 1, field, expected, format!("`{SETTING}` with variants: {count}"))?;
        let wrong = wrong.map_or("", |name| name);
        return ensure(wrong.is_empty(), field, "variants whose names begin with numbers", wrong);
    }
    let known = experiment.systems.iter().filter(|system| parameter_of(system, by).is_some());
    let expected = format!("`{SETTING}`, or a parameter of several of the systems, in numbers");
    ensure(known.count() > 1, field, expected, format!("{by:?}"))
}

fn claim(field: &str, claim: &Claim, experiment: &Experiment) -> Check {
    let published = claim.published;
    let field_of = |name: &str| format!("{field}.{name}");
    ensure(
        published.is_finite() && published > 0.0,
        &field_of("published"),
        "more than 0",
        published,
    )?;
    let field = field_of("quantity");
    let field_of = |name: &str| format!("{field}.{name}");
    let Quantity { system, phase, variant, measure } = &claim.quantity;
    one_of(&field_of("system"), system, &experiment.systems)?;
    let measured = experiment.phases.iter().filter(|phase| phase.measured);
    let phases: Vec<&str> = measured.map(PhaseDescription::name).collect();
    choice(&field_of("phase"), phase.as_deref(), &phases, phases.len() == 1)?;
    let variants: Vec<&str> = experiment.variants.iter().map(|it| it.name.as_str()).collect();
    choice(&field_of("variant"), variant.as_deref(), &variants, variants.is_empty())?;
    let meant = experiment.variants.iter().find(|it| Some(&it.name) == variant.as_ref());
    one_of(&field_of("system"), system, experiment.systems_of(meant))?;
    match measure {
        Measure::Metric { metric: name, than } => {
            metric(&field_of("metric"), name)?;
            other(&field, than.as_ref(), experiment)
        }
        Measure::Series { series, when, reaches } => {
            one_of(&field_of("series"), series, &Sample::names())?;
            one_of(&field_of("when"), when, &Sample::names())?;
            ensure(reaches.is_finite(), &field_of("reaches"), "a number", reaches)
        }
        Measure::End { series, than } => {
            one_of(&field_of("series"), series, &Sample::names())?;
            other(&field, than.as_ref(), experiment)
        }
        Measure::Zones { between: (least, most) } => {
            let shares = (0.0..=1.0).contains(least) && (*least..=1.0).contains(most);
            let found = format!("[{least}, {most}]");
            ensure(shares, &field_of("zones_between"), "two shares, 0 to 1, ascending", found)
        }
    }
}

/// The other side of a comparison: a system, a variant, or both.
fn other(field: &str, than: Option<&Than>, experiment: &Experiment) -> Check {
    let Some(than) = than else { return Ok(()) };
    let variants = experiment.variants.iter().map(|variant| variant.name.clone());
    let both = experiment
        .runs()
        .filter_map(|(variant, system)| Some(format!("{system}, {}", variant?.name)));
    let systems = experiment.systems.iter().cloned();
    let known: Vec<String> = systems.chain(variants).chain(both).collect();
    one_of(&format!("{field}.{}", than.field()), than.whose(), &known)
}

fn metric(field: &str, name: &str) -> Check {
    one_of(field, name, &Metrics::names())
}

impl Flaw {
    fn new(field: &str, expected: impl Display, found: impl Display) -> Self {
        let (expected, found) = (expected.to_string(), found.to_string());
        Self { field: field.to_owned(), expected, found }
    }

    /// An error whose text has the value expected, and mostly the value found.
    fn said(field: &str, error: &str, text: &str) -> Self {
        let problem = error.strip_prefix("expected ").unwrap_or(error);
        let (expected, found) = problem.rsplit_once(", found ").unwrap_or((problem, text));
        Self::new(field, expected, found)
    }
}

fn ensure(right: bool, field: &str, expected: impl Display, found: impl Display) -> Check {
    if right { Ok(()) } else { Err(Flaw::new(field, expected, found)) }
}

fn some(field: &str, what: &str, count: usize) -> Check {
    ensure(count > 0, field, format!("at least {what}"), "none")
}

fn one_of<T: AsRef<str>>(field: &str, name: &str, known: &[T]) -> Check {
    let found = known.iter().any(|it| it.as_ref() == name);
    let names = || known.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    if found { Ok(()) } else { Err(Flaw::new(field, names_of(&names()), format!("{name:?}"))) }
}

fn names_of(names: &str) -> String {
    if names.is_empty() { "nothing".to_owned() } else { format!("one of {names}") }
}

/// A name that may be left out where there is nothing to choose.
fn choice(field: &str, name: Option<&str>, known: &[&str], optional: bool) -> Check {
    match name {
        Some(name) => one_of(field, name, known),
        None => ensure(optional, field, names_of(&known.join(", ")), "none"),
    }
}

/// A text that can be read as a `T`.
fn reads<T: FromStr>(field: &str, text: &str) -> Check
where
    T::Err: Display,
{
    text.parse::<T>().map(drop).map_err(|error| Flaw::said(field, &error.to_string(), text))
}

fn distinct<'a>(field: &str, of: &str, names: impl Iterator<Item = &'a str>) -> Check {
    let mut seen = BTreeSet::new();
    for (index, name) in names.enumerate() {
        let field = format!("{field}[{index}]{of}");
        ensure(seen.insert(name), &field, "each only once", format!("{name:?} again"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Experiment, ExperimentError};

    const GOOD: &str = include_str!("test.toml");

    /// Error for the good file with `from` replaced by `to`.
    fn said(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        match Experiment::parse("test", "test.toml", &text) {
            Ok(_) => panic!("{from} -> {to}: expected to be refused"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_wrong_file_is_refused_with_the_place_and_the_choices() {
        Experiment::parse("test", "test.toml", GOOD).unwrap();
        for (from, to, place, expected) in [
            ("title =", "tilte =", "1:1: ", "unknown field `tilte`, expected one of `title`"),
            ("\"leveldb-greedy\"", "\"leveldb-gredy\"", "7:22: systems[1]: ", "bluefs, leveldb-"),
            ("\"leveldb-greedy\"", "\"bluefs\"", "7:22: systems[1]: ", "each only once"),
            ("\"leveldb-greedy\"", "\"bluefs:factr=3\"", "systems[1]: ", "level0_runs"),
            ("hgst-hsh721414al", "hgst", "4:9: drive: ", "wd-zn540"),
            ("\"4GiB\"", "\"4 acres\"", "5:9: space: ", "a size such as"),
            ("\"4GiB\"", "\"1MiB\"", "5:9: space: ", "a zone of 256 MiB to"),
            ("\"4GiB\"", "\"90000GiB\"", "5:9: space: ", "of the drive"),
            ("memtables_max = 2", "memtables_max = 0", "store.memtables_max: ", "1 to 64"),
            ("memtables_max = 2", "io_size = \"1B\"", "11:11: store.io_size: ", "found 1 B"),
            ("memtables_max = 2", "workers = 5", "store.workers: ", "0 to 4"),
            ("\"4MiB\"", "\"0B\"", "variant[0].store.memtable_size: ", "4 KiB to"),
            ("\"60 s\"", "\"0 s\"", "6:16: sample_every: ", "100.00 ms, found 0.00 us"),
            ("\"60 s\"", "\"5 us\"", "6:16: sample_every: ", "100.00 ms, found 5.00 us"),
            ("log = \"free\"", "log_device = \"wd\"", "16:14: store.log_device: ", "wd-zn540"),
            ("\"4MiB\" }", "\"4MiB\", offload = \"wd\" }", "store.offload: ", "found \"wd\""),
            ("\"fillrandom\"", "\"fillrandm\"", "workload: ", "fillseq"),
            ("operations = 1000", "operations = 0", "operations: ", "at least 1, found 0"),
            (
                "operations = 1000",
                "operations = 1\nscan_length = 9",
                "scan_length: ",
                "without scans",
            ),
            ("\"100-200\"", "\"200-100\"", "value_size: ", "a size, LEAST-MOST"),
            ("\"zipfian\"", "\"zipf\"", "chooser: ", "ninety-ten-scattered, found `zipf`"),
            ("chooser = \"zipfian\"", "arrivals = \"poison:5\"", "arrivals: ", "poisson:RATE"),
            ("chooser = \"zipfian\"", "arrivals = \"back-to-backs\"", "arrivals: ", "poisson:RATE"),
            ("\"runs\"", "\"runz\"", "plot[0].series[1]: ", "live_efficiency"),
            ("kind = \"timeline\"", "kind = \"time\"", "plot[0]", "zones-sorted"),
            ("x = \"seconds\"", "x = \"secs\"", "plot[1].x: ", "kv_per_second"),
            ("over = \"progress\"", "over = \"keys\"", "plot[0]", "`time` or `progress`"),
            ("system = \"bluefs\"\nmetric", "system = \"b\"\nmetric", "plot[2].system", "bluefs,"),
            ("by = \"free_min\"", "by = \"tzone\"", "plot[2].by: ", "a parameter of several"),
            ("by = \"free_min\"", "by = \"setting\"", "plot[2].by: ", "several variants"),
            ("by = \"free_min\"", "bye = \"free_min\"", "plot[2]: ", "unknown field `bye`"),
            ("published = 1.7", "published = 0.0", "plot[2].published: ", "more than 0"),
            ("systems = [\"bluefs\"]", "systems = [\"b\"]", "variant[0].systems[0]: ", "bluefs, "),
            ("reaches = 0.7", "reached = 0.7", "claim[0].quantity", "`reaches`"),
            (", reaches = 0.7", "", "claim[0].quantity", "expected one of `metric`"),
            ("when = \"valid_share\"", "when = \"valid\"", "quantity.when: ", "valid_share"),
            ("phase = \"load\"", "phase = \"fill\"", "quantity.phase: ", "one of load, again"),
            (
                "{ system = \"bluefs\", phase",
                "{ system = \"leveldb-greedy\", phase",
                "system: ",
                "one of bluefs, found",
            ),
            (", phase = \"load\"", "", "quantity", "expected one of load, again, found none"),
            ("variant = \"small\"", "variant = \"big\"", "quantity.variant: ", "one of small"),
            ("published = 0.5", "published = 0", "claim[0].published: ", "more than 0"),
            ("[0.4, 0.8]", "[0.8, 0.4]", "zones_between: ", "ascending"),
            ("operations_factor = 0.5", "operations_factor = -1.0", "factor: ", "more than 0"),
        ] {
            let said = said(from, to);
            assert!(said.starts_with("test.toml:"), "{said}");
            assert!(said.contains(place), "{from} -> {to}: expected {place:?} in: {said}");
            assert!(said.contains(expected), "{from} -> {to}: expected {expected:?} in: {said}");
        }
    }

    #[test]
    fn a_file_that_is_not_toml_is_refused_with_the_place() {
        let error = Experiment::parse("test", "test.toml", "title = \"a\"\nsource").unwrap_err();
        let ExperimentError::Malformed { position, .. } = &error else { panic!("{error}") };
        assert_eq!(position.line, 2, "{error}");
    }
}
