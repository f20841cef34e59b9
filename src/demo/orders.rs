//! The shop's orders and their payments: all SQL about them is here.

use super::catalogue::{CURRENCY, Language, Product};
use crate::native::{AskAgain, Owner, Sold};
use crate::operations::DuplicatePayment;
use crate::values::{IntentStatus, MerchantReference, PaymentRef};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::sqlite::{SqlitePool, SqliteRow};
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// The most random numbers that are tried for an order: enough even if 95 % of all numbers are taken.
const MAX_DRAWS: u32 = 100;

/// The orders of the shop.
#[derive(Clone)]
pub(super) struct Orders {
    pool: SqlitePool,
}

/// A payment to read from the service now.
#[derive(Debug)]
pub(super) struct Claimed {
    pub sold: Sold,
    /// Whether half an hour has passed since it was created.
    is_old: bool,
    /// Whether a day has passed since its final status.
    day_is_over: bool,
}

/// One order, with the prices of its current payment.
#[derive(Debug)]
pub(super) struct Order {
    pub id: String,
    pub lines: Vec<Line>,
    pub return_url: String,
    status: String,
    attempt: u32,
    payment_ref: Option<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
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

    /// Returns an order to be paid. If its last payment failed for good, the next one gets a new reference and today's prices,
    /// unless the shop no longer sells one of the products.
    pub(super) async fn to_pay(&self, id: &str, customer: &str) -> Result<Option<Order>, sqlx::Error> {
        let Some(order) = self.find(id, customer).await? else { return Ok(None) };
        if !order.has_failed() {
            return Ok(Some(order));
        }
        let Some(lines) = order.lines_today() else { return Ok(Some(order)) };
        let text = serde_json::to_string(&lines).map_err(|error| sqlx::Error::Encode(error.into()))?;
        sqlx::query(
            "UPDATE orders SET attempt = attempt + 1, status = 'unpaid', lines = $1 \
             WHERE id = $2 AND attempt = $3 AND status IN ('failed', 'canceled')",
        )
        .bind(text)
        .bind(id)
        .bind(order.attempt)
        .execute(&self.pool)
        .await?;
        self.find(id, customer).await
    }

    /// How many payments of this owner have no final status; 0 if the payment `next` is stored.
    pub(super) async fn count_open(&self, owner: &Owner, next: &MerchantReference) -> Result<usize, sqlx::Error> {
        let open: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM payments WHERE owner = $1 AND final_since IS NULL \
             AND NOT EXISTS (SELECT 1 FROM payments WHERE owner = $1 AND merchant_reference = $2)",
        )
        .bind(owner.to_string())
        .bind(next.as_str())
        .fetch_one(&self.pool)
        .await?;
        usize::try_from(open).map_err(|error| sqlx::Error::Decode(error.into()))
    }

    /// Stores a payment with the order and the customer it belongs to.
    pub(super) async fn remember(&self, sold: &Sold) -> Result<(), sqlx::Error> {
        let text = serde_json::to_string(sold).map_err(|error| sqlx::Error::Encode(error.into()))?;
        sqlx::query(
            "INSERT INTO payments (payment_ref, merchant_reference, owner, sold) VALUES ($1, $2, $3, $4) \
             ON CONFLICT DO NOTHING",
        )
        .bind(sold.payment_ref.as_str())
        .bind(sold.merchant_reference.as_str())
        .bind(sold.owner.to_string())
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

    /// The payment with this reference, if it belongs to this owner, who has returned to it.
    pub(super) async fn returned_to(
        &self,
        payment_ref: &PaymentRef,
        owner: &Owner,
    ) -> Result<Option<Sold>, sqlx::Error> {
        sqlx::query(
            "UPDATE payments SET returned_at = unixepoch('now', 'subsec') \
             WHERE payment_ref = $1 AND owner = $2 RETURNING sold",
        )
        .bind(payment_ref.as_str())
        .bind(owner.to_string())
        .fetch_optional(&self.pool)
        .await?
        .as_ref()
        .map(read_sold)
        .transpose()
    }

    /// Claims at most eight payments that are due: each owner's first one before any owner's second, those that a customer has
    /// returned to before others, and then the youngest. One that cannot be read is due again in a minute.
    pub(super) async fn claim(&self) -> Result<Vec<Claimed>, sqlx::Error> {
        let rows = sqlx::query(
            "WITH due AS ( \
                 SELECT *, ROW_NUMBER() OVER (PARTITION BY owner ORDER BY returned_at IS NULL, created_at DESC) AS turn \
                 FROM payments WHERE read_at <= unixepoch('now', 'subsec') \
             ) \
             UPDATE payments SET read_at = unixepoch('now', 'subsec') + 60 WHERE payment_ref IN ( \
                 SELECT payment_ref FROM due ORDER BY turn, returned_at IS NULL, created_at DESC LIMIT 8 \
             ) \
             RETURNING sold, created_at <= unixepoch() - 1800 AS is_old, \
                 COALESCE(final_since <= unixepoch() - 86400, FALSE) AS day_is_over",
        )
        .fetch_all(&self.pool)
        .await?;
        let claimed = |row: &SqliteRow| {
            let (is_old, day_is_over) = (row.try_get("is_old")?, row.try_get("day_is_over")?);
            Ok(Claimed { sold: read_sold(row)?, is_old, day_is_over })
        };
        rows.iter().map(claimed).collect()
    }

    /// Stores when to read a claimed payment again: `every` so often, later more rarely, and for a day after its final status.
    pub(super) async fn release(
        &self,
        claimed: &Claimed,
        ask_again: AskAgain,
        every: Duration,
    ) -> Result<(), sqlx::Error> {
        let pause = match ask_again {
            AskAgain::ForADay if !claimed.day_is_over => Some(every.as_secs_f64() * 12.0),
            AskAgain::ForADay | AskAgain::Never => None,
            AskAgain::Soon if claimed.is_old => Some(every.as_secs_f64() * 6.0),
            AskAgain::Soon => Some(every.as_secs_f64()),
        };
        sqlx::query("UPDATE payments SET read_at = unixepoch('now', 'subsec') + $1 WHERE payment_ref = $2")
            .bind(pause)
            .bind(claimed.sold.payment_ref.as_str())
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

    /// Stores that a payment is final, after its order was changed: it is no longer open.
    pub(super) async fn mark_final(&self, sold: &Sold) -> Result<(), sqlx::Error> {
        sqlx::query(
            "UPDATE payments SET final_since = unixepoch('now', 'subsec') WHERE payment_ref = $1 AND final_since IS NULL",
        )
        .bind(sold.payment_ref.as_str())
        .execute(&self.pool)
        .await
        .map(|_| ())
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

    /// Whether its payment failed for good and no other has begun.
    pub(super) fn has_failed(&self) -> bool {
        matches!(&*self.status, "failed" | "canceled")
    }

    /// Its lines at today's prices. `None` if the shop no longer sells one of the products.
    fn lines_today(&self) -> Option<Vec<Line>> {
        let today = |line: &Line| Some(Line { price: Product::of(&line.sku)?.price, ..line.clone() });
        self.lines.iter().map(today).collect()
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

fn read_sold(row: &SqliteRow) -> Result<Sold, sqlx::Error> {
    serde_json::from_str(row.try_get("sold")?).map_err(|error| sqlx::Error::Decode(error.into()))
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
    use crate::values::{Amount, Currency, Email, IntentId};

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

    #[tokio::test]
    async fn an_open_payment_keeps_its_price_and_the_next_reference_takes_todays() {
        let orders = Orders::new(open("memory:").await.unwrap());
        let of_price = |price| Line { sku: "trainers".into(), quantity: 2, name: "Wouri trainers".into(), price };
        let back = "http://127.0.0.1:8000/return";
        let id = orders.place("awa", &[of_price(40_000)], back).await.unwrap().id;
        // The price has become 45,000 since. An equal basket of today is another order.
        let other = orders.place("awa", &[of_price(45_000)], back).await.unwrap().id;
        assert_ne!(other, id);
        let to_pay = async || {
            let order = orders.to_pay(&id, "awa").await.unwrap().unwrap();
            (order.reference(), order.total())
        };
        let first = format!("ORDER-{id}");
        assert_eq!(to_pay().await, (first.clone(), 80_000));
        orders.remember(&sold("pi_1", &first, "awa")).await.unwrap();
        assert_eq!(to_pay().await, (first.clone(), 80_000), "it is open");
        orders.settle(&sold("pi_1", &first, "awa"), &IntentStatus::Canceled).await.unwrap();
        for _ in 0..2 {
            assert_eq!(to_pay().await, (format!("ORDER-{id}.1"), 90_000));
        }

        let clogs = Line { sku: "clogs".into(), ..of_price(40_000) };
        let id = orders.place("awa", &[clogs], back).await.unwrap().id;
        orders.settle(&sold("pi_2", &format!("ORDER-{id}"), "awa"), &IntentStatus::Failed).await.unwrap();
        let ended = orders.to_pay(&id, "awa").await.unwrap().unwrap();
        assert!(ended.has_failed(), "the shop no longer sells them: {ended:?}");
    }

    #[tokio::test]
    async fn a_claim_takes_each_owners_first_payment_then_those_returned_to_and_the_youngest() {
        let pool = open("memory:").await.unwrap();
        let orders = Orders::new(pool.clone());
        for number in 0..20 {
            let owner = match number {
                0 => "paul",
                1 => "fatou",
                _ => "awa",
            };
            orders.remember(&sold(&format!("pi_{number}"), &format!("ORDER-{number}"), owner)).await.unwrap();
        }
        sqlx::query("UPDATE payments SET created_at = rowid").execute(&pool).await.unwrap();
        for number in [3, 4] {
            let payment_ref = PaymentRef::new(format!("gch_pi_{number}")).unwrap();
            let paul = Owner::Customer("paul".into());
            assert_eq!(orders.returned_to(&payment_ref, &paul).await.unwrap(), None, "of another customer");
            let awa = Owner::Customer("awa".into());
            assert!(orders.returned_to(&payment_ref, &awa).await.unwrap().is_some());
        }
        let claim = async || {
            let claimed = orders.claim().await.unwrap();
            let mut references: Vec<_> = claimed.iter().map(|one| one.sold.merchant_reference.to_string()).collect();
            references.sort_unstable_by_key(|reference| reference["ORDER-".len()..].parse::<u32>().unwrap());
            references.join(" ").replace("ORDER-", "")
        };
        assert_eq!(claim().await, "0 1 3 4 16 17 18 19");
        assert_eq!(claim().await, "8 9 10 11 12 13 14 15");
        assert_eq!(claim().await, "2 5 6 7");
        assert_eq!(claim().await, "", "none is due for a minute");
    }

    #[tokio::test]
    async fn a_payment_is_read_for_a_day_after_its_final_status_and_once_more() {
        let pool = open("memory:").await.unwrap();
        let orders = Orders::new(pool.clone());
        let sold = sold("pi_1", "ORDER-1", "awa");
        orders.remember(&sold).await.unwrap();
        let read = async |ask_again| {
            let claimed = orders.claim().await.unwrap();
            orders.release(&claimed[0], ask_again, Duration::from_secs(5)).await.unwrap();
            let next = "SELECT CAST(round(read_at - unixepoch('now', 'subsec')) AS INTEGER) FROM payments";
            sqlx::query_scalar::<_, Option<i64>>(next).fetch_one(&pool).await.unwrap()
        };
        let pass = async |seconds: i64| {
            let earlier = "UPDATE payments SET read_at = read_at - $1, created_at = created_at - $1, \
                           final_since = final_since - $1";
            sqlx::query(earlier).bind(seconds).execute(&pool).await.unwrap();
        };
        assert_eq!(read(AskAgain::Soon).await, Some(5));
        pass(31 * 60).await;
        assert_eq!(read(AskAgain::Soon).await, Some(30));
        pass(60).await;
        orders.mark_final(&sold).await.unwrap();
        assert_eq!(read(AskAgain::ForADay).await, Some(60));
        pass(23 * 60 * 60).await;
        orders.mark_final(&sold).await.unwrap();
        assert_eq!(read(AskAgain::ForADay).await, Some(60));
        pass(2 * 60 * 60).await;
        assert_eq!(read(AskAgain::ForADay).await, None);
    }

    fn sold(intent: &str, reference: &str, customer: &str) -> Sold {
        Sold {
            payment_ref: PaymentRef::new(format!("gch_{intent}")).unwrap(),
            intent: IntentId::new(intent).unwrap(),
            merchant_reference: MerchantReference::new(reference).unwrap(),
            amount: Amount::units(45_000),
            currency: Currency::xaf(),
            owner: Owner::Customer(customer.to_owned()),
            email: Some(Email::new("awa@example.com").unwrap()),
        }
    }
}
