use super::clock::WallClock;
use super::package::Package;
#[cfg(feature = "serve")]
use crate::server::CONNECTIONS_PER_ADDRESS;
use guichet::shop::Profile;
use guichet::values::Secret;
use std::fmt;
#[cfg(feature = "serve")]
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// The configuration of a sandbox. The default is a throwaway: a free port on loopback, everything in memory.
///
/// ```
/// # #[cfg(feature = "serve")] tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use guichet_sandbox::{Config, Sandbox};
///
/// let config = Config { allow_origins: vec!["https://shop.example".into()], strict: true, ..Config::default() };
/// let sandbox = Sandbox::start_with(config).await?;
/// # sandbox.stop().await;
/// # Ok::<(), guichet_sandbox::StartError>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Config {
    #[cfg(feature = "serve")]
    /// The address to listen on. Port 0 takes a free port.
    pub listen: SocketAddr,
    /// The database: `memory:`, or `sqlite:` and a file, which is created with its folder (feature `sqlite`).
    pub database: String,
    /// The key from which client secrets are derived: at least 32 characters. Default: `GUICHET_INSTANCE_KEY`, or a key
    /// beside the database.
    pub instance_key: Option<Secret>,
    /// The first merchant's secret key: `sk_test_` and at least 16 letters and digits. Default: `GUICHET_SECRET_KEY`,
    /// or a key beside the database.
    pub secret_key: Option<Secret>,
    /// The token of the control API: `ctl_` and at least 16 letters and digits. Default: `GUICHET_CONTROL_TOKEN`, or a
    /// new one at each start.
    pub control_token: Option<Secret>,
    /// The file of the two keys. If it does not exist, it is created, with the given keys, and new ones for those that
    /// are not given. If it exists, a given key must be the one in the file. Default: a file beside the database, or
    /// new keys at each start in memory.
    pub keys: Option<PathBuf>,
    /// The name of the first merchant, which the hosted page shows. A merchant that is already in the database keeps
    /// its name.
    pub merchant_name: String,
    /// The npm package, which the pages load. Default: [`Package::find`].
    pub package: Package,
    /// The folder of a company's own checkout page, which is served in the place of the sandbox's: `index.html` is the
    /// page of every payment.
    pub checkout: Option<PathBuf>,
    /// The origin of an [`InProcess`](crate::InProcess), which has no port: `http://localhost:4243`. Default:
    /// `public_url`, or this one.
    pub base_url: Option<String>,
    /// The origin under which customers reach the sandbox: `https://pay.example.com`. Default: the address it listens
    /// on.
    pub public_url: Option<String>,
    /// Host names under which the control API answers, besides loopback.
    pub allow_hosts: Vec<String>,
    /// The origins whose pages may call the service. Empty: every origin.
    pub allow_origins: Vec<String>,
    /// Whether payment methods and fees may be read without a credential.
    pub public_methods: bool,
    #[cfg(feature = "serve")]
    /// The most open connections of one peer address, at least 1. Loopback is not limited. Behind a load balancer all
    /// connections have its address.
    pub connections_per_address: usize,
    /// Whether unknown fields are refused.
    pub strict: bool,
    /// The profile of a payment company, whose requests and words the service then has: as `service.json`, parsed.
    pub profile: Option<Profile>,
    /// The wall clock, which a test can shift.
    #[doc(hidden)]
    pub wall_clock: WallClock,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            #[cfg(feature = "serve")]
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            database: "memory:".into(),
            instance_key: None,
            secret_key: None,
            control_token: None,
            keys: None,
            merchant_name: "Sandbox shop".into(),
            package: Package::find(None),
            checkout: None,
            base_url: None,
            public_url: None,
            allow_hosts: Vec::new(),
            allow_origins: Vec::new(),
            public_methods: false,
            #[cfg(feature = "serve")]
            connections_per_address: CONNECTIONS_PER_ADDRESS,
            strict: false,
            profile: None,
            wall_clock: WallClock::default(),
        }
    }
}

/// Prints an address of PostgreSQL, which a start refuses, without what may be a password.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = if self.database.starts_with("postgres") { "postgres://…" } else { &self.database };
        f.debug_struct("Config")
            .field("database", &database)
            .field("merchant_name", &self.merchant_name)
            .field("public_url", &self.public_url)
            .field("public_methods", &self.public_methods)
            .field("strict", &self.strict)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_of_a_database_is_not_printed() {
        let printed = |database: &str| format!("{:?}", Config { database: database.into(), ..Config::default() });
        assert!(!printed("postgres://shop:hunter2@db/shop").contains("hunter2"));
        assert!(printed("sqlite:shop.sqlite").contains("sqlite:shop.sqlite"));
    }
}
