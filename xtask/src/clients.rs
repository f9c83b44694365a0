//! Tests of the server of objects with clients from elsewhere: boto3, which is installed from the
//! package index into the target directory, and the distribution's rclone and s3cmd. The script
//! `crates/server/tests/clients/run.sh` starts servers and clients.

use std::process::Command;

use crate::built::Built;
use crate::step::{self, Steps};
use crate::workspace::Workspace;

/// boto3, as the package index names it.
const BOTO3: &str = "boto3>=1.35";

/// Installs boto3 and runs all clients.
pub(crate) fn test(workspace: &Workspace, steps: &mut Steps) {
    let tools = workspace.target().join("clients");
    let mut is_installed = false;
    steps.run("test: clients of the server, install", || {
        let mut pip = Command::new("pip3");
        pip.args(["install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target"]);
        step::command(pip.arg(&tools).arg(BOTO3))?;
        is_installed = true;
        Ok(())
    });
    if !is_installed {
        return;
    }
    steps.run("test: clients of the server", || {
        // Without the tests, the whole workspace would be built again with other features.
        Built::all(workspace)?;
        let mut script = Command::new("bash");
        script.arg(workspace.root().join("crates/server/tests/clients/run.sh"));
        script.arg(workspace.target().join("debug")).env("PYTHONPATH", &tools);
        step::command(script.env("PYTHONDONTWRITEBYTECODE", "1"))
    });
}
