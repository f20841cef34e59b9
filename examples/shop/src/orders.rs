//! An order and its references.

use crate::catalogue::{CURRENCY, Language, Product};
use guichet::values::MerchantReference;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::any::AnyRow;
use sqlx::{FromRow, Row};
use std::collections::BTreeMap;

/// One order, with the prices of its current payment, or of the one that paid it.
#[derive(Debug)]
pub(crate) struct Order {
    pub id: String,
    pub lines: Vec<Line>,
    pub return_url: String,
    /// `unpaid`, `paid`, or how its last payment ended for good: `failed`, `canceled`.
    pub status: String,
    /// The number of that payment, from 0.
    pub attempt: i64,
    pub payment_ref: Option<String>,
    /// Until when an operator may approve an attempt of a payment that has ended, in Unix seconds.
    pub approvable_until: Option<i64>,
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
            attempt: row.try_get("attempt")?,
            payment_ref: row.try_get("payment_ref")?,
            approvable_until: row.try_get("approvable_until")?,
        })
    }
}

impl Order {
    /// Whether its payment failed for good and no other has begun.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(&*self.status, "failed" | "canceled")
    }

    /// Whether these are its lines. Their names are not compared: they may be in another language.
    pub(crate) fn is_of(&self, lines: &[Line]) -> bool {
        let key = |line: &Line| (line.sku.clone(), line.quantity, line.price);
        self.lines.iter().map(key).eq(lines.iter().map(key))
    }

    /// Its lines at today's prices. `None` if the shop no longer sells one of the products.
    pub(crate) fn lines_today(&self) -> Option<Vec<Line>> {
        let today = |line: &Line| Some(Line { price: Product::of(&line.sku)?.price, ..line.clone() });
        self.lines.iter().map(today).collect()
    }

    /// Its total, in the smallest unit.
    pub(crate) fn total(&self) -> u64 {
        self.lines.iter().map(|line| line.price * u64::from(line.quantity)).sum()
    }

    /// Its `merchant_reference`: `ORDER-482913`, and `ORDER-482913.1` after a payment that failed for good.
    pub(crate) fn reference(&self) -> String {
        match self.attempt {
            0 => format!("ORDER-{}", self.id),
            attempt => format!("ORDER-{}.{attempt}", self.id),
        }
    }

    /// The order as JSON for the shop's pages.
    pub(crate) fn to_json(&self) -> Value {
        let line = |line: &Line| json!({"sku": line.sku, "quantity": line.quantity, "name": line.name, "price": line.price.to_string()});
        let lines: Vec<Value> = self.lines.iter().map(line).collect();
        let mut order = json!({
            "id": self.id, "total": self.total().to_string(), "currency": CURRENCY, "lines": lines, "status": self.status,
            "approvable_until": self.approvable_until,
        });
        if let Some(payment_ref) = &self.payment_ref {
            order["payment_ref"] = payment_ref.as_str().into();
        }
        order
    }
}

/// The lines of an order, with names and prices from the catalogue. `None` if the shop does not sell one of the products.
pub(crate) fn lines_of(quantities: &BTreeMap<String, u32>, language: Language) -> Option<Vec<Line>> {
    let line = |(sku, quantity): (&String, &u32)| {
        let product = Product::of(sku)?;
        let name = product.name.read_in(language).to_owned();
        Some(Line { sku: sku.clone(), quantity: *quantity, name, price: product.price })
    };
    quantities.iter().map(line).collect()
}

/// Parses a `merchant_reference` into the order's id and the number of the payment: (17, 2) of `ORDER-17.2`.
pub(crate) fn parse_reference(reference: &MerchantReference) -> Option<(&str, i64)> {
    let name = reference.as_str().strip_prefix("ORDER-")?;
    match name.split_once('.') {
        None => Some((name, 0)),
        Some((id, attempt)) => Some((id, attempt.parse().ok()?)),
    }
}
