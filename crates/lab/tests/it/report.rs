//! Reports: their statements; and browsers can read them.
//!
//! `TERRACE_REGENERATE=1 cargo test -p terrace-lab --test it report` writes the goldens anew.

use pulldown_cmark::{Event, Options, Parser, Tag};
use scraper::{Html, Selector};
use terrace_lab::experiment::NamedRun;
use terrace_lab::report::{Chapter, Report, RunStanding, Standing, Verdict};
use terrace_lab::run::Outcome;

use crate::specimen;

fn report(outcomes: Vec<Outcome>) -> Report {
    let experiment = specimen::experiment();
    let standing = |system: &String| {
        let known = outcomes.iter().any(|outcome| outcome.system == *system);
        RunStanding {
            system: system.clone(),
            variant: None,
            standing: if known { Standing::Known } else { Standing::Missing },
        }
    };
    let runs = experiment.systems.iter().map(standing).collect();
    Report {
        program: "0.0.0".into(),
        scale: "1/64".into(),
        seed: 1,
        names: vec!["nobody/fig1".into()],
        chapters: vec![Chapter { experiment, outcomes, runs, scale: None }],
    }
}

/// The page as a browser reads it; a place that a browser would have to mend is an error.
fn read(page: &str) -> Html {
    let document = Html::parse_document(page);
    assert!(document.errors.is_empty(), "{:?}", document.errors);
    let own = |selector: &str| document.select(&Selector::parse(selector).unwrap()).count();
    for outer in ["script", "link", "img", "iframe", "[src]", "[onload]", "[style]"] {
        assert_eq!(own(outer), 0, "{outer}");
    }
    // Every address in the page is an anchor of the page.
    for link in document.select(&Selector::parse("a").unwrap()) {
        let address = link.attr("href").unwrap();
        assert_eq!(own(&format!("[id={:?}]", &address[1..])), 1, "{address}");
    }
    document
}

fn texts(document: &Html, selector: &str) -> Vec<String> {
    let selector = Selector::parse(selector).unwrap();
    let found = document.select(&selector);
    found.map(|element| element.text().collect::<String>().trim().to_owned()).collect()
}

/// An outcome of `bluefs` under a variant; `late`: the delay that one operation in a hundred
/// exceeds; `waits`: whether its operations arrive at given times.
fn under(variant: &str, late: f64, waits: bool) -> Outcome {
    let mut outcome = specimen::outcome("bluefs", 0);
    outcome.variant = Some(variant.into());
    outcome.metrics.latency_seconds.insert("p99".into(), late);
    outcome.metrics.latency_seconds.insert("p99.9".into(), 2.0 * late);
    if waits {
        outcome.metrics.arrival_wait_seconds.insert("p99".into(), 0.0);
    }
    outcome
}

#[test]
fn delays_of_all_processes_stand_in_one_table_and_the_rates_that_a_row_keeps_up_with_behind() {
    let outcomes = vec![
        under("back to back", 0.004, false),
        under("slow", 0.25, true),
        under("fast", 30.0, true),
        under("bursts", 7.0, true),
    ];
    let mut report = report(outcomes);
    let arrivals = [
        ("back to back", None),
        ("fast", Some("poisson:5000")),
        ("slow", Some("poisson:500")),
        ("bursts", Some("b-model:500,bias=0.65")),
    ];
    let variant = |(name, process): (&str, Option<&str>)| {
        let process = process.map(|it| format!("arrivals = \"{it}\"")).unwrap_or_default();
        toml::from_str(&format!("name = \"{name}\"\n{process}")).unwrap()
    };
    report.chapters[0].experiment.variants = arrivals.map(variant).into();
    let page = report.markdown(None);
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let table = |head: &str| -> Vec<Vec<String>> {
        let lines = page.lines().skip_while(|line| !(line.starts_with('|') && line.contains(head)));
        lines.take_while(|line| line.starts_with('|')).skip(2).map(cells).collect()
    };
    let delays: Vec<[String; 2]> =
        table(" p99.9 |").iter().map(|row| [row[1].clone(), row[6].clone()]).collect();
    let expected =
        [["back to back", "8.00 ms"], ["fast", "60.0 s"], ["slow", "500 ms"], ["bursts", "14.0 s"]];
    assert_eq!(delays, expected, "{page}");
    let kept = ["bluefs", "poisson", "500", "250 ms", "5,000", "30.0 s"];
    assert_eq!(table(" keeps up with |"), [kept], "{page}");
}

#[test]
fn claims_are_answered_with_their_ratio_and_whether_it_is_near() {
    let answers = report(specimen::outcomes()).answers();
    let found: Vec<_> = answers.iter().map(|it| (it.published, it.ours, it.verdict)).collect();
    assert_eq!(
        found,
        [
            (1000.0, Some(1100.0), Verdict::Within),
            (3.0, Some(1100.0 / (1100.0 / 3.0)), Verdict::Within),
            (0.5, Some(0.5208333333333334), Verdict::Within),
            (2.0, None, Verdict::Missing),
        ]
    );
    assert_eq!(answers[0].ratio, Some(1.1));
    assert_eq!(answers[3].ratio, None);
    for (kv_per_second, [verdict, in_words, explained]) in [
        (1149.0, [Verdict::Within; 3]),
        (851.0, [Verdict::Within; 3]),
        (1151.0, [Verdict::Differs, Verdict::InWords, Verdict::Explained]),
        (849.0, [Verdict::Differs, Verdict::InWords, Verdict::Explained]),
        (f64::NAN, [Verdict::Missing; 3]),
    ] {
        let mut outcome = specimen::outcome("bluefs", 0);
        outcome.metrics.kv_per_second = kv_per_second;
        let mut report = report(vec![outcome]);
        assert_eq!(report.answers()[0].verdict, verdict, "{kv_per_second}");
        let claim = &mut report.chapters[0].experiment.claims[0];
        claim.explanation = Some("Because.".into());
        assert_eq!(report.answers()[0].verdict, in_words, "{kv_per_second}");
        let run = NamedRun { experiment: "nobody/fig2".into(), variant: None, system: None };
        report.chapters[0].experiment.claims[0].shown_by = Some(run);
        let answer = report.answers().remove(0);
        assert_eq!(answer.verdict, explained, "{kv_per_second}");
        let is_named = explained == Verdict::Explained;
        assert_eq!(answer.shown_by.is_some(), is_named, "{kv_per_second}");
    }
    let foreign = Outcome { experiment: "nobody/fig2".into(), ..specimen::outcome("bluefs", 0) };
    assert_eq!(report(vec![foreign]).answers()[0].verdict, Verdict::Missing);
}

#[test]
fn a_claim_that_repeats_another_experiments_is_counted_there() {
    let mut report = report(specimen::outcomes());
    let all = report.answers().len();
    report.chapters[0].experiment.claims[0].repeats = Some("nobody/fig0".into());
    assert_eq!(report.answers().len(), all, "the other one is not in the report");
    let mut other = report.chapters[0].clone();
    other.experiment.name = "nobody/fig0".into();
    other.experiment.claims.truncate(1);
    other.experiment.claims[0].repeats = None;
    report.chapters.push(other);
    let answers = report.answers();
    assert_eq!(answers.len(), all);
    assert_eq!(answers.last().unwrap().experiment, "nobody/fig0");
    assert_eq!(report.chapters[0].answers().len(), all, "its own section has it, too");
}

#[test]
fn a_section_says_its_scale_where_another_was_asked_for() {
    let mut report = report(specimen::outcomes());
    report.chapters[0].runs.retain(|run| run.standing == Standing::Known);
    assert!(report.chapters[0].remarks().is_empty() && !report.chapters[0].is_incomplete());
    report.chapters[0].scale = Some("1/8".parse().unwrap());
    let said = "Its runs are made at a scale of 1/8: at a smaller one they say nothing.";
    assert_eq!(report.chapters[0].remarks(), [said]);
    assert!(!report.chapters[0].is_incomplete(), "no result is missing");
    assert!(report.markdown(None).contains(said));
    let page = report.html().unwrap();
    assert!(page.contains(said) && !page.contains("Not every run has a result"));
}

#[test]
fn a_claim_that_the_scale_does_not_answer_is_not_counted_as_near() {
    let mut report = report(specimen::outcomes());
    assert_eq!(report.answers()[0].verdict, Verdict::Within);
    report.chapters[0].experiment.phases[0].workload = "ycsb-a".into();
    let answers = report.answers();
    assert_eq!(answers[0].verdict, Verdict::Unfit, "a rate of reads and writes");
    assert_eq!(answers[0].ratio, Some(1.1), "it is still shown");
    assert_eq!(answers[2].verdict, Verdict::Within, "a share of space is no rate");
    let why = "reads weigh as little as 1/64 of their true weight";
    assert!(answers[0].explanation.as_deref().unwrap().contains(why));
    let markdown = report.markdown(None);
    assert!(markdown.contains("2 not answered at this scale") && markdown.contains(why));
    assert!(texts(&read(&report.html().unwrap()), ".note").iter().any(|note| note.contains(why)));
    for outcome in &mut report.chapters[0].outcomes {
        outcome.scale = "1/1".into();
    }
    assert_eq!(report.answers()[0].verdict, Verdict::Within);
    assert!(!report.markdown(None).contains(why));
}

#[test]
fn a_report_on_a_users_file_has_the_title_of_the_file() {
    let mut report = report(specimen::outcomes());
    let title = report.chapters[0].experiment.title.clone();
    assert_eq!(report.title(), title);
    assert_eq!(texts(&read(&report.html().unwrap()), "h1"), std::slice::from_ref(&title));
    assert!(report.markdown(None).contains(&format!("# {title}\n")));
    report.chapters[0].experiment.name = "geardb/fig3".into();
    assert_eq!(report.title(), "Figures of the papers, redrawn");
}

#[test]
fn the_page_is_whole_and_says_everything() {
    let report = report(specimen::outcomes());
    let page = report.html().unwrap();
    assert_eq!(page, report.html().unwrap());
    let document = read(&page);
    let claims = texts(&document, "#claims tbody tr");
    assert_eq!(claims.len(), 4);
    assert!(claims[0].contains("1,000/s") && claims[0].contains("1.10"), "{claims:?}");
    assert!(claims[0].contains("within 15 %") && claims[3].contains("not measured"), "{claims:?}");
    let explained = texts(&document, "#nobody-fig1 .claims tbody tr");
    assert!(explained[1].contains("The specimen has no collector."), "{explained:?}");
    assert_eq!(texts(&document, "#nobody-fig1 .runs tbody tr").len(), 3);
    assert_eq!(texts(&document, "#nobody-fig1 figure > svg > title").len(), 6);
    let findings = texts(&document, "#nobody-fig1 figure > .finding");
    assert!(findings[0].contains("is 2.75, as published, at a free_min of 17.5"), "{findings:?}");
    assert_eq!(texts(&document, "nav li").len(), 2);
    assert_eq!(texts(&document, ".note"), [""; 0]);
    let heads = texts(&document, ".runs thead th").len();
    for row in document.select(&Selector::parse(".runs tbody tr").unwrap()) {
        assert_eq!(row.child_elements().count(), heads);
    }
}

#[test]
fn the_page_says_what_is_missing_and_what_is_by_another_build() {
    let mut report = report(vec![specimen::outcome("bluefs", 0)]);
    report.chapters[0].runs[0].standing = Standing::OtherBuild;
    report.chapters[0].runs[2].standing = Standing::Damaged("a.json: expected 1, found 2".into());
    let notes = texts(&read(&report.html().unwrap()), ".note");
    assert_eq!(notes.len(), 4, "{notes:?}");
    assert_eq!(notes[1], "No result of: leveldb-greedy:free_min=10.");
    assert!(notes[2].contains("another engine") && notes[2].contains("bluefs"), "{notes:?}");
    assert!(notes[3].contains("expected 1, found 2"), "{notes:?}");
    let markdown = report.markdown(None);
    for remark in report.chapters[0].remarks() {
        let start = &remark[..20];
        assert!(markdown.contains(&format!("> {start}")), "{markdown}");
    }
}

#[test]
fn without_any_result_there_is_still_a_page() {
    let page = report(Vec::new()).html().unwrap();
    let document = read(&page);
    assert!(page.contains("There is no result of any run."));
    assert_eq!(texts(&document, "#claims .verdict.none").len(), 4);
    let nothing = Report { chapters: Vec::new(), ..report(Vec::new()) };
    read(&nothing.html().unwrap());
}

#[test]
fn names_from_anywhere_stand_in_the_page_as_they_are() {
    let evil = "</style><script>alert(1)</script>\"' onload=x & `|` *b* _i_ [l](http://x) <!--";
    let mut outcome = specimen::outcome("bluefs", 0);
    outcome.system = evil.into();
    outcome.metrics.trace_hash = "<b>bold".into();
    let mut report = report(vec![outcome]);
    let chapter = &mut report.chapters[0];
    chapter.experiment.title = evil.into();
    chapter.experiment.source = evil.into();
    chapter.experiment.about = evil.into();
    chapter.experiment.claims[0].text = evil.into();
    chapter.experiment.claims[1].explanation = Some(evil.into());
    chapter.experiment.systems = vec![evil.into()];
    chapter.runs[0].system = evil.into();
    let page = report.html().unwrap();
    let document = read(&page);
    assert!(texts(&document, "#claims .claim").iter().any(|text| text == evil));
    assert!(texts(&document, ".runs tbody th").iter().any(|text| text == evil));
    let markdown = report.markdown(Some("plots"));
    let (mut rows, mut found) = (0, 0);
    for event in Parser::new_ext(&markdown, Options::ENABLE_TABLES) {
        match event {
            // The comment at the head is the only one.
            Event::Html(text) if text.starts_with("<!-- Generated by") => {}
            Event::Html(_) | Event::InlineHtml(_) => panic!("{event:?}"),
            Event::Start(Tag::Emphasis | Tag::Strong | Tag::Link { .. }) => panic!("{event:?}"),
            Event::Start(Tag::TableRow) => rows += 1,
            Event::Text(text) if text.contains("alert(1)") => found += 1,
            _ => {}
        }
    }
    assert_eq!(rows, 5, "{markdown}");
    assert!(found >= 7, "{markdown}");
}

#[test]
fn the_page_of_markdown_is_as_it_was_read() {
    let report = report(specimen::outcomes());
    crate::golden::check("tests/golden/report.txt", &report.markdown(Some("plots")));
}
