//! A MariaDB server for tests.

use super::database_process::{DatabaseProcess, as_user, give_to};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The user of the system that runs the server if the tests run as root. Debian's package creates it.
const SYSTEM_USER: &str = "mysql";

/// A server that is reached by a socket, as `root` without a password.
#[derive(Debug)]
pub struct MariaDbServer {
    folder: PathBuf,
    process: Option<DatabaseProcess>,
}

impl MariaDbServer {
    /// A new, empty server.
    pub fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("guichet-mariadb-").tempdir().expect("a temporary folder").keep();
        give_to(SYSTEM_USER, &folder);
        let option = |name: &str, file: &str| format!("--{name}={}", folder.join(file).display());
        let mut install = as_user(SYSTEM_USER, &program("mariadb-install-db"));
        install.args(["--no-defaults", "--auth-root-authentication-method=normal", &option("datadir", "data")]);
        let installed = install.output().expect("mariadb-install-db is installed");
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stdout));
        let mut mariadbd = as_user(SYSTEM_USER, &program("mariadbd"));
        mariadbd.args(["--no-defaults", "--skip-networking", &option("datadir", "data"), &option("socket", "socket")]);
        mariadbd.arg(option("pid-file", "pid"));
        let server = Self { process: Some(DatabaseProcess::start(&mariadbd, &folder, "TERM")), folder };
        let begun = Instant::now();
        while !server.folder.join("socket").exists() {
            let log = || std::fs::read_to_string(server.folder.join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(60), "MariaDB does not start:\n{}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// The address for PHP's PDO.
    pub fn address(&self) -> String {
        format!("mysql:unix_socket={}", self.folder.join("socket").display())
    }
}

impl Drop for MariaDbServer {
    fn drop(&mut self) {
        drop(self.process.take());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The path of one of MariaDB's programs. The server's is where only root's PATH leads.
fn program(name: &str) -> PathBuf {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&on_path).chain([PathBuf::from("/usr/sbin")]);
    folders.find_map(|folder| Some(folder.join(name)).filter(|program| program.is_file())).unwrap_or_else(|| {
        panic!(
            "MariaDB's `{name}` is missing. `cargo xtask test` installs it (Debian: apt-get install mariadb-server)."
        )
    })
}
