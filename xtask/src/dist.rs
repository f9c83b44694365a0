//! `cargo xtask dist`: an archive of the program for this kind of machine, in `target/dist`, and
//! with `--crates` a rehearsal of publishing the crates.
//!
//! The archive has one directory, `terrace-VERSION-TARGET`:
//!
//! | path | content |
//! |---|---|
//! | `bin/terrace` | the program, as `cargo build --release` makes it |
//! | `share/man/man1` | its manual pages |
//! | `share/bash-completion`, `share/zsh`, `share/fish` | completions |
//! | `README.md`, `CHANGELOG.md`, `LICENSE` | as in the project |
//!
//! The archive is unpacked into another directory, and the program in it has to make a drive, store
//! an entry and read it back. An archive of the same program has the same bytes: its entries are
//! sorted, have no owner, and have no time.
//!
//! The rehearsal packs all crates, and builds each from its package alone. It needs a clean
//! checkout and some minutes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::step::{self, Steps};
use crate::workspace::Workspace;

/// Shells, and where below `share` their completions lie.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/terrace"),
    ("zsh", "zsh/site-functions/_terrace"),
    ("fish", "fish/vendor_completions.d/terrace.fish"),
];

/// Files of the project that the archive has.
const TEXTS: [&str; 3] = ["README.md", "CHANGELOG.md", "LICENSE"];

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Also rehearse publishing the crates: `cargo publish --workspace --dry-run`
    #[arg(long)]
    crates: bool,
}

/// Makes the archive, and rehearses publishing if that is asked for.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, arguments: Arguments) {
    steps.run("archive of the program", || {
        let archive = make(workspace)?;
        try_out(&archive)?;
        println!("{}: {} bytes", archive.display(), fs::metadata(&archive)?.len());
        Ok(())
    });
    if arguments.crates {
        steps.run("packages of the crates", || {
            step::command(&mut workspace.cargo(["publish", "--workspace", "--dry-run"]))
        });
    }
}

/// Makes the archive; returns its path.
fn make(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    step::command(&mut workspace.cargo(["build", "--quiet", "--release"]))?;
    let built = workspace.target().join("release/terrace");
    let name = format!("terrace-{}-{}", version(workspace)?, target()?);
    let place = workspace.target().join("dist");
    let root = place.join(&name);
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    for directory in ["bin", "share/man/man1"] {
        fs::create_dir_all(root.join(directory))?;
    }
    fs::copy(&built, root.join("bin/terrace"))
        .with_context(|| format!("expected a program at {}", built.display()))?;
    for text in TEXTS {
        fs::copy(workspace.root().join(text), root.join(text)).context(text)?;
    }
    step::command(Command::new(&built).arg("man").arg(root.join("share/man/man1")))?;
    for (shell, path) in SHELLS {
        let path = root.join("share").join(path);
        fs::create_dir_all(path.parent().expect("a path below `share`"))?;
        fs::write(path, step::output(Command::new(&built).args(["completions", shell]))?)?;
    }
    let archive = place.join(format!("{name}.tar.gz"));
    // gzip writes no time into data that it reads from a pipe.
    let tar = "tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -c \"$1\" | gzip -9n";
    let mut command = Command::new("sh");
    command.current_dir(&place).args(["-c", &format!("{tar} > \"$2\""), "sh", &name]);
    step::command(command.arg(&archive))?;
    Ok(archive)
}

fn version(workspace: &Workspace) -> anyhow::Result<String> {
    let mut packages = workspace.metadata().packages.iter();
    let program = packages.find(|package| package.name.as_str() == "terrace-cli");
    Ok(program.context("expected a package terrace-cli")?.version.to_string())
}

/// The kind of machine that the compiler makes programs for, such as `x86_64-unknown-linux-gnu`.
fn target() -> anyhow::Result<String> {
    let said = step::output(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("expected `host:` in what rustc says of itself")?.to_owned())
}

/// Unpacks the archive and uses the program in it.
fn try_out(archive: &Path) -> anyhow::Result<()> {
    let place = archive.with_extension("").with_extension("tried");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    let mut tar = Command::new("tar");
    step::command(
        tar.args(["-xz", "--strip-components=1", "-f"]).arg(archive).current_dir(&place),
    )?;
    let program = place.join("bin/terrace");
    let run = |words: &[&str]| step::output(Command::new(&program).args(words).current_dir(&place));
    run(&["device", "create", "drive.img", "--size", "64MiB"])?;
    run(&["format", "drive.img"])?;
    run(&["put", "drive.img", "key", "value"])?;
    let found = run(&["get", "drive.img", "key"])?;
    ensure!(found.trim_end() == "value", "expected `value` to be read back, found `{found}`");
    for page in ["terrace.1", "terrace-load.1"] {
        let text = fs::read_to_string(place.join("share/man/man1").join(page)).context(page)?;
        ensure!(text.contains(".SH"), "{page}: expected a manual page with sections");
    }
    Ok(fs::remove_dir_all(&place)?)
}
