use crate::shop::nonce::with_nonce;
use crate::values::{Amount, Currency, Email, FeeBearer, Invalid, Phone, RedirectUrl};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The member of `metadata` in which a body carries its mark.
pub const MARK: &str = "guichet_mark";

/// A sum of money.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Money {
    /// How much, in the smallest unit.
    #[serde(deserialize_with = "super::amount::required")]
    pub amount: Amount,
    /// Of which currency.
    pub currency: String,
}

/// What the shop says of an order, as it is stored and sent again: the members of a creation, but for the reference.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Body(Map<String, Value>);

/// What stays when personal data are deleted.
const KEPT: [&str; 3] = ["amount", "currency", "fee_bearer"];

/// The first member of a purchase that no service would take, and why.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WrongMember {
    /// Its name.
    pub name: &'static str,
    /// Why, for the shop's programmer.
    pub reason: Invalid,
}

impl WrongMember {
    fn because(name: &'static str, reason: &str) -> Self {
        Self { name, reason: Invalid::because(["`", name, "` ", reason].concat()) }
    }
}

impl Body {
    /// Checks every member, before anything is stored.
    ///
    /// # Errors
    /// The first member that no service would take.
    pub fn new(purchase: &Value) -> Result<Self, WrongMember> {
        let wrong = WrongMember::because;
        let body = Self(purchase.as_object().cloned().ok_or_else(|| wrong("purchase", "must be an object."))?);
        let text = |name: &'static str| match body.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(wrong(name, "must be a text.")),
        };
        let checked = |name: &'static str, read: fn(&str) -> Result<(), Invalid>| {
            let text = text(name)?;
            text.map_or(Ok(()), read).map_err(|reason| WrongMember { name, reason })?;
            Ok(text.is_some())
        };
        for name in ["firstname", "lastname", "description"] {
            text(name)?.filter(|text| !text.trim().is_empty()).ok_or_else(|| wrong(name, "is missing."))?;
        }
        let has_amount = checked("amount", |text| Amount::of_request(text).map(drop))?;
        checked("currency", |text| Currency::new(text).map(drop))?;
        checked("redirect_url", |text| RedirectUrl::new(text).map(drop))?;
        checked("fee_bearer", |text| text.parse::<FeeBearer>().map(drop))?;
        let has_email = checked("email", |text| Email::new(text).map(drop))?;
        let has_phone = checked("phone", |text| Phone::new(text).map(drop))?;
        match body.0.get("confirm") {
            None | Some(Value::Null | Value::Bool(false)) => {}
            Some(_) => return Err(wrong("confirm", "cannot be set.")),
        }
        match () {
            () if !has_amount => Err(wrong("amount", "is missing.")),
            () if !has_email && !has_phone => Err(wrong("email", "is missing, and `phone` too.")),
            () if body.0.contains_key("merchant_reference") => Err(wrong("merchant_reference", "is the ledger's.")),
            () => Ok(body),
        }
    }

    /// The body of a request that creates a payment of it: with the payment's reference, the return nonce in its address,
    /// and its mark.
    pub(super) fn creation(&self, reference: &str, nonce: &str, mark: &str) -> String {
        let mut body = self.0.clone();
        body.insert("merchant_reference".to_owned(), reference.into());
        if let Some(Value::String(address)) = body.get_mut("redirect_url") {
            *address = with_nonce(address, nonce);
        }
        let mut metadata = body.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        metadata.insert(MARK.to_owned(), mark.into());
        body.insert("metadata".to_owned(), Value::Object(metadata));
        Value::Object(body).to_string()
    }

    /// What the order costs.
    #[must_use]
    pub fn sum(&self) -> Money {
        let text = |name| self.0.get(name).and_then(Value::as_str);
        // A body was checked before it was stored.
        let amount = text("amount").and_then(|text| Amount::new(text).ok()).unwrap_or(Amount::units(0));
        Money { amount, currency: text("currency").unwrap_or("XAF").to_owned() }
    }

    /// The customer's e-mail address.
    #[must_use]
    pub fn email(&self) -> Option<&str> {
        self.0.get("email").and_then(Value::as_str)
    }

    /// Whether it has more than a sum: names, addresses, what was bought.
    pub(super) fn is_personal(&self) -> bool {
        self.0.keys().any(|name| !KEPT.contains(&name.as_str()))
    }

    /// Deletes all but the sum.
    pub(super) fn forget(&mut self) {
        self.0.retain(|name, _| KEPT.contains(&name.as_str()));
    }

    /// Whether the customer pays the fee on top.
    #[must_use]
    pub fn fee_is_on_top(&self) -> bool {
        self.0.get("fee_bearer").and_then(Value::as_str) == Some(FeeBearer::Customer.as_str())
    }
}
