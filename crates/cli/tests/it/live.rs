//! A store that another process writes: commands ask that process, and an error names it. Either
//! process may be killed, and the other one goes on.

use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Stdio};
use std::time::Duration;

use serde_json::Value;
use terrace::device::{Access, Emulator};
use terrace_env::runner;

use crate::program::Place;

/// Times that an event is looked for, each after a pause of 50 ms.
const LOOKS: u32 = 2400;

/// A loader that waits for input.
struct Loader {
    child: Child,
    input: Option<ChildStdin>,
}

impl Loader {
    fn start(place: &Place, store: &str) -> Self {
        let mut command = place.command(&["load", store]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let socket = match store {
            "dir" => place.path().join("dir/LIVE"),
            image => place.path().join(format!("{image}.live")),
        };
        let number = || fs::metadata(&socket).map(|found| found.ino()).ok();
        let stale = number();
        let mut child = command.spawn().expect("a process");
        let input = child.stdin.take();
        // A command that reads the store before could be in the loader's way.
        let is_there = (0..LOOKS).any(|_| {
            runner::sleep(Duration::from_millis(50));
            number().is_some_and(|number| Some(number) != stale)
        });
        assert!(is_there, "{socket:?}");
        Self { child, input }
    }

    /// Loads entries, and waits until they are seen through the window.
    fn load(&mut self, place: &Place, store: &str, range: std::ops::Range<u32>) -> Value {
        let input = self.input.as_mut().expect("an open pipe");
        for number in range.clone() {
            writeln!(input, "key{number:06}\tvalue {number}").unwrap();
        }
        input.flush().unwrap();
        let last = format!("key{:06}", range.end - 1);
        for _ in 0..LOOKS {
            let stats = place.json(&["stats", store]);
            let is_asked = stats["asked"]["pid"] == self.child.id();
            if is_asked && place.run(&["get", store, &last]).status.success() {
                return stats;
            }
            runner::sleep(Duration::from_millis(50));
        }
        panic!("{last} is not seen");
    }

    /// Ends the input, and returns the loader's messages.
    fn end(mut self) -> String {
        self.input.take();
        let mut said = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(self.child.wait().unwrap().success(), "{said}");
        said
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn commands_ask_the_process_that_has_the_store_open() {
    for (store, copy) in [("d.img", "copy.img"), ("dir", "copy/")] {
        let place = Place::formatted("64MiB", "1MiB");
        fs::create_dir(place.path().join("dir")).unwrap();
        place.ok(&["format", "dir"]);
        let mut loader = Loader::start(&place, store);
        let pid = loader.child.id().to_string();
        let stats = loader.load(&place, store, 0..700);
        assert!(stats["asked"]["command"].as_str().unwrap().contains("load"), "{stats}");
        let text = place.ok(&["stats", store]);
        assert!(text.contains(&format!("open in process {pid}, `")), "{text}");

        let scan = place.ok(&["scan", store, "--values", "--from", "key000698"]);
        assert_eq!(scan, "key000698\tvalue 698\nkey000699\tvalue 699\n");
        let scan = place.json(&["scan", store, "--reverse", "--limit", "5"]);
        assert_eq!(scan["total"]["entries"], 5);
        place.fails(5, &["get", store, "none"]);
        let refused = place.fails(5, &["get", store, "key", "--space", "none"]);
        assert!(refused.contains("\"none\""), "{refused}");
        if store == "d.img" {
            let map = place.ok(&["zones", store]);
            assert!(map.contains("64 zones"), "{map}");
        }
        let top = place.ok(&["top", store, "--once", "--interval", "0.1"]);
        assert!(top.contains(&format!("in process {pid}, `")), "{top}");
        assert!(top.contains("writes") && top.contains("waits"), "{top}");
        let object = place.json(&["top", store, "--interval", "0.1"]);
        assert_eq!(object["open_in"]["pid"].to_string(), pid);

        let copied = place.json(&["checkpoint", store, copy]);
        assert!(copied["tables"].as_u64().unwrap() > 0, "{copied}");
        let refused = place.fails(1, &["put", store, "key", "value"]);
        for part in [format!("process {pid}, `"), format!("`terrace top {store}`")] {
            assert!(refused.contains(&part), "{refused}");
        }
        let refused = place.fails(1, &["scan", store, "--skip-damaged"]);
        assert!(refused.contains("that no other process has open"), "{refused}");

        loader.load(&place, store, 700..800);
        assert!(loader.end().contains("loaded 800 entries"));
        assert_eq!(place.json(&["scan", store])["total"]["entries"], 800);
        assert_eq!(place.json(&["scan", copy])["total"]["entries"], 700);
        place.ok(&["check", copy]);
        assert!(!place.path().join("d.img.live").exists());
        assert!(!place.path().join("dir/LIVE").exists());
    }
}

#[test]
fn a_loader_is_killed_and_what_looks_goes_on_and_so_does_the_next_loader() {
    let place = Place::formatted("64MiB", "1MiB");
    let mut loader = Loader::start(&place, "d.img");
    loader.load(&place, "d.img", 0..700);
    // One that looks again and again, each time into the same process or another one.
    loader.kill();
    assert!(place.path().join("d.img.live").exists(), "a killed process leaves its socket");
    let top = place.ok(&["top", "d.img", "--once"]);
    assert!(top.contains("no process has it open; a still picture"), "{top}");
    assert!(place.json(&["stats", "d.img"])["asked"].is_null());
    let mut loader = Loader::start(&place, "d.img");
    loader.load(&place, "d.img", 700..750);
    loader.end();
    assert_eq!(place.json(&["scan", "d.img"])["total"]["entries"], 750);
}

#[test]
fn a_reader_is_killed_in_the_middle_of_a_scan_and_the_loader_goes_on() {
    let place = Place::formatted("64MiB", "1MiB");
    let mut loader = Loader::start(&place, "d.img");
    loader.load(&place, "d.img", 0..20_000);
    let mut readers = Vec::new();
    for _ in 0..3 {
        let mut command = place.command(&["scan", "d.img", "--values"]);
        let mut reader = command.stdout(Stdio::piped()).spawn().unwrap();
        // It has begun, and stands still: its output is not read.
        let mut begun = [0; 20];
        reader.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
        readers.push(reader);
    }
    for mut reader in readers {
        reader.kill().unwrap();
        reader.wait().unwrap();
    }
    loader.load(&place, "d.img", 20_000..21_000);
    assert!(loader.end().contains("loaded 21000 entries"));
}

#[test]
fn a_user_sees_what_the_rights_of_the_image_allow() {
    if !is_root() {
        // Only root can become another user.
        return;
    }
    let place = Place::formatted("64MiB", "1MiB");
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    // Where the program itself can be run by that user.
    let program = place.path().join("terrace");
    fs::copy(env!("CARGO_BIN_EXE_terrace"), &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let target = place.path().join("theirs");
    fs::create_dir(&target).unwrap();
    std::os::unix::fs::chown(&target, Some(65_534), Some(65_534)).unwrap();
    let as_nobody = |words: &[&str]| {
        let mut command = std::process::Command::new(&program);
        command.args(words).current_dir(place.path()).uid(65_534).gid(65_534);
        command.stdin(Stdio::null());
        let output = command.output().expect("the program");
        (
            output.status.success(),
            String::from_utf8([output.stdout, output.stderr].concat()).unwrap(),
        )
    };
    for (mode, can_read) in [(0o644, true), (0o600, false), (0o660, false)] {
        fs::set_permissions(place.path().join("d.img"), Permissions::from_mode(mode)).unwrap();
        let mut loader = Loader::start(&place, "d.img");
        loader.load(&place, "d.img", 0..700);
        let (can, said) = as_nobody(&["get", "d.img", "key000699"]);
        assert_eq!(can, can_read, "{mode:o}: {said}");
        assert_eq!(can, said == "value 699", "{mode:o}: {said}");
        let (can, said) = as_nobody(&["top", "d.img", "--once", "--interval", "0.1"]);
        assert_eq!(can, can_read, "{mode:o}: {said}");
        let (can, said) = as_nobody(&["checkpoint", "d.img", "theirs/copy/"]);
        assert!(!can && said.contains("ermission denied"), "{mode:o}: {said}");
        loader.end();
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0)
}

#[test]
fn a_command_waits_for_another_one_that_is_about_to_close_the_store() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    for words in [&["get", "d.img", "key"][..], &["scan", "d.img"], &["export", "d.img", "out"]] {
        // Like a command that has not opened its window yet, or has closed it.
        let held = Emulator::open_image(place.path().join("d.img"), Access::ReadWrite).unwrap();
        let holder = runner::spawn("holder", move || {
            runner::sleep(Duration::from_millis(300));
            drop(held);
        });
        place.ok(words);
        holder.join();
    }
}

#[test]
fn commands_read_alone_next_to_the_process_that_has_the_store_open() {
    for store in ["d.img", "dir"] {
        let place = Place::formatted("64MiB", "1MiB");
        fs::create_dir(place.path().join("dir")).unwrap();
        place.ok(&["format", "dir"]);
        let mut loader = Loader::start(&place, store);
        loader.load(&place, store, 0..3000);
        let socket = match store {
            "dir" => place.path().join("dir/LIVE"),
            image => place.path().join(format!("{image}.live")),
        };
        // From now on it is a process without a window.
        fs::remove_file(socket).unwrap();
        let refused = place.fails(1, &["get", store, "key000001"]);
        assert!(refused.contains("is in use") && refused.contains("--alone"), "{refused}");

        // Gathered writes come to the medium by themselves.
        let get = ["get", store, "key002999", "--alone"];
        let is_there = (0..LOOKS).any(|_| {
            let found = place.run(&get).status.success();
            if !found {
                runner::sleep(Duration::from_millis(50));
            }
            found
        });
        assert!(is_there);
        assert_eq!(place.ok(&get), "value 2999");
        assert_eq!(place.json(&get)["value"], "value 2999");
        place.fails(5, &["get", store, "none", "--alone"]);
        place.fails(5, &["get", store, "key000001", "--alone", "--space", "none"]);
        let scan = ["scan", store, "--values", "--from", "key002998", "--alone"];
        assert_eq!(place.ok(&scan), "key002998\tvalue 2998\nkey002999\tvalue 2999\n");
        let scan = place.json(&["scan", store, "--reverse", "--alone"]);
        assert_eq!(scan["total"]["entries"], 3000);
        place.fails(2, &["scan", store, "--skip-damaged", "--alone"]);
        let stats = place.json(&["stats", store, "--alone"]);
        assert!(stats["sequence"].as_u64().unwrap() >= 3000, "{stats}");
        assert!(stats.get("asked").is_none(), "{stats}");

        // The death of the writer does not matter, nor does its absence.
        loader.kill();
        assert_eq!(place.ok(&get), "value 2999");
        assert_eq!(place.ok(&["get", store, "key002999"]), "value 2999");
    }
}
