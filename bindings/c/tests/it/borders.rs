//! Every function of the header is called at its borders: with null and nothing in all places, by a
//! program that is made from the header, and with empty keys, ranges and values, and at the ends of
//! cursors and files, by the programs in `tests/borders`. A function that no such program calls
//! fails the suite. All programs are built with the sanitizers.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::example::{libraries, run};

const PROGRAMS: [&str; 3] = ["store", "writes", "files"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn header() -> String {
    std::fs::read_to_string(root().join("include/terrace.h")).unwrap()
}

/// A function of the header.
#[derive(Debug)]
struct Function {
    /// Type of its result.
    gives: String,
    name: String,
    /// Its parameters, each with type and name.
    parameters: Vec<String>,
    /// The comment before it.
    says: String,
}

/// The exported functions, without those that the header defines itself.
fn functions(header: &str) -> Vec<Function> {
    let body = header.split("extern \"C\" {").nth(1).unwrap().split("#ifdef").next().unwrap();
    let declared = body.split("/**").skip(1).map(|part| part.split_once("*/").unwrap());
    declared
        .map(|(says, rest)| {
            let declaration = rest.split(';').next().unwrap().replace('\n', " ");
            let (head, parameters) = declaration.split_once('(').unwrap();
            let (gives, name) = head.rsplit_once([' ', '*']).unwrap();
            let parameters = parameters.trim_end().strip_suffix(')').unwrap().split(',');
            let parameters = parameters.map(|one| one.trim().to_owned());
            Function {
                gives: gives.trim().to_owned(),
                name: name.to_owned(),
                parameters: parameters.filter(|one| one != "void").collect(),
                says: says.replace("\n *", ""),
            }
        })
        .collect()
}

/// A program that calls each function with null and nothing: those that ignore null succeed, and
/// the others refuse it.
fn with_nothing(functions: &[Function]) -> String {
    let mut program = "#include \"borders.h\"\n\nint main(void) {\n".to_owned();
    program += "  TerraceUserData no_data = {NULL, NULL};\n";
    for function in functions {
        let nothing = |parameter: &String| match parameter {
            slice if slice.starts_with("TerraceSlice ") => "NONE",
            buffer if buffer.starts_with("TerraceBuffer ") => "terrace_buffer(NULL, 0)",
            data if data.starts_with("TerraceUserData ") => "no_data",
            number if number.contains("int") && !number.contains('*') => "0",
            size if size.starts_with("size_t ") => "0",
            _ => "NULL",
        };
        let given: Vec<&str> = function.parameters.iter().map(nothing).collect();
        let call = format!("{}({})", function.name, given.join(", "));
        let ignores = function.says.contains("Null is ignored");
        let line = match &function.gives[..] {
            "TerraceCode" if ignores => format!("  OK({call});\n"),
            "TerraceCode" => format!("  GIVES(TERRACE_CODE_INVALID, {call});\n"),
            "void" => format!("  {call};\n"),
            _ => format!("  (void){call};\n"),
        };
        program += &line;
    }
    program += "  (void)no_data;\n  (void)is;\n  (void)is_none;\n  (void)holds;\n";
    program += "  (void)make_drive;\n  puts(\"all is as expected\");\n  return 0;\n}\n";
    program
}

/// Builds a program and runs it in an empty directory.
fn build_and_run(source: &Path, place: &Path) {
    let program = place.join("program");
    let libraries = libraries();
    run(Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"])
        .args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I"])
        .arg(root().join("include"))
        .arg("-I")
        .arg(root().join("tests/borders"))
        .arg(source)
        .arg("-pthread")
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&libraries)
        .arg("-lterrace_c"));
    let directory = place.join("directory");
    std::fs::create_dir(&directory).unwrap();
    let said = run(Command::new(&program).arg(&directory).env("LD_LIBRARY_PATH", &libraries));
    assert_eq!(said, "all is as expected\n");
}

fn source_of(program: &str) -> PathBuf {
    root().join("tests/borders").join(program).with_extension("c")
}

fn runs_clean(program: &str) {
    build_and_run(&source_of(program), tempfile::tempdir().unwrap().path());
}

#[test]
fn the_calls_of_a_store_keep_their_promises_at_the_borders() {
    runs_clean("store");
}

#[test]
fn the_calls_that_write_keep_their_promises_at_the_borders() {
    runs_clean("writes");
}

#[test]
fn the_calls_of_files_keep_their_promises_at_the_borders() {
    runs_clean("files");
}

#[test]
fn every_function_takes_null_and_nothing() {
    let place = tempfile::tempdir().unwrap();
    let source = place.path().join("nothing.c");
    std::fs::write(&source, with_nothing(&functions(&header()))).unwrap();
    build_and_run(&source, place.path());
}

/// The names of functions that a program calls.
fn called(program: &str) -> BTreeSet<String> {
    let without_comments: String = program
        .split("/*")
        .map(|part| part.split_once("*/").map_or(part, |(_, code)| code))
        .collect();
    let mut names = BTreeSet::new();
    for (at, _) in without_comments.match_indices("terrace_") {
        let name: String = without_comments[at..]
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        if without_comments[at + name.len()..].starts_with('(') {
            names.insert(name);
        }
    }
    names
}

#[test]
fn every_function_of_the_header_is_called_at_its_borders() {
    let functions = functions(&header());
    assert!(functions.len() > 100, "{}: the header is not read as it should be", functions.len());
    let called: BTreeSet<String> = PROGRAMS
        .iter()
        .flat_map(|program| called(&std::fs::read_to_string(source_of(program)).unwrap()))
        .collect();
    let mut missing = String::new();
    for function in functions.iter().filter(|function| !called.contains(&function.name)) {
        writeln!(missing, "{}", function.name).unwrap();
    }
    assert!(missing.is_empty(), "in no program of tests/borders:\n{missing}");
}

#[test]
fn a_name_in_a_comment_is_no_call() {
    let found = called("/* terrace_put() */ f(terrace_get(a)); terrace_add; terrace_text(\"\")");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["terrace_get", "terrace_text"]);
}
