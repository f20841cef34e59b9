//! A PostgreSQL server for tests.

use super::database_process::{DatabaseProcess, as_user, give_to};
use super::port;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The user of the system that runs the server if the tests run as root. Debian's package creates it.
const SYSTEM_USER: &str = "postgres";

/// A server with an empty cluster. Its texts have a linguistic order, so that a statement that forgets `COLLATE "C"`
/// shows.
#[derive(Debug)]
pub struct PostgresServer {
    folder: PathBuf,
    port: u16,
    options: Vec<String>,
    databases: AtomicU32,
    process: Option<DatabaseProcess>,
}

impl PostgresServer {
    /// The server that the tests of this process share. Each test creates its own database.
    pub fn shared() -> &'static Self {
        static SERVER: LazyLock<PostgresServer> = LazyLock::new(|| PostgresServer::start(&["fsync=off"]));
        &SERVER
    }

    /// A new server with these options, such as `fsync=off`: for a test that stops it.
    pub fn start(options: &[&str]) -> Self {
        let folder = tempfile::Builder::new().prefix("guichet-postgres-").tempdir().expect("a temporary folder").keep();
        give_to(SYSTEM_USER, &folder);
        let mut initdb = as_user(SYSTEM_USER, &program("initdb"));
        initdb.args(["--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu"]);
        let created =
            initdb.args(["--icu-locale=fr", "--username=guichet", "--pgdata"]).arg(folder.join("data")).output();
        let created = created.expect("initdb is installed");
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
        let options = options.iter().map(|&option| option.to_owned()).collect();
        let mut server = Self { folder, port: port::free(), options, databases: AtomicU32::new(0), process: None };
        server.run();
        server
    }

    /// The folder of the cluster, for example for certificates.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Turns TLS on, with the files `server.pem` and `server.key` of this folder.
    pub fn enable_tls(&self, certificates: &Path) {
        for name in ["server.pem", "server.key"] {
            let copy = self.data().join(name);
            std::fs::copy(certificates.join(name), &copy).expect("the file can be copied");
            // PostgreSQL refuses a key that others can read.
            std::fs::set_permissions(&copy, Permissions::from_mode(0o600)).expect("it is ours");
            give_to(SYSTEM_USER, &copy);
        }
        for setting in ["ssl_cert_file = 'server.pem'", "ssl_key_file = 'server.key'", "ssl = on"] {
            self.psql("postgres", &format!("ALTER SYSTEM SET {setting}"));
        }
        self.psql("postgres", "SELECT pg_reload_conf()");
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of a new, empty database.
    pub fn create_database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.psql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// The address of a database.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://guichet@127.0.0.1:{}/{database}", self.port)
    }

    /// Executes SQL, and returns the rows without a header, their columns separated by `|`.
    pub fn psql(&self, database: &str, sql: &str) -> String {
        let mut psql = Command::new(program("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", "--command", sql]);
        let output = psql.arg(self.url(database)).output().expect("psql is installed");
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8").trim_end().to_owned()
    }

    /// Kills all processes of the server with SIGKILL, as a crash of its machine would.
    pub fn kill(&mut self) {
        let pid = std::fs::read_to_string(self.data().join("postmaster.pid")).expect("the server runs");
        let pid = pid.lines().next().expect("its first line is the process").to_owned();
        // Paused, it starts no other process.
        signal("-STOP", std::slice::from_ref(&pid));
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let children = children.split_whitespace().map(str::to_owned);
        let processes: Vec<String> = [pid.clone()].into_iter().chain(children).collect();
        signal("-KILL", &processes);
        self.stop();
        // PostgreSQL does not start while one of them uses the shared memory. One that has ended has no command line.
        let is_running = |process: &String| {
            std::fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|command_line| !command_line.is_empty())
        };
        while processes.iter().any(is_running) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops the server; connections are closed.
    pub fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop();
        }
    }

    /// Starts the server again after [`PostgresServer::stop`] or [`PostgresServer::kill`], on the same port.
    pub fn run(&mut self) {
        let mut postgres = as_user(SYSTEM_USER, &program("postgres"));
        postgres.arg("-D").arg(self.data()).args(["-c", &format!("port={}", self.port)]);
        postgres.args([
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
            "-c",
            "max_connections=300",
        ]);
        for option in &self.options {
            postgres.args(["-c", option]);
        }
        self.process = Some(DatabaseProcess::start(&postgres, &self.folder, "INT"));
        let begun = Instant::now();
        while !self.is_ready() {
            let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(60), "PostgreSQL does not start:\n{log}");
            std::thread::sleep(Duration::from_millis(50));
            // A process that was killed may keep the shared memory for a moment after its command line is gone.
            if log.lines().last().is_some_and(|line| line.contains("Terminate any old server processes")) {
                self.stop();
                self.process = Some(DatabaseProcess::start(&postgres, &self.folder, "INT"));
                std::thread::sleep(Duration::from_millis(200));
            }
        }
    }

    fn is_ready(&self) -> bool {
        let mut pg_isready = Command::new(program("pg_isready"));
        let status = pg_isready.args(["--quiet", "--host=127.0.0.1", "--port", &self.port.to_string()]).status();
        status.is_ok_and(|status| status.success())
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.process.take());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Sends a signal to processes. Some may have ended.
fn signal(signal: &str, processes: &[String]) {
    let _ = Command::new("kill").arg(signal).args(processes).stderr(Stdio::null()).status().expect("kill is installed");
}

/// The path of one of PostgreSQL's programs: on PATH, or in the folder of Debian's newest version.
fn program(name: &str) -> PathBuf {
    let on_path = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
    });
    on_path.or_else(|| debians(name)).unwrap_or_else(|| {
        panic!("PostgreSQL's `{name}` is missing. `cargo xtask test` installs it (Debian: apt-get install postgresql).")
    })
}

fn debians(name: &str) -> Option<PathBuf> {
    let versions = std::fs::read_dir(Path::new("/usr/lib/postgresql")).ok()?;
    let mut programs: Vec<PathBuf> = versions.flatten().map(|version| version.path().join("bin").join(name)).collect();
    programs.retain(|program| program.is_file());
    programs.sort();
    programs.pop()
}
