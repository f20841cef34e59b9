//! The sandbox as a separate process.

use super::api::{self, client, send};
use super::folder::Folder;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// The running command, killed at the end of the test.
pub struct Process {
    pub child: Child,
    pub base_url: String,
    pub key: String,
    pub control_token: String,
    log: PathBuf,
}

impl Process {
    /// Limits its files to this many blocks of 512 bytes, like a full disk.
    pub fn start(folder: &Folder, blocks: Option<u32>) -> Self {
        let mut command = match blocks {
            None => command(folder),
            Some(blocks) => {
                let plain = command(folder);
                let mut limited = Command::new("sh");
                // The signal is ignored, so that writing fails as it does on a full disk.
                limited.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""));
                limited.arg(plain.get_program()).args(plain.get_args()).env("GUICHET_LOG", "off");
                limited.env_remove("GUICHET_SECRET_KEY").env_remove("GUICHET_INSTANCE_KEY");
                limited
            }
        };
        let log_file = folder.log();
        let log = std::fs::File::options().create(true).append(true).open(folder.log()).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).expect("it starts, and prints a line of JSON");
        let text = |name: &str| ready[name].as_str().unwrap().to_owned();
        Self {
            child,
            base_url: text("base_url"),
            key: text("secret_key"),
            control_token: text("control_token"),
            log: log_file,
        }
    }

    pub async fn ask(&self, method: &str, path: &str, fields: Value) -> api::Reply {
        let body = (!fields.is_null()).then(|| fields.to_string());
        send(&client(), method, &format!("{}{path}", self.base_url), Some(&self.key), body, &[]).await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            eprintln!("\nthe sandbox's log:\n{log}");
        }
    }
}

/// The command that starts it.
pub fn command(folder: &Folder) -> Command {
    command_on(&folder.database())
}

/// The command that starts a sandbox on this database.
pub fn command_on(database: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_guichet"));
    command.args(["sandbox", "--listen", "127.0.0.1:0", "--json", "--database", database]);
    command.env_remove("GUICHET_SECRET_KEY").env_remove("GUICHET_INSTANCE_KEY").env("GUICHET_LOG", "debug");
    command
}
