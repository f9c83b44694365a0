//! The page of the papers' claims is made from the experiments and the kept results, and pages
//! that link a figure to it have the value that it has.
//!
//! `TERRACE_REGENERATE=1 cargo test -p terrace-lab --test it papers` writes the page anew.

use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use terrace_lab::report::{Papers, Verdict};

use crate::golden;

/// The page, from the crate.
const PAGE: &str = "../../docs/lab/papers.md";

/// The end of a link's file if it goes to the page.
const NAME: &str = "papers.md";

#[test]
fn the_page_of_claims_is_that_of_the_kept_results() {
    golden::check(PAGE, &Papers::of_this_program().markdown());
}

#[test]
fn every_figure_that_a_page_links_to_a_claim_is_the_kept_value() {
    let papers = Papers::of_this_program();
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for path in pages() {
        if path.ends_with(NAME) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let (count, found) = check(&papers, &text);
        checked += count;
        wrong.extend(found.iter().map(|it| format!("{}:{it}", path.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 0, "no page links to a claim");
}

#[test]
fn a_figure_that_differs_from_the_kept_value_is_found() {
    let papers = Papers::of_this_program();
    let measured = papers.claims().find(|claim| claim.answer.ours.is_some()).unwrap();
    let (anchor, [_, ours, _]) = (&measured.anchor, measured.answer.shown());
    let within = papers.share(Verdict::Within);
    let page = |figure: &str| format!("It is [{figure}](lab/papers.md#{anchor}).\n");
    assert_eq!(check(&papers, &page(&ours)), (1, Vec::new()));
    let found = check(&papers, &page("0.123")).1;
    assert_eq!(found, [format!("1: expected {ours}, found 0.123 ({anchor})")]);
    let count = |figure: &str| check(&papers, &format!("[{figure}](papers.md#within)")).1.len();
    assert_eq!((count(&within), count("1 of 2")), (0, 1));
    assert_eq!(check(&papers, "[1](papers.md#geardb-fig99-1)").1.len(), 1);
    assert_eq!(check(&papers, "[the table](papers.md), [SEALDB](papers.md#sealdb)").1.len(), 0);
}

/// Figures that `text` links to claims: their number, and those that differ from the kept values.
fn check(papers: &Papers, text: &str) -> (usize, Vec<String>) {
    let (mut checked, mut wrong) = (0, Vec::new());
    let mut link: Option<(String, usize, String)> = None;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                let anchor = dest_url.rsplit_once(NAME).and_then(|it| it.1.strip_prefix('#'));
                let line = text[..range.start].matches('\n').count() + 1;
                link = anchor.map(|anchor| (anchor.to_owned(), line, String::new()));
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some((.., figure)) = &mut link {
                    figure.push_str(&part);
                }
            }
            Event::End(TagEnd::Link) => {
                let Some((anchor, line, figure)) = link.take() else { continue };
                if papers.papers.iter().any(|paper| paper.group == anchor) {
                    continue;
                }
                checked += 1;
                let expected = value(papers, &anchor).unwrap_or_else(|| "no such link".to_owned());
                if figure != expected {
                    wrong.push(format!("{line}: expected {expected}, found {figure} ({anchor})"));
                }
            }
            _ => {}
        }
    }
    (checked, wrong)
}

/// The value of a claim, that in the run that shows its cause, or the count of a verdict, as the
/// page shows it.
fn value(papers: &Papers, anchor: &str) -> Option<String> {
    let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.anchor() == anchor);
    if let Some(verdict) = verdict {
        return Some(papers.share(verdict));
    }
    let claim = |anchor: &str| papers.claims().find(|claim| claim.anchor == anchor);
    match anchor.strip_suffix("-there") {
        Some(anchor) => claim(anchor)?.there.clone(),
        None => {
            let [_, ours, _] = claim(anchor)?.answer.shown();
            Some(ours)
        }
    }
}

/// The README, and all pages of the documentation.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}
