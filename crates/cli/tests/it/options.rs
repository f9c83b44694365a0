//! The options that shape a store's tables, from outside: `format` sets them, every later command
//! keeps to them, and `options` shows and changes them.

use serde_json::json;

use crate::program::Place;

/// Stores 400 entries of 2 KB, over the old ones, and merges everything; returns the bytes of all
/// tables.
fn rewritten(place: &Place, store: &str, round: char) -> u64 {
    let value = round.to_string().repeat(2000);
    let lines: String = (0..400).map(|key| format!("{key:04}\t{value}\n")).collect();
    std::fs::write(place.path().join("entries.tsv"), lines).unwrap();
    place.ok(&["load", store, "entries.tsv"]);
    let done = place.json(&["compact", store]);
    assert_eq!(done["after"]["entries"], 400, "{done}");
    done["after"]["bytes"].as_u64().unwrap()
}

#[test]
fn commands_without_options_keep_the_compression_that_format_set() {
    let place = Place::new();
    place.ok(&["device", "create", "d.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    std::fs::create_dir(place.path().join("plain")).unwrap();
    for store in ["d.img", "plain"] {
        place.ok(&["format", store, "--compression", "mixed", "--filter-bits", "15"]);
        assert!(rewritten(&place, store, 'a') < 200_000, "compressed in {store}");
        assert!(rewritten(&place, store, 'b') < 200_000, "and in a later command");
        let told = place.json(&["options", store]);
        assert_eq!(told["compression"], json!({ "upper": "lz4", "last": "zstd" }), "{told}");
        assert_eq!((&told["filter_bits"], &told["block_size"]), (&json!(15), &json!(4096)));
        assert_eq!(told["stated"], json!(["compression", "filter_bits"]));
        let stats = place.json(&["stats", store]);
        assert_eq!(stats["tables"]["compression"], told["compression"]);
        let text = place.ok(&["stats", store]);
        let line = "\nnew tables: compression mixed, filters of 15 bits for a key, blocks of 4 KiB \
                    (default)\n";
        assert!(text.contains(line), "{text}");
    }
    // A copy is made in the same way.
    place.ok(&["checkpoint", "d.img", "copy"]);
    assert_eq!(place.json(&["options", "copy"]), place.json(&["options", "d.img"]));
}

#[test]
fn a_change_counts_for_new_tables_from_then_on() {
    let place = Place::formatted("64MiB", "1MiB");
    assert!(rewritten(&place, "d.img", 'a') > 800_000);
    assert_eq!(place.json(&["options", "d.img"])["stated"], json!([]));
    let changed = place.json(&["options", "d.img", "--compression", "lz4,none"]);
    assert_eq!(changed["changed"], true);
    assert_eq!(changed["compression"], json!({ "upper": "lz4", "last": "none" }));
    let first_keys = place.json(&["options", "d.img", "--first-keys", "on"]);
    assert_eq!((&first_keys["first_keys"], &first_keys["changed"]), (&json!(true), &json!(true)));
    place.ok(&["options", "d.img", "--compression", "zstd", "--block-size", "16KiB"]);
    assert!(rewritten(&place, "d.img", 'b') < 200_000);
    let again = ["options", "d.img", "--compression", "zstd"];
    assert_eq!(place.json(&again)["changed"], false);
    let text = place.ok(&["options", "d.img"]);
    assert!(text.starts_with("compression zstd, filters of 10 bits"), "{text}");
    assert!(text.contains("blocks of 16 KiB, first keys in indexes\n"), "{text}");
    assert!(place.ok(&["dump", "d.img"]).contains("new tables: compression zstd"));
    assert_eq!(place.json(&["check", "d.img"])["check"], "clean");
}

#[test]
fn options_that_no_store_can_have_are_refused_and_nothing_is_formatted() {
    let place = Place::new();
    place.ok(&["device", "create", "d.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    std::fs::create_dir(place.path().join("plain")).unwrap();
    for store in ["d.img", "plain"] {
        let error = place.fails(2, &["format", store, "--compression", "gzip"]);
        assert!(error.contains("expected `none`, `lz4`, `zstd`, `mixed`"), "{error}");
        for (option, value) in [("--filter-bits", "33"), ("--block-size", "2MiB")] {
            let error = place.fails(2, &["format", store, option, value]);
            assert!(error.contains("expected 0 to 32") || error.contains("to 1 MiB"), "{error}");
        }
        let error = place.fails(2, &["format", store, "--first-keys", "yes"]);
        assert!(error.contains("expected `on` or `off`"), "{error}");
        assert_ne!(place.run(&["get", store, "key"]).status.code(), Some(0));
        place.ok(&["format", store]);
    }
    place.fails(2, &["format", "d.img", "--force", "--files", "--compression", "lz4"]);
}

#[test]
fn a_key_space_has_options_of_its_own_and_every_later_command_keeps_to_them() {
    let place = Place::formatted("64MiB", "1MiB");
    let made = place.json(&[
        "options",
        "d.img",
        "--space",
        "sessions",
        "--compression",
        "zstd",
        "--filter-bits",
        "15",
        "--ttl",
        "90min",
    ]);
    assert_eq!((&made["changed"], &made["ttl_ms"]), (&json!(true), &json!(90 * 60_000)), "{made}");
    assert_eq!(made["stated"], json!(["compression", "filter_bits", "ttl_ms"]));
    let value = "v".repeat(2000);
    place.ok(&["put", "d.img", "--space", "sessions", "ada", &value]);
    let text = place.ok(&["options", "d.img", "--space", "sessions"]);
    let line = "compression zstd, filters of 15 bits for a key, blocks of 4 KiB (of the store), \
                entries stay for 5400 s\n";
    assert_eq!(text, line);
    let own = "key space sessions: compression zstd, filters of 15 bits for a key, entries stay \
               for 5400 s\n";
    assert!(place.ok(&["stats", "d.img"]).contains(own));
    let options = &place.json(&["stats", "d.img"])["key_space_options"];
    assert_eq!(options[0][0], "sessions", "{options}");
    assert_eq!(options[0][1]["filter_bits"], 15, "{options}");
    // A copy has them, and the store's own are as they were.
    place.ok(&["checkpoint", "d.img", "copy"]);
    assert_eq!(place.ok(&["options", "copy", "--space", "sessions"]), line);
    assert_eq!(place.json(&["options", "d.img"])["stated"], json!([]));
    let forever = ["options", "d.img", "--space", "sessions", "--ttl", "forever"];
    assert_eq!(place.json(&forever)["ttl_ms"], 0);
    assert_eq!(place.json(&forever)["changed"], false);
    let missing = place.fails(5, &["options", "d.img", "--space", "other"]);
    assert!(missing.contains("`other`"), "{missing}");
    place.fails(2, &["options", "d.img", "--space", "other", "--first-keys", "on"]);
    place.fails(2, &["options", "d.img", "--ttl", "1h"]);
}
