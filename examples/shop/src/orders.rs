//! An order of the shop.

use crate::catalogue::{CURRENCY, Language, Product};
use guichet::native::ledger;
use guichet::values::{Invalid, MerchantReference};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use sqlx::{FromRow, Row};
use std::collections::BTreeMap;

/// One order, with the prices at which it was placed.
#[derive(Debug)]
pub(crate) struct Order {
    pub id: String,
    pub lines: Vec<Line>,
    pub return_url: String,
    /// `unpaid`, `paid`, `paid_other_sum` or `paid_after_end`.
    pub status: String,
    /// What is to be given back, as JSON.
    pub refunds_due: Value,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Line {
    pub sku: String,
    pub quantity: u32,
    pub name: String,
    pub price: u64,
}

impl FromRow<'_, AnyRow> for Order {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.try_get("id")?,
            lines: serde_json::from_str(row.try_get("lines")?).map_err(|error| sqlx::Error::Decode(error.into()))?,
            return_url: row.try_get("return_url")?,
            status: row.try_get("status")?,
            refunds_due: serde_json::from_str(row.try_get("refunds_due")?)
                .map_err(|error| sqlx::Error::Decode(error.into()))?,
        })
    }
}

impl Order {
    /// Whether these are its lines. Their names and prices are not compared: a name may be in another language, and a
    /// payment begins with the price of its day.
    pub(crate) fn is_of(&self, lines: &[Line]) -> bool {
        let key = |line: &Line| (line.sku.clone(), line.quantity);
        self.lines.iter().map(key).eq(lines.iter().map(key))
    }

    /// Its lines at today's prices. `None` if the shop no longer sells one of the products.
    pub(crate) fn lines_today(&self) -> Option<Vec<Line>> {
        let today = |line: &Line| Some(Line { price: Product::of(&line.sku)?.price, ..line.clone() });
        self.lines.iter().map(today).collect()
    }

    /// Its name in the ledger: `ORDER-482913`. The ledger adds a number to that of a second payment.
    pub(crate) fn name(&self) -> Result<MerchantReference, Invalid> {
        MerchantReference::new([NAME, &self.id].concat())
    }

    /// The order as JSON for the shop's pages, with what the ledger has of it.
    pub(crate) fn to_json(&self, in_ledger: Option<&ledger::Order>) -> Value {
        let lines = self.lines_today().unwrap_or_else(|| self.lines.clone());
        let line = |line: &Line| json!({"sku": line.sku, "quantity": line.quantity, "name": line.name, "price": line.price.to_string()});
        let shown = in_ledger.and_then(ledger::Order::shown);
        // A payment keeps the price at which it began.
        let total =
            shown.map_or_else(|| total(&lines).to_string(), |(payment, _)| payment.body.sum().amount.to_string());
        json!({
            "id": self.id, "total": total, "currency": CURRENCY, "lines": lines.iter().map(line).collect::<Vec<_>>(),
            "status": self.status, "refunds_due": self.refunds_due,
            "payment_ref": shown.map(|(_, found)| found.payment_ref.as_ref().unwrap_or(&found.id)),
            "approvable_until": in_ledger.and_then(ledger::Order::approvable_until),
        })
    }
}

/// What the lines cost, in the smallest unit.
pub(crate) fn total(lines: &[Line]) -> u64 {
    lines.iter().map(|line| line.price * u64::from(line.quantity)).sum()
}

/// The lines of an order, with names and prices from the catalogue. `None` if the shop does not sell one of the
/// products.
pub(crate) fn lines_of(quantities: &BTreeMap<String, u32>, language: Language) -> Option<Vec<Line>> {
    let line = |(sku, quantity): (&String, &u32)| {
        let product = Product::of(sku)?;
        let name = product.name.read_in(language).to_owned();
        Some(Line { sku: sku.clone(), quantity: *quantity, name, price: product.price })
    };
    quantities.iter().map(line).collect()
}

/// What the names of the shop's orders begin with in the ledger.
pub(crate) const NAME: &str = "ORDER-";
