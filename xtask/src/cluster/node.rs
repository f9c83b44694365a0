//! One node of Cassandra as a process: its files, its start, its death.
//!
//! A node N listens on 127.0.0.N. In its directory are `drive.img`, an emulated zoned drive with
//! the tables on Terrace, and Cassandra's own files. Its output is next to the directory, and stays
//! when the node loses its files. A node that is dropped is killed.

use std::fs::File;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::client::number_after;
use super::damage::Damage;
use super::parts::Parts;
use crate::step;

/// Port of clients.
const PORT: u16 = 9042;
/// The longest time until a node takes clients.
const START_MAX: Duration = Duration::from_secs(240);
/// Memory of the JVM's heap.
const HEAP: &str = "768m";
/// Memory of the engine, in bytes.
const MEMORY: u64 = 96 << 20;
/// The code of `terrace check` for damaged bytes.
const DAMAGED: i32 = 3;
/// The number of nodes of a cluster.
pub(super) const NODES: u8 = 3;

/// How a node starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// With its own files; the first three of a cluster start so for the first time, too.
    Again,
    /// Without files, in place of a node of its own address that has lost everything.
    Replacing,
    /// Without files, as a further node.
    Joining,
}

/// The size of a node's drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    Large,
    /// One that a client fills within a minute.
    Small,
}

/// A node and, while it runs, its process.
pub(super) struct Node<'a> {
    parts: &'a Parts<'a>,
    number: u8,
    place: PathBuf,
    process: Option<Child>,
    /// Whether Cassandra's own commit log is synced before a write is acknowledged.
    syncs_log: bool,
}

impl<'a> Node<'a> {
    /// A node with nothing on its drive and no files.
    pub(super) fn new(parts: &'a Parts<'a>, number: u8) -> anyhow::Result<Self> {
        let place = parts.place().join(format!("node{number}"));
        let mut node = Self { parts, number, place, process: None, syncs_log: false };
        node.wipe(Medium::Large)?;
        File::create(node.log())?;
        Ok(node)
    }

    /// Its address.
    pub(super) fn address(&self) -> String {
        format!("127.0.0.{}", self.number)
    }

    /// The port of `nodetool`.
    pub(super) fn management(&self) -> u16 {
        7198 + u16::from(self.number)
    }

    /// Its drive.
    pub(super) fn drive(&self) -> PathBuf {
        self.place.join("drive.img")
    }

    /// Kills it, and replaces its files and its drive by empty ones.
    pub(super) fn wipe(&mut self, medium: Medium) -> anyhow::Result<()> {
        self.kill()?;
        if self.place.exists() {
            std::fs::remove_dir_all(&self.place)?;
        }
        std::fs::create_dir_all(&self.place)?;
        self.format(medium)
    }

    /// Makes a new drive with an empty store in place of its drive, if it has one.
    pub(super) fn format(&self, medium: Medium) -> anyhow::Result<()> {
        let drive = self.drive();
        if drive.exists() {
            std::fs::remove_file(&drive)?;
        }
        let (size, zone) = match medium {
            Medium::Large => ("2GiB", "8MiB"),
            Medium::Small => ("192MiB", "1MiB"),
        };
        let shape = ["--size", size, "--zone-size", zone, "--max-open", "14"];
        let mut create = Command::new(self.parts.terrace());
        step::command(create.args(["device", "create"]).arg(&drive).args(shape))?;
        step::command(Command::new(self.parts.terrace()).arg("format").arg(&drive))
    }

    /// Starts the process.
    pub(super) fn start(&mut self, start: Start) -> anyhow::Result<()> {
        ensure!(self.process.is_none(), "node {}: expected no process, found one", self.number);
        let yaml = self.place.join("cassandra.yaml");
        std::fs::write(&yaml, self.yaml(start))?;
        let output = File::options().create(true).append(true).open(self.log())?;
        let mut java = self.parts.java();
        java.arg(format!("-Xmx{HEAP}")).arg(format!("-Xms{HEAP}"));
        java.arg(format!("-Dcassandra.config=file://{}", yaml.display()));
        java.arg(format!("-Dcassandra.storagedir={}", self.place.display()));
        java.arg(format!("-Dcassandra.jmx.local.port={}", self.management()));
        java.args([
            "-Dcassandra-foreground=yes",
            "-Dcassandra.ring_delay_ms=4000",
            "-Dcassandra.skip_wait_for_gossip_to_settle=0",
            "-Dcassandra.superuser_setup_delay_ms=0",
            "-Djava.net.preferIPv4Stack=true",
        ]);
        if start == Start::Replacing {
            java.arg(format!("-Dcassandra.replace_address_first_boot={}", self.address()));
        }
        java.arg("org.apache.cassandra.service.CassandraDaemon");
        java.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        self.process = Some(java.spawn().context("java: expected to start, but it did not")?);
        Ok(())
    }

    /// From the next start on, Cassandra's own commit log is synced before a write is
    /// acknowledged.
    pub(super) fn sync_log(&mut self) {
        self.syncs_log = true;
    }

    /// The number of its process.
    pub(super) fn process(&self) -> anyhow::Result<u32> {
        self.process.as_ref().map(Child::id).context("expected a process")
    }

    /// Cassandra's own files.
    pub(super) fn data(&self) -> PathBuf {
        self.place.join("data")
    }

    /// Cassandra's own commit log.
    pub(super) fn log_files(&self) -> PathBuf {
        self.place.join("commitlog")
    }

    /// The answer of `terrace zones --json` for its drive.
    pub(super) fn zones(&self) -> anyhow::Result<String> {
        let mut zones = Command::new(self.parts.terrace());
        step::output(zones.args(["zones", "--json"]).arg(self.drive()))
    }

    /// Waits until clients can connect.
    pub(super) fn wait(&mut self) -> anyhow::Result<()> {
        let began = Instant::now();
        let address = SocketAddr::from(([127, 0, 0, self.number], PORT));
        while TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
            let process = self.process.as_mut().context("expected a process")?;
            if let Some(status) = process.try_wait()? {
                bail!("node {}: ended with {status}; see {}", self.number, self.log().display());
            }
            ensure!(
                began.elapsed() < START_MAX,
                "node {}: expected clients within {START_MAX:?}; see {}",
                self.number,
                self.log().display()
            );
            std::thread::sleep(Duration::from_millis(300));
        }
        Ok(())
    }

    /// Ends its process at once, as `kill -9` does.
    pub(super) fn kill(&mut self) -> anyhow::Result<()> {
        if let Some(mut process) = self.process.take() {
            process.kill()?;
            process.wait()?;
        }
        Ok(())
    }

    /// Checks the store of a node that does not run.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let mut check = Command::new(self.parts.terrace());
        step::output(check.args(["check", "--json"]).arg(self.drive())).map(drop)
    }

    /// Deletes a fifth of the rows on its drive; the number of these.
    pub(super) fn lose(&self) -> anyhow::Result<u64> {
        let said = step::output(&mut self.parts.damage(&self.drive()))?;
        number_after(&said, "deleted").with_context(|| format!("expected deletions: {said}"))
    }

    /// Writes entries that are only in the log of its store into tables, for damage to these.
    pub(super) fn flush(&self) -> anyhow::Result<Damage> {
        step::command(Command::new(self.parts.terrace()).arg("flush").arg(self.drive()))?;
        Damage::of_tables(&self.drive(), &self.zones()?)
    }

    /// Verifies that `terrace check` finds damage on the drive.
    pub(super) fn check_damaged(&self) -> anyhow::Result<()> {
        let mut check = Command::new(self.parts.terrace());
        check.args(["check", "--json"]).arg(self.drive());
        let code = check.stdin(Stdio::null()).stdout(Stdio::null()).status()?.code();
        ensure!(code == Some(DAMAGED), "check: expected code {DAMAGED}, found {code:?}");
        Ok(())
    }

    /// Its output.
    pub(super) fn log(&self) -> PathBuf {
        self.place.with_extension("log")
    }

    fn yaml(&self, start: Start) -> String {
        // A seed does not stream the data of the node that it replaces.
        let is_new = start != Start::Again;
        let seeds: Vec<_> = (1..=NODES)
            .filter(|number| !(is_new && *number == self.number))
            .map(|number| format!("127.0.0.{number}:7000"))
            .collect();
        // Tokens a third of the ring apart.
        let third = i128::from(u64::MAX) / 3;
        let token = i128::from(i64::MIN) + i128::from(self.number - 1) * third;
        let token = if is_new { String::new() } else { format!("initial_token: '{token}'\n") };
        let (place, address) = (self.place.display(), self.address());
        let library = self.parts.library();
        let log = if self.syncs_log {
            "commitlog_sync: batch\n"
        } else {
            "commitlog_sync: periodic\ncommitlog_sync_period: 10s\n"
        };
        format!(
            "cluster_name: loops\n\
             partitioner: org.apache.cassandra.dht.Murmur3Partitioner\n\
             num_tokens: 1\n{token}\
             seed_provider:\n\
             - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n  \
               parameters:\n  - seeds: '{seeds}'\n\
             listen_address: {address}\n\
             rpc_address: {address}\n\
             native_transport_port: {PORT}\n\
             storage_port: 7000\n\
             endpoint_snitch: SimpleSnitch\n\
             {log}\
             data_file_directories: ['{place}/data']\n\
             commitlog_directory: '{place}/commitlog'\n\
             hints_directory: '{place}/hints'\n\
             saved_caches_directory: '{place}/caches'\n\
             cdc_raw_directory: '{place}/cdc'\n\
             concurrent_reads: 8\n\
             concurrent_writes: 16\n\
             memtable_heap_space: 96MiB\n\
             memtable_offheap_space: 32MiB\n\
             key_cache_size: 8MiB\n\
             auto_snapshot: false\n\
             disk_failure_policy: stop_paranoid\n\
             write_request_timeout: 10s\n\
             read_request_timeout: 10s\n\
             memtable:\n  configurations:\n    \
               default:\n      class_name: SkipListMemtable\n    \
               terrace:\n      class_name: terrace.cassandra.TerraceMemtable\n      \
                 parameters:\n        library: {library}\n        store: {drive}\n        \
                   memory: '{MEMORY}'\n",
            seeds = seeds.join(","),
            library = library.display(),
            drive = self.drive().display(),
        )
    }
}

impl Drop for Node<'_> {
    fn drop(&mut self) {
        // The process is this program's own; an error says that it has ended.
        _ = self.kill();
    }
}

/// Whether a file is there, with the reason of the step that needs it.
pub(super) fn expect(file: &Path) -> anyhow::Result<()> {
    ensure!(file.exists(), "{}: expected to be built, found none", file.display());
    Ok(())
}
