//! `load` of inputs that other programs write: comma-separated values and JSON of any kind; and how
//! the format is found.

use crate::program::Place;

fn load(place: &Place, name: &str, text: &str, more: &[&str]) -> (Option<i32>, String) {
    std::fs::write(place.path().join(name), text).unwrap();
    let output = place.run(&[&["load", "d.img", name], more].concat());
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[track_caller]
fn stored(place: &Place, key: &str, value: &str) {
    assert_eq!(place.ok(&["get", "d.img", key]), value);
}

#[test]
fn the_name_or_the_first_line_tells_the_format() {
    let place = Place::formatted("64MiB", "1MiB");
    for (name, text) in [
        ("a.csv", "id,name\na1,\"x, y\"\n"),
        ("b.json", "{\"key\":\"b1\",\"value\":\"x, y\"}\n"),
        ("c.txt", "{\"key\":\"c1\",\"value\":\"x, y\"}\n"),
        ("d.txt", "d1\tx, y\n"),
        ("e.CSV", "id,name\r\ne1,\"x, y\"\r\n"),
    ] {
        let (code, said) = load(&place, name, text, &[]);
        assert_eq!(code, Some(0), "{name}: {said}");
        stored(&place, &format!("{}1", &name[..1]), "x, y");
        let told = "comma-separated values: the key is column `id`, the value column `name`";
        assert_eq!(said.contains(told), name.to_lowercase().ends_with("csv"), "{said}");
    }
    // Commas alone tell nothing: the tab may have been lost.
    let (code, said) = load(&place, "f.txt", "f1,x\n", &[]);
    assert!(code == Some(1) && said.contains("found no tab"), "{said}");
    let (code, said) = load(&place, "g.txt", "f1,x\n", &["--format", "csv", "--no-header"]);
    assert!(code == Some(0) && said.contains("the key is column 1, the value column 2"), "{said}");
    stored(&place, "f1", "x");
}

#[test]
fn any_json_object_is_stored_whole_or_by_a_field() {
    let place = Place::formatted("64MiB", "1MiB");
    let line = r#"{"id": 17, "tags": ["a", 1.50], "name": "Ann"}"#;
    let text = format!("{line}\n");
    assert_eq!(load(&place, "a.jsonl", &text, &["--key", "id"]).0, Some(0));
    stored(&place, "17", line);
    assert_eq!(load(&place, "a.jsonl", &text, &["--key", "name", "--value", "tags"]).0, Some(0));
    stored(&place, "Ann", r#"["a", 1.50]"#);
    let (code, said) = load(&place, "a.jsonl", &text, &[]);
    assert!(code == Some(1) && said.contains("line 1") && said.contains("found `id`"), "{said}");
    for (more, told) in [
        (&["--key", "id", "--format", "tsv"][..], "--key: expected --format csv or json"),
        (&["--no-header"], "--no-header: expected --format csv, found json"),
        (&["--value", "name"], "--value: expected --key as well"),
        (&["--hex", "--format", "csv"], "--hex: expected --format tsv, found csv"),
    ] {
        let (code, said) = load(&place, "a.jsonl", &text, more);
        assert!(code == Some(2) && said.contains(told), "{more:?}: {said}");
    }
}

#[test]
fn a_row_of_several_lines_is_counted_by_its_last_line_and_a_load_goes_on_after_it() {
    let place = Place::formatted("64MiB", "1MiB");
    let text = "id,text\nk1,\"one\ntwo\"\nk2,x,y\nk3,z\n";
    let (code, said) = load(&place, "a.csv", text, &[]);
    assert_eq!(code, Some(1));
    assert!(said.contains("line 4: expected 2 fields, as in the first row, found 3"), "{said}");
    assert!(said.contains("stored up to line 3: `--from-line 4`"), "{said}");
    stored(&place, "k1", "one\ntwo");
    let (code, said) = load(&place, "a.csv", text, &["--from-line", "5"]);
    assert_eq!(code, Some(0), "{said}");
    stored(&place, "k3", "z");
    let (code, said) = load(&place, "b.csv", "id,text\nk4,v\nk5,\"open\nand on\n", &[]);
    assert_eq!(code, Some(1));
    assert!(said.contains("lines 3 to 4: expected a quote that ends the field"), "{said}");
    assert!(said.contains("stored up to line 2"), "{said}");
    stored(&place, "k4", "v");
    place.fails(5, &["get", "d.img", "k5"]);
}

#[test]
fn a_flush_writes_the_entries_of_the_log_to_tables() {
    let place = Place::formatted("64MiB", "1MiB");
    let in_tables = |place: &Place| {
        let levels = place.json(&["stats", "d.img"])["levels"].clone();
        let levels = levels.as_array().expect("levels").clone();
        levels.iter().map(|level| level["entries"].as_u64().expect("entries")).sum::<u64>()
    };
    place.ok(&["put", "d.img", "z", "1"]);
    assert_eq!(in_tables(&place), 0, "a put is in the log");
    assert!(place.ok(&["flush", "d.img"]).starts_with("flushed "));
    assert_eq!(in_tables(&place), 1);
    assert!(place.ok(&["flush", "d.img"]).starts_with("nothing to flush"));
}
