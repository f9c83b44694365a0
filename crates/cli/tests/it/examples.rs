//! Every command of the README, of pages for users and of `--help` is run, in the order in which it
//! stands there, in a directory of its own for each page.
//!
//! What counts as a command:
//! - in blocks of code without a language, each line that begins with `terrace` or `cargo`, without
//!   the comment behind `#`;
//! - in text, each span of code that begins with `terrace`;
//! - in a help, the lines under `Examples:`.
//!
//! What is changed before it is run:
//! - `cargo run --release --` is the program itself.
//! - A placeholder is filled in, by [`PLACEHOLDERS`].
//! - A span that only names a command, without arguments, stands for its help.
//! - What measures or demonstrates does less, by [`SMALLER`].
//!
//! A shell carries the commands out; in the directory there are copies of `docs` and of nothing
//! else. [`NOT_RUN`] lists what is not run, with the reason.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::Place;

/// The pages, from the top of the repository.
const PAGES: [&str; 3] = ["README.md", "docs/cli.md", "docs/drives.md"];

/// What is not run here.
const NOT_RUN: [(&str, &str); 3] = [
    ("cargo xtask test", "it runs this test"),
    ("cargo install --path crates/cli", "builds the whole program optimised, and installs it"),
    (
        "terrace lab report geardb/fig3",
        "needs all of a run, an hour; `experiments` has a small one",
    ),
];

/// What stands for what, in commands that have a placeholder.
const PLACEHOLDERS: [(&str, &str); 4] =
    [("COMMAND", "device"), ("DIR", "pages"), ("SHELL", "bash"), ("NAME", "wd-zn540")];

/// What is added to a command that begins so, the first that fits, to have it do less.
const SMALLER: [(&str, &str); 5] = [
    ("terrace demo", "docs --limit 1MiB"),
    ("terrace bench load", "--bytes 4MB --drive 64MB --zone-size 1MiB"),
    ("terrace bench", "--count 2000 --syncs 10 --memtable-size 1MiB --memory 16MiB"),
    ("terrace lab run", "--scale 1/256 --share 1/256 --first"),
    ("terrace lab validate-drives", "--sweep none"),
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
        } else if block && plain && is_command(line) {
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

/// A line without what is said about it: behind a `#`, or, in a table of commands, behind spaces.
fn without_comment(line: &str) -> String {
    let command = line.split('#').next().unwrap_or(line);
    command.split("    ").next().unwrap_or(command).trim().to_owned()
}

/// What is run for a command; `None` if it is not.
fn to_run(command: &str) -> Option<String> {
    if NOT_RUN.iter().any(|(listed, _)| *listed == command) {
        return None;
    }
    let mut command = command.replace("cargo run --release --", "terrace");
    for (placeholder, word) in PLACEHOLDERS {
        command = command.replace(placeholder, word);
    }
    assert!(command.starts_with("terrace ") || !command.starts_with("cargo"), "{command}");
    if names_only(&command) {
        return Some(command + " --help");
    }
    if command.contains("--help") {
        return Some(command);
    }
    let smaller = SMALLER.iter().find(|(begin, _)| command.starts_with(begin));
    Some(match smaller {
        Some((_, more)) => format!("{command} {more}"),
        None => command,
    })
}

/// Whether a command consists of names of commands that need more than their names.
fn names_only(command: &str) -> bool {
    ["terrace device create", "terrace format", "terrace lab report"].contains(&command)
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
    // A name has two spaces before it; what is said about it goes on further in.
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
    let mut all = Vec::new();
    for name in PAGES {
        let commands = commands_of(&page(name));
        assert!(!commands.is_empty(), "{name} has no commands");
        let run: Vec<String> = commands.iter().filter_map(|command| to_run(command)).collect();
        run_all(name, &run);
        all.extend(commands);
    }
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
    assert_eq!(to_run("cargo xtask test"), None);
    let smaller = to_run("cargo run --release -- demo");
    assert_eq!(smaller.as_deref(), Some("terrace demo docs --limit 1MiB"));
}
