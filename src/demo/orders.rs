//! The shop's orders and their payments: all SQL about them is here.

use super::catalogue::{CURRENCY, Language, Product};
use crate::native::Sold;
use crate::operations::DuplicatePayment;
use crate::values::{Email, IntentStatus, MerchantReference, PaymentRef};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::sqlite::{SqlitePool, SqliteRow};
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// How long a payment is read after its final status, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// The most random numbers that are tried for an order: enough even if 95 % of all numbers are taken.
const MAX_DRAWS: u32 = 100;

/// SQL for the current time in Unix milliseconds.
macro_rules! now {
    () => {
        "CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER)"
    };
}

/// The orders of the shop.
#[derive(Clone)]
pub(super) struct Orders {
    pool: SqlitePool,
}

/// A payment to read from the service.
#[derive(Debug)]
pub(super) struct PendingPayment {
    /// Its row id. The next payments have greater ones.
    pub row: i64,
    pub sold: Sold,
    /// When it was selected, in Unix milliseconds.
    selected_at: i64,
}

/// One order, with the prices at the time it was placed.
#[derive(Debug)]
pub(super) struct Order {
    pub id: String,
    pub lines: Vec<Line>,
    pub return_url: String,
    status: String,
    attempt: u32,
    payment_ref: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Line {
    pub sku: String,
    pub quantity: u32,
    pub name: String,
    pub price: u64,
}

impl Orders {
    pub(super) fn new(pool: SqlitePool) -> Self {
        Self { pool }
    }

    /// Places an order, or returns an equal one that is not paid yet.
    pub(super) async fn place(&self, customer: &str, lines: &[Line], return_url: &str) -> Result<Order, sqlx::Error> {
        let text = serde_json::to_string(lines).map_err(|error| sqlx::Error::Encode(error.into()))?;
        for _ in 0..MAX_DRAWS {
            if let Some(order) = self.unpaid(customer, lines, return_url).await? {
                return Ok(order);
            }
            // If another order has this number, nothing is inserted: try the next number.
            let number = getrandom::u32().map_err(|error| sqlx::Error::Encode(error.into()))?;
            sqlx::query(
                "INSERT INTO orders (id, customer, lines, return_url) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
            )
            .bind((100_000 + number % 900_000).to_string())
            .bind(customer)
            .bind(&text)
            .bind(return_url)
            .execute(&self.pool)
            .await?;
        }
        self.unpaid(customer, lines, return_url).await?.ok_or_else(|| {
            sqlx::Error::Io(io::Error::other(format!("{MAX_DRAWS} random order numbers were tried, and all are taken")))
        })
    }

    /// The customer's unpaid order with equal lines. Their names are not compared: they may be in another language.
    async fn unpaid(&self, customer: &str, lines: &[Line], return_url: &str) -> Result<Option<Order>, sqlx::Error> {
        let rows = sqlx::query("SELECT * FROM orders WHERE customer = $1 AND return_url = $2 AND status <> 'paid'")
            .bind(customer)
            .bind(return_url)
            .fetch_all(&self.pool)
            .await?;
        let comparable = |lines: &[Line]| -> Vec<(String, u32, u64)> {
            lines.iter().map(|line| (line.sku.clone(), line.quantity, line.price)).collect()
        };
        for row in &rows {
            let order = Order::read(row)?;
            if comparable(&order.lines) == comparable(lines) {
                return Ok(Some(order));
            }
        }
        Ok(None)
    }

    /// An order of this customer.
    pub(super) async fn find(&self, id: &str, customer: &str) -> Result<Option<Order>, sqlx::Error> {
        let row = sqlx::query("SELECT * FROM orders WHERE id = $1 AND customer = $2")
            .bind(id)
            .bind(customer)
            .fetch_optional(&self.pool)
            .await?;
        row.as_ref().map(Order::read).transpose()
    }

    /// Returns an order to be paid. If its last payment failed for good, the next one gets a new reference.
    pub(super) async fn to_pay(&self, id: &str, customer: &str) -> Result<Option<Order>, sqlx::Error> {
        sqlx::query("UPDATE orders SET attempt = attempt + 1, status = 'unpaid' WHERE id = $1 AND customer = $2 AND status IN ('failed', 'canceled')")
            .bind(id)
            .bind(customer)
            .execute(&self.pool)
            .await?;
        self.find(id, customer).await
    }

    /// Stores a payment with the order and the customer it belongs to.
    pub(super) async fn remember(&self, sold: &Sold, owner: &Email) -> Result<(), sqlx::Error> {
        let text = serde_json::to_string(sold).map_err(|error| sqlx::Error::Encode(error.into()))?;
        sqlx::query("INSERT INTO payments (payment_ref, owner, sold) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
            .bind(sold.payment_ref.as_str())
            .bind(owner.as_str())
            .bind(text)
            .execute(&self.pool)
            .await?;
        if let Some((id, attempt)) = parse_reference(&sold.merchant_reference) {
            sqlx::query("UPDATE orders SET payment_ref = $1 WHERE id = $2 AND attempt = $3")
                .bind(sold.payment_ref.as_str())
                .bind(id)
                .bind(attempt)
                .execute(&self.pool)
                .await?;
        }
        Ok(())
    }

    /// The payment with this reference, if it belongs to this customer.
    pub(super) async fn sold(&self, payment_ref: &PaymentRef, owner: &Email) -> Result<Option<Sold>, sqlx::Error> {
        let row = sqlx::query("SELECT sold FROM payments WHERE payment_ref = $1 AND owner = $2")
            .bind(payment_ref.as_str())
            .bind(owner.as_str())
            .fetch_optional(&self.pool)
            .await?;
        row.map(|row| serde_json::from_str(row.try_get("sold")?).map_err(|error| sqlx::Error::Decode(error.into())))
            .transpose()
    }

    /// At most `max` payments to read, after this row: those whose orders are still unpaid, and the watched ones whose last reading is
    /// at least `read_every` ago.
    pub(super) async fn pending_payments(
        &self,
        after: i64,
        max: u32,
        read_every: Duration,
    ) -> Result<Vec<PendingPayment>, sqlx::Error> {
        let rows = sqlx::query(concat!(
            "SELECT payments.rowid, payments.sold, ",
            now!(),
            " AS now FROM payments \
             LEFT JOIN orders ON orders.payment_ref = payments.payment_ref AND orders.status = 'unpaid' \
             LEFT JOIN watched_payments AS watched ON watched.payment_ref = payments.payment_ref \
             AND NOT watched.is_over AND watched.read_at + $3 <= ",
            now!(),
            " WHERE payments.rowid > $1 AND (orders.id IS NOT NULL OR watched.payment_ref IS NOT NULL) \
             ORDER BY payments.rowid LIMIT $2"
        ))
        .bind(after)
        .bind(max)
        .bind(i64::try_from(read_every.as_millis()).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await?;
        let read = |row: &SqliteRow| {
            let sold = serde_json::from_str(row.try_get("sold")?).map_err(|error| sqlx::Error::Decode(error.into()))?;
            Ok(PendingPayment { row: row.try_get("rowid")?, sold, selected_at: row.try_get("now")? })
        };
        rows.iter().map(read).collect()
    }

    /// Starts a day of readings of a payment whose status is final.
    pub(super) async fn watch(&self, sold: &Sold) -> Result<(), sqlx::Error> {
        sqlx::query(concat!(
            "INSERT INTO watched_payments (payment_ref, final_since, read_at) VALUES ($1, ",
            now!(),
            ", ",
            now!(),
            ") ON CONFLICT DO NOTHING"
        ))
        .bind(sold.payment_ref.as_str())
        .execute(&self.pool)
        .await
        .map(|_| ())
    }

    /// Records that a payment was read and the result stored. After a day of readings, the payment is no longer watched.
    pub(super) async fn mark_read(&self, payment: &PendingPayment) -> Result<(), sqlx::Error> {
        sqlx::query("UPDATE watched_payments SET read_at = $1, is_over = final_since + $2 <= $1 WHERE payment_ref = $3")
            .bind(payment.selected_at)
            .bind(DAY)
            .bind(payment.sold.payment_ref.as_str())
            .execute(&self.pool)
            .await
            .map(|_| ())
    }

    /// Stores a duplicate payment. Returns whether it is new.
    pub(super) async fn overpaid(&self, sold: &Sold, duplicate: &DuplicatePayment) -> Result<bool, sqlx::Error> {
        let stored = sqlx::query(
            "INSERT INTO duplicate_payments (intent, attempt, order_id, amount, currency, approved_at) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        )
        .bind(sold.intent.as_str())
        .bind(duplicate.attempt)
        .bind(parse_reference(&sold.merchant_reference).map(|(id, _)| id))
        .bind(duplicate.amount.map_or_else(String::new, |amount| amount.to_string()))
        .bind(&duplicate.currency)
        .bind(duplicate.approved_at.map(|at| at.to_string()))
        .execute(&self.pool)
        .await?;
        Ok(stored.rows_affected() == 1)
    }

    /// An order as JSON for the shop's pages, with the refunds that are due.
    pub(super) async fn with_refunds(&self, order: &Order) -> Result<Value, sqlx::Error> {
        let rows = sqlx::query(
            "SELECT amount, currency, approved_at FROM duplicate_payments WHERE order_id = $1 ORDER BY intent, attempt",
        )
        .bind(&order.id)
        .fetch_all(&self.pool)
        .await?;
        let refund = |row: &SqliteRow| -> Result<Value, sqlx::Error> {
            let (amount, currency): (String, String) = (row.try_get("amount")?, row.try_get("currency")?);
            let approved_at: Option<String> = row.try_get("approved_at")?;
            Ok(json!({"amount": amount, "currency": currency, "approved_at": approved_at}))
        };
        let refunds: Vec<Value> = rows.iter().map(refund).collect::<Result<_, _>>()?;
        let mut json = order.to_json();
        json["refunds_due"] = refunds.into();
        Ok(json)
    }

    /// Records the final status of a payment. A paid order stays paid; a decline changes the order only if it is of the current payment.
    pub(super) async fn settle(&self, sold: &Sold, status: &IntentStatus) -> Result<(), sqlx::Error> {
        let Some((id, attempt)) = parse_reference(&sold.merchant_reference) else { return Ok(()) };
        let update = match status {
            IntentStatus::Succeeded => sqlx::query("UPDATE orders SET status = 'paid', payment_ref = $1 WHERE id = $2")
                .bind(sold.payment_ref.as_str())
                .bind(id),
            IntentStatus::Failed | IntentStatus::Canceled => {
                sqlx::query("UPDATE orders SET status = $1 WHERE id = $2 AND attempt = $3 AND status <> 'paid'")
                    .bind(status.as_str())
                    .bind(id)
                    .bind(attempt)
            }
            _ => return Ok(()),
        };
        update.execute(&self.pool).await.map(|_| ())
    }
}

impl Order {
    fn read(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let attempt: i64 = row.try_get("attempt")?;
        Ok(Self {
            id: row.try_get("id")?,
            lines: serde_json::from_str(row.try_get("lines")?).map_err(|error| sqlx::Error::Decode(error.into()))?,
            return_url: row.try_get("return_url")?,
            status: row.try_get("status")?,
            attempt: u32::try_from(attempt).map_err(|error| sqlx::Error::Decode(error.into()))?,
            payment_ref: row.try_get("payment_ref")?,
        })
    }

    /// Its total, in the smallest unit.
    pub(super) fn total(&self) -> u64 {
        self.lines.iter().map(|line| line.price * u64::from(line.quantity)).sum()
    }

    /// Its `merchant_reference`: `ORDER-482913`, and `ORDER-482913.1` after a payment that failed for good.
    pub(super) fn reference(&self) -> String {
        match self.attempt {
            0 => format!("ORDER-{}", self.id),
            attempt => format!("ORDER-{}.{attempt}", self.id),
        }
    }

    /// The order as JSON for the shop's pages.
    pub(super) fn to_json(&self) -> Value {
        let lines: Vec<Value> = self
            .lines
            .iter()
            .map(|line| json!({"sku": line.sku, "quantity": line.quantity, "name": line.name, "price": line.price.to_string()}))
            .collect();
        let mut order = json!({
            "id": self.id, "total": self.total().to_string(), "currency": CURRENCY, "lines": lines, "status": self.status,
        });
        if let Some(payment_ref) = &self.payment_ref {
            order["payment_ref"] = payment_ref.as_str().into();
        }
        order
    }
}

/// The lines of an order, with names and prices from the catalogue. `None` if the shop does not sell one of the products.
pub(super) fn lines_of(quantities: &BTreeMap<String, u32>, language: Language) -> Option<Vec<Line>> {
    let line = |(sku, quantity): (&String, &u32)| {
        let product = Product::of(sku)?;
        let name = product.name.read_in(language).to_owned();
        Some(Line { sku: sku.clone(), quantity: *quantity, name, price: product.price })
    };
    quantities.iter().map(line).collect()
}

/// Parses a `merchant_reference` into the order's id and the number of the payment.
fn parse_reference(reference: &MerchantReference) -> Option<(&str, u32)> {
    let name = reference.as_str().strip_prefix("ORDER-")?;
    match name.split_once('.') {
        None => Some((name, 0)),
        Some((id, attempt)) => Some((id, attempt.parse().ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::server::open;
    use super::*;

    #[tokio::test]
    async fn an_order_is_refused_when_no_number_is_free() {
        let pool = open("memory:").await.unwrap();
        // As if every number were taken: inserts have no effect.
        let full = "CREATE TRIGGER full BEFORE INSERT ON orders BEGIN SELECT RAISE(IGNORE); END";
        sqlx::query(full).execute(&pool).await.unwrap();
        let orders = Orders::new(pool);
        let placing = orders.place("awa", &[], "http://127.0.0.1:8000/return");
        let refused = tokio::time::timeout(Duration::from_secs(60), placing).await.expect("it ends").unwrap_err();
        assert!(refused.to_string().contains("100 random order numbers"), "{refused}");
    }
}
