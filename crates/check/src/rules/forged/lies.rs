//! What a page may add to an order.

use crate::foreign_names::{Meaning, cookies, names};
use crate::json::{leaves, text_of};
use crate::shop::Payment;
use serde_json::{Map, Value, json};

/// A word that is in no honest order.
pub(super) const FORGED: &str = "forged";
pub(super) const ELSEWHERE: &str = "evil.example";
/// What a lie makes of the currency: the first, unless the shop sells in it.
pub(super) const OTHER_CURRENCIES: [&str; 2] = ["UGX", "XOF"];

/// What a lie is about.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Kind {
    Price,
    Quantity,
    Currency,
    Customer,
    Reference,
    Address,
    Terms,
}

impl Kind {
    pub(super) const EACH: [Self; 7] =
        [Self::Price, Self::Quantity, Self::Currency, Self::Customer, Self::Reference, Self::Address, Self::Terms];
}

/// What a page adds to an order.
#[derive(Clone, Debug)]
pub(super) struct Lie {
    pub(super) kind: Kind,
    pub(super) fields: Map<String, Value>,
    pub(super) place: Place,
}

/// Where it is added.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Place {
    /// Beside the order's own fields, and beside the fields of the objects in it.
    Beside,
    /// In an object of its own.
    Nested,
    Query,
    Header,
}

impl Lie {
    fn new(kind: Kind, place: Place, meaning: Meaning, value: &Value) -> Self {
        Self { kind, fields: fields_of(meaning, value), place }
    }

    fn of(kind: Kind, place: Place, fields: Value) -> Self {
        let Value::Object(fields) = fields else { unreachable!("the fields are an object") };
        Self { kind, fields, place }
    }

    /// The texts and numbers that it tells.
    pub(super) fn values(&self) -> Vec<Value> {
        let mut values = Vec::new();
        for value in self.fields.values() {
            values.extend(leaves(value).into_values());
        }
        values
    }
}

/// The fields of this meaning, each with this value.
fn fields_of(meaning: Meaning, value: &Value) -> Map<String, Value> {
    names(meaning).map(|name| (name.to_owned(), value.clone())).collect()
}

/// What is known of honest orders and of their customers.
pub(super) struct Known {
    /// What the service was sent for honest orders; empty without `--order-pattern`.
    pub(super) honest: Vec<Value>,
    /// The values by which a login of the other customer names them.
    pub(super) other: Vec<String>,
    /// The reference and the payments' identifiers of another order.
    pub(super) others_payment: Option<Payment>,
    pub(super) page_origin: String,
}

impl Known {
    fn amount(&self) -> Option<u64> {
        let first = self.honest.first()?;
        text_of(&first["amount"]).parse().ok()
    }

    /// The lies of a kind, each of which is for an order of its own.
    pub(super) fn lies(&self, kind: Kind) -> Vec<Lie> {
        use Place::{Beside, Header, Nested, Query};
        let new = |place, meaning, value: Value| Lie::new(kind, place, meaning, &value);
        match kind {
            Kind::Price => {
                let mut lies = vec![
                    new(Beside, Meaning::Price, "1".into()),
                    new(Beside, Meaning::Price, 1.into()),
                    new(Nested, Meaning::Price, 1.into()),
                    new(Nested, Meaning::Price, "1".into()),
                    new(Query, Meaning::Price, "1".into()),
                    new(Header, Meaning::PriceHeader, "1".into()),
                    Lie::of(kind, Header, json!({"Cookie": cookies(names(Meaning::Price), "1")})),
                ];
                // Without an honest order nobody knows what a discount is taken from.
                if let Some(amount) = self.amount().filter(|amount| *amount > 20) {
                    // No price of another order.
                    let less = amount - amount / 10 - 7;
                    lies.push(new(Beside, Meaning::Price, less.to_string().into()));
                    lies.push(new(Beside, Meaning::Price, less.into()));
                    lies.push(new(Beside, Meaning::Discount, (amount - 1).into()));
                    lies.push(new(Beside, Meaning::Percent, 99.into()));
                    lies.push(new(Beside, Meaning::Charge, (1 - i64::try_from(amount).unwrap_or(2)).into()));
                }
                lies
            }
            Kind::Quantity => [
                json!(-1),
                json!(0),
                json!(0.000_001),
                json!("-1"),
                json!(0.5),
                json!("0.01"),
                json!(4_294_967_295_u64),
                json!(1e21),
                json!("1e-6"),
            ]
            .into_iter()
            .flat_map(|value| {
                let nested = [json!(-1), json!(0.5)].contains(&value);
                let nested = nested.then(|| new(Nested, Meaning::Quantity, value.clone()));
                [Some(new(Beside, Meaning::Quantity, value)), nested].into_iter().flatten()
            })
            .collect(),
            Kind::Currency => {
                let is_other = |other: &&str| self.honest.iter().all(|honest| honest["currency"] != **other);
                let other = OTHER_CURRENCIES.into_iter().find(is_other).unwrap_or_default();
                [Beside, Nested, Query].map(|place| new(place, Meaning::Currency, other.into())).into()
            }
            Kind::Customer => {
                let email = format!("{FORGED}@{ELSEWHERE}");
                let mut person = fields_of(Meaning::Email, &email.as_str().into());
                person.extend(fields_of(Meaning::PersonName, &FORGED.into()));
                person.insert("phone".to_owned(), "237699999999".into());
                let mut lies = vec![
                    Lie { kind, fields: person.clone(), place: Beside },
                    Lie { kind, fields: person.clone(), place: Nested },
                    Lie { kind, fields: person.clone(), place: Query },
                    Lie::of(
                        kind,
                        Beside,
                        json!({"customer": person, "user": person, "payer": person, "buyer": person}),
                    ),
                    new(Header, Meaning::OwnerHeader, email.as_str().into()),
                ];
                for other in &self.other {
                    lies.push(Lie::of(kind, Header, json!({"Cookie": cookies(names(Meaning::Owner), other)})));
                    for (place, meaning) in
                        [(Beside, Meaning::Owner), (Query, Meaning::Owner), (Header, Meaning::OwnerHeader)]
                    {
                        lies.push(new(place, meaning, other.as_str().into()));
                    }
                    if other.contains('@') {
                        lies.push(new(Beside, Meaning::Email, other.as_str().into()));
                    }
                }
                lies
            }
            Kind::Reference => {
                let mut lies = vec![
                    new(Beside, Meaning::Reference, "FORGED-1".into()),
                    new(Nested, Meaning::Reference, "FORGED-2".into()),
                    new(Query, Meaning::Reference, "FORGED-3".into()),
                    new(Beside, Meaning::Again, true.into()),
                    new(Nested, Meaning::Again, true.into()),
                    new(Query, Meaning::Again, 1.into()),
                ];
                if let Some(other) = &self.others_payment {
                    lies.push(new(Beside, Meaning::Reference, other.reference.as_str().into()));
                    lies.push(new(Beside, Meaning::Payment, other.id.as_str().into()));
                    lies.push(new(Beside, Meaning::Payment, other.payment_ref.as_str().into()));
                    lies.push(new(Query, Meaning::Payment, other.id.as_str().into()));
                }
                lies
            }
            Kind::Address => {
                let origin = &self.page_origin;
                let scheme = origin.split("://").next().unwrap_or("https");
                let host = origin.split("://").nth(1).unwrap_or_default();
                vec![
                    new(Beside, Meaning::Address, format!("https://{ELSEWHERE}/").into()),
                    new(Nested, Meaning::Address, format!("https://{ELSEWHERE}/").into()),
                    new(Query, Meaning::Address, format!("https://{ELSEWHERE}/").into()),
                    new(Beside, Meaning::Address, format!("{origin}.{ELSEWHERE}/").into()),
                    new(Beside, Meaning::Address, format!("{origin}@{ELSEWHERE}/").into()),
                    new(Beside, Meaning::Address, format!("//{ELSEWHERE}/").into()),
                    new(Beside, Meaning::Address, format!("{scheme}://{ELSEWHERE}/?{host}").into()),
                ]
            }
            Kind::Terms => {
                let bearer = match self.honest.first().and_then(|honest| honest["fee_bearer"].as_str()) {
                    Some("customer") => "merchant",
                    _ => "customer",
                };
                let (description, card) = ("A forged description", ["card"]);
                let fields = json!({
                    "fee_bearer": bearer, "feeBearer": bearer, "bearer": bearer, "fees_paid_by": bearer,
                    "payment_method_types": card, "paymentMethodTypes": card, "payment_methods": card,
                    "confirmation_method": "manual", "confirmationMethod": "manual", "description": description,
                    "metadata": {"forged": "forged"}, "meta": {"forged": "forged"}, "label": description,
                });
                let paid = json!({
                    "status": "succeeded", "paid": true, "is_paid": true, "isPaid": true, "state": "paid",
                    "payment_status": "paid", "paid_by": FORGED, "paidBy": FORGED, "paid_at": "2026-01-01T00:00:00Z",
                });
                let query = json!({
                    "fee_bearer": bearer, "description": description, "status": "succeeded", "paid": "1",
                });
                vec![
                    Lie::of(kind, Beside, fields.clone()),
                    Lie::of(kind, Nested, fields),
                    Lie::of(kind, Query, query),
                    Lie::of(kind, Beside, paid),
                ]
            }
        }
    }
}
