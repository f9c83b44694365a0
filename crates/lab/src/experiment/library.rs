//! Finds experiments by name or by path. The files of the project's own experiments are compiled
//! in.
//!
//! A name such as `geardb/fig3` is one of the project's experiments; `geardb/all` means those under
//! `geardb/`, `all` means all of the project's. Anything else is taken as the path of a file, and
//! the experiment is named after the file, without its extension.

use std::path::Path;

use terrace_env::text::{SETTINGS_MAX, read_input};

use super::{Experiment, ExperimentError};

/// The files, by the names of their experiments.
const FILES: [(&str, &str); 94] = [
    ("geardb/fig3", include_str!("../../experiments/geardb/fig3.toml")),
    ("geardb/fig4", include_str!("../../experiments/geardb/fig4.toml")),
    ("geardb/fig5", include_str!("../../experiments/geardb/fig5.toml")),
    ("geardb/fig10a", include_str!("../../experiments/geardb/fig10a.toml")),
    ("geardb/fig10b", include_str!("../../experiments/geardb/fig10b.toml")),
    ("geardb/fig11", include_str!("../../experiments/geardb/fig11.toml")),
    ("geardb/fig12", include_str!("../../experiments/geardb/fig12.toml")),
    ("geardb/fig13", include_str!("../../experiments/geardb/fig13.toml")),
    ("geardb/fig14", include_str!("../../experiments/geardb/fig14.toml")),
    ("geardb/fig15", include_str!("../../experiments/geardb/fig15.toml")),
    ("geardb/fig16", include_str!("../../experiments/geardb/fig16.toml")),
    ("geardb/fig17", include_str!("../../experiments/geardb/fig17.toml")),
    ("geardb/reads-at-once", include_str!("../../experiments/geardb/reads-at-once.toml")),
    ("geardb/ycsb-at-once", include_str!("../../experiments/geardb/ycsb-at-once.toml")),
    ("geardb/windows", include_str!("../../experiments/geardb/windows.toml")),
    ("geardb/threshold", include_str!("../../experiments/geardb/threshold.toml")),
    ("geardb/gain", include_str!("../../experiments/geardb/gain.toml")),
    ("geardb/age", include_str!("../../experiments/geardb/age.toml")),
    ("geardb/repairs", include_str!("../../experiments/geardb/repairs.toml")),
    ("geardb/smrdb", include_str!("../../experiments/geardb/smrdb.toml")),
    ("geardb/disk", include_str!("../../experiments/geardb/disk.toml")),
    ("bluefs/fig1", include_str!("../../experiments/bluefs/fig1.toml")),
    ("bluefs/fig2", include_str!("../../experiments/bluefs/fig2.toml")),
    ("bluefs/fig5", include_str!("../../experiments/bluefs/fig5.toml")),
    ("bluefs/fig6", include_str!("../../experiments/bluefs/fig6.toml")),
    ("bluefs/fig8", include_str!("../../experiments/bluefs/fig8.toml")),
    ("bluefs/fig9", include_str!("../../experiments/bluefs/fig9.toml")),
    ("bluefs/fig10", include_str!("../../experiments/bluefs/fig10.toml")),
    ("bluefs/fig11", include_str!("../../experiments/bluefs/fig11.toml")),
    ("bluefs/fig12", include_str!("../../experiments/bluefs/fig12.toml")),
    ("bluefs/fig13", include_str!("../../experiments/bluefs/fig13.toml")),
    ("bluefs/fig14", include_str!("../../experiments/bluefs/fig14.toml")),
    ("bluefs/fig15b", include_str!("../../experiments/bluefs/fig15b.toml")),
    ("bluefs/fig16", include_str!("../../experiments/bluefs/fig16.toml")),
    ("bluefs/fig17", include_str!("../../experiments/bluefs/fig17.toml")),
    ("bluefs/distinct", include_str!("../../experiments/bluefs/distinct.toml")),
    ("bluefs/memtables", include_str!("../../experiments/bluefs/memtables.toml")),
    ("sealdb/fig2", include_str!("../../experiments/sealdb/fig2.toml")),
    ("sealdb/fig3", include_str!("../../experiments/sealdb/fig3.toml")),
    ("sealdb/fig8", include_str!("../../experiments/sealdb/fig8.toml")),
    ("sealdb/fig8-in-order", include_str!("../../experiments/sealdb/fig8-in-order.toml")),
    ("sealdb/fig9", include_str!("../../experiments/sealdb/fig9.toml")),
    ("sealdb/fig10", include_str!("../../experiments/sealdb/fig10.toml")),
    ("sealdb/fig11", include_str!("../../experiments/sealdb/fig11.toml")),
    ("sealdb/fig12", include_str!("../../experiments/sealdb/fig12.toml")),
    ("sealdb/fig13", include_str!("../../experiments/sealdb/fig13.toml")),
    ("sealdb/fig14", include_str!("../../experiments/sealdb/fig14.toml")),
    ("sealdb/allocators", include_str!("../../experiments/sealdb/allocators.toml")),
    ("sealdb/fits", include_str!("../../experiments/sealdb/fits.toml")),
    ("sealdb/memory", include_str!("../../experiments/sealdb/memory.toml")),
    ("sealdb/reads", include_str!("../../experiments/sealdb/reads.toml")),
    ("sealdb/reads-in-order", include_str!("../../experiments/sealdb/reads-in-order.toml")),
    ("sealdb/requests", include_str!("../../experiments/sealdb/requests.toml")),
    ("smrdb/fig3-9-100b", include_str!("../../experiments/smrdb/fig3-9-100b.toml")),
    ("smrdb/fig3-9-4k", include_str!("../../experiments/smrdb/fig3-9-4k.toml")),
    ("smrdb/fig3-9-100k", include_str!("../../experiments/smrdb/fig3-9-100k.toml")),
    ("smrdb/fig3-10", include_str!("../../experiments/smrdb/fig3-10.toml")),
    ("smrdb/fig3-11", include_str!("../../experiments/smrdb/fig3-11.toml")),
    ("smrdb/fig3-13", include_str!("../../experiments/smrdb/fig3-13.toml")),
    ("smrdb/fig3-14", include_str!("../../experiments/smrdb/fig3-14.toml")),
    ("smrdb/fig3-14-in-order", include_str!("../../experiments/smrdb/fig3-14-in-order.toml")),
    ("smrdb/fig3-15", include_str!("../../experiments/smrdb/fig3-15.toml")),
    ("smrdb/fig3-16", include_str!("../../experiments/smrdb/fig3-16.toml")),
    ("smrdb/overlap", include_str!("../../experiments/smrdb/overlap.toml")),
    ("lifetime/throughput", include_str!("../../experiments/lifetime/throughput.toml")),
    ("lifetime/writes", include_str!("../../experiments/lifetime/writes.toml")),
    ("lifetime/over-time", include_str!("../../experiments/lifetime/over-time.toml")),
    ("lifetime/ycsb", include_str!("../../experiments/lifetime/ycsb.toml")),
    ("lifetime/threshold", include_str!("../../experiments/lifetime/threshold.toml")),
    ("lifetime/fill", include_str!("../../experiments/lifetime/fill.toml")),
    ("lifetime/memtables", include_str!("../../experiments/lifetime/memtables.toml")),
    ("sliced/frontier-large", include_str!("../../experiments/sliced/frontier-large.toml")),
    ("sliced/loads", include_str!("../../experiments/sliced/loads.toml")),
    ("sliced/fill-large", include_str!("../../experiments/sliced/fill-large.toml")),
    ("sliced/fill", include_str!("../../experiments/sliced/fill.toml")),
    ("sliced/frontier", include_str!("../../experiments/sliced/frontier.toml")),
    ("sliced/memory", include_str!("../../experiments/sliced/memory.toml")),
    ("sliced/mixes", include_str!("../../experiments/sliced/mixes.toml")),
    ("sliced/scans", include_str!("../../experiments/sliced/scans.toml")),
    ("sliced/short-memory", include_str!("../../experiments/sliced/short-memory.toml")),
    ("arrivals/fig4-10", include_str!("../../experiments/arrivals/fig4-10.toml")),
    ("arrivals/delays", include_str!("../../experiments/arrivals/delays.toml")),
    ("offload/fig5-5", include_str!("../../experiments/offload/fig5-5.toml")),
    ("offload/fig5-6", include_str!("../../experiments/offload/fig5-6.toml")),
    ("offload/buffers", include_str!("../../experiments/offload/buffers.toml")),
    ("offload/buffers-arrivals", include_str!("../../experiments/offload/buffers-arrivals.toml")),
    ("offload/poisson", include_str!("../../experiments/offload/poisson.toml")),
    ("offload/bursts", include_str!("../../experiments/offload/bursts.toml")),
    ("offload/throttle", include_str!("../../experiments/offload/throttle.toml")),
    ("offload/rows", include_str!("../../experiments/offload/rows.toml")),
    ("offload/table5-1", include_str!("../../experiments/offload/table5-1.toml")),
    ("offload/mixes", include_str!("../../experiments/offload/mixes.toml")),
    ("arrivals/sweep", include_str!("../../experiments/arrivals/sweep.toml")),
    ("arrivals/low-rates", include_str!("../../experiments/arrivals/low-rates.toml")),
];

/// Stands for every experiment, alone or after a paper: `geardb/all`.
const ALL: &str = "all";

/// The names of the experiments that come with the project.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The file of an experiment that comes with the project.
pub(super) fn text_of(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

impl Experiment {
    /// The experiments that `name` stands for: one that comes with the project, all of a paper
    /// (`geardb/all`), all there are (`all`), or the file at this path.
    pub fn find(name: &str) -> Result<Vec<Self>, ExperimentError> {
        let paper = name.strip_suffix(ALL).filter(|paper| paper.is_empty() || paper.ends_with('/'));
        let meant =
            |known: &str| known == name || paper.is_some_and(|paper| known.starts_with(paper));
        let known = FILES.iter().filter(|(known, _)| meant(known));
        let found: Vec<Self> = known
            .map(|(name, text)| Self::parse(name, &format!("{name}.toml"), text))
            .collect::<Result<_, _>>()?;
        if found.is_empty() { Ok(vec![Self::read(name)?]) } else { Ok(found) }
    }

    /// The experiment in a file, which is called as the file without its extension.
    fn read(name: &str) -> Result<Self, ExperimentError> {
        let path = Path::new(name);
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let is_there = std::fs::metadata(path).is_ok_and(|found| !found.is_dir());
        let (Some(stem), true) = (stem, path.extension().is_some() || is_there) else {
            return Err(ExperimentError::Unknown { name: name.to_owned() });
        };
        let text = read_input(path, SETTINGS_MAX).map_err(|error| ExperimentError::Unreadable {
            file: name.to_owned(),
            kind: error.kind(),
            problem: error.to_string(),
        })?;
        Self::parse(stem, name, &text)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::experiment::{Claim, NamedRun};

    #[test]
    fn every_file_is_in_the_library_and_every_experiment_can_be_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
        let mut files = BTreeSet::new();
        for paper in std::fs::read_dir(&root).unwrap() {
            for file in std::fs::read_dir(paper.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let name = path.strip_prefix(&root).unwrap().with_extension("");
                files.insert(name.to_str().unwrap().to_owned());
            }
        }
        assert_eq!(files, names().map(str::to_owned).collect());
        for name in names() {
            let found = Experiment::find(name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((found.len(), found[0].name.as_str()), (1, name));
            let Experiment { plots, claims, about, .. } = &found[0];
            let mut texts = BTreeSet::new();
            for claim in claims {
                assert!(texts.insert(&claim.text), "{name}: twice: {}", claim.text);
                if let Some(run) = &claim.shown_by {
                    assert!(claim.explanation.is_some(), "{name}: {}", claim.text);
                    assert!(is_there(run), "{name}: expected a run of the library, found {run}");
                }
                let Some(first) = &claim.repeats else { continue };
                let first = &Experiment::find(first).unwrap_or_else(|e| panic!("{name}: {e}"))[0];
                let is_same = |it: &Claim| it.repeats.is_none() && it.published == claim.published;
                assert!(first.claims.iter().any(is_same), "{name}: {}", claim.text);
            }
            assert!(!plots.is_empty(), "{name}");
            assert!(!claims.is_empty() || about.contains("no figure"), "{name}");
        }
    }

    /// Whether a run is one of an experiment in the library.
    fn is_there(run: &NamedRun) -> bool {
        let Ok(found) = Experiment::find(&run.experiment) else { return false };
        found[0].runs().any(|(variant, system)| {
            let variant = variant.map(|variant| &variant.name);
            (run.variant.is_none() || run.variant.as_ref() == variant)
                && run.system.as_ref().is_none_or(|it| it == system)
        })
    }

    #[test]
    fn a_run_that_no_experiment_has_is_noticed() {
        let run = |experiment: &str, variant: Option<&str>, system: Option<&str>| {
            let [variant, system] = [variant, system].map(|it| it.map(str::to_owned));
            is_there(&NamedRun { experiment: experiment.to_owned(), variant, system })
        };
        assert!(run("geardb/smrdb", Some("small memtables"), Some("smrdb")));
        assert!(!run("geardb/smrdb", Some("small memtables"), Some("geardb")));
        assert!(!run("geardb/smrdb", Some("none"), None));
        assert!(!run("sealdb/fig99", None, None));
    }

    #[test]
    fn experiments_are_found_by_paper_and_by_path() {
        let names = |name: &str| -> Vec<String> {
            Experiment::find(name).unwrap().into_iter().map(|it| it.name).collect()
        };
        let lifetime =
            ["throughput", "writes", "over-time", "ycsb", "threshold", "fill", "memtables"];
        assert_eq!(names("lifetime/all"), lifetime.map(|name| format!("lifetime/{name}")));
        assert_eq!(names("all").len(), FILES.len());
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/experiments/geardb/fig4.toml");
        assert_eq!(names(file), ["fig4"]);
        for wrong in ["geardb/fig6", "geardb", "wisckey/all", ""] {
            let error = Experiment::find(wrong).unwrap_err().to_string();
            assert!(error.contains("geardb/fig3, ") && error.contains(wrong), "{error}");
        }
        for malformed in ["/dev/null", "missing.toml"] {
            let error = Experiment::find(malformed).unwrap_err();
            assert!(error.to_string().starts_with(malformed), "{error}");
        }
        let error = Experiment::find("missing.toml").unwrap_err();
        assert!(matches!(error, ExperimentError::Unreadable { .. }), "{error}");
    }
}
