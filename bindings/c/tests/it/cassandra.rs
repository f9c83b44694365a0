//! The memtable for Cassandra declares the options of the header in Java. The library reads all of
//! them, so a field that Java lacks would be read from memory after the structure.

use std::path::Path;

fn text_of(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).expect(start);
    rest.split_once(end).expect(end).0
}

/// Type and name of a field in C, as Java declares it. The name of an array has its creation.
fn as_in_java(declaration: &str) -> (&'static str, String) {
    let (kind, name) = declaration.rsplit_once(' ').expect("a type and a name");
    if let Some((name, len)) = name.split_once('[') {
        assert_eq!(kind, "uint32_t", "expected an array that Java declares");
        return ("int[]", format!("{name} = new int[{len}"));
    }
    let kind = match kind {
        _ if name.starts_with('*') => "Pointer",
        "uint32_t" => "int",
        "uint64_t" => "long",
        "TerraceSlice" => "Slice",
        other => panic!("{other}: expected a type that Java declares"),
    };
    let mut words = name.trim_start_matches('*').split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(1);
        name += &(first.to_uppercase() + rest);
    }
    (kind, name)
}

#[test]
fn the_options_of_java_are_those_of_the_header() {
    let header = text_of("include/terrace.h");
    let (before, _) = header.split_once("} TerraceOptions;").expect("the options");
    let (_, fields) = before.rsplit_once("typedef struct {").expect("their begin");
    let declarations = fields.lines().map(str::trim).filter(|line| line.ends_with(';'));
    let expected: Vec<_> =
        declarations.map(|line| as_in_java(line.trim_end_matches(';'))).collect();
    assert!(expected.len() > 10, "{expected:?}");

    let java = text_of("../cassandra/src/main/java/terrace/cassandra/Library.java");
    let order = between(&java, "@Structure.FieldOrder({\n", "})\n    public static class Options ");
    let order: Vec<&str> = order.split(',').map(|name| name.trim().trim_matches('"')).collect();
    let class = between(&java, "class Options extends Structure {", "}");
    let fields = class.lines().filter_map(|line| line.trim().strip_prefix("public "));
    let found: Vec<_> = fields
        .map(|field| field.trim_end_matches(';').split_once(' ').expect("a type and a name"))
        .collect();
    let expected: Vec<_> = expected.iter().map(|(kind, name)| (*kind, &name[..])).collect();
    assert_eq!(found, expected);
    let names = expected.iter().map(|(_, name)| name.split(' ').next().unwrap_or(name));
    assert_eq!(order, names.collect::<Vec<_>>());
}
