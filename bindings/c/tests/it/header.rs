//! The header that is kept in the project is the one that cbindgen makes of the sources.
//! `TERRACE_REGENERATE=1 cargo test -p terrace-c` writes it again.

use std::path::Path;
use std::process::Command;

use terrace_c::fs::{TerraceFileInfo, TerraceFileOptions, TerraceSpace};
use terrace_c::image::TerraceShape;
use terrace_c::key_space_options::TerraceKeySpaceOptions;
use terrace_c::parts::TerraceParts;
use terrace_c::store::TerraceOptions;
use terrace_c::table_options::TerraceTableOptions;
use terrace_c::traffic::TerraceTraffic;

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

/// Programs allocate these structures. One that grew would be too short in a program that was built
/// with an earlier header, so a new field takes the place of reserved ones.
#[test]
fn structures_that_programs_allocate_keep_their_sizes() {
    let sizes = [
        (size_of::<TerraceOptions<'_>>(), 160),
        (size_of::<TerraceTableOptions>(), 64),
        (size_of::<TerraceKeySpaceOptions>(), 64),
        (size_of::<TerraceShape>(), 64),
        (size_of::<TerraceFileOptions>(), 64),
        (size_of::<TerraceFileInfo>(), 64),
        (size_of::<TerraceSpace>(), 64),
        (size_of::<TerraceParts>(), 256),
        (size_of::<TerraceTraffic>(), 128),
    ];
    for (found, expected) in sizes {
        assert_eq!(found, expected);
    }
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
