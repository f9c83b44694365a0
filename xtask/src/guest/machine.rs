//! The virtual machine and its devices, in QEMU without hardware virtualisation.
//!
//! The output of the serial line is shown, and kept in a log. The run has succeeded if its last
//! line is [`PASSED`]: a guest that crashes, hangs or is stopped never prints it.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, bail, ensure};

/// Last line of a guest whose work succeeded.
const PASSED: &str = "guest: passed";

/// Bytes of the NVMe namespace and of the ordinary disk.
const NAMESPACE: u64 = 96 << 20;
const DISK: u64 = 64 << 20;

/// The parts of a machine.
pub(super) struct Machine {
    /// Images of devices and logs lie here.
    pub(super) folder: PathBuf,
    pub(super) kernel: PathBuf,
    pub(super) archive: PathBuf,
    /// Seconds after which it is stopped.
    pub(super) timeout: u32,
}

impl Machine {
    /// Boots the machine, and waits until it is off; an error unless the work succeeded.
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let mut qemu = self.command("")?;
        watch(qemu.arg("-no-reboot"), &self.folder.join("serial.log"))
    }

    /// Boots it for `guest/synced`. Its time is a count of instructions, two nanoseconds each.
    pub(super) fn run_synced(&self) -> anyhow::Result<()> {
        let mut qemu = self.command("terrace.synced")?;
        qemu.args(["-icount", "shift=1,sleep=off"]);
        watch(qemu.arg("-no-reboot"), &self.folder.join("serial.log"))
    }

    /// A command for the machine with new devices. `parameter` is added to the kernel's line.
    pub(super) fn command(&self, parameter: &str) -> anyhow::Result<Command> {
        let (namespace, disk) = (self.folder.join("zns.img"), self.folder.join("disk.img"));
        for (path, size) in [(&namespace, NAMESPACE), (&disk, DISK)] {
            File::create(path)?.set_len(size)?;
        }
        let mut qemu = Command::new("timeout");
        qemu.arg("--kill-after=10").arg(self.timeout.to_string()).arg("qemu-system-x86_64");
        qemu.args(["-machine", "q35,accel=tcg", "-cpu", "max,-cx16", "-smp", "1", "-m", "1536"]);
        qemu.args(["-nographic", "-nodefaults", "-monitor", "none", "-serial", "stdio"]);
        qemu.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(&self.archive);
        // On a busy host, ticks come too late for the kernel's test of its timer.
        let line = "console=ttyS0 panic=-1 quiet mitigations=off nokaslr no_timer_check";
        qemu.args(["-append", &format!("{line} {parameter}")]);
        let drive = |path: &Path, id: &str| {
            let path = path.display().to_string().replace(',', ",,");
            format!("file={path},id={id},format=raw,if=none")
        };
        qemu.args(["-drive", &drive(&namespace, "zns")]);
        qemu.args(["-device", "nvme,id=nvme0,serial=zns0,zoned.zasl=5"]);
        // 96 zones of 1 MiB, of which 768 KiB can be written.
        let zones = "logical_block_size=4096,physical_block_size=4096,zoned=true,\
                     zoned.zone_size=1M,zoned.zone_capacity=768K,zoned.max_open=8,\
                     zoned.max_active=12";
        qemu.args(["-device", &format!("nvme-ns,drive=zns,bus=nvme0,nsid=1,{zones}")]);
        qemu.args(["-drive", &drive(&disk, "disk"), "-device", "virtio-blk-pci,drive=disk"]);
        Ok(qemu)
    }
}

/// A machine that runs, with the lines of its serial output.
pub(super) struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
    log_file: File,
    log: PathBuf,
}

impl Running {
    pub(super) fn start(qemu: &mut Command, log: &Path) -> anyhow::Result<Self> {
        let log_file = File::create(log)?;
        let child = qemu.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.context("qemu-system-x86_64: expected to start")?;
        let output = BufReader::new(child.stdout.take().context("an output that is piped")?);
        Ok(Self { child, output, log_file, log: log.to_owned() })
    }

    /// The next line of its output, which is also kept; `None` at its end.
    pub(super) fn line(&mut self) -> anyhow::Result<Option<String>> {
        let mut line = Vec::new();
        if self.output.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        writeln!(self.log_file, "{line}")?;
        Ok(Some(line))
    }

    /// Waits for its end; an error if it was stopped or has failed.
    pub(super) fn end(mut self) -> anyhow::Result<()> {
        let (status, log) = (self.child.wait()?, self.log.display());
        // `timeout` ends with 124 if it had to stop the program, and with 137 if it had to kill it.
        if matches!(status.code(), Some(124 | 137)) {
            bail!("the guest: expected to end within its time, and was stopped; see {log}");
        }
        ensure!(status.success(), "the guest: expected QEMU to succeed, found {status}; see {log}");
        Ok(())
    }
}

/// Runs the machine, shows its output and keeps it.
fn watch(qemu: &mut Command, log: &Path) -> anyhow::Result<()> {
    let mut running = Running::start(qemu, log)?;
    let mut last = String::new();
    while let Some(line) = running.line()? {
        eprintln!("| {line}");
        if line.starts_with("guest: ") {
            last = line;
        }
    }
    running.end()?;
    let log = log.display();
    match last.as_str() {
        PASSED => Ok(()),
        "" => bail!("the guest: expected `{PASSED}`, found no result: it crashed; see {log}"),
        found => bail!("the guest: expected `{PASSED}`, found `{found}`; see {log}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(script: &str) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        let log = folder.path().join("log");
        let watched = watch(command.args(["-c", script]), &log);
        assert!(log.exists());
        watched.map_err(|error| error.to_string())
    }

    #[test]
    fn only_a_guest_that_says_so_has_passed() {
        result("echo booting; printf 'guest: passed\\r\\n'").unwrap();
        for (script, found) in [
            ("echo 'guest: failed: the work ended with code 1'", "found `guest: failed"),
            ("echo 'kernel panic'", "found no result"),
            ("echo 'guest: passed'; echo 'guest: failed: late'", "late"),
            ("exit 124", "within its time"),
            ("echo 'guest: passed'; exit 3", "expected QEMU to succeed"),
        ] {
            let error = result(script).unwrap_err();
            assert!(error.contains(found), "{script}: {error}");
        }
    }
}
