//! Commands of the README, of pages for users and of `--help` are run, in the order in which they
//! stand there, in a directory of its own for each page. Exceptions are below.
//!
//! A line of a document counts as a command if:
//! - in blocks of code without a language, fenced or further in by four spaces, each line that
//!   begins with `terrace` or `cargo`, without the comment after `#`;
//! - in text, each span of code that begins with `terrace`;
//! - in a help, the lines under `Examples:`.
//!
//! A command is changed before it is run:
//! - `cargo run --release --` is the program itself.
//! - A placeholder is filled in, by [`PLACEHOLDERS`].
//! - A span that only names a command, without arguments, stands for its help.
//! - Measurements and demonstrations do less, by [`SMALLER`].
//!
//! Other commands of `cargo` would build and test the project within its test. They are only held
//! against the project: the packages that they name are there, and so are the chores of `xtask`.
//!
//! A shell carries the commands out; in the directory there are copies of `docs` and of nothing
//! else. [`NOT_RUN`] lists the exceptions, with the reason.

use std::path::Path;
use std::process::{Command, Stdio};

use terrace_env::runner;

use crate::program::Place;

/// The pages, from the top of the repository.
const PAGES: [&str; 13] = [
    "README.md",
    "docs/lab/arrivals.md",
    "docs/cli.md",
    "docs/drives.md",
    "docs/lab/experiments.md",
    "docs/lab/offload.md",
    "docs/performance.md",
    "docs/durability.md",
    "docs/guides/new-drive.md",
    "docs/guides/rocksdb.md",
    "docs/guides/server.md",
    "docs/guides/slow.md",
    "CONTRIBUTING.md",
];

const NEEDS_DRIVE: &str = "needs a block device with zones; the guest has some, and works on them";

const SERVES: &str = "serves until it is stopped, by a program of its own; its tests are there";

/// Commands that are not run here.
const NOT_RUN: [(&str, &str); 27] = [
    (
        "terrace lab report arrivals/delays arrivals/sweep --scale 1/64 --results DIRECTORY \
         --markdown page.md",
        "needs results that take hours; `lab` reports what it has run",
    ),
    (
        "terrace device create /dev/nvme1n1 --kind plain",
        "needs a block device of the host; `block_devices` of the zone crate uses a loop device",
    ),
    ("terrace serve drive.img", SERVES),
    ("terrace serve drive.img --listen 127.0.0.1:9000 --keys keys.toml", SERVES),
    ("terrace serve STORE", SERVES),
    ("terrace format drive.img --offload flash.img", "drives of its own; `offload` does it"),
    (
        "terrace format drive.img --files",
        "needs an empty drive; `store` does it, and the tests of the RocksDB plug-in",
    ),
    (
        "terrace get drive.img \"from Python\"",
        "needs an entry put by Python; the tests of the package read such entries",
    ),
    ("terrace device report /dev/nvme1n1", NEEDS_DRIVE),
    ("terrace bench fillseq fillrandom readrandom --device /dev/nvme1n1", NEEDS_DRIVE),
    ("terrace demo --device /dev/nvme1n1 --force", NEEDS_DRIVE),
    ("terrace format /dev/nvme1n1 --force", NEEDS_DRIVE),
    ("terrace put /dev/nvme1n1 greeting hello", NEEDS_DRIVE),
    ("terrace get /dev/nvme1n1 greeting", NEEDS_DRIVE),
    ("terrace check /dev/nvme1n1", NEEDS_DRIVE),
    ("terrace format /dev/nvme1n1 --log /dev/nvme2n1 --force", NEEDS_DRIVE),
    ("terrace stats /dev/nvme1n1", NEEDS_DRIVE),
    ("terrace zones /dev/nvme1n1", NEEDS_DRIVE),
    (
        "terrace fs cat rocks.img /db/LOG",
        "needs a database of RocksDB; `named_files` prints other files",
    ),
    ("terrace forget-offload drive.img", "a drive that is lost; `offload` does it"),
    ("terrace bench --reference", "takes minutes; `bench` has its sizes refused and its mixes run"),
    ("terrace lab run geardb/all --system bluefs", "CI runs each experiment in part"),
    (
        "terrace lab run mine.toml --scale 1/16 --csv metrics.csv --samples samples.csv",
        "there is no such file; `experiments` runs one, with both",
    ),
    (
        "terrace advise seagate-st13125nm007 --space 70GiB --entries 13e6 --value-size 4KiB",
        "takes minutes; `advise` has a smaller question",
    ),
    (
        "terrace advise wd-zn540 --entries 1e8 --value-size 1KiB --writes 20000 --prefer read",
        "takes minutes; `advise` has a smaller question",
    ),
    ("terrace lab report geardb/all", "needs all of the runs; `experiments` has a small one"),
    (
        "terrace lab report geardb/fig3",
        "needs all of a run, an hour; `experiments` has a small one",
    ),
];

/// Words that replace the placeholders in commands.
const PLACEHOLDERS: [(&str, &str); 4] =
    [("COMMAND", "device"), ("DIR", "pages"), ("SHELL", "bash"), ("NAME", "wd-zn540")];

/// Arguments added to a command that begins so, to have it do less; the first that fits.
const SMALLER: [(&str, &str); 7] = [
    ("terrace demo", "docs --limit 1MiB"),
    ("terrace bench load", "--bytes 4MB --drive 64MB --zone-size 1MiB"),
    ("terrace bench", "--count 2000 --syncs 10 --memtable-size 1MiB --memory 16MiB"),
    ("terrace lab run", "--scale 1/256 --share 1/256 --first"),
    ("terrace lab arrivals --thesis", "--duration 30s"),
    ("terrace lab validate-drives", "--sweep none"),
    ("terrace lab simulate", "--world scripts"),
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).expect("a page of the repository")
}

/// The commands of a page, as they stand there.
fn commands_of(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let (mut block, mut plain) = (false, false);
    for line in page.lines() {
        if let Some(language) = line.strip_prefix("```") {
            (block, plain) = (!block, language.is_empty());
        } else if ((block && plain) || (!block && line.starts_with("    "))) && is_command(line) {
            commands.push(without_comment(line));
        } else if !block {
            let spans = line.split('`').skip(1).step_by(2);
            commands.extend(spans.filter(|span| span.starts_with("terrace ")).map(str::to_owned));
        }
    }
    commands
}

fn is_command(line: &str) -> bool {
    matches!(line.split_whitespace().next(), Some("terrace" | "cargo"))
}

/// A line without its comment: after a `#`, or, in a table of commands, after spaces.
fn without_comment(line: &str) -> String {
    let command = line.split('#').next().unwrap_or(line).trim();
    command.split("    ").next().unwrap_or(command).trim().to_owned()
}

/// A command with the program itself in place of `cargo run`.
fn of_program(command: &str) -> String {
    command.replace("cargo run --release --", "terrace")
}

/// Command to run in place of a documented one; `None` if it is not run.
fn to_run(command: &str) -> Option<String> {
    let mut command = of_program(command);
    if NOT_RUN.iter().any(|(listed, _)| *listed == command) {
        return None;
    }
    if command.starts_with("cargo") {
        check_cargo(&command);
        return None;
    }
    for (placeholder, word) in PLACEHOLDERS {
        command = command.replace(placeholder, word);
    }
    if names_only(&command) {
        return Some(command + " --help");
    }
    if command.contains("--help") {
        return Some(command);
    }
    let smaller = SMALLER.iter().find(|(begin, _)| command.starts_with(begin));
    Some(smaller.map_or(command.clone(), |(_, more)| with_options(&command, more)))
}

/// A command with further options, which stand in for the same ones of its own.
fn with_options(command: &str, more: &str) -> String {
    // One option has two names.
    let command = command.replace("--records", "--count");
    let (mut kept, mut words) = (Vec::new(), command.split(' '));
    while let Some(word) = words.next() {
        if word.starts_with("--") && more.split(' ').any(|option| option == word) {
            words.next();
        } else {
            kept.push(word);
        }
    }
    format!("{} {more}", kept.join(" "))
}

/// Holds a command of `cargo` against the project.
fn check_cargo(command: &str) {
    let words: Vec<&str> = command.split_whitespace().collect();
    for pair in words.windows(2) {
        let found = match pair {
            ["-p", package] => {
                let member = package.trim_start_matches("terrace-");
                page(&format!("crates/{member}/Cargo.toml")).contains(&format!("\"{package}\""))
            }
            ["--path", path] => root().join(path).is_dir(),
            ["xtask", chore] => {
                let name = format!("Chore::{}{}", chore[..1].to_uppercase(), &chore[1..]);
                let known = page("xtask/src/main.rs");
                [" ", "("].iter().any(|end| known.contains(&format!("{name}{end}")))
            }
            _ => true,
        };
        assert!(found, "`{command}`: {pair:?} is not in the project");
    }
}

/// Whether a command consists of names of commands that need more than their names.
fn names_only(command: &str) -> bool {
    let names =
        ["terrace device create", "terrace format", "terrace lab arrivals", "terrace lab report"];
    names.contains(&command)
}

/// Runs commands one after the other; all have to succeed.
fn run_all(what: &str, commands: &[String]) {
    let place = Place::new();
    copy(&root().join("docs"), &place.path().join("docs"));
    let program = Path::new(env!("CARGO_BIN_EXE_terrace")).parent().expect("a directory");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    for command in commands {
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(place.path())
            .env("PATH", &path)
            .stdin(Stdio::null())
            .output()
            .expect("a shell");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{what}: `{command}`: {}: {error}", output.status);
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("a new directory");
    for entry in std::fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            std::fs::copy(from, to).expect("a copy");
        }
    }
}

/// The helps of all commands, in the order of the program's, with the words that lead there.
fn helps(words: &[String], found: &mut Vec<(String, String)>) {
    let all: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
    let help = Place::new().ok(&all);
    let commands = help.split("Commands:\n").nth(1).unwrap_or_default();
    let commands = commands.lines().take_while(|line| !line.is_empty());
    // A name has two spaces before it; its description goes on further in.
    let names = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<String> =
        names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    found.push((words.join(" "), help));
    for name in names.iter().filter(|name| *name != "help") {
        helps(&[words, std::slice::from_ref(name)].concat(), found);
    }
}

#[test]
fn every_command_of_the_pages_works() {
    let pages = PAGES.map(|name| (name, commands_of(&page(name))));
    let all = pages.iter().flat_map(|(_, commands)| commands);
    let all: Vec<String> = all.map(|command| of_program(command)).collect();
    // Two pages at once: this test takes the longest.
    let halves = [0, 1].map(|first| {
        let pages: Vec<_> = pages.iter().skip(first).step_by(2).cloned().collect();
        runner::spawn("pages", move || {
            for (name, commands) in pages {
                assert!(!commands.is_empty(), "{name} has no commands");
                let run: Vec<String> = commands.iter().filter_map(|it| to_run(it)).collect();
                run_all(name, &run);
            }
        })
    });
    halves.into_iter().for_each(runner::JoinHandle::join);
    for (listed, reason) in NOT_RUN {
        assert!(all.iter().any(|command| command == listed), "{listed} ({reason}): on no page");
    }
}

#[test]
fn every_example_of_every_help_works() {
    let mut found = Vec::new();
    helps(&[], &mut found);
    assert!(found.len() > 25, "{} helps", found.len());
    let mut run = Vec::new();
    for (name, help) in &found {
        let examples = help.split("Examples:\n").nth(1).unwrap_or_default();
        let examples: Vec<&str> =
            examples.lines().take_while(|line| line.starts_with("  ")).map(str::trim).collect();
        let own = format!("terrace {name}");
        assert!(
            examples.is_empty() || examples.iter().any(|example| example.contains(&own)),
            "{name}: none of {examples:?} is one of it"
        );
        run.extend(examples.iter().filter_map(|example| to_run(example)));
    }
    assert!(run.len() > 30, "{} examples", run.len());
    run_all("--help", &run);
}

#[test]
fn commands_are_found_on_a_page() {
    let page = "See `terrace get IMAGE`, `scan`.\n```\nterrace a b   # why\nls\n  terrace c\n\
                terrace d      said of it\n```\n```text\nterrace e\n```\n";
    let found = ["terrace get IMAGE", "terrace a b", "terrace c", "terrace d"];
    assert_eq!(commands_of(page), found);
    assert_eq!(to_run("terrace man DIR").as_deref(), Some("terrace man pages"));
    assert_eq!(commands_of("See:\n\n    terrace f g\n    h\n"), ["terrace f g"]);
    assert_eq!(to_run("cargo xtask test"), None);
    assert!(std::panic::catch_unwind(|| to_run("cargo xtask toast")).is_err());
    assert!(std::panic::catch_unwind(|| to_run("cargo test -p terrace-nil")).is_err());
    assert_eq!(with_options("a --b 1 --c 2", "--b 3"), "a --c 2 --b 3");
    let smaller = to_run("cargo run --release -- demo");
    assert_eq!(smaller.as_deref(), Some("terrace demo docs --limit 1MiB"));
}
