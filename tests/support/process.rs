//! The sandbox as a separate process.

use super::api::{self, client, send};
use super::child::{ends_with_tests, spawn};
use super::folder::Folder;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A running `guichet sandbox`. When it is dropped, the process is killed, and its log is printed if the test has
/// failed.
pub struct SandboxProcess {
    pub child: Child,
    pub base_url: String,
    pub key: String,
    pub control_token: String,
    log: PathBuf,
}

impl SandboxProcess {
    /// Starts the sandbox with its database in this folder. `max_blocks` limits each file to so many blocks of 512
    /// bytes, which acts like a full disk.
    pub fn start(folder: &Folder, max_blocks: Option<u32>) -> Self {
        let command = match max_blocks {
            None => command(folder),
            Some(blocks) => {
                let unlimited = command(folder);
                let mut limited = Command::new("sh");
                // Ignore the signal, so that a write fails with an error as it does on a full disk.
                limited.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""));
                limited.arg(unlimited.get_program()).args(unlimited.get_args()).env("GUICHET_LOG", "off");
                limited
                    .env_remove("GUICHET_SECRET_KEY")
                    .env_remove("GUICHET_INSTANCE_KEY")
                    .env_remove("GUICHET_CONTROL_TOKEN");
                limited
            }
        };
        Self::run(command, folder.log())
    }

    /// Runs this command of a sandbox, and appends its log to a file.
    pub fn run(mut command: Command, log: PathBuf) -> Self {
        let file = std::fs::File::options().create(true).append(true).open(&log).unwrap();
        command.stdout(Stdio::piped()).stderr(file);
        let mut child = spawn(command);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).expect("the sandbox starts and prints a line of JSON");
        let text = |name: &str| ready[name].as_str().unwrap().to_owned();
        Self { child, base_url: text("base_url"), key: text("secret_key"), control_token: text("control_token"), log }
    }

    /// Sends a request with the secret key; `null` means no body.
    pub async fn call(&self, method: &str, path: &str, fields: Value) -> api::Reply {
        let body = (!fields.is_null()).then(|| fields.to_string());
        send(&client(), method, &format!("{}{path}", self.base_url), Some(&self.key), body, &[]).await
    }
}

impl Drop for SandboxProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            eprintln!("\nthe sandbox's log:\n{log}");
        }
    }
}

/// The command that starts a sandbox with its database in this folder.
pub fn command(folder: &Folder) -> Command {
    command_on(&folder.database())
}

/// The command that starts a sandbox on this database.
pub fn command_on(database: &str) -> Command {
    let mut command = ends_with_tests(env!("CARGO_BIN_EXE_guichet"));
    command.args(["sandbox", "--listen", "127.0.0.1:0", "--json", "--database", database]);
    command
        .env_remove("GUICHET_SECRET_KEY")
        .env_remove("GUICHET_INSTANCE_KEY")
        .env_remove("GUICHET_CONTROL_TOKEN")
        .env("GUICHET_LOG", "debug");
    command
}
