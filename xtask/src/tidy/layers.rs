//! Check of dependencies between the crates of the workspace: a crate depends on crates of lower
//! layers.
//!
//! The table of layers is a copy of that in ARCHITECTURE.md, kept by hand. A member of the
//! workspace that is not in it is a finding, except for xtask; a crate with a layer that depends on
//! xtask is one, too. A normal or build dependency must point to a lower layer, one of tests to the
//! same layer or a lower one. So crates of one layer, such as zone and policy, do not know each
//! other, but their tests may. Crates from outside the workspace are not checked.

use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata};

use super::finding::Finding;

/// The layer of each crate.
const LAYERS: [(&str, u8); 12] = [
    ("terrace-env", 0),
    ("terrace-fuzz", 1),
    ("terrace-zone", 1),
    ("terrace-policy", 1),
    ("terrace-fs", 2),
    ("terrace-lsm", 2),
    ("terrace", 3),
    ("terrace-c", 4),
    ("terrace-lab", 4),
    ("terrace-page", 4),
    ("terrace-cli", 5),
    ("terrace-server", 5),
];

/// Members that stand next to the layers and that nothing may depend on.
const BESIDE: [&str; 1] = ["xtask"];

/// A member of the workspace, as far as the layers are concerned.
struct Member {
    name: String,
    manifest: PathBuf,
    depends_on: Vec<(String, DependencyKind)>,
}

/// Checks every edge between members.
pub(crate) fn check(root: &Path, metadata: &Metadata) -> Vec<Finding> {
    let members = metadata.workspace_packages();
    let inside = |name: &str| members.iter().any(|member| member.name == name);
    let members: Vec<_> = members
        .iter()
        .map(|package| {
            let manifest = package.manifest_path.as_std_path();
            let inner = package.dependencies.iter().filter(|dependency| inside(&dependency.name));
            Member {
                name: package.name.to_string(),
                manifest: manifest.strip_prefix(root).unwrap_or(manifest).to_path_buf(),
                depends_on: inner.map(|other| (other.name.clone(), other.kind)).collect(),
            }
        })
        .collect();
    let read = |manifest: &Path| std::fs::read_to_string(root.join(manifest)).unwrap_or_default();
    members.iter().flat_map(|member| check_member(member, &read(&member.manifest))).collect()
}

fn check_member(member: &Member, manifest: &str) -> Vec<Finding> {
    let Some(own) = layer(&member.name) else {
        return match BESIDE.contains(&member.name.as_str()) {
            true => Vec::new(),
            false => vec![Finding::new(
                &member.manifest,
                line_of(manifest, "name"),
                "a crate with a layer in the table of xtask/src/tidy/layers.rs",
                format!("`{}`, which has none", member.name),
            )],
        };
    };
    let wrong = member.depends_on.iter().filter(|(other, kind)| {
        let other = layer(other);
        !other.is_some_and(|other| match kind {
            DependencyKind::Development => other <= own,
            _ => other < own,
        })
    });
    wrong
        .map(|(other, kind)| {
            let limit = match kind {
                DependencyKind::Development => "own layer or a lower one",
                _ => "a lower layer",
            };
            let at = layer(other).map_or("none".to_owned(), |layer| layer.to_string());
            Finding::new(
                &member.manifest,
                line_of(manifest, other),
                format!("`{}` (layer {own}) to depend on {limit}", member.name),
                format!("`{other}` (layer {at})"),
            )
        })
        .collect()
}

fn layer(name: &str) -> Option<u8> {
    LAYERS.iter().find(|(other, _)| *other == name).map(|(_, layer)| *layer)
}

/// The line that starts with the key `word`; 1 if there is none.
fn line_of(manifest: &str, word: &str) -> usize {
    let starts = |line: &str| {
        let rest = line.trim_start().strip_prefix(word);
        rest.is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
    };
    manifest.lines().position(starts).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, on: &str, kind: DependencyKind) -> Vec<String> {
        let member = Member {
            name: name.to_owned(),
            manifest: "x/Cargo.toml".into(),
            depends_on: vec![(on.to_owned(), kind)],
        };
        let manifest = format!("[package]\nname = \"{name}\"\n\n{on}.workspace = true");
        check_member(&member, &manifest).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_dependency_that_points_up_is_found_with_its_line() {
        assert_eq!(
            findings("terrace-env", "terrace-zone", DependencyKind::Normal),
            ["x/Cargo.toml:4: expected `terrace-env` (layer 0) to depend on a lower layer, \
              found `terrace-zone` (layer 1)"]
        );
    }

    #[test]
    fn crates_of_one_layer_do_not_know_each_other() {
        for (one, other) in [("terrace-zone", "terrace-policy"), ("terrace-fs", "terrace-lsm")] {
            assert_eq!(findings(one, other, DependencyKind::Normal).len(), 1);
            assert_eq!(findings(other, one, DependencyKind::Build).len(), 1);
            assert_eq!(findings(one, other, DependencyKind::Development).len(), 0);
        }
        assert_eq!(findings("terrace-fs", "terrace", DependencyKind::Development).len(), 1);
    }

    #[test]
    fn a_dependency_that_points_down_is_fine() {
        assert!(findings("terrace", "terrace-lsm", DependencyKind::Normal).is_empty());
    }

    #[test]
    fn a_crate_without_a_layer_is_found_and_nothing_depends_on_the_chores() {
        assert_eq!(findings("terrace-new", "terrace-env", DependencyKind::Normal).len(), 1);
        assert_eq!(findings("terrace-lab", "xtask", DependencyKind::Normal).len(), 1);
    }
}
