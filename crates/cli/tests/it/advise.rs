//! Tests of `terrace advise`: a system is chosen by runs on a model of a drive.

use crate::program::Place;

const SMALL: [&str; 12] = [
    "advise",
    "wd-zn540",
    "--entries",
    "2e4",
    "--value-size",
    "1KiB",
    "--memtable-size",
    "256KiB",
    "--memory",
    "16MiB",
    "--system",
    "bluefs",
];

#[test]
fn the_advice_is_the_best_system_by_what_the_user_prefers() {
    let place = Place::new();
    let two = [&SMALL[..], &["--system", "tiered", "--prefer", "write"]].concat();
    let answer = place.json(&two);
    let candidates = answer["candidates"].as_array().unwrap();
    let writes = |at: usize| candidates[at]["writes_per_second"].as_f64().unwrap();
    assert_eq!((candidates.len(), answer["model_is_one_of"].as_u64()), (2, Some(1)));
    let best = if writes(0) > writes(1) { 0 } else { 1 };
    assert_eq!(answer["advice"], candidates[best]["system"]);
    for candidate in candidates {
        let number = |name: &str| candidate[name].as_f64().unwrap();
        // The log and the flush write a byte each.
        assert!(number("written_for_one") > 2.0, "{candidate}");
        assert!(number("reads_per_second") > number("scans_per_second"), "{candidate}");
        assert!(number("runs") >= 1.0, "{candidate}");
    }
    let text = place.ok(&two);
    let advice = text.lines().last().unwrap();
    assert_eq!(answer["advice"].as_str(), advice.rsplit(' ').next(), "{text}");
    assert!(text.contains("19.8 MiB of entries on 950.8 GiB"), "{text}");
}

#[test]
fn limits_that_no_system_keeps_end_with_the_table_and_an_error() {
    let place = Place::new();
    let output = place.run(&[&SMALL[..], &["--writes", "1e9/s"]].concat());
    let [text, error] = [output.stdout, output.stderr].map(|s| String::from_utf8(s).unwrap());
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("no system is within the limits"), "{error}");
    assert!(text.contains("bluefs (over a limit)") && !text.contains("Advice"), "{text}");
}

#[test]
fn a_question_without_an_answer_says_what_was_expected() {
    let place = Place::new();
    let fails = |words: &[&str]| place.fails(2, &[&["advise"][..], words].concat());
    let rest = ["--entries", "9", "--value-size", "1KiB"];
    let error = fails(&[&["zn54"][..], &rest].concat());
    assert!(error.contains("zn54") && error.contains("wd-zn540"), "{error}");
    let error = fails(&["wd-zn540", "--entries", "1e12", "--value-size", "1KiB"]);
    assert!(error.contains("do not fit: expected at most the 950.8 GiB"), "{error}");
    let error = fails(&[&["wd-zn540", "--space", "1MiB"][..], &rest].concat());
    assert!(error.contains("expected at least a zone of the drive, 1.1 GiB"), "{error}");
    let error = fails(&[&["wd-zn540", "--system", "slicd"][..], &rest].concat());
    assert!(error.contains("sliced"), "{error}");
}
