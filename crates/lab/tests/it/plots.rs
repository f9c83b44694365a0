//! Plots of made-up outcomes, compared with goldens that a person has looked at.
//!
//! `TERRACE_REGENERATE=1 cargo test -p terrace-lab --test it plots` writes them anew; look at them
//! in a browser, by light and by dark.

use terrace_lab::experiment::{Experiment, Over, Plot};
use terrace_lab::plot::{PlotError, Svg, draw};
use terrace_lab::run::Outcome;

use crate::specimen;

/// Whether every drawing is XML, has words for blind readers, and no colour of its own.
fn read(svg: &Svg) -> String {
    let alone = svg.standalone();
    for text in [svg.inline(), alone.clone()] {
        let document = roxmltree::Document::parse(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let words = |name| document.descendants().find(|node| node.has_tag_name(name));
        assert_eq!(words("title").and_then(|node| node.text()), Some(svg.title()));
        assert!(words("desc").and_then(|node| node.text()).is_some_and(|text| text.len() > 20));
        for node in document.descendants() {
            for attribute in ["fill", "stroke"] {
                assert!(matches!(node.attribute(attribute), None | Some("none")), "{node:?}");
            }
        }
    }
    alone
}

fn check(name: &str, plot: &Plot, experiment: &Experiment, outcomes: &[Outcome]) {
    let drawn = read(&draw(plot, experiment, outcomes).unwrap());
    crate::golden::check(&format!("tests/golden/plots/{name}.svg"), &drawn);
}

#[test]
fn plots_of_every_kind_are_as_they_were_looked_at() {
    let (experiment, outcomes) = (specimen::experiment(), specimen::outcomes());
    let names = ["timeline", "zones-sorted", "zones-cumulative", "points", "bars", "ratio"];
    assert_eq!(names.len(), experiment.plots.len());
    for (name, plot) in names.into_iter().zip(&experiment.plots) {
        check(name, plot, &experiment, &outcomes);
    }
}

#[test]
fn each_merge_is_drawn_in_a_panel_of_its_system() {
    let plot = Plot::Merges { title: "Time of each merge".into() };
    check("merges", &plot, &specimen::experiment(), &specimen::outcomes());
}

#[test]
fn addresses_of_merges_and_free_runs_are_uprights_in_a_panel_of_their_system() {
    let (experiment, outcomes) = (specimen::experiment(), specimen::outcomes());
    let title = "Where merges wrote".into();
    check("addresses", &Plot::Addresses { title }, &experiment, &outcomes);
    let plot = Plot::FreeRuns { title: "Fragments".into() };
    check("free-runs", &plot, &experiment, &outcomes);
    let drawn = draw(&plot, &experiment, &outcomes[..1]).unwrap().standalone();
    assert!(drawn.contains("2 runs of 14.5 MiB on average"), "the long one is no fragment");
}

#[test]
fn with_one_system_series_of_a_unit_share_a_panel() {
    let mut experiment = specimen::experiment();
    experiment.systems.truncate(1);
    let series = ["kv_per_second", "flushes", "compactions", "zones"].map(str::to_owned).to_vec();
    let plot = Plot::Timeline { title: "One system".into(), series, over: Over::Time };
    check("one-system", &plot, &experiment, &[specimen::outcome("bluefs", 0)]);
}

#[test]
fn over_progress_systems_stand_beside_each_other_where_they_have_done_the_same() {
    let series = vec!["kv_per_second".to_owned()];
    let plot = Plot::Timeline { title: "Progress".into(), series, over: Over::Progress };
    let mut slower = specimen::outcome("leveldb-greedy:free_min=10", 1);
    for sample in &mut slower.samples {
        sample.seconds *= 3.0;
    }
    check("progress", &plot, &specimen::experiment(), &[specimen::outcome("bluefs", 0), slower]);
}

#[test]
fn variants_have_panels_and_groups_of_their_own() {
    let experiment = specimen::experiment();
    let outcomes: Vec<Outcome> = ["20 GB", "40 GB"]
        .iter()
        .flat_map(|variant| {
            let variant = Some((*variant).to_owned());
            specimen::outcomes()
                .into_iter()
                .map(move |it| Outcome { variant: variant.clone(), ..it })
        })
        .collect();
    for plot in &experiment.plots {
        let drawn = read(&draw(plot, &experiment, &outcomes).unwrap());
        assert!(drawn.contains(">20 GB") || drawn.contains(", 20 GB"), "{plot:?}");
        assert!(drawn.contains(">40 GB") || drawn.contains(", 40 GB"), "{plot:?}");
    }
}

#[test]
fn where_nothing_was_run_the_drawing_says_so() {
    let experiment = specimen::experiment();
    for plot in &experiment.plots {
        let drawn = read(&draw(plot, &experiment, &[]).unwrap());
        assert!(drawn.contains(">no data</text>"), "{plot:?}");
    }
    let others = [Outcome { experiment: "nobody/fig2".into(), ..specimen::outcome("bluefs", 0) }];
    assert!(read(&draw(&experiment.plots[0], &experiment, &others).unwrap()).contains(">no data<"));
}

#[test]
fn metrics_and_series_that_do_not_exist_are_refused_with_the_choices() {
    let experiment = specimen::experiment();
    let title = || "t".to_owned();
    let plots = [
        (
            Plot::Timeline { title: title(), series: vec!["kv".into()], over: Over::Time },
            "series",
            "kv_per_second",
        ),
        (
            Plot::Ratio {
                title: title(),
                system: "bluefs".into(),
                metric: "kv".into(),
                by: "free_min".into(),
                published: 1.7,
                published_at: None,
            },
            "metric",
            "kv_per_second",
        ),
        (
            Plot::Bars { title: title(), metrics: vec!["kv".into()] },
            "metric",
            "seconds_by_cause.idle",
        ),
        (
            Plot::Points { title: title(), x: "zones_peak".into(), y: "kv".into() },
            "metric",
            "write_amplification.total",
        ),
    ];
    for (plot, kind, choice) in plots {
        let error = draw(&plot, &experiment, &specimen::outcomes()).unwrap_err();
        assert!(matches!(error, PlotError::Unknown { .. }));
        let said = error.to_string();
        assert!(
            said.starts_with(&format!("nobody/fig1, plot \"t\": expected a {kind}, ")),
            "{said}"
        );
        assert!(said.contains(choice) && said.ends_with("found \"kv\""), "{said}");
    }
}

#[test]
fn names_and_values_from_anywhere_do_no_harm() {
    let experiment = specimen::experiment();
    let evil = "</title><script>alert(\"1\")</script> &amp; fill=\"#A50000\" \u{1}\n'";
    let mut outcomes = specimen::outcomes();
    for outcome in &mut outcomes {
        outcome.system = format!("{evil}{}", outcome.system);
        outcome.metrics.kv_per_second = f64::NAN;
        outcome.metrics.write_amplification.log = f64::INFINITY;
        outcome.metrics.write_amplification.flush = -1.0;
        outcome.samples[0].values.insert("kv_per_second".into(), f64::NEG_INFINITY);
        outcome.samples[1].seconds = 0.0;
        outcome.zones[0].valid = f64::NAN;
    }
    for plot in &experiment.plots {
        let drawn = draw(plot, &experiment, &outcomes).unwrap().standalone();
        assert!(!drawn.contains("<script") && !drawn.contains("NaN"), "{drawn}");
        roxmltree::Document::parse(&drawn).unwrap_or_else(|error| panic!("{error}"));
    }
    let drawn = draw(&Plot::ZonesSorted { title: evil.to_owned() }, &experiment, &[]).unwrap();
    for text in [drawn.standalone(), drawn.inline()] {
        assert!(!text.contains("<script"), "{text}");
        roxmltree::Document::parse(&text).unwrap();
    }
}
