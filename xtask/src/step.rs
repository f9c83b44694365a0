//! Steps of a chore, such as the checks of `cargo xtask tidy`. A step that fails does not end the
//! chore, so that one run shows all failures.
//!
//! Each step prints its time. [`Steps::close`] prints a table of the steps, the dearest first, and
//! fails if a step has failed, with the names of those. Output about steps goes to standard error.
//! Commands get nothing on their standard input.
//!
//! A step that keeps one processor busy can be a process [beside](Steps::beside) other steps. Its
//! line in the table has all that it took of processors, but by the clock only the time that was
//! left of it when the others were done.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail, ensure};

use crate::spent::{Spent, Watch};

/// The steps run so far.
pub(crate) struct Steps {
    watch: Watch,
    done: Vec<(String, Spent)>,
    failed: Vec<String>,
}

impl Steps {
    /// Starts the clock.
    pub(crate) fn new() -> Self {
        Self { watch: Watch::start(), done: Vec::new(), failed: Vec::new() }
    }

    /// Runs one step. Its error is printed under its name, and remembered.
    pub(crate) fn run(&mut self, name: &str, step: impl FnOnce() -> anyhow::Result<()>) {
        eprintln!("== {name}");
        let watch = Watch::start();
        let result = step();
        let spent = watch.spent();
        match result {
            Ok(()) => eprintln!("== {name}: ok, {spent}"),
            Err(error) => {
                eprintln!("{error:#}\n== {name}: FAILED, {spent}");
                self.failed.push(name.to_owned());
            }
        }
        self.done.push((name.to_owned(), spent));
    }

    /// Runs a step as a process, and other steps meanwhile. The output of the process goes to a
    /// file, and is shown when the others are done.
    pub(crate) fn beside(
        &mut self,
        name: &str,
        command: &mut Command,
        output: &Path,
        others: impl FnOnce(&mut Self),
    ) {
        eprintln!("== {name}: runs beside the steps that follow");
        let process = start(command, output);
        others(self);
        self.run(name, || {
            let status = process?.wait()?;
            let mut written = File::open(output)?;
            std::io::copy(&mut written, &mut std::io::stderr())?;
            ensure!(status.success(), "{}: expected to succeed, found {status}", line(command));
            Ok(())
        });
    }

    /// Prints the table and the closing line; an error if a step failed.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        let spent = self.watch.spent();
        let count = self.done.len();
        eprint!("{}", table(self.done));
        if self.failed.is_empty() {
            eprintln!("== all {count} steps ok, {spent}");
            return Ok(());
        }
        let failed = self.failed.join("; ");
        bail!("{} of {count} steps failed ({failed}), {spent}", self.failed.len())
    }
}

/// Starts a command, with all that it says in a file.
fn start(command: &mut Command, output: &Path) -> anyhow::Result<Child> {
    let line = line(command);
    eprintln!("$ {line}");
    let failed = || format!("{}: expected to be created, but it was not", output.display());
    let file = File::create(output).with_context(failed)?;
    let process = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn();
    process.with_context(|| format!("{line}: expected to start, but it did not"))
}

/// Runs a command to its end with nothing on its standard input.
pub(crate) fn command(command: &mut Command) -> anyhow::Result<()> {
    let line = line(command);
    eprintln!("$ {line}");
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("{line}: expected to start, but it did not"))?;
    ensure!(status.success(), "{line}: expected to succeed, found {status}");
    Ok(())
}

/// Runs a command to its end and returns its standard output; its standard error is passed on.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let line = line(command);
    eprintln!("$ {line}");
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{line}: expected to start, but it did not"))?;
    ensure!(output.status.success(), "{line}: expected to succeed, found {}", output.status);
    String::from_utf8(output.stdout).with_context(|| format!("{line}: expected UTF-8 output"))
}

/// A command as one would type it, with the variables that were set for it.
fn line(command: &Command) -> String {
    let set = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}='{}'", name.to_string_lossy(), value?.to_string_lossy()))
    });
    let program = std::path::Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program()).to_string_lossy();
    let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
    set.chain([program.into_owned()]).chain(words).collect::<Vec<_>>().join(" ")
}

/// A line to a step, by processor time.
fn table(mut steps: Vec<(String, Spent)>) -> String {
    steps.sort_by_key(|(_, spent)| std::cmp::Reverse(spent.processor));
    let mut table = String::from("processors     clock  step\n");
    for (name, Spent { clock, processor }) in steps {
        let (clock, processor) = (clock.as_secs_f64(), processor.as_secs_f64());
        _ = writeln!(table, "{processor:8.1} s {clock:7.1} s  {name}");
    }
    table
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_dearest_step_is_first_in_the_table() {
        let spent = |clock, processor| Spent {
            clock: Duration::from_millis(clock),
            processor: Duration::from_millis(processor),
        };
        let steps = vec![("waits".to_owned(), spent(9_000, 20)), ("b".to_owned(), spent(50, 90))];
        assert_eq!(
            table(steps),
            "processors     clock  step\n     0.1 s     0.1 s  b\n     0.0 s     9.0 s  waits\n"
        );
    }

    #[test]
    fn a_failed_step_fails_the_chore_but_not_the_next_step() {
        let mut steps = Steps::new();
        let mut second = false;
        steps.run("first", || bail!("broken"));
        steps.run("second", || {
            second = true;
            Ok(())
        });
        assert!(second);
        let error = steps.close().unwrap_err().to_string();
        assert!(error.starts_with("1 of 2 steps failed (first)"), "{error}");
    }

    #[test]
    fn a_process_beside_other_steps_runs_while_they_do() {
        let folder = tempfile::tempdir().unwrap();
        let (output, met) = (folder.path().join("output"), folder.path().join("met"));
        // It fails unless the other step runs within the next ten seconds.
        let script = "echo said; i=0; while [ $i -lt 1000 ] && ! [ -e \"$0\" ]; do sleep 0.01; \
                      i=$((i+1)); done; [ -e \"$0\" ] || exit; \
                      i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let mut shell = Command::new("sh");
        let mut steps = Steps::new();
        steps.beside("process", shell.args(["-c", script]).arg(&met), &output, |steps| {
            steps.run("other", || Ok(std::fs::write(&met, "")?));
        });
        assert_eq!(std::fs::read_to_string(output).unwrap(), "said\n");
        let names: Vec<_> = steps.done.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["other", "process"]);
        #[cfg(target_os = "linux")]
        assert!(steps.done[1].1.processor > steps.done[0].1.processor, "{:?}", steps.done);
        steps.close().unwrap();
    }

    #[test]
    fn a_process_beside_other_steps_may_fail_or_not_start() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("output");
        let mut steps = Steps::new();
        let mut others = 0;
        steps.beside("fails", &mut Command::new("false"), &output, |_| others += 1);
        steps.beside("is not there", &mut Command::new("/no/program"), &output, |_| others += 1);
        assert_eq!(others, 2);
        let error = steps.close().unwrap_err().to_string();
        assert!(error.starts_with("2 of 2 steps failed (fails; is not there)"), "{error}");
    }

    #[test]
    fn a_command_that_fails_is_shown_as_typed() {
        let error = command(Command::new("false").arg("--really")).unwrap_err().to_string();
        assert!(error.starts_with("false --really: expected to succeed"), "{error}");
        command(&mut Command::new("true")).unwrap();
    }
}
