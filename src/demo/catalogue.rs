//! What the shop sells, and to whom. Nobody here is real.

use crate::values::{BillingCycle, Email};
use serde::Serialize;

/// A pair of shoes.
#[derive(Serialize)]
pub(super) struct Product {
    pub sku: &'static str,
    pub name: &'static str,
    #[serde(serialize_with = "as_text")]
    pub price: u64,
    pub currency: &'static str,
    pub picture: &'static str,
    pub description: &'static str,
}

/// Somebody who may sign in.
#[derive(Serialize)]
pub(super) struct Customer {
    pub id: &'static str,
    pub name: &'static str,
    pub email: &'static str,
    #[serde(skip)]
    pub firstname: &'static str,
    #[serde(skip)]
    pub lastname: &'static str,
    /// What a subscription is paid with: a phone of the sandbox that pays at once.
    #[serde(skip)]
    pub phone: &'static str,
}

/// What a customer may subscribe to.
#[derive(Serialize)]
pub(super) struct Plan {
    pub code: &'static str,
    pub name: &'static str,
    #[serde(serialize_with = "as_text")]
    pub amount: u64,
    pub currency: &'static str,
    pub billing_cycle: BillingCycle,
    pub trial_days: u32,
}

/// What the shop is called: it is also the merchant's name in a sandbox that the shop brings.
pub const SHOP_NAME: &str = "Pas à Pas";
pub(super) const COUNTRY: &str = "CM";
pub(super) const CURRENCY: &str = "XAF";

pub(super) const PRODUCTS: [Product; 6] = [
    product(
        "trainers",
        "Wouri trainers",
        45_000,
        "/assets/pictures/trainers.svg",
        "For the city, and the way home from it.",
    ),
    product("runners", "Mont Cameroun runners", 58_000, "/assets/pictures/runners.svg", "Light, for the long way up."),
    product(
        "loafers",
        "Bonanjo loafers",
        39_500,
        "/assets/pictures/loafers.svg",
        "For the office, and the table after it.",
    ),
    product("boots", "Bamenda boots", 72_000, "/assets/pictures/boots.svg", "For the rainy season."),
    product(
        "ballerinas",
        "Akwa ballerinas",
        27_000,
        "/assets/pictures/ballerinas.svg",
        "Soft leather, for dancing late.",
    ),
    product("sandals", "Kribi sandals", 12_500, "/assets/pictures/sandals.svg", "For sand and warm stones."),
];

pub(super) const CUSTOMERS: [Customer; 3] = [
    customer("awa", "Awa Ngono", "awa@example.com", "Awa", "Ngono"),
    customer("paul", "Paul Biyik", "paul@example.com", "Paul", "Biyik"),
    customer("fatou", "Fatou Sali", "fatou@example.com", "Fatou", "Sali"),
];

pub(super) const PLANS: [Plan; 2] = [
    Plan {
        code: "care-monthly",
        name: "Shoe care",
        amount: 3_500,
        currency: CURRENCY,
        billing_cycle: BillingCycle::Monthly,
        trial_days: 0,
    },
    Plan {
        code: "club-yearly",
        name: "Pas à Pas club",
        amount: 30_000,
        currency: CURRENCY,
        billing_cycle: BillingCycle::Yearly,
        trial_days: 14,
    },
];

impl Product {
    pub fn of(sku: &str) -> Option<&'static Self> {
        const ALL: &[Product] = &PRODUCTS;
        ALL.iter().find(|product| product.sku == sku)
    }
}

impl Customer {
    pub fn of(id: &str) -> Option<&'static Self> {
        const ALL: &[Customer] = &CUSTOMERS;
        ALL.iter().find(|customer| customer.id == id)
    }

    pub fn with_email(email: &Email) -> Option<&'static Self> {
        const ALL: &[Customer] = &CUSTOMERS;
        ALL.iter().find(|customer| customer.email == email.as_str())
    }
}

const fn product(
    sku: &'static str,
    name: &'static str,
    price: u64,
    picture: &'static str,
    description: &'static str,
) -> Product {
    Product { sku, name, price, currency: CURRENCY, picture, description }
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

/// Amounts travel as text, in the smallest unit.
fn as_text<S: serde::Serializer>(units: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(units)
}
