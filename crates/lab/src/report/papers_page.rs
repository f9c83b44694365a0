//! Prints [`Papers`] as a page in Markdown, `docs/lab/papers.md`.
//!
//! Each claim has an address, so that other pages can link their figures to it. So has the count of
//! each verdict, `papers.md#within`, and the value in the run that shows a cause,
//! `papers.md#geardb-disk-1-there`.

use std::fmt::Write as _;

use super::markdown::escape;
use super::{Compared, Paper, Papers, Verdict};

const HEAD: &str = "\
<!-- Generated from crates/lab/experiments and crates/lab/results: do not edit. \
`TERRACE_REGENERATE=1 cargo test -p terrace-lab --test it papers` -->

# The claims of the papers, and our values

`terrace lab papers` prints this table. A claim stands in the file of its experiment \
([experiments.md](experiments.md)). Our value is from the runs of the named commit, at the named \
scale, from seed 1; `terrace lab run EXPERIMENT --scale SCALE` repeats them. A claim without runs \
of the present settings is *not measured*. [findings.md](findings.md) says the same in sentences.

- *Within 15 %*: the difference from the published value is at most 15 %.
- *Differs, explained*: the difference is larger, and the named run shows the cause.
- *Differs, cause in words*: a cause is given, and no run of the library shows it.
- *Differs, unexplained*: the cause is not known.
- *Not at this scale*: a run at this scale does not answer the claim.

";

impl Papers {
    /// The page.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut page = HEAD.to_owned();
        summary(&mut page, self);
        for paper in &self.papers {
            section(&mut page, paper);
        }
        page
    }

    /// How many claims of all have a verdict, such as `80 of 141`.
    #[must_use]
    pub fn share(&self, verdict: Verdict) -> String {
        let count = self.papers.iter().map(|paper| paper.count(verdict)).sum::<usize>();
        format!("{count} of {}", self.claims().count())
    }
}

fn summary(page: &mut String, papers: &Papers) {
    let verdicts = Verdict::ALL
        .map(|verdict| format!("<a id=\"{}\"></a>{}", verdict.anchor(), verdict.words()));
    let _ = writeln!(page, "| | claims | {} |", verdicts.join(" | "));
    let _ = writeln!(page, "|---|---:|{}", "---:|".repeat(Verdict::ALL.len()));
    let mut row = |name: &str, claims: usize, counts: [usize; Verdict::ALL.len()]| {
        let counts = counts.map(|count| count.to_string());
        let _ = writeln!(page, "| {name} | {claims} | {} |", counts.join(" | "));
    };
    for paper in &papers.papers {
        let counts = Verdict::ALL.map(|verdict| paper.count(verdict));
        let name = format!("[{}](#{})", escape(&paper.title), paper.group);
        row(&name, paper.claims.len(), counts);
    }
    let all = Verdict::ALL.map(|verdict| papers.papers.iter().map(|it| it.count(verdict)).sum());
    row("all", papers.claims().count(), all);
}

fn section(page: &mut String, paper: &Paper) {
    let Paper { group, title, source, claims } = paper;
    let _ =
        write!(page, "\n<a id=\"{group}\"></a>\n\n## {}, {}\n\n", escape(title), escape(source));
    page.push_str("| experiment | claim | published | ours | difference | verdict | measured |\n");
    page.push_str("|---|---|---:|---:|---:|---|---|\n");
    for claim in claims {
        row(page, claim);
    }
    for claim in claims.iter().filter(|claim| claim.is_to_be_explained()) {
        let Some(why) = &claim.answer.explanation else { continue };
        let Compared { anchor, answer, .. } = claim;
        let _ = write!(page, "\n- [{}](#{anchor}), {}", answer.experiment, escape(&answer.claim));
        let _ = write!(page, ": {}", escape(why.trim()));
        if let Some(run) = &answer.shown_by {
            let _ = write!(page, " Shown by `{run}`");
            if let Some(value) = &claim.there {
                let _ = write!(page, ", which has <a id=\"{anchor}-there\"></a>{value}");
            }
            page.push('.');
        }
        page.push('\n');
    }
}

fn row(page: &mut String, claim: &Compared) {
    let Compared { anchor, answer, measured, .. } = claim;
    let [published, ours, _] = answer.shown();
    let measured = measured
        .as_ref()
        .map_or(String::new(), |measured| format!("{}, {}", measured.scale, measured.commit));
    let _ = writeln!(
        page,
        "| <a id=\"{anchor}\"></a>{} | {} | {published} | {ours} | {} | {} | {measured} |",
        answer.experiment,
        escape(&answer.claim),
        claim.difference(),
        answer.verdict.words(),
    );
}

impl Compared {
    /// Whether the verdict is one that the claim's explanation, or the scale, is the reason for.
    #[must_use]
    pub fn is_to_be_explained(&self) -> bool {
        matches!(self.answer.verdict, Verdict::Explained | Verdict::InWords | Verdict::Unfit)
    }
}

impl Verdict {
    /// The name of the verdict in addresses, as in JSON.
    #[must_use]
    pub fn anchor(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Explained => "explained",
            Self::InWords => "in-words",
            Self::Differs => "differs",
            Self::Unfit => "unfit",
            Self::Missing => "missing",
        }
    }
}
