//! The shop's products, plans and customers. They are invented.

use guichet::values::{BillingCycle, Email};
use serde::{Deserialize, Serialize};

/// A pair of shoes.
#[derive(Serialize)]
pub(crate) struct Product {
    pub sku: &'static str,
    pub name: Text,
    #[serde(serialize_with = "as_text")]
    pub price: u64,
    pub currency: &'static str,
    pub picture: &'static str,
    pub description: Text,
}

/// A text in the languages of the shop.
#[derive(Serialize)]
pub(crate) struct Text {
    pub en: &'static str,
    pub fr: &'static str,
}

/// A language of the shop.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Language {
    #[default]
    En,
    Fr,
}

/// A customer who may sign in.
#[derive(Serialize)]
pub(crate) struct Customer {
    pub id: &'static str,
    pub name: &'static str,
    pub email: &'static str,
    #[serde(skip)]
    pub firstname: &'static str,
    #[serde(skip)]
    pub lastname: &'static str,
    /// The phone that pays for subscriptions: a test phone of the sandbox that pays at once.
    #[serde(skip)]
    pub phone: &'static str,
}

/// A plan that a customer may subscribe to.
#[derive(Serialize)]
pub(crate) struct Plan {
    pub code: &'static str,
    pub name: Text,
    #[serde(serialize_with = "as_text")]
    pub amount: u64,
    pub currency: &'static str,
    pub billing_cycle: BillingCycle,
    pub trial_days: u32,
}

/// The shop's name, and that of the merchant in `cargo xtask demo`.
pub(crate) const SHOP_NAME: &str = "Pas à Pas";
pub(crate) const COUNTRY: &str = "CM";
pub(crate) const CURRENCY: &str = "XAF";

pub(crate) const PRODUCTS: [Product; 6] = [
    product(
        "trainers",
        45_000,
        "pictures/trainers.svg",
        text("Wouri trainers", "Baskets Wouri"),
        text("For the city, and the way home from it.", "Pour la ville, et pour en revenir."),
    ),
    product(
        "runners",
        58_000,
        "pictures/runners.svg",
        text("Mont Cameroun runners", "Foulées Mont Cameroun"),
        text("Light, for the long way up.", "Légères, pour la longue montée."),
    ),
    product(
        "loafers",
        39_500,
        "pictures/loafers.svg",
        text("Bonanjo loafers", "Mocassins Bonanjo"),
        text("For the office, and the table after it.", "Pour le bureau, et la table qui le suit."),
    ),
    product(
        "boots",
        72_000,
        "pictures/boots.svg",
        text("Bamenda boots", "Bottes Bamenda"),
        text("For the rainy season.", "Pour la saison des pluies."),
    ),
    product(
        "ballerinas",
        27_000,
        "pictures/ballerinas.svg",
        text("Akwa ballerinas", "Ballerines Akwa"),
        text("Soft leather, for dancing late.", "Un cuir souple, pour danser tard."),
    ),
    product(
        "sandals",
        12_500,
        "pictures/sandals.svg",
        text("Kribi sandals", "Sandales Kribi"),
        text("For sand and warm stones.", "Pour le sable et les pierres chaudes."),
    ),
];

pub(crate) const CUSTOMERS: [Customer; 3] = [
    customer("awa", "Awa Ngono", "awa@example.com", "Awa", "Ngono"),
    customer("paul", "Paul Biyik", "paul@example.com", "Paul", "Biyik"),
    customer("fatou", "Fatou Sali", "fatou@example.com", "Fatou", "Sali"),
];

pub(crate) const PLANS: [Plan; 2] = [
    Plan {
        code: "care-monthly",
        name: text("Shoe care", "Entretien des chaussures"),
        amount: 3_500,
        currency: CURRENCY,
        billing_cycle: BillingCycle::Monthly,
        trial_days: 0,
    },
    Plan {
        code: "club-yearly",
        name: text("Pas à Pas club", "Club Pas à Pas"),
        amount: 30_000,
        currency: CURRENCY,
        billing_cycle: BillingCycle::Yearly,
        trial_days: 14,
    },
];

impl Text {
    pub(crate) fn read_in(&self, language: Language) -> &'static str {
        match language {
            Language::En => self.en,
            Language::Fr => self.fr,
        }
    }
}

impl Product {
    pub(crate) fn of(sku: &str) -> Option<&'static Self> {
        const ALL: &[Product] = &PRODUCTS;
        ALL.iter().find(|product| product.sku == sku)
    }
}

impl Customer {
    pub(crate) fn of(id: &str) -> Option<&'static Self> {
        const ALL: &[Customer] = &CUSTOMERS;
        ALL.iter().find(|customer| customer.id == id)
    }

    pub(crate) fn with_email(email: &Email) -> Option<&'static Self> {
        const ALL: &[Customer] = &CUSTOMERS;
        ALL.iter().find(|customer| customer.email == email.as_str())
    }
}

const fn product(sku: &'static str, price: u64, picture: &'static str, name: Text, description: Text) -> Product {
    Product { sku, name, price, currency: CURRENCY, picture, description }
}

const fn text(en: &'static str, fr: &'static str) -> Text {
    Text { en, fr }
}

const fn customer(
    id: &'static str,
    name: &'static str,
    email: &'static str,
    firstname: &'static str,
    lastname: &'static str,
) -> Customer {
    Customer { id, name, email, firstname, lastname, phone: "237670000000" }
}

/// Serializes an amount as text, in the smallest unit.
fn as_text<S: serde::Serializer>(units: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(units)
}
