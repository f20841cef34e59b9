//! eSIM data packages, and orders of them.

use super::{operation, resource};
use crate::protocol::{Argument, Customer, ErrorCode, FieldType, Merchant, whole, written_by_its_type};
use crate::values::{
    Amount, EsimOrderId, EsimOrderStatus, EsimPackageId, EsimQuantity, IdempotencyKey, IntentId, Invalid, PageLimit,
    Secret,
};
use serde_json::Value;

/// `GET /v1/esim/packages`: the data packages there are.
///
/// ```
/// use guichet::operations::ListEsimPackages;
/// use guichet::values::PageLimit;
/// let first = ListEsimPackages::new().limit(PageLimit::new(20)?);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// What a package is ([`EsimPackage`]), who may ask beside the secret key (a session token), and the pages of the list
/// (decisions).
#[operation(
    GET "/v1/esim/packages" -> Vec<EsimPackage>,
    role = Customer,
    command = "esim packages",
    columns = ["id", "name", "data_mb", "validity_days", "amount", "supported_countries", "active"],
)]
pub struct ListEsimPackages {
    /// How many; the service's default is 100, and the most.
    #[field(undocumented, default = 100)]
    pub limit: Option<PageLimit>,
    /// Those after this one.
    #[field(undocumented)]
    pub starting_after: Option<EsimPackageId>,
}

/// `POST /v1/esim/orders`: order eSIMs of one package. The order waits for its payment.
///
/// ```
/// use guichet::operations::CreateEsimOrder;
/// use guichet::values::{EsimPackageId, EsimQuantity};
/// let order = CreateEsimOrder::new(EsimPackageId::new("esp_1")?).quantity(EsimQuantity::new(2)?);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
///
/// # Undocumented
/// How an order is paid: by a payment intent of its amount and currency whose `metadata.esim_order_id` names it. And
/// what makes it safe to repeat: an `Idempotency-Key` (decisions).
#[operation(POST "/v1/esim/orders" -> EsimOrder, role = Merchant, command = "esim order")]
pub struct CreateEsimOrder {
    /// The package.
    pub package_id: EsimPackageId,
    /// How many eSIMs.
    #[field(default)]
    pub quantity: EsimQuantity,
    /// Under this key one order is made, however often this is sent. Without it the native client sends this but once, since
    /// a service may know no keys.
    #[field(idempotency_key, undocumented)]
    pub idempotency_key: Option<IdempotencyKey>,
}

impl FieldType for EsimQuantity {
    const ARGUMENT: Argument = Argument::Integer;

    fn read(value: &Value) -> Result<Self, Invalid> {
        // What no order holds stands for all that is none: 0.
        Self::new(whole(value).and_then(|number| u8::try_from(number).ok()).unwrap_or_default())
    }

    fn refusal(value: &Value) -> ErrorCode {
        if value.is_i64() || whole(value).is_some() {
            ErrorCode::QuantityOutOfRange
        } else {
            ErrorCode::ParameterInvalid
        }
    }

    written_by_its_type!();
}

/// `GET /v1/esim/orders/{id}`: how an eSIM order stands, and its eSIMs once it is paid.
///
/// ```
/// use guichet::operations::ReadEsimOrder;
/// use guichet::values::EsimOrderId;
/// let read = ReadEsimOrder::new(EsimOrderId::new("eso_1")?);
/// # Ok::<(), guichet::values::Invalid>(())
/// ```
#[operation(GET "/v1/esim/orders/{id}" -> EsimOrder, role = Merchant, command = "esim read", assumed)]
pub struct ReadEsimOrder {
    /// The order.
    pub id: EsimOrderId,
}

/// One data package. All but its identifier is a decision: a real service may send other fields.
///
/// ```
/// use guichet::operations::EsimPackage;
/// let package: EsimPackage = guichet::protocol::decode(br#"{"data": {"id": "esp_1", "name": "Cameroon 1 GB"}}"#)?;
/// assert_eq!(package.id.as_str(), "esp_1");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource]
pub struct EsimPackage {
    /// Its identifier: what an order names.
    #[field(required)]
    pub id: EsimPackageId,
    /// Its name for people.
    #[field(undocumented)]
    pub name: String,
    /// How much data it holds, in megabytes; none where it is unlimited.
    #[field(undocumented)]
    pub data_mb: Option<u64>,
    /// Whether its data has no limit.
    #[field(undocumented)]
    pub unlimited: bool,
    /// For how many days it is good.
    #[field(undocumented)]
    pub validity_days: Option<u32>,
    /// What one costs, in the smallest currency unit.
    #[field(undocumented, number)]
    pub amount: Option<Amount>,
    /// In which currency.
    #[field(undocumented)]
    pub currency: Option<String>,
    /// Where it works: two-letter country codes.
    #[field(undocumented)]
    pub supported_countries: Vec<String>,
    /// Whose network it uses.
    #[field(undocumented)]
    pub network: Option<String>,
    /// Whether it can be ordered; a service that says nothing means that it can.
    #[field(undocumented, absent = true)]
    pub active: bool,
}

/// An eSIM order, as the service sees it now.
///
/// The fields below `currency` are decisions: the document's reply has none of them.
///
/// ```
/// use guichet::operations::EsimOrder;
/// let order: EsimOrder = guichet::protocol::decode(br#"{"data": {"order_id": "eso_1", "amount": 5000, "currency": "XAF"}}"#)?;
/// assert_eq!(order.currency, "XAF");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource]
pub struct EsimOrder {
    /// Its identifier.
    #[field(required, schema("pattern" = "^eso_[0-9A-Za-z]{22}$"))]
    pub order_id: EsimOrderId,
    /// What is to be paid, in the smallest currency unit.
    #[field(required, number)]
    pub amount: Amount,
    /// In which currency.
    #[field(required, like = crate::values::Currency)]
    pub currency: String,

    /// Always `esim_order`.
    #[field(undocumented, always, schema("const" = "esim_order"))]
    pub object: Option<String>,
    /// Where it stands.
    #[field(undocumented, always)]
    pub status: Option<EsimOrderStatus>,
    /// The package.
    #[field(undocumented, always)]
    pub package_id: Option<EsimPackageId>,
    /// How many eSIMs.
    #[field(undocumented, like = EsimQuantity)]
    pub quantity: Option<u32>,
    /// The eSIMs, once the order is paid; none before.
    #[field(undocumented)]
    pub esims: Vec<Esim>,
    /// The payment intent that has paid it.
    #[field(undocumented)]
    pub payment_intent: Option<IntentId>,
    /// When it was made, in Unix seconds.
    #[field(undocumented, always)]
    pub created_at: Option<i64>,
    /// When it was paid, in Unix seconds.
    #[field(undocumented)]
    pub fulfilled_at: Option<i64>,
}

/// One eSIM that was paid for.
///
/// ```
/// use guichet::operations::Esim;
/// let reply = br#"{"data": {"iccid": "8923700000000000017", "activation_code": "LPA:1$sm.example$1"}}"#;
/// let esim: Esim = guichet::protocol::decode(reply)?;
/// assert_eq!(format!("{:?}", esim.activation_code), "***");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[resource(undocumented)]
pub struct Esim {
    /// The number of the card that it stands for.
    #[field(required)]
    pub iccid: String,
    /// What a phone installs it with, once: it belongs to the customer and no log, and prints as `***`.
    #[field(required)]
    pub activation_code: Secret,
}
