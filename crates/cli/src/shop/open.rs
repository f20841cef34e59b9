//! Opens what the process and its commands work with: the client, the ledger, the sessions.

use super::application::Application;
use super::config::Config;
use super::secret::Secret;
use super::seller::Seller;
use crate::connection::{SANDBOX, variable};
use guichet::native::{Ledger, SecretKey, Sessions};
use guichet::{Client, values::printable};
use guichet_orders::{AnyOrders, OrdersError};
use std::io::ErrorKind;
use std::time::Duration;

/// How long the first delivery of an event may take: a page that asks for its payment waits for it.
const FIRST_DELIVERY: Duration = Duration::from_secs(2);
const FORMER_KEY: &str = "GUICHET_FORMER_SECRET_KEY";
/// The prefix of the tables.
pub(super) const PREFIX: &str = "guichet_";

/// The payment service, and the key there.
pub(super) struct Service {
    pub base_url: String,
    pub key: SecretKey,
}

impl Service {
    /// The service of these settings, with the key of the environment.
    pub(super) fn of(config: &Config) -> Result<Self, String> {
        let key = SecretKey::from_env("GUICHET_SECRET_KEY").map_err(|invalid| invalid.to_string())?;
        let given = variable("GUICHET_BASE_URL");
        let of_profile = config.company.as_ref().map(|profile| profile.base_url.clone());
        let base_url = match given.or_else(|| config.service.clone()).or(of_profile) {
            Some(base_url) => base_url,
            None if key.is_test() => SANDBOX.to_owned(),
            None => return Err("A live key needs the address of its service: `service` in shop.toml.".to_owned()),
        };
        Ok(Self { base_url, key })
    }

    /// The client of this service.
    pub(super) fn client(self, config: &Config) -> Result<Client, String> {
        let mut builder = Client::builder(&self.base_url, self.key).user_agent_suffix("guichet-shop");
        for host in &config.plain_hosts {
            builder = builder.allow_plain_http(host);
        }
        if let Some(profile) = &config.company {
            builder = builder.profile(profile.clone());
        }
        builder.build().map_err(|error| error.message().to_owned())
    }
}

/// The store of the orders, for a command beside the process.
pub(super) async fn orders_beside(config: &Config) -> Result<AnyOrders, String> {
    if config.database == "memory:" {
        return Err("`database` is memory:, which the process alone can read. Name a file or a PostgreSQL.".to_owned());
    }
    AnyOrders::connect_existing(&config.database, PREFIX).await.map_err(|error| match error {
        OrdersError::File(error) if error.kind() == ErrorKind::NotFound => {
            format!("`database`: {} does not exist. Mend its name, or start the process first.", config.database)
        }
        error => format!("`database`: {}", printable(error)),
    })
}

/// The store of the orders.
pub(super) async fn orders(config: &Config) -> Result<AnyOrders, String> {
    let opened = AnyOrders::connect(&config.database, PREFIX).await;
    opened.map_err(|error| format!("`database`: {}", printable(error)))
}

/// The ledger over it.
pub(super) fn ledger(config: &Config, client: Client, orders: AnyOrders) -> Result<Ledger<AnyOrders>, String> {
    let mut builder = Ledger::builder(client, orders).first_delivery(FIRST_DELIVERY);
    if let Some(days) = config.keep_days {
        builder = builder.keep_days(days);
    }
    if variable(FORMER_KEY).is_some() {
        let former = SecretKey::from_env(FORMER_KEY).map_err(|invalid| invalid.to_string())?;
        builder = builder.former_key(former);
    }
    Ok(builder.build())
}

/// The ledger and the application, for a command beside the process.
pub(super) fn ledger_beside(config: &Config, orders: AnyOrders) -> Result<(Ledger<AnyOrders>, Seller), String> {
    let ledger = ledger(config, Service::of(config)?.client(config)?, orders)?;
    Ok((ledger, seller(config)?))
}

/// The application, as a shop.
pub(super) fn seller(config: &Config) -> Result<Seller, String> {
    let application = Application::new(config, Secret::read(&config.app_secret)?)?;
    Ok(Seller::new(application, config.redirect_url()))
}

/// The session tokens of the customers: in PostgreSQL if the orders are there, and else in memory.
pub(super) async fn sessions(config: &Config, client: &Client) -> Result<Sessions, String> {
    #[cfg(feature = "postgres")]
    if config.database.starts_with("postgres") {
        let host = url::Url::parse(&config.database).ok().and_then(|url| url.host_str().map(str::to_owned));
        let mut store = guichet_sessions::PostgresSessions::builder(client);
        if let Some(host) = host.filter(|_| config.private_network) {
            store = store.allow_unencrypted(&host);
        }
        let store = store.connect(&config.database).await;
        let store = store.map_err(|error| format!("`database`: {}", error.message()))?;
        return Ok(Sessions::with_store(client.clone(), store));
    }
    let _ = config;
    Ok(Sessions::new(client.clone()))
}
