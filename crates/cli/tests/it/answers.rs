//! Tests of input and output of the program: a value is read only up to its limit, keys that
//! differ look different, and JSON names all of its numbers.

use serde_json::Value;

use crate::program::Place;

#[test]
fn a_value_is_read_no_further_than_the_largest_one() {
    let place = Place::formatted("64MiB", "1MiB");
    let put = |file: &str| place.fails(1, &["put", "d.img", "key", "--file", file]);
    let told = "at most 67108864 B (64 MiB), found more";
    assert!(put("/dev/zero").contains(told));
    let large = std::fs::File::create(place.path().join("large")).unwrap();
    large.set_len((64 << 20) + 1).unwrap();
    assert!(put("large").contains(told));
    // A pipe whose writer never ends.
    let script = format!("yes | {} put d.img key -", env!("CARGO_BIN_EXE_terrace"));
    let shell = |script: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", script]).current_dir(place.path()).output().unwrap()
    };
    let output = shell(&script);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("standard input: expected a value") && error.contains(told), "{error}");
    place.fails(5, &["get", "d.img", "key"]);
    let program = env!("CARGO_BIN_EXE_terrace");
    let named = format!("mkfifo p; (printf short > p &); {program} put d.img key --file p");
    assert!(shell(&named).status.success());
    assert_eq!(place.ok(&["get", "d.img", "key"]), "short");
}

#[test]
fn a_file_that_is_too_large_is_told_to_the_byte() {
    let place = Place::formatted("64MiB", "1MiB");
    std::fs::create_dir(place.path().join("tree")).unwrap();
    let large = std::fs::File::create(place.path().join("tree/large")).unwrap();
    large.set_len((64 << 20) + 1).unwrap();
    let error = place.fails(1, &["import", "d.img", "tree"]);
    let told = "expected files of at most 67108864 B (64 MiB), found 67108865 B (64.0 MiB)";
    assert!(error.contains(told), "{error}");
}

#[test]
fn keys_that_differ_look_different() {
    let place = Place::formatted("64MiB", "1MiB");
    let keys = ["plain", "pl\u{200b}ain", "pl\u{202e}ain", "plain\u{a0}", "plain "];
    for key in keys {
        place.ok(&["put", "d.img", key, "v"]);
    }
    let lines = place.ok(&["scan", "d.img", "--values"]);
    assert!(lines.is_ascii(), "{lines}");
    let shown: std::collections::BTreeSet<&str> = lines.lines().map(str::trim).collect();
    assert_eq!(shown.len(), keys.len(), "{lines}");
    assert!(lines.contains("pl\\u{202e}ain"), "{lines}");
    let missing = place.fails(5, &["get", "d.img", "ab\u{202e}c"]);
    let told = "error: there is no key `ab\\u{202e}c` in the key space `default`; no other key \
                space holds entries\n";
    assert_eq!(missing, told);
    // Names that are not escaped where the error is made, and words that are no command.
    let error = place.fails(5, &["get", "no\u{1b}[31m\nsuch.img", "key"]);
    assert!(error.contains("no\\u{1b}[31m\\nsuch.img: No such file"), "{error}");
    let error = place.fails(2, &["gett\u{7}\u{202e}"]);
    assert!(error.contains("gett") && error.contains("\\u{202e}"), "{error}");
    assert!(error.chars().all(|letter| letter == '\n' || !letter.is_control()), "{error:?}");
}

#[test]
fn names_of_files_are_escaped_where_a_command_succeeds() {
    let place = Place::new();
    let (drive, named, copy) = ("d\u{1b}[31m\n.img", "n\u{202e}.img", "c\u{7}.img");
    let said = |words: &[&str], shown: &str| {
        let text = place.ok(words);
        assert!(text.contains(shown), "{words:?}: {text:?}");
        let is_seen =
            |letter: char| letter == '\n' || (!letter.is_control() && letter != '\u{202e}');
        assert!(text.chars().all(is_seen), "{words:?}: {text:?}");
    };
    let shown = "d\\u{1b}[31m\\n.img";
    said(&["device", "create", drive, "--size", "64MiB"], &format!("terrace format {shown}"));
    said(&["format", drive], &format!("{shown}: made a store on 256 zones"));
    said(&["device", "report", drive], &format!("{shown}: 256 zones"));
    said(&["stats", drive], &format!("image {shown}, synced"));
    said(&["checkpoint", drive, copy], "to the image c\\u{7}.img");
    said(&["man", "m\u{7}"], "manual pages are in m\\u{7}");
    place.ok(&["device", "create", named, "--size", "64MiB"]);
    said(&["format", named, "--files"], "n\\u{202e}.img: formatted for files with names");
    said(&["fs", "backup", named, "b\u{7}"], "to b\\u{7}");
    std::fs::create_dir(place.path().join("s\u{7}")).unwrap();
    said(&["format", "s\u{7}"], "s\\u{7}: made a store in the directory");
}

#[test]
fn an_output_that_takes_nothing_is_named_and_not_the_image() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    for words in [&["scan", "d.img"][..], &["get", "d.img", "key"], &["stats", "d.img"]] {
        let full = std::fs::File::create("/dev/full").expect("a file that takes nothing");
        let output = place.command(words).stdout(full).output().expect("the program");
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.starts_with("error: standard output: No space left"), "{error}");
    }
}

#[test]
fn no_array_of_numbers_is_without_names() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    for words in [
        &["stats", "d.img"][..],
        &["zones", "d.img"],
        &["check", "d.img"],
        &["compact", "d.img"],
        &["device", "report", "d.img"],
        &["fs", "ls", "d.img"],
        &["dump", "d.img", "superblock"],
        &["systems"],
        &["lab", "list"],
        &["lab", "drives"],
    ] {
        let answer = place.json(words);
        assert!(answer.is_object(), "{words:?}: {answer}");
        assert_named(&answer, &words.join(" "));
    }
    let io = &place.json(&["stats", "d.img"])["io"];
    assert!(io["read_bytes"]["recovery"].as_u64() > Some(0), "{io}");
}

/// An array may hold objects or texts, but no bare numbers, nor arrays of them.
fn assert_named(value: &Value, place: &str) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| assert_named(field, &format!("{place}.{name}")));
        }
        Value::Array(items) => items.iter().for_each(|item| {
            assert!(item.is_object() || item.is_string(), "{place}: {item}");
            assert_named(item, place);
        }),
        _ => {}
    }
}

#[test]
fn systems_are_listed_in_one_place() {
    let place = Place::new();
    let list = place.json(&["systems"]);
    let systems = list["systems"].as_array().unwrap();
    assert!(systems.len() >= 7 && systems[0]["name"] == "bluefs", "{list}");
    assert!(list["parameters"].as_array().unwrap().contains(&"factor".into()));
    let text = place.ok(&["systems"]);
    for command in ["put", "format", "load", "import", "delete", "compact", "bench", "demo"] {
        let help = place.ok(&[command, "--help"]);
        let lines = help.lines().skip_while(|line| !line.contains("--system <NAME>")).take(5);
        let about: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        assert!(about.join(" ").contains("`terrace systems`"), "{command}: {about:?}");
        for system in systems {
            let summary = system["summary"].as_str().unwrap();
            assert!(!help.contains(summary), "{command}: {summary}");
        }
    }
    for system in systems {
        let word = |field: &str| system[field].as_str().expect("text");
        let line = text.lines().find(|line| line.trim_start().starts_with(word("name")));
        let begin = |field: &str| word(field).split(' ').next().expect("a word").to_owned();
        let line = line.unwrap_or_else(|| panic!("{}: {text}", word("name")));
        assert!(line.contains(&begin("suits")) && line.contains(&begin("costs")), "{line}");
        let own = place.ok(&["systems", word("name")]);
        assert!(own.starts_with(&format!("{}: {}\n", word("name"), word("summary"))), "{own}");
        for parameter in system["parameters"].as_array().expect("parameters") {
            assert!(own.contains(parameter["name"].as_str().expect("a name")), "{own}");
        }
    }
    let changed = place.json(&["systems", "tiered:tier_runs=9"]);
    let parameters = changed["parameters"].as_array().expect("parameters");
    assert!(parameters.iter().any(|one| one["name"] == "tier_runs" && one["value"] == "9"));
    let error = place.fails(2, &["systems", "tierd"]);
    assert!(error.contains("did you mean \"tiered\"?"), "{error}");
}
