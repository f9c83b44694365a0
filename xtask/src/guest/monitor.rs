//! [`Monitor`]: orders to a machine that runs, by the protocol of QEMU (QMP): a line of JSON for
//! each order, answer and event, on a socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, bail};
use serde_json::{Value, json};

/// A connection to the monitor of a machine.
pub(super) struct Monitor {
    stream: BufReader<UnixStream>,
}

impl Monitor {
    /// Connects to the socket that QEMU has made.
    pub(super) fn connect(socket: &Path) -> anyhow::Result<Self> {
        let stream = UnixStream::connect(socket);
        let stream = stream.with_context(|| format!("{}: expected a monitor", socket.display()))?;
        let mut monitor = Self { stream: BufReader::new(stream) };
        monitor.read()?;
        monitor.order("qmp_capabilities")?;
        Ok(monitor)
    }

    /// Gives an order without arguments, and waits for its answer.
    pub(super) fn order(&mut self, order: &str) -> anyhow::Result<()> {
        let line = format!("{}\n", json!({ "execute": order }));
        self.stream.get_mut().write_all(line.as_bytes())?;
        loop {
            let answer = self.read()?;
            if answer.get("return").is_some() {
                return Ok(());
            }
            if let Some(error) = answer.get("error") {
                bail!("the monitor: expected it to take `{order}`, found {error}");
            }
        }
    }

    fn read(&mut self) -> anyhow::Result<Value> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            bail!("the monitor: expected a line, found the end");
        }
        serde_json::from_str(&line).with_context(|| format!("the monitor: found `{line}`"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    #[test]
    fn events_are_passed_over_and_errors_told() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let server = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            stream.write_all(b"{\"QMP\": {}}\n").unwrap();
            let mut orders = BufReader::new(stream.try_clone().unwrap()).lines();
            for answer in [
                "{\"return\": {}}\n",
                "{\"event\": \"RESET\"}\n{\"return\": {}}\n",
                "{\"error\": {\"class\": \"CommandNotFound\"}}\n",
            ] {
                let order: Value = serde_json::from_str(&orders.next().unwrap().unwrap()).unwrap();
                assert!(order["execute"].is_string());
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        let mut monitor = Monitor::connect(&socket).unwrap();
        monitor.order("system_reset").unwrap();
        let error = monitor.order("nonsense").unwrap_err().to_string();
        assert!(error.contains("expected it to take `nonsense`"), "{error}");
        assert!(monitor.order("quit").is_err());
        server.join().unwrap();
    }
}
