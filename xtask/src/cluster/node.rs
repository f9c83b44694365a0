//! One node of Cassandra as a process: its files, its start, its death.
//!
//! A node N listens on 127.0.0.N. In its directory are `drive.img`, an emulated zoned drive with
//! the tables on Terrace; `data`, Cassandra's own files; and `log`, its output. A node that is
//! dropped is killed.

use std::fs::File;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

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
/// The number of nodes of a cluster.
pub(super) const NODES: u8 = 3;

/// A node and, while it runs, its process.
pub(super) struct Node<'a> {
    parts: &'a Parts<'a>,
    number: u8,
    place: PathBuf,
    process: Option<Child>,
}

impl<'a> Node<'a> {
    /// A node with nothing on its drive and no files.
    pub(super) fn new(parts: &'a Parts<'a>, number: u8) -> anyhow::Result<Self> {
        let place = parts.place().join(format!("node{number}"));
        let mut node = Self { parts, number, place, process: None };
        node.wipe()?;
        Ok(node)
    }

    /// Its address.
    pub(super) fn address(&self) -> String {
        format!("127.0.0.{}", self.number)
    }

    /// Its drive.
    pub(super) fn drive(&self) -> PathBuf {
        self.place.join("drive.img")
    }

    /// Kills it, and replaces its files and its drive by empty ones.
    pub(super) fn wipe(&mut self) -> anyhow::Result<()> {
        self.kill()?;
        if self.place.exists() {
            std::fs::remove_dir_all(&self.place)?;
        }
        std::fs::create_dir_all(&self.place)?;
        let drive = self.drive();
        let shape = ["--size", "2GiB", "--zone-size", "8MiB", "--max-open", "14"];
        let mut create = Command::new(self.parts.terrace());
        step::command(create.args(["device", "create"]).arg(&drive).args(shape))?;
        step::command(Command::new(self.parts.terrace()).arg("format").arg(&drive))
    }

    /// Starts the process. `replaces` says that the node takes the place of one of its own address
    /// that has lost everything.
    pub(super) fn start(&mut self, replaces: bool) -> anyhow::Result<()> {
        ensure!(self.process.is_none(), "node {}: expected no process, found one", self.number);
        let yaml = self.place.join("cassandra.yaml");
        std::fs::write(&yaml, self.yaml(replaces))?;
        let output = File::options().create(true).append(true).open(self.place.join("log"))?;
        let mut java = self.parts.java();
        java.arg(format!("-Xmx{HEAP}")).arg(format!("-Xms{HEAP}"));
        java.arg(format!("-Dcassandra.config=file://{}", yaml.display()));
        java.arg(format!("-Dcassandra.storagedir={}", self.place.display()));
        java.arg(format!("-Dcassandra.jmx.local.port={}", 7198 + u16::from(self.number)));
        java.args([
            "-Dcassandra-foreground=yes",
            "-Dcassandra.ring_delay_ms=4000",
            "-Dcassandra.skip_wait_for_gossip_to_settle=0",
            "-Dcassandra.superuser_setup_delay_ms=0",
            "-Djava.net.preferIPv4Stack=true",
        ]);
        if replaces {
            java.arg(format!("-Dcassandra.replace_address_first_boot={}", self.address()));
        }
        java.arg("org.apache.cassandra.service.CassandraDaemon");
        java.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        self.process = Some(java.spawn().context("java: expected to start, but it did not")?);
        Ok(())
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

    /// Its output.
    pub(super) fn log(&self) -> PathBuf {
        self.place.join("log")
    }

    fn yaml(&self, replaces: bool) -> String {
        // A seed does not stream the data of the node that it replaces.
        let seeds: Vec<_> = (1..=NODES)
            .filter(|number| !(replaces && *number == self.number))
            .map(|number| format!("127.0.0.{number}:7000"))
            .collect();
        // Tokens a third of the ring apart.
        let third = i128::from(u64::MAX) / 3;
        let token = i128::from(i64::MIN) + i128::from(self.number - 1) * third;
        let token = if replaces { String::new() } else { format!("initial_token: '{token}'\n") };
        let (place, address) = (self.place.display(), self.address());
        let library = self.parts.library();
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
             commitlog_sync: periodic\n\
             commitlog_sync_period: 10s\n\
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
