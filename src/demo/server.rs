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

/// How a shop is opened. As made by [`ShopConfig::new`] it is a throwaway: a free port on loopback, orders in memory.
#[derive(Debug)]
#[non_exhaustive]
pub struct ShopConfig {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The payment service, without `/v1`.
    pub base_url: String,
    /// The merchant's key there.
    pub secret_key: SecretKey,
    /// Where orders and logins are kept: `sqlite::memory:` or `sqlite:` and a file, which is made with its folder.
    pub database: String,
    /// The folder of the npm package, as `cargo xtask pack --quick` writes it. Without one: what is in this binary, where
    /// it was built with `GUICHET_PACKAGE`; else `target/npm/package`.
    pub package: Option<PathBuf>,
    /// How often it asks about payments that are not settled yet, for customers who paid and closed the page.
    pub settle_every: Duration,
}

impl ShopConfig {
    /// A throwaway shop that buys from this service with this key.
    #[must_use]
    pub fn new(base_url: impl Into<String>, secret_key: SecretKey) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            base_url: base_url.into(),
            secret_key,
            database: "sqlite::memory:".into(),
            package: None,
            settle_every: Duration::from_secs(5),
        }
    }

    /// A throwaway shop that buys from this sandbox, as its first merchant.
    #[must_use]
    pub fn for_tests(sandbox: &Sandbox) -> Self {
        let key = SecretKey::new(sandbox.secret_key().expose())
            .expect("a sandbox that has started has a key of the right shape");
        Self::new(sandbox.base_url(), key)
    }
}

/// A shop that is open.
#[derive(Debug)]
pub struct Shop {
    url: String,
    close: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Shop {
    /// Opens the shop; it answers when this returns.
    ///
    /// # Errors
    /// [`StartError`] says what to do: the address is taken or no loopback address, the database cannot be used, or the key may not be sent to
    /// the service's address.
    pub async fn start(config: ShopConfig) -> Result<Self, StartError> {
        let ShopConfig { listen, base_url, secret_key, database, package, settle_every } = config;
        if !listen.ip().is_loopback() {
            return Err(StartError(format!(
                "The shop cannot listen on {listen}: its customers come back to it over plain http, which is for this machine alone. Give a \
                 loopback address: --listen 127.0.0.1:{}.",
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

    /// Where to open it.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Closes the shop: what has begun is finished, for at most five seconds.
    pub async fn stop(self) {
        let Self { close, mut serving, .. } = self;
        drop(close);
        if tokio::time::timeout(Duration::from_secs(5), &mut serving).await.is_err() {
            serving.abort();
        }
    }
}

/// Why a shop did not open: a sentence for the person who opened it.
#[derive(Debug)]
pub struct StartError(String);

impl StartError {
    fn listen(listen: SocketAddr, error: &std::io::Error) -> Self {
        Self(match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                format!(
                    "The address {listen} is taken, perhaps by a shop that is open already. Choose another port: --listen 127.0.0.1:0 takes a free one."
                )
            }
            _ => format!("The address {listen} cannot be listened on: {error}."),
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

/// Opens the database, made with its folder. One connection: a shop of this size has one writer, and a database in
/// memory exists once per connection.
pub(super) async fn open(database: &str) -> Result<SqlitePool, StartError> {
    let unusable =
        |why: &dyn fmt::Display| StartError(format!("The shop's database {database} cannot be used: {why}."));
    if !database.starts_with("sqlite:") {
        return Err(unusable(&"it begins with sqlite: (sqlite:.guichet/shop.sqlite, or sqlite::memory:)"));
    }
    let options = SqliteConnectOptions::from_str(database)
        .map_err(|error| unusable(&error))?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    if !database.contains(":memory:") {
        keep_private(options.get_filename()).map_err(|error| unusable(&error))?;
    }
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .min_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        // A test that is called off, since a page has gone away, would end the connection, and with it what is in memory.
        .test_before_acquire(false)
        .connect_with(options)
        .await
        .map_err(|error| unusable(&error))?;
    sqlx::raw_sql(include_str!("schema.sql")).execute(&pool).await.map_err(|error| unusable(&error))?;
    Ok(pool)
}

/// Creates the database file with its folder, for its owner alone; one that others may use is closed to them. It holds
/// customers, their orders and the hashes of their logins.
fn keep_private(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    owner_alone(&mut options);
    match options.open(path) {
        // It exists, and is not opened here: closing it would release the locks of another shop of this process.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        opened => return opened.map(drop),
    }
    // The file that a link leads to, and what SQLite keeps beside that file.
    close_database(&path.canonicalize()?)
        .map_err(|(file, error)| io::Error::new(error.kind(), format!("{}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn orders_in_memory_outlive_requests_that_are_called_off() {
        let pool = open("sqlite::memory:").await.unwrap();
        let ask = || sqlx::query("SELECT * FROM logins").fetch_optional(&pool);
        for polls in 0..200 {
            let called_off = async {
                for _ in 0..polls % 7 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! { _ = ask() => {}, () = called_off => {} }
        }
        ask().await.unwrap();
    }
}
