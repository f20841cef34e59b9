//! The statements of writes, by table. Where the table refuses a row, they return `false`.

use super::insert::{Insert, Statement};
use crate::rules::billing::{Plan, Subscription};
use crate::rules::{EsimOrder, Fulfilment, IdempotentRequest, Intent, Session};
use crate::store::sql::{ADD_MERCHANT, ADVANCE_CLOCK, DELETE_RECORDS, SAVE_SECOND};
use crate::store::{Billed, Customer, MerchantRow};
use guichet::values::{EsimOrderId, Moment, PlanId};
use sqlx::SqliteConnection;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;

type Result<T> = std::result::Result<T, sqlx::Error>;

/// Executes a statement. Returns whether it changed one row.
async fn changes_one(
    connection: &mut SqliteConnection,
    statement: Query<'_, sqlx::Sqlite, SqliteArguments>,
) -> Result<bool> {
    Ok(statement.execute(connection).await?.rows_affected() == 1)
}

/// The prepared statements of the busiest tables.
pub(super) struct Inserts {
    customers: Insert,
    intents: Insert,
    sessions: Insert,
}

impl Inserts {
    pub(super) fn new() -> Self {
        let customers = ["id", "merchant", "contact", "firstname", "lastname", "email", "phone", "created_at"];
        let intents = [
            "id",
            "merchant",
            "merchant_reference",
            "payment_ref",
            "digest",
            "body",
            "state",
            "created_at",
            "expires_at",
            "version",
            "esim_order",
        ];
        let sessions = ["fingerprint", "merchant", "email", "created_at", "expires_at"];
        Self {
            customers: Insert::new("customers", &customers),
            intents: Insert::new("intents", &intents),
            sessions: Insert::new("sessions", &sessions),
        }
    }

    /// Adds the customers that do not exist yet.
    pub(super) async fn add_customers(&self, connection: &mut SqliteConnection, customers: &[&Customer]) -> Result<()> {
        let bind = |statement: Statement, customer: &&Customer| {
            statement
                .bind(customer.id.clone())
                .bind(customer.merchant.clone())
                .bind(customer.contact.clone())
                .bind(customer.firstname.clone())
                .bind(customer.lastname.clone())
                .bind(customer.email.clone())
                .bind(customer.phone.clone())
                .bind(customer.created_at.unix())
        };
        self.customers.run(connection, customers, bind).await.map(drop)
    }

    /// Adds the intents whose reference is free. Returns the positions of the others.
    pub(super) async fn add_intents(
        &self,
        connection: &mut SqliteConnection,
        rows: &[(usize, &Intent)],
    ) -> Result<Vec<usize>> {
        let bind = |statement: Statement, (_, intent): &(usize, &Intent)| {
            statement
                .bind(intent.id.as_str().to_owned())
                .bind(intent.merchant.clone())
                .bind(intent.merchant_reference().to_owned())
                .bind(intent.payment_ref.clone())
                .bind(intent.digest.clone())
                .bind(intent.body.clone())
                .bind(intent.state_text())
                .bind(intent.created_at.unix())
                .bind(intent.expires_at.unix())
                .bind(intent.version)
                .bind(intent.esim_order())
        };
        let mut absent = Vec::new();
        if self.intents.run(connection, rows, bind).await? == rows.len() as u64 {
            return Ok(absent);
        }
        for (position, intent) in rows {
            let there = sqlx::query("SELECT 1 FROM intents WHERE id = $1").bind(intent.id.as_str());
            if there.fetch_optional(&mut *connection).await?.is_none() {
                absent.push(*position);
            }
        }
        Ok(absent)
    }

    pub(super) async fn add_sessions(&self, connection: &mut SqliteConnection, sessions: &[Session]) -> Result<()> {
        let bind = |statement: Statement, session: &Session| {
            statement
                .bind(session.fingerprint.clone())
                .bind(session.merchant.clone())
                .bind(session.email.clone())
                .bind(session.created_at.unix())
                .bind(session.expires_at.unix())
        };
        self.sessions.run(connection, sessions, bind).await.map(drop)
    }
}

/// Stores a second of the service's clock; a later one that is stored already stays.
pub(super) async fn save_second(connection: &mut SqliteConnection, second: i64) -> Result<bool> {
    changes_one(connection, sqlx::query(SAVE_SECOND).bind(second)).await
}

pub(super) async fn add_esim_order(connection: &mut SqliteConnection, order: &EsimOrder) -> Result<bool> {
    let text = "INSERT INTO esim_orders (id, merchant, package, quantity, amount, currency, created_at) \
                VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
    let insert = sqlx::query(text)
        .bind(order.id.as_str())
        .bind(&order.merchant)
        .bind(order.package.as_str())
        .bind(i64::from(order.quantity))
        .bind(i64::try_from(order.amount).unwrap_or(i64::MAX))
        .bind(order.currency.as_str())
        .bind(order.created_at.unix());
    changes_one(connection, insert).await
}

/// Stores the fulfilment of an order. A fulfilled order does not change.
pub(super) async fn fulfil(
    connection: &mut SqliteConnection,
    order: &EsimOrderId,
    fulfilment: &Fulfilment,
) -> Result<bool> {
    let text = "UPDATE esim_orders SET paid_by = $1, fulfilled_at = $2 WHERE id = $3 AND paid_by IS NULL";
    let update = sqlx::query(text).bind(fulfilment.paid_by.as_str()).bind(fulfilment.at.unix()).bind(order.as_str());
    changes_one(connection, update).await
}

/// Reserves a key for an object that is created now. `false` if another object was created under it and it has not expired.
pub(super) async fn take_key(
    connection: &mut SqliteConnection,
    request: &IdempotentRequest,
    made: &str,
) -> Result<bool> {
    let text = "INSERT INTO idempotency_keys (merchant, operation, fingerprint, digest, made, expires_at) \
                VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (merchant, operation, fingerprint) DO UPDATE \
                SET digest = excluded.digest, made = excluded.made, expires_at = excluded.expires_at \
                WHERE idempotency_keys.expires_at <= $7";
    let insert = sqlx::query(text)
        .bind(&request.merchant)
        .bind(request.operation)
        .bind(&request.fingerprint)
        .bind(&request.digest)
        .bind(made)
        .bind(request.expires_at().unix())
        .bind(request.now.unix());
    changes_one(connection, insert).await
}

/// Deletes at most `limit` keys that have expired by their merchants' clocks. `false` if there are none.
pub(super) async fn delete_expired_keys(connection: &mut SqliteConnection, wall: Moment, limit: i64) -> Result<bool> {
    let text = "DELETE FROM idempotency_keys WHERE (merchant, operation, fingerprint) IN \
         (SELECT merchant, operation, fingerprint FROM merchants JOIN idempotency_keys ON idempotency_keys.merchant = merchants.id \
         AND idempotency_keys.expires_at <= $1 + merchants.clock_offset LIMIT $2)";
    let deleted = sqlx::query(text).bind(wall.unix()).bind(limit).execute(connection).await?;
    Ok(deleted.rows_affected() > 0)
}

/// Stores an intent's next state if the version has not changed since it was read.
pub(super) async fn save_intent(connection: &mut SqliteConnection, intent: &Intent) -> Result<bool> {
    let update = sqlx::query("UPDATE intents SET state = $1, version = version + 1 WHERE id = $2 AND version = $3")
        .bind(intent.state_text())
        .bind(intent.id.as_str())
        .bind(intent.version);
    changes_one(connection, update).await
}

pub(super) async fn add_merchant(connection: &mut SqliteConnection, merchant: &MerchantRow) -> Result<bool> {
    let insert = sqlx::query(ADD_MERCHANT)
        .bind(&merchant.id)
        .bind(&merchant.name)
        .bind(&merchant.key_fingerprint)
        .bind(merchant.clock_offset)
        .bind(merchant.place);
    changes_one(connection, insert).await
}

pub(super) async fn change_key(
    connection: &mut SqliteConnection,
    merchant: &str,
    key_fingerprint: &str,
) -> Result<bool> {
    let text = "UPDATE OR IGNORE merchants SET key_fingerprint = $1 WHERE id = $2";
    changes_one(connection, sqlx::query(text).bind(key_fingerprint).bind(merchant)).await
}

pub(super) async fn advance_clock(connection: &mut SqliteConnection, merchant: &str, seconds: i64) -> Result<bool> {
    changes_one(connection, sqlx::query(ADVANCE_CLOCK).bind(seconds).bind(merchant)).await
}

/// Deletes everything of a merchant but its name and its key.
pub(super) async fn reset(connection: &mut SqliteConnection, merchant: &str) -> Result<()> {
    for text in DELETE_RECORDS.into_iter().chain(["UPDATE merchants SET clock_offset = 0 WHERE id = $1"]) {
        sqlx::query(text).bind(merchant).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Adds a plan. `false` if the merchant has one with this code.
pub(super) async fn add_plan(connection: &mut SqliteConnection, plan: &Plan) -> Result<bool> {
    let text = "INSERT INTO plans (id, merchant, code, offer, active, created_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
    let insert = sqlx::query(text)
        .bind(plan.id.as_str())
        .bind(&plan.merchant)
        .bind(plan.code())
        .bind(plan.offer_text())
        .bind(plan.active)
        .bind(plan.created_at.unix());
    changes_one(connection, insert).await
}

pub(super) async fn deactivate_plan(connection: &mut SqliteConnection, id: &PlanId) -> Result<bool> {
    changes_one(connection, sqlx::query("UPDATE plans SET active = FALSE WHERE id = $1").bind(id.as_str())).await
}

/// Revokes a session. A revoked one keeps its time of revocation.
pub(super) async fn revoke_session(connection: &mut SqliteConnection, fingerprint: &str, at: Moment) -> Result<bool> {
    let text = "UPDATE sessions SET revoked_at = $1 WHERE fingerprint = $2 AND revoked_at IS NULL";
    changes_one(connection, sqlx::query(text).bind(at.unix()).bind(fingerprint)).await
}

/// Stores a new subscription, or the next state if the version has not changed since it was read.
pub(super) async fn save_billed(connection: &mut SqliteConnection, billed: &Billed) -> Result<bool> {
    let Billed { subscription, customer, .. } = billed;
    let Subscription { id, merchant, created_at, version, .. } = subscription;
    let text = match customer {
        Some(_) => {
            "INSERT INTO subscriptions (state, due_at, id, version, merchant, contact, terms, created_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING"
        }
        None => {
            "UPDATE subscriptions SET state = $1, due_at = $2, version = version + 1 WHERE id = $3 AND version = $4"
        }
    };
    let state = sqlx::query(text).bind(subscription.state_text()).bind(billed.due_at()).bind(id.as_str()).bind(version);
    let statement = match customer {
        Some(customer) => {
            state.bind(merchant).bind(&customer.contact).bind(subscription.terms_text()).bind(created_at.unix())
        }
        None => state,
    };
    if !changes_one(connection, statement).await? {
        return Ok(false);
    }
    let text = "INSERT INTO subscription_events (subscription, number, merchant, kind, at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
    for (number, at, kind) in billed.numbered_events() {
        let event = sqlx::query(text).bind(id.as_str()).bind(number).bind(merchant).bind(kind).bind(at.unix());
        event.execute(&mut *connection).await?;
    }
    Ok(true)
}
