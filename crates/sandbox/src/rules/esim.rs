//! eSIM packages, from a table, and orders. The first payment for an order fulfils it, once.

use super::{Intent, Status};
use guichet::values::{Amount, Currency, EsimOrderId, EsimPackageId, IntentId, Moment};
use serde::Deserialize;

/// The table of packages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EsimPackages {
    packages: Vec<EsimPackage>,
}

/// One package.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EsimPackage {
    pub(crate) id: EsimPackageId,
    pub(crate) name: String,
    /// `None` if its data is unlimited.
    pub(crate) data_mb: Option<u64>,
    pub(crate) validity_days: u32,
    pub(crate) amount: u64,
    pub(crate) currency: Currency,
    pub(crate) supported_countries: Vec<String>,
    pub(crate) network: String,
    pub(crate) active: bool,
}

/// An eSIM order, as it is stored.
#[derive(Clone, Debug)]
pub struct EsimOrder {
    /// Its id.
    pub id: EsimOrderId,
    /// Its merchant's id.
    pub merchant: String,
    /// The package that was ordered.
    pub package: EsimPackageId,
    /// How many.
    pub quantity: u8,
    /// Its total amount, at the price when it was ordered.
    pub amount: u64,
    /// The amount's currency.
    pub currency: Currency,
    /// When it was created.
    pub created_at: Moment,
    /// Its fulfilment, if it is paid.
    pub fulfilment: Option<Fulfilment>,
}

/// The fulfilment of an order. It never changes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fulfilment {
    /// The payment that fulfils the order.
    pub paid_by: IntentId,
    /// When that payment succeeded.
    pub at: Moment,
}

impl EsimPackages {
    /// The sandbox's built-in table.
    pub(crate) fn standard() -> Self {
        toml::from_str(include_str!("../esim.toml")).expect("a test reads the built-in table")
    }

    /// All packages, in the order of the table.
    pub(crate) fn all(&self) -> &[EsimPackage] {
        &self.packages
    }

    /// A package by its id.
    pub(crate) fn by_id(&self, id: &EsimPackageId) -> Option<&EsimPackage> {
        self.packages.iter().find(|package| package.id == *id)
    }
}

impl EsimOrder {
    /// The fulfilment of an unpaid order: by the first of the intents that name it that has succeeded with exactly its
    /// amount and currency. `None` if there is none.
    pub(crate) fn fulfilled_by(&self, intents: &[Intent]) -> Option<Fulfilment> {
        let pays = |intent: &&Intent| {
            (intent.terms.amount, &intent.terms.currency) == (Amount::units(self.amount), &self.currency)
        };
        let paid = |intent: &Intent| {
            let (at, _) = intent.state.status_history.iter().find(|(_, status)| *status == Status::Succeeded)?;
            Some(Fulfilment { paid_by: intent.id.clone(), at: Moment::from_unix(*at) })
        };
        intents.iter().filter(pays).filter_map(paid).min_by_key(|fulfilment| fulfilment.at)
    }
}
