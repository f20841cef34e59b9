//! A database server as a child process, which ends with this one.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running server. A shell stands between: it stops the server and removes its folder when the pipe to the shell
/// ends, so also when this process is killed.
#[derive(Debug)]
pub struct DatabaseProcess {
    shell: Child,
}

/// Waits for the pipe's end or for the word `keep`.
const STOP_WITH_PARENT: &str = r#"
    folder=$1; signal=$2; shift 2
    "$@" & server=$!
    read -r word
    kill "-$signal" "$server"
    wait "$server"
    [ "$word" = keep ] || rm -rf "$folder"
"#;

impl DatabaseProcess {
    /// Starts a server whose files are in this folder. This signal stops it.
    pub fn start(server: &Command, folder: &Path, signal: &str) -> Self {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(STOP_WITH_PARENT).arg("sh").arg(folder).arg(signal);
        shell.arg(server.get_program()).args(server.get_args());
        // A signal to the group of the tests, such as Ctrl-C or a kill, does not end the shell before it has cleaned
        // up.
        shell.process_group(0);
        let log = std::fs::File::options().create(true).append(true).open(folder.join("log"));
        let log = log.expect("the server's log can be written");
        let shell = shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log).spawn();
        Self { shell: shell.expect("sh is installed") }
    }

    /// Stops the server and keeps its files.
    pub fn stop(mut self) {
        let pipe = self.shell.stdin.as_mut().expect("it is piped");
        // The shell has ended if the server was killed.
        let _ = pipe.write_all(b"keep\n");
        self.end();
    }

    fn end(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

impl Drop for DatabaseProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// This command, as this user if the tests run as root: PostgreSQL refuses to run as root.
pub fn as_user(user: &str, program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={user}")).arg(format!("--regid={user}")).arg("--clear-groups").arg(program);
    command
}

/// Makes a folder the user's, if the tests run as root.
pub fn give_to(user: &str, folder: &Path) {
    if is_root() {
        let status = Command::new("chown").arg(user).arg(folder).status().expect("chown is installed");
        assert!(status.success(), "{} cannot be given to {user}", folder.display());
    }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("id is installed");
    id.stdout.trim_ascii() == b"0"
}
