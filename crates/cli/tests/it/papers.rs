//! Tests of `terrace lab papers`: the table of claims, its selections, and `--keep`.

use serde_json::Value;

use crate::program::Place;

/// The claims of all papers in a result.
fn claims(result: &Value) -> Vec<&Value> {
    let papers = result["papers"].as_array().expect("papers");
    papers.iter().flat_map(|paper| paper["claims"].as_array().expect("claims")).collect()
}

#[test]
fn each_claim_of_the_papers_is_listed_once_with_a_verdict() {
    let place = Place::new();
    let all = place.json(&["lab", "papers"]);
    let listed = claims(&all);
    assert!(listed.len() > 100, "{}", listed.len());
    let counts = all["counts"].as_object().expect("counts");
    let sum: u64 = counts.values().map(|count| count.as_u64().expect("a count")).sum();
    assert_eq!(sum, listed.len() as u64);
    for claim in listed {
        let has_run = claim["shown_by"].is_string();
        assert_eq!(claim["verdict"] == "explained", has_run, "{claim}");
        assert_eq!(claim["ours"].is_number(), claim["measured"].is_object(), "{claim}");
    }
    let some = place.json(&["lab", "papers", "geardb/all", "--verdict", "within"]);
    assert!(claims(&some).iter().all(|claim| claim["verdict"] == "within"), "{some}");
    let figure = place.json(&["lab", "papers", "geardb/fig10a"]);
    assert_eq!(claims(&figure).len(), 3, "{figure}");
}

#[test]
fn values_of_a_directory_without_results_are_missing_and_nothing_is_kept() {
    let place = Place::new();
    let words = ["lab", "papers", "geardb/fig10a", "--results", "none"];
    let result = place.json(&words);
    assert!(claims(&result).iter().all(|claim| claim["verdict"] == "missing"), "{result}");
    place.fails(2, &[&words[..], &["--keep", "kept"]].concat());
    std::fs::create_dir(place.path().join("kept")).unwrap();
    place.json(&[&words[..], &["--keep", "kept", "--commit", "abc"]].concat());
    let text = std::fs::read_to_string(place.path().join("kept/geardb.json")).unwrap();
    assert_eq!(text, "{}\n");
    place.fails(5, &["lab", "papers", "geardb/fig99"]);
}
