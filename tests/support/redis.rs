//! A Redis server for tests.

use super::database_process::DatabaseProcess;
use super::port;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// A server that keeps its data in memory.
#[derive(Debug)]
pub struct RedisServer {
    folder: PathBuf,
    port: u16,
    tls: Option<Tls>,
    process: Option<DatabaseProcess>,
}

/// A second port, which has TLS.
#[derive(Debug)]
struct Tls {
    port: u16,
    /// The folder of `root.pem`, `server.pem` and `server.key`.
    certificates: PathBuf,
}

impl RedisServer {
    /// The server that the tests of this process share.
    pub fn shared() -> &'static Self {
        static SERVER: LazyLock<RedisServer> = LazyLock::new(RedisServer::start);
        &SERVER
    }

    /// A new, empty server: for a test that stops it.
    pub fn start() -> Self {
        Self::start_on(None)
    }

    /// A new server that has TLS too, with the files `root.pem`, `server.pem` and `server.key` of this folder.
    pub fn start_with_tls(certificates: &Path) -> Self {
        Self::start_on(Some(Tls { port: port::free(), certificates: certificates.to_owned() }))
    }

    fn start_on(tls: Option<Tls>) -> Self {
        let folder = tempfile::Builder::new().prefix("guichet-redis-").tempdir().expect("a temporary folder").keep();
        let mut server = Self { folder, port: port::free(), tls, process: None };
        server.run();
        server
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Its address with TLS.
    pub fn tls_url(&self) -> String {
        format!("rediss://127.0.0.1:{}", self.tls.as_ref().expect("it has TLS").port)
    }

    /// Executes a command and returns the reply as text.
    pub fn command(&self, command: &[&str]) -> String {
        let output = Command::new("redis-cli").args(["-p", &self.port.to_string()]).args(command).output();
        let output =
            output.expect("redis-cli is missing. `cargo xtask test` installs it (Debian: apt-get install redis).");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Stops the server. Its data is lost.
    pub fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop();
        }
    }

    /// Starts the server again after [`RedisServer::stop`], on the same port.
    pub fn run(&mut self) {
        let mut redis = Command::new("redis-server");
        redis.args(["--bind", "127.0.0.1", "--port", &self.port.to_string(), "--save", "", "--appendonly", "no"]);
        redis.arg("--dir").arg(&self.folder);
        if let Some(Tls { port, certificates }) = &self.tls {
            redis.args(["--tls-port", &port.to_string(), "--tls-auth-clients", "no"]);
            redis.arg("--tls-ca-cert-file").arg(certificates.join("root.pem"));
            redis.arg("--tls-cert-file").arg(certificates.join("server.pem"));
            redis.arg("--tls-key-file").arg(certificates.join("server.key"));
        }
        self.process = Some(DatabaseProcess::start(&redis, &self.folder, "TERM"));
        let begun = Instant::now();
        while self.command(&["PING"]) != "PONG" {
            let log = || std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(60), "Redis does not start:\n{}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        drop(self.process.take());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
