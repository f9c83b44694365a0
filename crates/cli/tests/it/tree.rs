//! Tests of `import`, `export` and `demo`: a directory tree comes back bit for bit, links stay
//! apart, nothing is overwritten unless asked, and nothing is written outside the directory.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::program::Place;

/// A small tree with a file of each kind.
fn grow(root: &Path) {
    fs::create_dir_all(root.join("deep/er")).unwrap();
    fs::create_dir_all(root.join("empty")).unwrap();
    fs::write(root.join("deep/er/file"), "contents").unwrap();
    fs::write(root.join("deep/nothing"), "").unwrap();
    fs::write(root.join("large"), vec![42; 3 << 20]).unwrap();
    fs::write(root.join(OsStr::from_bytes(b"\xff\xfe")), "no text").unwrap();
    symlink("deep/er/file", root.join("good")).unwrap();
    symlink("../../nowhere", root.join("deep/dangling")).unwrap();
}

#[test]
fn a_tree_comes_back_bit_for_bit() {
    let place = Place::formatted("256MiB", "4MiB");
    let (from, to) = (place.path().join("in"), place.path().join("out"));
    grow(&from);
    let loaded = place.json(&["import", "d.img", "in"]);
    assert_eq!((&loaded["files"], &loaded["links"]), (&4.into(), &2.into()));
    assert_eq!(loaded["bytes"], (3 << 20) + 8 + 7);
    assert_eq!(place.ok(&["get", "d.img", "deep/er/file"]), "contents");
    let written = place.json(&["export", "d.img", "out"]);
    assert_eq!((&written["files"], &written["links"]), (&4.into(), &2.into()));
    for file in [&b"deep/er/file"[..], b"deep/nothing", b"large", b"\xff\xfe"] {
        let file = OsStr::from_bytes(file);
        assert_eq!(fs::read(to.join(file)).unwrap(), fs::read(from.join(file)).unwrap());
    }
    for link in ["good", "deep/dangling"] {
        assert_eq!(fs::read_link(to.join(link)).unwrap(), fs::read_link(from.join(link)).unwrap());
    }
    assert!(!to.join("empty").exists());
}

#[test]
fn links_of_two_trees_in_two_key_spaces_stay_apart() {
    let place = Place::formatted("256MiB", "4MiB");
    for (tree, target) in [("one", "target/of/one"), ("two", "target/of/two")] {
        let root = place.path().join(tree);
        fs::create_dir(&root).unwrap();
        fs::write(root.join("file"), tree).unwrap();
        symlink(target, root.join("link")).unwrap();
        symlink(target, root.join(format!("only-in-{tree}"))).unwrap();
        place.ok(&["import", "d.img", tree, "--space", tree]);
    }
    // The first tree is also in the default space, which shares nothing with the others either.
    place.ok(&["import", "d.img", "one"]);
    for (space, tree) in [("one", "one"), ("two", "two"), ("default", "one")] {
        let out = format!("out-{space}");
        let written = place.json(&["export", "d.img", &out, "--space", space]);
        assert_eq!((&written["files"], &written["links"]), (&1.into(), &2.into()), "{space}");
        let (from, to) = (place.path().join(tree), place.path().join(&out));
        assert_eq!(fs::read(to.join("file")).unwrap(), fs::read(from.join("file")).unwrap());
        for link in ["link".to_owned(), format!("only-in-{tree}")] {
            let target = fs::read_link(from.join(&link)).unwrap();
            assert_eq!(fs::read_link(to.join(&link)).unwrap(), target, "{space}");
        }
        assert_eq!(fs::read_dir(&to).unwrap().count(), 3, "{space}");
    }
    for command in ["import", "export"] {
        let error = place.fails(2, &[command, "d.img", "one", "--space", "two/links"]);
        assert!(error.contains("the links of `two`"), "{error}");
    }
    let spaces = || place.json(&["stats", "d.img"])["key_spaces"].to_string();
    assert!(spaces().contains("one/links") && spaces().contains("two/links"), "{}", spaces());
    place.ok(&["delete", "d.img", "--drop-space", "one"]);
    assert!(!spaces().contains("one") && spaces().contains("two/links"), "{}", spaces());
}

#[test]
fn a_file_that_became_a_directory_is_replaced_and_the_other_way_round() {
    let place = Place::formatted("64MiB", "1MiB");
    let tree = |name: &str, paths: &[&str]| {
        for path in paths {
            let at = place.path().join(name).join(path);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            match path.ends_with("link") {
                true => symlink("nowhere", at).unwrap(),
                false => fs::write(at, name).unwrap(),
            }
        }
    };
    let import = |name: &str| place.ok(&["import", "d.img", name]);
    tree("one", &["a", "link", "dir/deep/file", "dir/deep/link", "dir.txt", "stays/file"]);
    tree("two", &["a/b/c", "a/d", "link/e", "dir", "stays/other"]);
    import("one");
    import("two");
    let all = ["a/b/c", "a/d", "dir", "dir.txt", "link/e", "stays/file", "stays/other"];
    let written = place.json(&["export", "d.img", "out"]);
    assert_eq!((&written["files"], &written["links"]), (&all.len().into(), &0.into()));
    for path in all {
        assert!(place.path().join("out").join(path).is_file(), "{path}");
    }
    import("one");
    place.ok(&["export", "d.img", "back"]);
    for path in ["a", "dir/deep/file", "dir.txt", "stays/file", "stays/other"] {
        assert!(place.path().join("back").join(path).is_file(), "{path}");
    }
    for path in ["link", "dir/deep/link"] {
        assert!(place.path().join("back").join(path).is_symlink(), "{path}");
    }
}

#[test]
fn a_path_is_a_file_or_a_link_and_the_last_import_decides() {
    let place = Place::formatted("256MiB", "4MiB");
    let root = place.path().join("in");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a"), "a file").unwrap();
    symlink("a", root.join("b")).unwrap();
    place.ok(&["import", "d.img", "in"]);
    fs::remove_file(root.join("a")).unwrap();
    fs::remove_file(root.join("b")).unwrap();
    symlink("b", root.join("a")).unwrap();
    fs::write(root.join("b"), "b is the file now").unwrap();
    place.ok(&["import", "d.img", "in"]);
    place.ok(&["export", "d.img", "out"]);
    let out = place.path().join("out");
    assert_eq!(fs::read_link(out.join("a")).unwrap(), Path::new("b"));
    assert_eq!(fs::read(out.join("a")).unwrap(), b"b is the file now");
}

#[test]
fn what_is_no_directory_is_neither_imported_nor_exported_to() {
    let place = Place::formatted("256MiB", "4MiB");
    fs::write(place.path().join("file"), "contents").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.path().join("socket")).unwrap();
    for (name, found) in [("file", "a file"), ("socket", "a device, pipe or socket")] {
        for command in ["import", "export"] {
            let error = place.fails(1, &[command, "d.img", name]);
            assert!(error.contains("expected a directory, found "), "{error}");
            assert!(error.contains(found), "{error}");
        }
    }
    place.fails(5, &["import", "d.img", "nowhere"]);
    assert_eq!(fs::read(place.path().join("file")).unwrap(), b"contents");
    // A link to a directory is as good as the directory.
    grow(&place.path().join("in"));
    symlink("in", place.path().join("via")).unwrap();
    assert_eq!(place.json(&["import", "d.img", "via"])["files"], 4);
}

#[test]
fn nothing_is_overwritten_unless_asked() {
    let place = Place::formatted("256MiB", "4MiB");
    grow(&place.path().join("in"));
    place.ok(&["import", "d.img", "in"]);
    place.ok(&["export", "d.img", "out"]);
    let error = place.fails(1, &["export", "d.img", "out"]);
    assert!(error.contains("--overwrite"), "{error}");
    fs::write(place.path().join("out/deep/nothing"), "something").unwrap();
    place.ok(&["export", "d.img", "out", "--overwrite"]);
    assert_eq!(fs::read(place.path().join("out/deep/nothing")).unwrap(), b"");
}

#[test]
fn a_key_that_leads_out_of_the_directory_is_refused() {
    let place = Place::formatted("256MiB", "4MiB");
    place.ok(&["put", "d.img", "../escaped", "value"]);
    let error = place.fails(1, &["export", "d.img", "out"]);
    assert!(error.contains("relative paths"), "{error}");
    assert!(!place.path().join("escaped").exists());
}

#[test]
fn a_file_above_the_limit_is_refused_before_anything_is_written() {
    let place = Place::formatted("256MiB", "4MiB");
    let root = place.path().join("in");
    grow(&root);
    let huge = fs::File::create(root.join("huge")).unwrap();
    huge.set_len((64 << 20) + 1).unwrap();
    let error = place.fails(1, &["import", "d.img", "in"]);
    assert!(error.contains("huge") && error.contains("(64 MiB)"), "{error}");
    place.fails(5, &["get", "d.img", "large"]);
}

#[test]
fn excluded_and_large_files_are_left_out() {
    let place = Place::formatted("256MiB", "4MiB");
    let root = place.path().join("in");
    fs::create_dir_all(root.join("target/deep")).unwrap();
    for file in ["a.txt", "b.o", "target/deep/c.txt"] {
        fs::write(root.join(file), file).unwrap();
    }
    fs::File::create(root.join("huge")).unwrap().set_len((64 << 20) + 1).unwrap();
    let leave_out = ["--exclude", "*.o", "--exclude", "target"];
    let import = [&["import", "d.img", "in"], &leave_out[..]].concat();
    let error = place.fails(1, &import);
    assert!(error.contains("huge") && error.contains("--skip-large all such files"), "{error}");
    let loaded = place.json(&[&import[..], &["--skip-large"]].concat());
    assert_eq!(loaded["files"], 1);
    assert_eq!(loaded["skipped_too_large"], 1);
    assert_eq!(place.ok(&["scan", "d.img"]).lines().count(), 1);
    place.fails(2, &["import", "d.img", "in", "--exclude", "a["]);
    // A file that is excluded is no error, however large it is.
    place.ok(&[&import[..], &["--exclude", "huge"]].concat());
}

#[test]
fn the_demonstration_holds_what_it_promises_on_a_small_tree() {
    let place = Place::new();
    let root = place.path().join("in");
    grow(&root);
    for number in 0..500 {
        let contents = format!("{number} ").repeat(1000);
        fs::write(root.join(format!("deep/{number}")), contents).unwrap();
    }
    let outcome = place.json(&["demo", "in", "--seed", "7", "--keep", "kept.img"]);
    assert_eq!(outcome["files"], 504, "{outcome}");
    assert_eq!(outcome["verified"], outcome["files"]);
    assert_eq!(outcome["synced_lost"], 0);
    assert_eq!(outcome["check"], "clean");
    assert!(outcome["write_amplification"]["total"].as_f64().unwrap() >= 1.0);
    assert!(outcome["zones_reset"].as_u64().is_some());
    assert!(outcome["levels"].as_array().unwrap().len() >= 3, "{}", outcome["levels"]);
    assert_eq!(place.json(&["check", "kept.img"])["check"], "clean");
}

#[test]
fn the_demonstration_runs_on_a_drive_that_is_there_and_leaves_a_store() {
    let place = Place::new();
    grow(&place.path().join("in"));
    for number in 0..60 {
        fs::write(place.path().join(format!("in/{number}")), vec![b'.'; 300_000]).unwrap();
    }
    place.ok(&["device", "create", "d.img", "--size", "24MiB", "--zone-size", "256KiB"]);
    let outcome = place.json(&["demo", "in", "--device", "d.img"]);
    // No more than the drive has room for.
    let loaded = outcome["bytes"].as_u64().unwrap();
    assert!((12_000_000..13_200_000).contains(&loaded), "{outcome}");
    assert_eq!(outcome["synced_lost"], 0);
    assert!(outcome["recovered"].as_u64() >= outcome["synced"].as_u64(), "{outcome}");
    assert_eq!(place.json(&["check", "d.img"])["check"], "clean");
    // It is not blank any more.
    let refused = std::process::Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(["demo", "in", "--device", "d.img"])
        .current_dir(place.path())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("--force formats the drive"), "{error}");
    let told = place.ok(&["demo", "in", "--device", "d.img", "--force"]);
    assert!(told.contains("the device off after"), "{told}");
}

#[test]
fn the_demonstration_leaves_nothing_behind() {
    let place = Place::new();
    grow(&place.path().join("in"));
    let shown = std::process::Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(["demo", "in"])
        .current_dir(place.path())
        .env("TMPDIR", place.path())
        .output()
        .unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.status.success(), "{text}");
    assert!(text.contains("0 synced writes lost, check clean"), "{text}");
    let left: Vec<_> =
        fs::read_dir(place.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["in"]);
}
