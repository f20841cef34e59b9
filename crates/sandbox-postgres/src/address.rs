//! The address of a database, without its password where it is shown.

use crate::open;
use async_trait::async_trait;
use guichet::values::printable;
use guichet_sandbox::StartError;
use guichet_sandbox::store::{Backend, Database, MerchantRow};
use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;
use std::fmt;

/// The port of an address that names none.
const DEFAULT_PORT: u16 = 5432;

/// A PostgreSQL database, of version 15 or later, that any number of sandboxes share. It prints only its host and its name.
#[derive(Clone)]
pub struct Postgres(pub(crate) PgConnectOptions);

impl Postgres {
    /// The database at `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. It is created by `CREATE DATABASE` and stays empty until the first
    /// start.
    ///
    /// # Errors
    /// If the address cannot be read. The message says what to do, and does not show the password.
    pub fn at(address: &str) -> Result<Self, StartError> {
        let address = guichet_postgres_address::parse(address).map_err(StartError::Database)?;
        PgConnectOptions::from_url(&address).map(Self).map_err(|_| {
            let message =
                "The parameters of the database's address cannot be read. Correct what follows the question mark.";
            StartError::Database(message.to_owned())
        })
    }
}

#[async_trait]
impl Database for Postgres {
    async fn open(self: Box<Self>, instance_key: &str, first: MerchantRow) -> Result<Backend, StartError> {
        open::open(&self, instance_key, first).await
    }
}

impl fmt::Display for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let socket = self.0.get_socket().map(|folder| folder.to_string_lossy().into_owned());
        let host = socket.unwrap_or_else(|| self.0.get_host().to_owned()).replace('/', "%2F");
        write!(f, "postgres://{}", printable(host))?;
        if self.0.get_port() != DEFAULT_PORT {
            write!(f, ":{}", self.0.get_port())?;
        }
        write!(f, "/{}", printable(self.0.get_database().unwrap_or_default()))
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Postgres({self})")
    }
}
