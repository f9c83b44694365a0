//! `terrace demo [DIR]`: parses the arguments, and runs the steps of the demonstration in order.
//!
//! The first step that fails ends the demonstration with its error. After the power cut the store
//! is opened again with the same options. It is checked after it has been closed. If puts that were
//! synced are lost, the demonstration prints its outcome and then fails.
//!
//! With `--device` there is no power cut: the device is cut off from the store, and opened anew.

use std::path::PathBuf;

use indicatif::HumanCount;
use terrace::device::Random;
use terrace::{ByteCount, Db, FormatOptions, Options};

use super::burst::{self, Burst};
use super::life::{self, Life};
use super::outcome::{Outcome, Steps};
use super::place::Place;
use super::stage;
use crate::commands::device::DeviceKind;
use crate::commands::under::Under;
use crate::commands::{check, zones};
use crate::escape::shown;
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::tree::{Strictness, Tree};

/// The key space of the burst.
const BURST: &str = "burst";

/// Watch a directory tree go through a store's whole life, on an emulated drive or a real one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace demo --system geardb
  terrace demo --device /dev/nvme1n1 --force")]
pub(crate) struct Demo {
    /// The directory whose files are loaded
    #[arg(default_value = "/usr/share")]
    dir: PathBuf,
    /// Load no more than this, in order of path
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    limit: ByteCount,
    /// Keep the drive as this file; without it nothing is left
    #[arg(long, value_name = "IMAGE")]
    keep: Option<PathBuf>,
    /// Run on this block device or image, which must be blank; the store stays. Its power stays
    /// on: it is cut off from the store instead. No more is loaded than it has room for
    #[arg(long, value_name = "DRIVE", conflicts_with_all = ["keep", "kind"])]
    device: Option<PathBuf>,
    /// Use the drive of `--device` even if it holds data, which is lost
    #[arg(long, requires = "device")]
    force: bool,
    /// The seed of all chance: the time of the power cut, and the writes that it tears
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How the drive's blocks may be written
    #[arg(long, value_enum, default_value_t = DeviceKind::Zoned)]
    kind: DeviceKind,
    #[command(flatten)]
    under: Under,
}

impl Demo {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let mut random = Random::seeded(self.seed);
        let mut steps = Steps::new(output);
        let mut tree = steps.take(
            "look",
            || self.walk(),
            |tree| {
                let (count, size) = (HumanCount(tree.entries.len() as u64), tree.bytes());
                format!("{count} entries, {}, below {}", ByteCount(size), shown(&self.dir))
            },
        )?;
        let drive = match &self.device {
            Some(path) => steps.take(
                "open",
                || {
                    let place = Place::open(path, self.force)?;
                    tree.cut(stage::data_max(place.geometry()).0);
                    Ok(place)
                },
                stage::describe,
            )?,
            None => steps.take(
                "make",
                || {
                    let (size, keep) = (ByteCount(tree.bytes()), self.keep.as_deref());
                    let drive = stage::make_drive(self.kind, size, keep, &mut random)?;
                    Ok(Place::Emulated(drive))
                },
                stage::describe,
            )?,
        };
        let options = stage::options(ByteCount(tree.bytes()), self.under.system);
        let (life, burst) = self.before(&drive, &options, &mut tree, &mut steps, &mut random)?;
        let drive = drive.restore()?;
        let (recovered, survived, drawn) = after(&drive, &options, &life, burst, &mut steps)?;
        let check = steps.take(
            "check",
            || check::check(drive.device()),
            |checked| {
                let (state, report) = (checked.check, &checked.files);
                let bytes = report.verified;
                format!("{state}: {} files, {bytes} verified by checksum", report.files)
            },
        )?;
        if let Some(problem) = check.files.problems.first() {
            return Err(Failure::new(Kind::Corruption, problem.to_string()));
        }
        output.line("")?;
        let outcome =
            Outcome::new(&tree, &life, burst, (recovered, survived), check.check, steps.seconds());
        output.result(&outcome, |out| {
            drawn.draw(out)?;
            outcome.print(out)
        })?;
        match outcome.synced_lost {
            0 => Ok(()),
            lost => Err(Failure::new(
                Kind::Failed,
                format!("expected every synced write after the power cut, found {lost} lost"),
            )),
        }
    }

    fn walk(&self) -> Result<Tree, Failure> {
        let size_max = terrace::VALUE_BYTES_MAX as u64;
        let mut tree = Tree::walk(&self.dir, size_max, Strictness::Skip)?;
        tree.cut(self.limit.0);
        if tree.bytes() > 0 {
            return Ok(tree);
        }
        let dir = self.dir.display();
        let message = format!("{dir}: expected a directory with files in it, found none");
        Err(Failure::new(Kind::Failed, message))
    }

    /// Everything up to the power cut.
    fn before(
        &self,
        drive: &Place,
        options: &Options,
        tree: &mut Tree,
        steps: &mut Steps<'_>,
        random: &mut Random,
    ) -> Result<(Life, Burst), Failure> {
        let db = Db::create_device(drive.device(), &FormatOptions::default(), options.clone())?;
        let life = life::live(&db, &self.dir, tree, steps)?;
        let space = db.create_key_space(BURST)?;
        let burst = steps.take(
            "cut",
            || burst::run(&db, &space, drive, random),
            |burst| {
                let (acknowledged, synced) =
                    (HumanCount(burst.acknowledged), HumanCount(burst.synced));
                let lost = if drive.is_emulated() { "the power" } else { "the device off" };
                format!("{lost} after {acknowledged} writes of a burst, {synced} of them synced")
            },
        )?;
        Ok((life, burst))
    }
}

/// Everything after it: entries of the burst that were recovered, files that survived, and the
/// contents of the drive then.
fn after(
    drive: &Place,
    options: &Options,
    life: &Life,
    burst: Burst,
    steps: &mut Steps<'_>,
) -> Result<(u64, u64, zones::Drawn), Failure> {
    let db = steps.take(
        "recover",
        || Ok(Db::open_device(drive.device(), options.clone())?),
        |_| "by journal and log".to_owned(),
    )?;
    let (files, space) = (db.create_key_space(life::FILES)?, db.create_key_space(BURST)?);
    let recovered = steps.take(
        "count",
        || burst::recovered(&space),
        |count| {
            let lost = burst.lost(*count);
            format!("{} writes of the burst are there, synced and lost: {lost}", HumanCount(*count))
        },
    )?;
    let survived = steps.take(
        "compare",
        || life.model.scan_all(&files),
        |count| format!("{} files in order, each as it was before the cut", HumanCount(*count)),
    )?;
    let fs = db.fs().ok_or_else(|| Failure::new(Kind::Failed, "expected a store on a drive"))?;
    let drawn = zones::Drawn::of(fs)?;
    db.close()?;
    Ok((recovered, survived, drawn))
}
