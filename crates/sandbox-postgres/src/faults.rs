//! The faults that wait, in all instances.

use crate::{Readers, STATEMENT_DEADLINE, does_not_answer};
use guichet_sandbox::store::MAX_FAULTS;
use guichet_sandbox::store::sql::StoredRow as _;
use guichet_sandbox::{AddFaultError, Fault, Unavailable};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection};
use tokio::time::timeout;

impl Readers {
    /// Adds a fault after a merchant's others.
    pub(crate) async fn add_fault(&self, merchant: &str, fault: &Fault) -> Result<(), AddFaultError> {
        let mut connection = self.0.acquire().await.map_err(Unavailable::from)?;
        match timeout(STATEMENT_DEADLINE, add_fault(&mut connection, merchant, fault)).await {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err(AddFaultError::TooMany),
            Ok(Err(error)) => Err(Unavailable::from(error).into()),
            Err(_) => {
                connection.close_on_drop();
                Err(does_not_answer().into())
            }
        }
    }
}

/// Adds a fault after a merchant's others. `false` if too many wait.
async fn add_fault(connection: &mut PgConnection, merchant: &str, fault: &Fault) -> Result<bool, sqlx::Error> {
    let mut transaction = connection.begin().await?;
    // Others who add wait here, so that the number of faults is exact.
    let merchants = sqlx::query("SELECT FROM merchants WHERE id = $1 FOR UPDATE").bind(merchant);
    merchants.execute(&mut *transaction).await?;
    let used_up = sqlx::query("DELETE FROM faults WHERE merchant = $1 AND remaining = 0").bind(merchant);
    used_up.execute(&mut *transaction).await?;
    let waiting = sqlx::query_scalar("SELECT count(*) FROM faults WHERE merchant = $1").bind(merchant);
    let waiting: i64 = waiting.fetch_one(&mut *transaction).await?;
    if usize::try_from(waiting).is_ok_and(|waiting| waiting >= MAX_FAULTS) {
        return Ok(false);
    }
    if fault.count() > 0 {
        let written = serde_json::to_string(fault).map_err(|error| sqlx::Error::Encode(error.into()))?;
        let text = "INSERT INTO faults (merchant, operation, fault, remaining) VALUES ($1, $2, $3, $4)";
        let added = sqlx::query(text).bind(merchant).bind(fault.operation()).bind(written);
        added.bind(i64::from(fault.count())).execute(&mut *transaction).await?;
    }
    transaction.commit().await.map(|()| true)
}

/// Reads a fault, and how often it is still to be injected.
pub(crate) fn read_fault(row: &PgRow) -> Result<Fault, Unavailable> {
    let fault: Option<Fault> = serde_json::from_str(row.text("fault")?).ok();
    let remaining = u32::try_from(row.number("remaining")?).ok();
    let read = fault.zip(remaining).map(|(fault, remaining)| fault.times(remaining));
    read.ok_or_else(|| Unavailable::because("a fault cannot be read"))
}
