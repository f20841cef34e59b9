use super::api::{self, Api};
use super::guard;
use super::logins::Logins;
use super::orders::Orders;
use super::pages;
use super::seller::Seller;
use super::settler::keep_settling;
use super::subscriptions::Subscriptions;
use crate::flow::service_root;
use crate::native::{Client, Routes, SecretKey, SessionGuard, Sessions, same_origin};
use crate::package::Package;
use crate::private_file::{close_database, owner_alone};
use crate::sandbox::Sandbox;
use crate::server::{Limits, serve};
use axum::Router;
use axum::middleware::from_fn;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How a shop is started. [`ShopConfig::new`] makes a throwaway: a free port on loopback, orders in memory.
///
/// ```
/// use guichet::demo::ShopConfig;
/// # fn config() -> Result<ShopConfig, guichet::values::Invalid> {
/// let mut config = ShopConfig::new("http://127.0.0.1:4243", guichet::SecretKey::from_env("GUICHET_SECRET_KEY")?);
/// config.database = "sqlite:shop.sqlite".into();
/// # Ok(config) }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct ShopConfig {
    /// The address to listen on. Port 0 takes a free port.
    pub listen: SocketAddr,
    /// The address of the payment service, without `/v1`.
    pub base_url: String,
    /// The merchant's secret key at the service.
    pub secret_key: SecretKey,
    /// The database of orders and logins: `memory:`, or `sqlite:` and a file, which is created with its folder.
    pub database: String,
    /// The folder of the npm package, as `cargo xtask pack --quick` writes it. Default: the package in this binary if it was built
    /// with `GUICHET_PACKAGE`; for a binary in guichet's own `target` folder, `target/npm/package`; otherwise none, and the pages say so.
    pub package: Option<PathBuf>,
    /// How often the shop reads payments that are not settled yet, for customers who paid and closed the page.
    pub settle_every: Duration,
}

impl ShopConfig {
    /// A throwaway shop that uses this service with this key.
    #[must_use]
    pub fn new(base_url: impl Into<String>, secret_key: SecretKey) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            base_url: base_url.into(),
            secret_key,
            database: "memory:".into(),
            package: None,
            settle_every: Duration::from_secs(5),
        }
    }

    /// A throwaway shop that uses this sandbox as its first merchant.
    #[must_use]
    pub fn for_tests(sandbox: &Sandbox) -> Self {
        let key = SecretKey::new(sandbox.secret_key().expose())
            .expect("a sandbox that has started has a key of the right shape");
        Self::new(sandbox.base_url(), key)
    }
}

/// A running shop.
///
/// ```no_run
/// # async fn open(config: guichet::demo::ShopConfig) -> Result<(), guichet::demo::StartError> {
/// let shop = guichet::demo::Shop::start(config).await?;
/// println!("Open {}", shop.url());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Shop {
    url: String,
    close: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Shop {
    /// Starts the shop. It accepts requests when this returns.
    ///
    /// # Errors
    /// [`StartError`] if the address is taken or is not a loopback address, the database cannot be used, or the key must not be sent to the
    /// service's address. Its message says what to do.
    pub async fn start(config: ShopConfig) -> Result<Self, StartError> {
        let ShopConfig { listen, base_url, secret_key, database, package, settle_every } = config;
        if !listen.ip().is_loopback() {
            return Err(StartError(format!(
                "The shop cannot listen on {listen}: it serves plain http, which is allowed on this machine only. Give a loopback \
                 address: --listen 127.0.0.1:{}.",
                listen.port()
            )));
        }
        let client =
            Client::builder(&base_url, secret_key).build().map_err(|error| StartError(error.message().to_owned()))?;
        let origin = origin_of(&base_url)?;
        let pool = open(&database).await?;
        let listener = TcpListener::bind(listen).await.map_err(|error| StartError::listen(listen, &error))?;
        let address = listener.local_addr().map_err(|error| StartError::listen(listen, &error))?;
        let url = format!("http://{address}");

        let seller = Seller { logins: Logins::new(pool.clone()), orders: Orders::new(pool.clone()) };
        let guard = SessionGuard::new(client.clone());
        let sessions = Sessions::new(client.clone()).guarded_by(guard.clone());
        let api = Api {
            seller: seller.clone(),
            sessions: sessions.clone(),
            base_url: service_root(&base_url).to_owned(),
            checkout_origins: vec![origin.clone()],
            return_url: format!("{url}/return"),
        };
        let own_pages_only = axum::middleware::from_fn_with_state(Arc::<[String]>::from([]), same_origin::guard);
        let router = Router::new()
            .nest(
                "/api",
                api::router(api).merge(Subscriptions::new(client.clone(), guard).router()).layer(own_pages_only),
            )
            .nest("/guichet", Routes::new(client.clone(), seller.clone()).sessions(sessions).router())
            .merge(pages::router(Package::find(package), &origin))
            .layer(from_fn(guard::body_in_time))
            .layer(from_fn(guard::known_hosts_only));

        let settling = tokio::spawn(keep_settling(client, seller, settle_every));
        let (close, closing) = oneshot::channel();
        let limits = Limits { shutdown: Duration::from_secs(5), ..Limits::default() };
        let serving = tokio::spawn(async move {
            serve(listener, router, limits, closing).await;
            settling.abort();
            pool.close().await;
        });
        Ok(Self { url, close, serving })
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops the shop. Requests in flight are finished, for at most five seconds.
    pub async fn stop(self) {
        let Self { close, mut serving, .. } = self;
        drop(close);
        if tokio::time::timeout(Duration::from_secs(5), &mut serving).await.is_err() {
            serving.abort();
        }
    }
}

/// Why a shop did not start: a sentence for the person who started it.
///
/// ```no_run
/// # async fn open(config: guichet::demo::ShopConfig) {
/// if let Err(error) = guichet::demo::Shop::start(config).await {
///     eprintln!("{error}");
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct StartError(String);

impl StartError {
    fn listen(listen: SocketAddr, error: &std::io::Error) -> Self {
        Self(match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                format!(
                    "The address {listen} is already in use, perhaps by another shop. Choose another port: --listen 127.0.0.1:0 takes a free one."
                )
            }
            _ => format!("The shop cannot listen on {listen}: {error}."),
        })
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

fn origin_of(base_url: &str) -> Result<String, StartError> {
    let url = url::Url::parse(base_url)
        .map_err(|_| StartError("The service's address is not an absolute address.".into()))?;
    Ok(url.origin().ascii_serialization())
}

/// Opens the database, and creates it with its folder if it does not exist. There is one connection, because an in-memory database
/// exists once per connection.
pub(super) async fn open(database: &str) -> Result<SqlitePool, StartError> {
    let unusable =
        |why: &dyn fmt::Display| StartError(format!("The shop's database {database} cannot be used: {why}."));
    let in_memory = database == "memory:";
    if !in_memory && (!database.starts_with("sqlite:") || database.contains(":memory:")) {
        return Err(unusable(&"give sqlite: and a file (sqlite:.guichet/shop.sqlite), or memory:"));
    }
    let options = if in_memory {
        Ok(SqliteConnectOptions::new().in_memory(true))
    } else {
        SqliteConnectOptions::from_str(database)
    }
    .map_err(|error| unusable(&error))?
    .create_if_missing(true)
    .journal_mode(SqliteJournalMode::Wal)
    .synchronous(SqliteSynchronous::Full);
    if !in_memory {
        keep_private(options.get_filename()).map_err(|error| unusable(&error))?;
    }
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .min_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        // If a request were canceled during the test, the connection would be closed, and an in-memory database lost.
        .test_before_acquire(false)
        .connect_with(options)
        .await
        .map_err(|error| unusable(&error))?;
    sqlx::raw_sql(include_str!("schema.sql")).execute(&pool).await.map_err(|error| {
        unusable(&format_args!(
            "{error}. If an earlier version of guichet created it, delete it, or choose another file"
        ))
    })?;
    Ok(pool)
}

/// Creates the database file with its folder, readable by its owner alone; takes the rights of others from an existing one. It
/// holds customers, their orders and the hashes of their logins.
fn keep_private(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    owner_alone(&mut options);
    match options.open(path) {
        // It exists. It is not opened here: closing it would release the SQLite locks of another shop in this process.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        opened => return opened.map(drop),
    }
    // Follows a link: SQLite's other files are beside its target.
    close_database(&path.canonicalize()?)
        .map_err(|(file, error)| io::Error::new(error.kind(), format!("{}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_database_of_an_earlier_version_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite:{}", folder.path().join("shop.sqlite").display());
        let pool = open(&database).await.unwrap();
        sqlx::raw_sql("DROP TABLE payments; CREATE TABLE payments (payment_ref TEXT, owner TEXT, sold TEXT)")
            .execute(&pool)
            .await
            .unwrap();
        pool.close().await;
        let refused = open(&database).await.unwrap_err().to_string();
        assert!(refused.contains("delete it, or choose another file"), "{refused}");
    }

    #[tokio::test]
    async fn orders_in_memory_survive_canceled_requests() {
        let pool = open("memory:").await.unwrap();
        let read = || sqlx::query("SELECT * FROM logins").fetch_optional(&pool);
        for polls in 0..200 {
            let canceled = async {
                for _ in 0..polls % 7 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! { _ = read() => {}, () = canceled => {} }
        }
        read().await.unwrap();
    }
}
