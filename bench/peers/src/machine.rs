//! The kind of the machine: processors, memory, kernel and file system. It has no name of it.

use std::path::Path;

/// One line about the machine and the directory of the stores.
pub(crate) fn describe(dir: &Path) -> String {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let model = line("/proc/cpuinfo", "model name")
        .map_or_else(|| "unknown".to_owned(), |text| text.trim_start_matches(": ").to_owned());
    let is_virtual =
        line("/proc/cpuinfo", "flags").is_some_and(|flags| flags.contains("hypervisor"));
    let kind = if is_virtual { "virtual processors" } else { "processors" };
    let kib = line("/proc/meminfo", "MemTotal").and_then(|text| {
        text.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok()
    });
    let gib = kib.unwrap_or(0).div_ceil(1 << 20);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release: Vec<&str> = release.trim().split(['.', '-']).take(2).collect();
    format!(
        "{processors} {kind} ({model}), {gib} GiB of memory, Linux {}, {}",
        release.join("."),
        file_system(dir)
    )
}

/// The rest of the first line that begins with a word.
fn line(path: &str, word: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(word))?;
    Some(rest.trim().to_owned())
}

fn file_system(dir: &Path) -> String {
    let Ok(about) = rustix::fs::statfs(dir) else { return "unknown file system".to_owned() };
    match about.f_type {
        0xef53 => "ext4".to_owned(),
        0x0102_1994 => "a directory in memory".to_owned(),
        0x5846_5342 => "XFS".to_owned(),
        0x9123_683e => "btrfs".to_owned(),
        0x794c_7630 => "overlayfs".to_owned(),
        other => format!("file system {other:#x}"),
    }
}
