//! The examples in C, built with the sanitizers for addresses and for undefined behaviour, and run:
//! each once with the shared library, once with the static one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Libraries that Rust's standard library needs if it is linked statically.
const OF_RUST: [&str; 5] = ["-lpthread", "-ldl", "-lm", "-lrt", "-lgcc_s"];

/// The directory of cargo's libraries, which is also that of this test.
pub(crate) fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{said}\n{complained}", output.status);
    assert_eq!(complained, "", "{command:?}");
    said
}

fn example(name: &str, link: impl FnOnce(&mut Command, &Path)) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join(name);
    let libraries = libraries();
    let mut compiler = Command::new("cc");
    compiler
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"])
        .args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I"])
        .arg(root.join("include"))
        .arg(root.join("examples").join(name).with_extension("c"))
        .arg("-pthread")
        .arg("-o")
        .arg(&program);
    link(&mut compiler, &libraries);
    run(&mut compiler);
    let images = place.path().join("images");
    std::fs::create_dir(&images).unwrap();
    let said = run(Command::new(&program).arg(&images).env("LD_LIBRARY_PATH", &libraries));
    assert!(said.ends_with("all is as expected\n"), "{said}");
    said
}

fn examples(link: impl Fn(&mut Command, &Path)) {
    let said = example("tour", &link);
    assert!(said.contains("apple is red\n"), "{said}");
    let said = example("bank", &link);
    assert!(said.contains("800 transfers, "), "{said}");
    let said = example("callbacks", &link);
    assert!(said.contains("flush of "), "{said}");
}

#[test]
fn the_examples_run_clean_with_the_shared_library() {
    examples(|compiler, libraries| {
        compiler.arg("-L").arg(libraries).arg("-lterrace_c");
    });
}

#[test]
fn the_examples_run_clean_with_the_static_library() {
    examples(|compiler, libraries| {
        compiler.arg(libraries.join("libterrace_c.a")).args(OF_RUST);
    });
}

/// The sanitizers must notice a program that is wrong, or the tests above would say nothing.
#[test]
fn a_value_that_is_used_after_it_was_freed_is_noticed() {
    let place = tempfile::tempdir().unwrap();
    let (source, program) = (place.path().join("wrong.c"), place.path().join("wrong"));
    let text = "#include \"terrace.h\"\n\
        int main(void) {\n\
          TerraceBatch *batch = NULL;\n\
          terrace_batch_new(&batch);\n\
          terrace_batch_free(batch);\n\
          return *(volatile char *)batch == 7;\n\
        }\n";
    std::fs::write(&source, text).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let libraries = libraries();
    run(Command::new("cc")
        .args(["-fsanitize=address,undefined", "-I"])
        .arg(root.join("include"))
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&libraries)
        .arg("-lterrace_c"));
    let output = Command::new(&program).env("LD_LIBRARY_PATH", &libraries).output().unwrap();
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{complained}");
    assert!(complained.contains("heap-use-after-free"), "{complained}");
}
