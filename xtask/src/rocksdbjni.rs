//! Tests of RocksDB for the JVM, as it is published, on emulated drives: the object that is
//! preloaded is built for one version, and `bindings/rocksdbjni/tests/run.sh` runs programs with
//! it. Maven gets rocksdbjni and Kafka Streams.

use std::process::Command;

use crate::plugin::Plugin;
use crate::step::{self, Steps};
use crate::workspace::Workspace;

/// The version of RocksDB that Kafka Streams is made for.
const WITH_KAFKA: &str = "10.1.3";

/// Arguments of the command line.
#[derive(Clone, clap::Args)]
pub(crate) struct Arguments {
    /// The version of RocksDB
    #[arg(long, default_value = WITH_KAFKA)]
    version: String,
    /// The version of rocksdbjni, where it differs from that of RocksDB
    #[arg(long)]
    jar: Option<String>,
    /// How many times a process that writes is killed
    #[arg(long, default_value_t = Arguments::default().kills)]
    kills: u64,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { version: WITH_KAFKA.to_owned(), jar: None, kills: 4 }
    }
}

/// Builds the object and runs the programs. Kafka Streams runs only with its own version.
pub(crate) fn test(workspace: &Workspace, steps: &mut Steps, arguments: &Arguments) {
    let plugin = Plugin::debug(workspace, "rocksdbjni");
    let mut is_built = false;
    steps.run("test: RocksDB for the JVM, build", || {
        plugin.build(&["all", &format!("VERSION={}", arguments.version)])?;
        is_built = true;
        Ok(())
    });
    if !is_built {
        return;
    }
    steps.run("test: RocksDB for the JVM", || {
        let mut script = Command::new("bash");
        script.arg(workspace.root().join("bindings/rocksdbjni/tests/run.sh"));
        script.arg(workspace.target().join("debug")).arg(plugin.place());
        script.arg(arguments.kills.to_string());
        let is_own = arguments.version == WITH_KAFKA && arguments.jar.is_none();
        if !is_own {
            script.arg(arguments.jar.as_ref().unwrap_or(&arguments.version));
        }
        step::command(&mut script)
    });
}
