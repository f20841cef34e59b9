//! Idempotency keys, and the object that was created under each.

use super::Sqlite;
use crate::sandbox::rules::IdempotentRequest;
use crate::sandbox::store::{Made, Unavailable};
use crate::values::Moment;
use sqlx::{Row, SqliteConnection};

/// The expired keys; `$1` is the service's clock, and each merchant has its own offset. Joined from `merchants`, which are few, so that the
/// index finds the expired keys.
macro_rules! expired {
    () => {
        "merchants JOIN idempotency_keys ON idempotency_keys.merchant = merchants.id \
         AND idempotency_keys.expires_at <= $1 + merchants.clock_offset"
    };
}

/// Reserves a key for an object that is created now. `false` if another object was created under it and it has not expired.
pub(super) async fn take(
    connection: &mut SqliteConnection,
    request: &IdempotentRequest,
    made: &str,
) -> Result<bool, sqlx::Error> {
    let text = "INSERT INTO idempotency_keys (merchant, operation, fingerprint, digest, made, expires_at) \
                VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (merchant, operation, fingerprint) DO UPDATE \
                SET digest = excluded.digest, made = excluded.made, expires_at = excluded.expires_at \
                WHERE idempotency_keys.expires_at <= $7";
    let taken = sqlx::query(text)
        .bind(&request.merchant)
        .bind(request.operation)
        .bind(&request.fingerprint)
        .bind(&request.digest)
        .bind(made)
        .bind(request.expires_at().unix())
        .bind(request.now.unix())
        .execute(connection)
        .await?;
    Ok(taken.rows_affected() == 1)
}

/// Deletes at most `limit` keys that have expired by their merchants' clocks. `false` if there are none.
pub(super) async fn delete_expired(
    connection: &mut SqliteConnection,
    wall: Moment,
    limit: i64,
) -> Result<bool, sqlx::Error> {
    let text = concat!(
        "DELETE FROM idempotency_keys WHERE (merchant, operation, fingerprint) IN ",
        "(SELECT merchant, operation, fingerprint FROM ",
        expired!(),
        " LIMIT $2)"
    );
    let forgotten = sqlx::query(text).bind(wall.unix()).bind(limit).execute(connection).await?;
    Ok(forgotten.rows_affected() > 0)
}

impl Sqlite {
    /// Whether there are expired keys.
    pub(in crate::sandbox::store) async fn any_expired_keys(&self, wall: Moment) -> Result<bool, Unavailable> {
        let text = concat!("SELECT 1 FROM ", expired!(), " LIMIT 1");
        Ok(sqlx::query(text).bind(wall.unix()).fetch_optional(&self.readers).await?.is_some())
    }

    pub(in crate::sandbox::store) async fn made(
        &self,
        request: &IdempotentRequest,
    ) -> Result<Option<Made>, Unavailable> {
        let row = sqlx::query(
            "SELECT made, digest FROM idempotency_keys \
         WHERE merchant = $1 AND operation = $2 AND fingerprint = $3 AND expires_at > $4",
        )
        .bind(&request.merchant)
        .bind(request.operation)
        .bind(&request.fingerprint)
        .bind(request.now.unix())
        .fetch_optional(&self.readers)
        .await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Made { id: row.try_get("made")?, digest: row.try_get("digest")? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::store::{MerchantRow, Store};

    const DAY: i64 = 24 * 60 * 60;

    #[tokio::test]
    async fn a_key_that_expired_by_its_merchants_clock_is_deleted_and_no_other() {
        let store = Store::on_sqlite().await;
        let now = Moment::from_unix(1_000_000);
        let mut connection = store.pool().acquire().await.unwrap();
        for (id, clock_offset) in [("mch_1", 0), ("mch_2", 10)] {
            let merchant =
                MerchantRow { id: id.into(), name: String::new(), key_fingerprint: id.into(), clock_offset, place: 0 };
            crate::sandbox::store::sqlite::merchants::add(&mut connection, &merchant).await.unwrap();
            for number in 0..700 {
                let made_at = now.plus(if number == 0 { 5 } else { 0 });
                assert!(take(&mut connection, &request(id, number, made_at), "eso_1").await.unwrap());
            }
        }
        drop(connection);
        let left = async |wall: Moment| {
            store.delete_expired_keys(wall).await.unwrap();
            let text = "SELECT merchant, COUNT(*) FROM idempotency_keys GROUP BY merchant ORDER BY merchant";
            sqlx::query_as::<_, (String, i64)>(text).fetch_all(store.pool()).await.unwrap()
        };
        let both = [("mch_1".to_owned(), 700), ("mch_2".to_owned(), 700)];
        assert_eq!(left(now.plus(DAY - 11)).await, both);
        assert_eq!(left(now.plus(DAY - 10)).await, [("mch_1".to_owned(), 700), ("mch_2".to_owned(), 1)]);
        assert_eq!(left(now.plus(DAY - 1)).await, [("mch_1".to_owned(), 700)]);
        assert_eq!(left(now.plus(DAY)).await, [("mch_1".to_owned(), 1)]);
        assert!(left(now.plus(DAY + 5)).await.is_empty());
    }

    #[tokio::test]
    async fn expired_keys_are_found_by_an_index() {
        let store = Store::on_sqlite().await;
        let plan = concat!("EXPLAIN QUERY PLAN SELECT 1 FROM ", expired!(), " LIMIT 1");
        let rows = sqlx::query(plan).bind(1).fetch_all(store.pool()).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
        let searched =
            "SEARCH idempotency_keys USING COVERING INDEX idempotency_keys_until (merchant=? AND expires_at<?)";
        assert!(plan.iter().any(|step| step == searched), "{plan:?}");
    }

    fn request(merchant: &str, number: u32, now: Moment) -> IdempotentRequest {
        IdempotentRequest {
            merchant: merchant.into(),
            operation: "create_esim_order",
            fingerprint: format!("key-{number}"),
            digest: String::new(),
            now,
        }
    }
}
