//! The virtual machine and its devices, in QEMU without hardware virtualisation.
//!
//! The output of the serial line is shown, and kept in `serial.log`. The run has succeeded if its
//! last line is [`PASSED`]: a guest that crashes, hangs or is stopped never prints it.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

/// Last line of a guest whose work succeeded.
const PASSED: &str = "guest: passed";

/// Bytes of the NVMe namespace and of the ordinary disk.
const NAMESPACE: u64 = 96 << 20;
const DISK: u64 = 64 << 20;

/// Boots the machine, and waits until it is off; an error unless the work succeeded.
pub(super) fn run(
    folder: &Path,
    kernel: &Path,
    archive: &Path,
    timeout: u32,
) -> anyhow::Result<()> {
    let (namespace, disk) = (folder.join("zns.img"), folder.join("disk.img"));
    for (path, size) in [(&namespace, NAMESPACE), (&disk, DISK)] {
        File::create(path)?.set_len(size)?;
    }
    let mut qemu = Command::new("timeout");
    qemu.arg("--kill-after=10").arg(timeout.to_string()).arg("qemu-system-x86_64");
    qemu.args(["-machine", "q35,accel=tcg", "-cpu", "max,-cx16", "-smp", "1", "-m", "1536"]);
    qemu.args(["-nographic", "-no-reboot", "-nodefaults", "-monitor", "none"]);
    qemu.args(["-serial", "stdio"]);
    qemu.arg("-kernel").arg(kernel).arg("-initrd").arg(archive);
    qemu.args(["-append", "console=ttyS0 panic=-1 quiet mitigations=off nokaslr"]);
    let drive = |path: &Path, id: &str| {
        format!("file={},id={id},format=raw,if=none", path.display().to_string().replace(',', ",,"))
    };
    qemu.args(["-drive", &drive(&namespace, "zns")]);
    qemu.args(["-device", "nvme,id=nvme0,serial=zns0,zoned.zasl=5"]);
    // 96 zones of 1 MiB, of which 768 KiB can be written.
    let zones = "logical_block_size=4096,physical_block_size=4096,zoned=true,zoned.zone_size=1M,\
                 zoned.zone_capacity=768K,zoned.max_open=8,zoned.max_active=12";
    qemu.args(["-device", &format!("nvme-ns,drive=zns,bus=nvme0,nsid=1,{zones}")]);
    qemu.args(["-drive", &drive(&disk, "disk"), "-device", "virtio-blk-pci,drive=disk"]);
    watch(&mut qemu, &folder.join("serial.log"))
}

/// Runs the machine, shows its output and keeps it.
fn watch(qemu: &mut Command, log: &Path) -> anyhow::Result<()> {
    let mut log_file = File::create(log)?;
    let child = qemu.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.context("qemu-system-x86_64: expected to start")?;
    let output = child.stdout.take().context("an output that is piped")?;
    let mut last = String::new();
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).trim_end().to_owned();
        eprintln!("| {line}");
        writeln!(log_file, "{line}")?;
        if line.starts_with("guest: ") {
            last = line;
        }
    }
    let status = child.wait()?;
    let log = log.display();
    // `timeout` ends with 124 if it had to stop the program, and with 137 if it had to kill it.
    if matches!(status.code(), Some(124 | 137)) {
        bail!("the guest: expected to end within its time, and was stopped; see {log}");
    }
    ensure!(status.success(), "the guest: expected QEMU to succeed, found {status}; see {log}");
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
