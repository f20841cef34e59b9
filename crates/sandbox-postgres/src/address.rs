//! The address of a database, without its password where it is shown.

use crate::open;
use async_trait::async_trait;
use guichet_sandbox::StartError;
use guichet_sandbox::store::{Backend, Database, MerchantRow};
use std::fmt;
use url::Url;

/// A PostgreSQL database, of version 15 or later, that any number of sandboxes share. It prints only its host and its name.
#[derive(Clone)]
pub struct Postgres(pub(crate) Url);

impl Postgres {
    /// The database at `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. It is created by `CREATE DATABASE` and stays empty until the first
    /// start.
    ///
    /// # Errors
    /// If the address cannot be read. The message says what to do, and does not show the password.
    pub fn at(address: &str) -> Result<Self, StartError> {
        guichet_postgres_address::parse(address).map(Self).map_err(StartError::Database)
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
        write!(f, "postgres://{}", self.0.host_str().unwrap_or_default())?;
        if let Some(port) = self.0.port() {
            write!(f, ":{port}")?;
        }
        f.write_str(self.0.path())
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Postgres({self})")
    }
}
