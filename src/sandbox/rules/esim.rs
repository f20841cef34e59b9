//! eSIM packages, from a table, and orders. The first payment for an order fulfils it, once.

use super::{Intent, Status};
use crate::values::{Amount, Currency, EsimOrderId, EsimPackageId, IntentId, Moment};
use serde::Deserialize;

/// The table of packages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::sandbox) struct EsimPackages {
    packages: Vec<EsimPackage>,
}

/// One package.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::sandbox) struct EsimPackage {
    pub(in crate::sandbox) id: EsimPackageId,
    pub(in crate::sandbox) name: String,
    /// `None` if its data is unlimited.
    pub(in crate::sandbox) data_mb: Option<u64>,
    pub(in crate::sandbox) validity_days: u32,
    pub(in crate::sandbox) amount: u64,
    pub(in crate::sandbox) currency: Currency,
    pub(in crate::sandbox) supported_countries: Vec<String>,
    pub(in crate::sandbox) network: String,
    pub(in crate::sandbox) active: bool,
}

/// An eSIM order, as it is stored.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct EsimOrder {
    pub(in crate::sandbox) id: EsimOrderId,
    pub(in crate::sandbox) merchant: String,
    pub(in crate::sandbox) package: EsimPackageId,
    pub(in crate::sandbox) quantity: u8,
    /// Its total amount, at the price when it was ordered.
    pub(in crate::sandbox) amount: u64,
    pub(in crate::sandbox) currency: Currency,
    pub(in crate::sandbox) created_at: Moment,
    pub(in crate::sandbox) fulfilment: Option<Fulfilment>,
}

/// The fulfilment of an order. It never changes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::sandbox) struct Fulfilment {
    pub(in crate::sandbox) paid_by: IntentId,
    /// When that payment succeeded.
    pub(in crate::sandbox) at: Moment,
}

impl EsimPackages {
    /// The sandbox's built-in table.
    pub(in crate::sandbox) fn standard() -> Self {
        toml::from_str(include_str!("../esim.toml")).expect("a test reads the built-in table")
    }

    /// All packages, in the order of the table.
    pub(in crate::sandbox) fn all(&self) -> &[EsimPackage] {
        &self.packages
    }

    /// A package by its id.
    pub(in crate::sandbox) fn by_id(&self, id: &EsimPackageId) -> Option<&EsimPackage> {
        self.packages.iter().find(|package| package.id == *id)
    }
}

impl EsimOrder {
    /// The fulfilment of an unpaid order: by the first of these intents that has succeeded with exactly its amount and currency. `None` if
    /// there is none.
    pub(in crate::sandbox) fn fulfilled_by(&self, intents: &[Intent]) -> Option<Fulfilment> {
        let pays = |intent: &&Intent| {
            let terms = &intent.terms;
            intent.merchant == self.merchant
                && terms.esim_order().as_deref() == Some(self.id.as_str())
                && (terms.amount, &terms.currency) == (Amount::units(self.amount), &self.currency)
        };
        let paid = |intent: &Intent| {
            let (at, _) = intent.state.status_history.iter().find(|(_, status)| *status == Status::Succeeded)?;
            Some(Fulfilment { paid_by: intent.id.clone(), at: Moment::from_unix(*at) })
        };
        intents.iter().filter(pays).filter_map(paid).min_by_key(|fulfilment| fulfilment.at)
    }
}
