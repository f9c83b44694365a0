//! The header that is kept in the project is the one that cbindgen makes of the sources.
//! `TERRACE_REGENERATE=1 cargo test -p terrace-c` writes it again.

use std::path::Path;
use std::process::Command;

#[test]
fn the_header_is_that_of_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new().with_config(config).with_src(root.join("src/lib.rs"));
    let bindings = builder.generate().unwrap();
    let mut made = Vec::new();
    bindings.write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = root.join("include/terrace.h");
    if terrace_env::regenerates_goldens() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "include/terrace.h: run with TERRACE_REGENERATE=1 if this is meant");
}

/// Larger programs include a header several times, and C++ is stricter than C.
#[test]
fn the_header_can_be_included_twice_in_c_and_in_cpp() {
    let place = tempfile::tempdir().unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    for (language, name) in [("c", "twice.c"), ("c++", "twice.cc")] {
        let source = place.path().join(name);
        std::fs::write(&source, "#include \"terrace.h\"\n#include \"terrace.h\"\n").unwrap();
        let status = Command::new("cc")
            .args(["-x", language, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I"])
            .args([include.as_os_str(), source.as_os_str()])
            .status()
            .unwrap();
        assert!(status.success(), "{language}: {status}");
    }
}
