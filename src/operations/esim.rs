//! eSIM data packages, and orders of them.

use super::setters;
use crate::protocol::{
    Customer, Fields, FromField, IDEMPOTENCY_KEY, Merchant, Operation, Served, Spec, lenient, whole,
};
use crate::values::{
    EsimOrderId, EsimOrderStatus, EsimPackageId, EsimQuantity, Figure, IdempotencyKey, IntentId, Invalid, PageLimit,
    Secret,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `GET /v1/esim/packages`: the data packages there are.
///
/// # Not shown
/// What a package is ([`EsimPackage`]), who may ask beside the secret key (a session token), and the pages of the list
/// (decisions).
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = [])))]
pub struct ListEsimPackages {
    /// How many; the service's default is 100, and the most.
    #[cfg_attr(feature = "sandbox", schemars(extend("default" = 100)))]
    pub limit: Option<PageLimit>,
    /// Those after this one.
    pub starting_after: Option<EsimPackageId>,
}

impl ListEsimPackages {
    /// The first page.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { ListEsimPackages {
    /// So many.
    limit: PageLimit,
    /// Those after this one.
    starting_after: EsimPackageId,
} }

impl Operation for ListEsimPackages {
    type Role = Customer;
    type Output = Vec<EsimPackage>;
    const SPEC: Spec = Spec::get("list_esim_packages", "/v1/esim/packages").asking(&["limit", "starting_after"]);
}

impl Served for ListEsimPackages {
    fn read(fields: &mut Fields) -> Option<Self> {
        let limit = fields.optional("limit");
        let starting_after = fields.optional("starting_after");
        Some(Self { limit: limit?, starting_after: starting_after? })
    }
}

/// `POST /v1/esim/orders`: order eSIMs of one package. The order waits for its payment.
///
/// # Not shown
/// How an order is paid: by a payment intent of its amount and currency whose `metadata.esim_order_id` names it. And
/// what makes it safe to repeat: an `Idempotency-Key` (decisions).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = ["package_id", "quantity"])))]
pub struct CreateEsimOrder {
    /// The package.
    pub package_id: EsimPackageId,
    /// How many eSIMs.
    #[cfg_attr(feature = "sandbox", schemars(extend("default" = 1)))]
    pub quantity: EsimQuantity,
    /// Under this key one order is made, however often this is sent. Without it the native client sends this but once, since
    /// a service may know no keys.
    #[serde(rename = "Idempotency-Key")]
    pub idempotency_key: Option<IdempotencyKey>,
}

impl CreateEsimOrder {
    /// One eSIM of this package.
    #[must_use]
    pub fn new(package_id: EsimPackageId) -> Self {
        Self { package_id, quantity: EsimQuantity::default(), idempotency_key: None }
    }
}

setters! { CreateEsimOrder {
    /// So many eSIMs.
    quantity: EsimQuantity,
    /// Made once under this key, for a day: give one of your own to be able to send it again later.
    idempotency_key: IdempotencyKey,
} }

impl Operation for CreateEsimOrder {
    type Role = Merchant;
    type Output = EsimOrder;
    const SPEC: Spec = Spec::post("create_esim_order", "/v1/esim/orders").keyed();
}

impl Served for CreateEsimOrder {
    fn read(fields: &mut Fields) -> Option<Self> {
        let package_id = fields.required("package_id");
        let quantity = fields.or("quantity", EsimQuantity::default());
        let idempotency_key = fields.optional(IDEMPOTENCY_KEY);
        Some(Self { package_id: package_id?, quantity: quantity?, idempotency_key: idempotency_key? })
    }
}

impl FromField for EsimQuantity {
    fn from_field(value: &Value) -> Result<Self, Invalid> {
        // What no order holds stands for all that is none: 0.
        Self::new(whole(value).and_then(|number| u8::try_from(number).ok()).unwrap_or_default())
    }

    fn refusal(value: &Value) -> &'static str {
        if value.is_i64() || whole(value).is_some() { "quantity_out_of_range" } else { "parameter_invalid" }
    }
}

/// One data package. All but its identifier is a decision: a real service may send other fields.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = ["id"])))]
pub struct EsimPackage {
    /// Its identifier: what an order names.
    pub id: EsimPackageId,
    /// Its name for people.
    #[serde(default, deserialize_with = "lenient")]
    pub name: String,
    /// How much data it holds, in megabytes; none where it is unlimited.
    #[serde(default, deserialize_with = "lenient")]
    pub data_mb: Option<u64>,
    /// Whether its data has no limit.
    #[serde(default, deserialize_with = "lenient")]
    pub unlimited: bool,
    /// For how many days it is good.
    #[serde(default, deserialize_with = "lenient")]
    pub validity_days: Option<u32>,
    /// What one costs, in the smallest currency unit.
    #[serde(default, deserialize_with = "lenient")]
    pub amount: Option<Figure>,
    /// In which currency.
    #[serde(default, deserialize_with = "lenient")]
    pub currency: Option<String>,
    /// Where it works: two-letter country codes.
    #[serde(default, deserialize_with = "lenient")]
    pub supported_countries: Vec<String>,
    /// Whose network it uses.
    #[serde(default, deserialize_with = "lenient")]
    pub network: Option<String>,
    /// Whether it can be ordered; a service that says nothing means that it can.
    #[serde(default = "super::yes")]
    pub active: bool,
}

/// An eSIM order, as the service sees it now.
///
/// The fields below `currency` are decisions: the document's reply has none of them.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema), schemars(extend("x-guichet-documented" = ["order_id", "amount", "currency"])))]
pub struct EsimOrder {
    /// Its identifier.
    #[cfg_attr(feature = "sandbox", schemars(extend("pattern" = "^eso_[0-9A-Za-z]{22}$")))]
    pub order_id: EsimOrderId,
    /// What is to be paid, in the smallest currency unit.
    pub amount: Figure,
    /// In which currency.
    #[cfg_attr(feature = "sandbox", schemars(with = "crate::values::Currency"))]
    pub currency: String,

    /// Always `esim_order`.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "String", extend("const" = "esim_order")))]
    pub object: Option<String>,
    /// Where it stands.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "EsimOrderStatus"))]
    pub status: Option<EsimOrderStatus>,
    /// The package.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "EsimPackageId"))]
    pub package_id: Option<EsimPackageId>,
    /// How many eSIMs.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "EsimQuantity"))]
    pub quantity: Option<u32>,
    /// The eSIMs, once the order is paid; none before.
    #[serde(default, deserialize_with = "lenient")]
    pub esims: Vec<Esim>,
    /// The payment intent that has paid it.
    #[serde(default, deserialize_with = "lenient")]
    pub payment_intent: Option<IntentId>,
    /// When it was made, in Unix seconds.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(feature = "sandbox", schemars(with = "i64"))]
    pub created_at: Option<i64>,
    /// When it was paid, in Unix seconds.
    #[serde(default, deserialize_with = "lenient")]
    pub fulfilled_at: Option<i64>,
}

/// One eSIM that was paid for.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct Esim {
    /// The number of the card that it stands for.
    pub iccid: String,
    /// What a phone installs it with, once: it belongs to the customer and no log, and prints as `***`.
    pub activation_code: Secret,
}
