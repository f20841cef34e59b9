use super::clock::WallClock;
use crate::server::CONNECTIONS_PER_ADDRESS;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// How a sandbox is started. The default is a throwaway: a free port on loopback, and everything in memory.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use guichet::sandbox::{Config, Sandbox};
///
/// let config = Config { allow_origins: vec!["https://shop.example".into()], strict: true, ..Config::default() };
/// let sandbox = Sandbox::start_with(config).await?;
/// # sandbox.stop().await;
/// # Ok::<(), guichet::sandbox::StartError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where it keeps everything: `sqlite::memory:` or `sqlite:` and a file, which is made with its folder.
    pub database: String,
    /// What the first merchant is called, on the hosted page too. One that a database knows already keeps its name.
    pub merchant_name: String,
    /// The folder of the npm package, as `cargo xtask pack --quick` writes it. Without one: what is in this binary, where
    /// it was built with `GUICHET_PACKAGE`; else `target/npm/package`.
    pub package: Option<PathBuf>,
    /// The origin under which customers reach it, where that is not the address it listens on: `https://pay.example.com`.
    pub public_url: Option<String>,
    /// Names beside loopback under which the tester's side door may be asked.
    pub allow_hosts: Vec<String>,
    /// The origins whose pages may call the service; every origin where the list is empty.
    pub allow_origins: Vec<String>,
    /// Whether payment methods and fees may be read without a credential.
    pub public_methods: bool,
    /// How many connections one peer address may have open, at least 1. Loopback is not limited. A load balancer is one
    /// address: behind one, set this to what it needs.
    pub connections_per_address: usize,
    /// Whether a field that the interface does not know is refused.
    pub strict: bool,
    /// The time of day; a test can shift it.
    #[doc(hidden)]
    pub wall_clock: WallClock,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            database: "sqlite::memory:".into(),
            merchant_name: "Sandbox shop".into(),
            package: None,
            public_url: None,
            allow_hosts: Vec::new(),
            allow_origins: Vec::new(),
            public_methods: false,
            connections_per_address: CONNECTIONS_PER_ADDRESS,
            strict: false,
            wall_clock: WallClock::default(),
        }
    }
}

/// Why a sandbox did not start: a sentence for the person who started it.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The configuration cannot be used.
    Config(String),
    /// The database cannot be opened, is not the sandbox's, or may not be written.
    Database(String),
    /// The keys cannot be read or kept.
    Keys(String),
    /// The address cannot be listened on.
    Listen(String),
    /// The system gives no thread or no randomness.
    System(String),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(sentence)
            | Self::Database(sentence)
            | Self::Keys(sentence)
            | Self::Listen(sentence)
            | Self::System(sentence) => f.write_str(sentence),
        }
    }
}

impl std::error::Error for StartError {}
