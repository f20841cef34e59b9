//! A forged order, sent to the shop.

use super::lies::{Kind, Lie, Place};
use crate::foreign_names::{Meaning, names};
use crate::json::{leaves, text_of};
use crate::outcome::RuleError;
use crate::service::Call;
use crate::shop::{CheckedShop, Customer, Exchange, Payment};
use serde_json::{Map, Value, json};

/// A forged order, and what the shop did with it.
pub(super) struct Trial {
    pub(super) lies: Vec<Lie>,
    pub(super) exchange: Exchange,
    pub(super) creations: Vec<Call>,
    pub(super) payment: Option<Payment>,
    /// The same order, honest and after it.
    pub(super) again: Option<Result<Payment, Exchange>>,
    /// What the service was sent for the honest order, and when it was forged again.
    pub(super) creations_again: Vec<Call>,
}

impl Trial {
    /// Whether the shop sells this order at all.
    pub(super) fn is_sold(&self) -> bool {
        self.payment.is_some() || matches!(self.again, Some(Ok(_)))
    }

    /// What the service was sent for it, each time.
    pub(super) fn all_creations(&self) -> impl Iterator<Item = &Call> {
        self.creations.iter().chain(&self.creations_again)
    }

    pub(super) fn fail(&self, why: impl Into<String>) -> RuleError {
        self.exchange.fail(why)
    }

    /// Whether the page changed a field of the order itself, so that the honest order is another one.
    pub(super) fn is_another_order(&self) -> bool {
        self.again.is_none()
    }
}

/// Sends an order with lies, then the order itself, and then the lies once more: now it is placed.
pub(super) async fn trial(shop: &CheckedShop, customer: &Customer, order: Value, lies: Vec<Lie>) -> Trial {
    let (mut forged, mut query, mut headers, mut is_another_order) = (order.clone(), Vec::new(), Vec::new(), false);
    for lie in &lies {
        match lie.place {
            Place::Beside => is_another_order |= add_beside(&mut forged, lie, &order_names(shop)),
            Place::Nested => add_nested(&mut forged, &lie.fields),
            Place::Query => query.extend(lie.fields.iter().map(|(name, value)| (name.clone(), text_of(value)))),
            Place::Header => headers.extend(lie.fields.iter().map(|(name, value)| (name.clone(), text_of(value)))),
        }
    }
    let mut path = "/intents".to_owned();
    if !query.is_empty() {
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        path = format!("{path}?{query}");
    }
    let mark = shop.service.mark();
    let mut request = shop.route_request(customer, "POST", &path).on_own_page();
    for (name, value) in headers {
        request = request.header(&name, &value);
    }
    let request = request.json(&forged);
    let forge_again = request.clone();
    let exchange = request.send().await;
    let creations = shop.service.creations_since(mark);
    let payment = shop.payment(&order, exchange.clone()).ok();
    let mark = shop.service.mark();
    let again = if is_another_order { None } else { Some(shop.buy(customer, &order).await) };
    if again.as_ref().is_some_and(Result::is_ok) && !lies.is_empty() {
        forge_again.send().await;
    }
    let creations_again = shop.service.creations_since(mark);
    Trial { lies, exchange, creations, payment, again, creations_again }
}

/// The names of the order's fields that say which order it is.
fn order_names(shop: &CheckedShop) -> Vec<String> {
    let Some(pattern) = &shop.options.order_pattern else { return Vec::new() };
    let (one, two) = (leaves(&pattern.order(1)), leaves(&pattern.order(2)));
    let differing = one.into_iter().filter(|(path, value)| two.get(path) != Some(value));
    differing.filter_map(|(path, _)| path.rsplit('/').next().map(str::to_owned)).collect()
}

/// Adds fields to an object and to the objects in it. A field that the page sends anyway is replaced if it is a price,
/// a quantity or a currency. Returns whether a quantity was replaced: that is another order.
fn add_beside(target: &mut Value, lie: &Lie, identities: &[String]) -> bool {
    let mut is_replaced = false;
    match target {
        Value::Array(entries) => {
            for entry in entries {
                is_replaced |= add_beside(entry, lie, identities);
            }
        }
        Value::Object(object) => {
            for entry in object.values_mut() {
                is_replaced |= add_beside(entry, lie, identities);
            }
            let may_replace = match lie.kind {
                Kind::Price | Kind::Currency => true,
                // Without a pattern, each order is needed as it is.
                Kind::Quantity => !identities.is_empty(),
                _ => false,
            };
            for (name, value) in &lie.fields {
                let is_known = object.contains_key(name);
                if !is_known || (may_replace && !identities.contains(name)) {
                    object.insert(name.clone(), value.clone());
                    is_replaced |= is_known && lie.kind == Kind::Quantity;
                }
            }
        }
        _ => {}
    }
    is_replaced
}

/// Adds fields in objects of their own, under the names that shops use.
fn add_nested(target: &mut Value, fields: &Map<String, Value>) {
    let Value::Object(object) = target else { return };
    let fields = Value::Object(fields.clone());
    for name in names(Meaning::Object) {
        object.entry(name).or_insert_with(|| fields.clone());
    }
    for name in names(Meaning::List) {
        object.entry(name).or_insert_with(|| json!([fields]));
    }
}

/// Cancels the payments of a trial, since a customer has at most 20 open ones.
pub(super) async fn close(shop: &CheckedShop, customer: &Customer, trial: &Trial) {
    if let Some(payment) = &trial.payment {
        shop.release(customer, payment).await;
    }
    if let Some(Ok(again)) = &trial.again
        && trial.payment.as_ref().is_none_or(|payment| payment.id != again.id)
    {
        shop.release(customer, again).await;
    }
}
