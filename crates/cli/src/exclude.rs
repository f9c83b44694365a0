//! [`Exclude`]: patterns of files and directories that are left out of a tree.
//!
//! - A pattern without a slash is compared with each name on the way to a file: `*.o`, `target`.
//! - A pattern with a slash is compared with the path below the root: `docs/*.html`. A slash at its
//!   begin or end is ignored.
//! - In a pattern `*` is any text without a slash, `?` a character, `[a-z]` one of these, and `**`
//!   any directories.
//! - A directory that a pattern matches is left out with everything below it.

use std::path::Path;

use glob::{MatchOptions, Pattern};
use walkdir::DirEntry;

/// See the [module](self).
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Exclude {
    /// Leave out files and directories that match: `*.o` or `target` by name, `docs/*.html` by the
    /// path below DIR. A directory is left out as a whole. May be given several times
    #[arg(long = "exclude", value_name = "PATTERN", value_parser = pattern)]
    patterns: Vec<Pattern>,
}

/// How patterns are compared: `*` stays within a name, and matches names that begin with a dot.
const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

fn pattern(text: &str) -> Result<Pattern, String> {
    let text = text.trim_matches('/');
    if text.is_empty() {
        return Err("expected a name or a path, found none".to_owned());
    }
    Pattern::new(text).map_err(|error| format!("expected a pattern: {}", error.msg))
}

impl Exclude {
    /// Whether an entry of the tree below `root` is left out.
    pub(crate) fn leaves_out(&self, root: &Path, found: &DirEntry) -> bool {
        let path = found.path().strip_prefix(root).unwrap_or(found.path());
        self.patterns.iter().any(|pattern| {
            let compared = match pattern.as_str().contains('/') {
                true => path,
                false => Path::new(found.file_name()),
            };
            found.depth() > 0 && pattern.matches_with(&compared.to_string_lossy(), OPTIONS)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(patterns: &[&str]) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        for file in ["a.o", ".hidden.o", "src/b.o", "src/c.rs", "target/x/y", "src/target/z"] {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let patterns = patterns.iter().map(|text| pattern(text).unwrap()).collect();
        let exclude = Exclude { patterns };
        let walk = walkdir::WalkDir::new(root.path()).sort_by_file_name().into_iter();
        let kept = walk.filter_entry(|found| !exclude.leaves_out(root.path(), found));
        let files = kept.map(Result::unwrap).filter(|found| found.file_type().is_file());
        let names = files.map(|file| file.path().strip_prefix(root.path()).unwrap().to_owned());
        names.map(|name| name.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn names_and_paths_are_left_out_with_everything_below() {
        let all = [".hidden.o", "a.o", "src/b.o", "src/c.rs", "src/target/z", "target/x/y"];
        assert_eq!(kept(&[]), all);
        assert_eq!(kept(&["*.o", "target/"]), ["src/c.rs"]);
        assert_eq!(kept(&["/src/*"]), [".hidden.o", "a.o", "target/x/y"]);
        assert_eq!(kept(&["src/*.o", "**/x/y"]), &[all[0], all[1], all[3], all[4]]);
    }

    #[test]
    fn a_pattern_that_is_none_is_refused() {
        assert!(pattern("/").is_err() && pattern("a[").is_err());
    }
}
