//! Prints a report as one page of HTML, with its plots.
//!
//! The page needs no script, no other file and no network. If a plot cannot be drawn, there is no
//! page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::chapter::slug;
use super::settings::settings;
use super::table::{self, Table};
use super::{Answer, Chapter, Report, Verdict, keeping_up};
use crate::plot::{PlotError, Svg, hatches, style_sheet};

const STYLE: &str = include_str!("page.css");

impl Report {
    /// The page.
    pub fn html(&self) -> Result<String, PlotError> {
        let mut sections = Vec::new();
        for chapter in &self.chapters {
            sections.push(section(chapter, &chapter.plots()?));
        }
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title()) " · Terrace" }
                    style { (PreEscaped(style_sheet())) (PreEscaped(STYLE)) }
                }
                body {
                    svg .definitions width="0" height="0" aria-hidden="true" {
                        (PreEscaped(hatches()))
                    }
                    (self.header())
                    main {
                        (self.summary())
                        @for section in &sections { (section) }
                    }
                    (self.footer())
                }
            }
        };
        Ok(page.into_string())
    }

    fn header(&self) -> Markup {
        html! {
            header {
                h1 { (self.title()) }
                p .lede {
                    @if self.is_of_papers() {
                        "What publications on key-value stores for zoned storage say of their "
                        "systems, next to the results of Terrace " (self.program) " with the same "
                        "systems on models of the same drives. "
                    } @else {
                        "Results of Terrace " (self.program) " with systems of publications on "
                        "zoned storage, on models of drives. "
                    }
                    "All times are those of the full drives; the runs were "
                    "made in virtual time at a scale of " b { (self.scale) } " from seed "
                    b { (self.seed) } ", and come to the same figures on every machine. "
                    "Counts of operations and of zones are those of the scaled runs."
                }
                nav aria-label="Contents" {
                    ol {
                        li { a href="#claims" { "All claims" } }
                        @for chapter in &self.chapters {
                            li {
                                a href={ "#" (chapter.slug()) } { (chapter.experiment.name) }
                                " " (chapter.experiment.title)
                            }
                        }
                    }
                }
            }
        }
    }

    fn summary(&self) -> Markup {
        let answers = self.answers();
        let missing = self.chapters.iter().any(Chapter::is_incomplete);
        html! {
            section #claims {
                h2 { "All claims" }
                p { (Answer::tally(&answers)) }
                @if missing {
                    p .note {
                        "Not every run has a result of this engine: the sections below say which "
                        "have not."
                    }
                }
                @if !answers.is_empty() { (claims(&answers, true)) }
            }
        }
    }

    fn footer(&self) -> Markup {
        html! {
            footer {
                p { "Made by:" }
                pre { code { @for line in self.commands() { (line) "\n" } } }
            }
        }
    }
}

/// Claims as a table; on a narrow screen as cards.
fn claims(answers: &[Answer], with_place: bool) -> Markup {
    html! {
        table .claims {
            thead {
                tr {
                    @if with_place { th scope="col" { "figure" } }
                    th scope="col" { "claim" }
                    th scope="col" { "system" }
                    th .numbers scope="col" { "published" }
                    th .numbers scope="col" { "ours" }
                    th .numbers scope="col" { "ratio" }
                    th scope="col" { "verdict" }
                }
            }
            tbody {
                @for answer in answers { (claim(answer, with_place)) }
            }
        }
    }
}

fn claim(answer: &Answer, with_place: bool) -> Markup {
    let [published, ours, ratio] = answer.shown();
    let (class, sign) = match answer.verdict {
        Verdict::Within => ("good", "✓"),
        Verdict::Explained | Verdict::InWords => ("poor", "≈"),
        Verdict::Differs => ("poor", "≠"),
        Verdict::Unfit | Verdict::Missing => ("none", "–"),
    };
    let slug = slug(&answer.experiment);
    html! {
        tr {
            @if with_place {
                td .place { a href={ "#" (slug) } { (answer.experiment) } }
            }
            td .claim {
                (answer.claim)
                // Among all claims there is no room for it; its figure is one click away.
                @if let (false, Some(why)) = (with_place, &answer.explanation) {
                    p .why {
                        (why)
                        @if let Some(run) = &answer.shown_by { " Shown by " (run) "." }
                    }
                }
            }
            td .system {
                code { (answer.system) }
                @if let Some(setting) = &answer.setting { " " span .setting { (setting) } }
            }
            td .numbers data-label="published" { (published) }
            td .numbers data-label="ours" { (ours) }
            td .numbers data-label="ratio" { (ratio) }
            td .verdict .(class) { span aria-hidden="true" { (sign) } " " (answer.verdict.words()) }
        }
    }
}

fn section(chapter: &Chapter, plots: &[Svg]) -> Markup {
    let experiment = &chapter.experiment;
    let answers = chapter.answers();
    html! {
        section #(chapter.slug()) {
            h2 { span .name { (experiment.name) } " " (experiment.title) }
            p .source { (experiment.source) }
            @for remark in chapter.remarks() { p .note { (remark) } }
            @if !answers.is_empty() { h3 { "Claims" } (claims(&answers, false)) }
            @if !plots.is_empty() {
                h3 { "Plots" }
                div .plots {
                    @for (plot, said) in plots.iter().zip(chapter.findings()) {
                        (figure(plot, &said))
                    }
                }
            }
            h3 { "Runs" }
            @match Table::runs(chapter) {
                Some(table) => { (runs(&table, "Runs", &experiment.name, table::LEGEND)) }
                None => { p { "There is no result of any run." } }
            }
            @if let Some(table) = Table::delays(chapter) {
                h3 { "Delays" }
                (runs(&table, "Delays", &experiment.name, table::DELAYS_LEGEND))
            }
            @if let Some(table) = Table::keeping_up(chapter) {
                h3 { "Rates" }
                (runs(&table, "Rates", &experiment.name, keeping_up::LEGEND))
            }
            h3 { "What was done" }
            @for paragraph in experiment.about.split("\n\n").flat_map(paragraphs) {
                p { (paragraph) }
            }
            dl {
                @for (name, value) in settings(chapter, &chapter.outcomes) {
                    dt { (name) } dd { (value) }
                }
            }
        }
    }
}

/// The paragraphs of an experiment's description: lines that belong together, such as those on the
/// paper's setup and those on our differences.
fn paragraphs(text: &str) -> Vec<String> {
    const OTHERWISE: &str = "Not as in the paper";
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.find(OTHERWISE).filter(|at| *at > 0) {
        Some(at) => vec![text[..at].trim_end().to_owned(), text[at..].to_owned()],
        None => vec![text],
    }
}

fn figure(plot: &Svg, findings: &[String]) -> Markup {
    html! {
        figure {
            figcaption { (plot.title()) }
            (PreEscaped(plot.inline()))
            @for finding in findings { p .finding { (finding) } }
        }
    }
}

fn runs(table: &Table, what: &str, name: &str, legend: &str) -> Markup {
    let class = |numeric: bool| numeric.then_some("numbers");
    html! {
        div .scroll tabindex="0" role="region" aria-label={ (what) " of " (name) } {
            table .runs {
                thead {
                    tr {
                        @for column in &table.columns {
                            th class=[class(column.numeric)] scope="col" { (column.title) }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @let cells = row.iter().zip(&table.columns);
                            @for (at, (cell, column)) in cells.enumerate() {
                                @if at == 0 { th scope="row" { (cell) } }
                                @else { td class=[class(column.numeric)] { (cell) } }
                            }
                        }
                    }
                }
            }
        }
        details { summary { "What the columns mean" } p { (legend) } }
    }
}
