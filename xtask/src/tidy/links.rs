//! Check of links and images in Markdown that point into the repository: the file they name must
//! exist.
//!
//! Links with a colon, such as those to other hosts, are not followed. Of a link to a heading, the
//! file is looked for and the heading is not. The file is looked for on the disk, so one that git
//! does not know counts as well.

use std::path::Path;

use pulldown_cmark::{Event, Parser, Tag};

use super::finding::Finding;

/// Checks every relative link and image of the file at `path`, which is relative to `root`.
pub(crate) fn check(root: &Path, path: &Path, text: &str) -> Vec<Finding> {
    let directory = path.parent().unwrap_or(Path::new(""));
    let mut findings = Vec::new();
    for (event, range) in Parser::new(text).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else {
            continue;
        };
        let (file, _heading) = dest_url.split_once('#').unwrap_or((&dest_url, ""));
        if file.is_empty() || file.contains(':') {
            continue;
        }
        if !root.join(directory).join(file).exists() {
            let line = text[..range.start].matches('\n').count() + 1;
            let expected = "a link to a file that exists";
            findings.push(Finding::new(path, line, expected, format!("`{dest_url}`")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_nowhere_is_found_with_its_line() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("docs")).unwrap();
        std::fs::write(root.path().join("docs/here.md"), "").unwrap();
        std::fs::write(root.path().join("README.md"), "").unwrap();
        let text = "# Title\n\n[a](here.md) [b](here.md#part) [c](../README.md) [d](#title)\n\
                    [e](https://example.org/x) [f](mailto:a@example.org)\n`[code](gone.md)`\n\n\
                    see [g](gone.md) and ![h](../picture.png)\n";
        let found: Vec<_> = check(root.path(), Path::new("docs/page.md"), text)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            found,
            [
                "docs/page.md:7: expected a link to a file that exists, found `gone.md`",
                "docs/page.md:7: expected a link to a file that exists, found `../picture.png`",
            ]
        );
    }
}
