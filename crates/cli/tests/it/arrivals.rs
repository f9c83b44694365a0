//! Tests of `terrace lab arrivals`: arrivals that are written to a file have the same statistics
//! when they are read back, and wrong processes, files and options are refused with the expected
//! form.

use crate::program::Place;

#[test]
fn arrivals_are_written_and_read_back_with_the_same_statistics() {
    let place = Place::new();
    let words = ["lab", "arrivals", "--process", "self-similar", "--bias", "0.65"];
    let more = ["--duration", "60s", "--rate", "1000", "--seed", "7"];
    let files = ["--out", "a.txt", "--plot", "a.svg"];
    let made = place.json(&[&words[..], &more, &files].concat());
    assert_eq!(made["source"], "b-model:1000,bias=0.65");
    assert_eq!((&made["seed"], &made["counts"]["length"]), (&7.into(), &600.into()));
    assert_eq!(made["files"], serde_json::json!(["a.txt", "a.svg"]));
    let plot = std::fs::read_to_string(place.path().join("a.svg")).unwrap();
    assert!(plot.contains("<desc>") && plot.contains("autocorrelation"));
    let read = place.json(&["lab", "arrivals", "--analyse", "a.txt", "--duration", "1min"]);
    for part in ["arrivals", "rate", "counts", "gaps"] {
        assert_eq!(read[part], made[part], "{part}");
    }
    let text = place.ok(&["lab", "arrivals", "--analyse", "a.txt", "--bin", "10ms"]);
    assert!(text.contains("Hurst parameter, whittle"), "{text}");
    assert!(text.contains("arrivals in 10.0 ms"), "{text}");
}

#[test]
fn wrong_processes_files_and_options_are_told_with_what_is_right() {
    let place = Place::new();
    let process = ["lab", "arrivals", "--process"];
    for (text, expected) in [
        ("poison", "expected constant:RATE, poisson:RATE"),
        ("b-model:5,bias=2", "expected a bias from 0.5 to 1, found `2`"),
        ("curve:missing.txt", "the curve missing.txt: "),
    ] {
        let error = place.fails(2, &[&process[..], &[text]].concat());
        assert!(error.contains(expected), "{error}");
    }
    let error = place.fails(2, &[&process[..], &["poisson:5", "--rate", "7"]].concat());
    assert!(error.contains("--rate: expected a process that says no rate"), "{error}");
    let error = place.fails(2, &["lab", "arrivals"]);
    assert!(error.contains("--process") && error.contains("--analyse"), "{error}");
    let bin = ["poisson", "--bin", "soon"];
    let error = place.fails(2, &[&process[..], &bin].concat());
    assert!(error.contains("expected a time from 100ns to") && error.contains("--bin"), "{error}");
    let many = ["poisson", "--bin", "1us", "--duration", "1h"];
    let error = place.fails(2, &[&process[..], &many].concat());
    assert!(error.contains("expected up to 16777216 bins in 3600s"), "{error}");
    place.fails(5, &["lab", "arrivals", "--analyse", "missing.txt"]);
    std::fs::write(place.path().join("fall.txt"), "5\n4\n").unwrap();
    let error = place.fails(1, &["lab", "arrivals", "--analyse", "fall.txt"]);
    assert!(error.contains("fall.txt: line 2: expected nanoseconds"), "{error}");
    std::fs::write(place.path().join("none.txt"), "# none\n").unwrap();
    let error = place.fails(1, &["lab", "arrivals", "--analyse", "none.txt"]);
    assert!(error.contains("expected arrivals, found none"), "{error}");
    let error = place.fails(1, &["lab", "arrivals", "--analyse", "/dev/zero"]);
    assert!(error.contains("/dev/zero: line 1: expected a line of at most"), "{error}");
    let error = place.fails(2, &["lab", "arrivals", "--process", "curve:/dev/zero"]);
    assert!(error.contains("/dev/zero: expected a file, found a character device"), "{error}");
}

#[test]
fn arrivals_that_are_all_at_one_instant_have_no_rate() {
    let place = Place::new();
    std::fs::write(place.path().join("once"), "7\n7\n7\n").unwrap();
    let words = ["lab", "arrivals", "--analyse", "once"];
    assert!(place.ok(&words).contains("all at one instant: no rate"));
    assert!(place.json(&words)["rate"].is_null());
}
