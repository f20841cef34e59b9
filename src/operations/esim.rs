//! eSIM data packages, and orders of them.

use super::{operation, resource};
use crate::protocol::{Customer, ErrorCode, FieldType, Merchant, whole, written_by_its_type};
use crate::values::{
    Amount, EsimOrderId, EsimOrderStatus, EsimPackageId, EsimQuantity, IdempotencyKey, IntentId, Invalid, PageLimit,
    Secret,
};
use serde_json::Value;

/// `GET /v1/esim/packages`: the eSIM data packages.
///
/// # Undocumented
/// The fields of a package ([`EsimPackage`]), access with a session token beside the secret key, and the pages of the
/// list (decisions).
#[operation(
    GET "/v1/esim/packages" -> Vec<EsimPackage>,
    role = Customer,
)]
pub struct ListEsimPackages {
    /// The number of entries per page. The service's default is 100, which is also the most.
    #[field(undocumented, default = 100)]
    pub limit: Option<PageLimit>,
    /// Only the entries after this one.
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
/// A payment intent pays an order if it has the order's amount and currency and its `metadata.esim_order_id` is the
/// order's identifier. An `Idempotency-Key` makes this operation safe to repeat (decisions).
#[operation(POST "/v1/esim/orders" -> EsimOrder, role = Merchant)]
pub struct CreateEsimOrder {
    /// The package.
    pub package_id: EsimPackageId,
    /// The number of eSIMs.
    #[field(default)]
    pub quantity: EsimQuantity,
    /// The service creates one order per key, however often the request is sent. Without a key the native client sends
    /// it only once, because a service may not support keys.
    #[field(idempotency_key, undocumented)]
    pub idempotency_key: Option<IdempotencyKey>,
}

impl FieldType for EsimQuantity {
    fn read(value: &Value) -> Result<Self, Invalid> {
        // Every value that is not a `u8` becomes 0, which `new` refuses.
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

/// `GET /v1/esim/orders/{id}`: an eSIM order's current state, and its eSIMs once it is paid.
#[operation(GET "/v1/esim/orders/{id}" -> EsimOrder, role = Merchant, assumed, example = "eso_1")]
pub struct ReadEsimOrder {
    /// The order.
    pub id: EsimOrderId,
}

/// One data package. All fields but its identifier are decisions: a real service may send others.
#[resource(example = r#"{"id": "esp_1", "name": "Cameroon 1 GB"}"#)]
pub struct EsimPackage {
    /// Its identifier, which an order refers to.
    #[field(required)]
    pub id: EsimPackageId,
    /// Its name for people.
    #[field(undocumented)]
    pub name: String,
    /// Its data volume in megabytes; none (`null`) if it is unlimited.
    #[field(undocumented)]
    pub data_mb: Option<u64>,
    /// Whether its data volume is unlimited.
    #[field(undocumented)]
    pub unlimited: bool,
    /// The number of days it is valid.
    #[field(undocumented)]
    pub validity_days: Option<u32>,
    /// The price of one, in the smallest currency unit.
    #[field(undocumented, number)]
    pub amount: Option<Amount>,
    /// The currency of the price.
    #[field(undocumented)]
    pub currency: Option<String>,
    /// The countries where it works, by their two-letter codes.
    #[field(undocumented)]
    pub supported_countries: Vec<String>,
    /// The mobile network that it uses.
    #[field(undocumented)]
    pub network: Option<String>,
    /// Whether it can be ordered; true if the service does not say.
    #[field(undocumented, absent = true)]
    pub active: bool,
}

/// An eSIM order, as the service sees it now.
///
/// The fields below `currency` are decisions: the document's reply has none of them.
#[resource(example = r#"{"order_id": "eso_1", "amount": 5000, "currency": "XAF"}"#)]
pub struct EsimOrder {
    /// Its identifier.
    #[field(required, schema("pattern" = "^eso_[0-9A-Za-z]{22}$"))]
    pub order_id: EsimOrderId,
    /// The amount to pay, in the smallest currency unit.
    #[field(required, number)]
    pub amount: Amount,
    /// The currency of the amount.
    #[field(required, like = crate::values::Currency)]
    pub currency: String,

    /// Always `esim_order`.
    #[field(undocumented, always, schema("const" = "esim_order"))]
    pub object: Option<String>,
    /// Its status.
    #[field(undocumented, always)]
    pub status: Option<EsimOrderStatus>,
    /// The package.
    #[field(undocumented, always)]
    pub package_id: Option<EsimPackageId>,
    /// The number of eSIMs.
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
    /// The ICCID, the serial number of the SIM.
    #[field(required)]
    pub iccid: String,
    /// The code that installs the eSIM on a phone, once. Show it only to the customer, and do not log it.
    #[field(required)]
    pub activation_code: Secret,
}
