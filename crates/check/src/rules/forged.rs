//! Orders that the page forges. The shop has not seen the order before: a shop that believes the page at first sight
//! stores the lie.

mod lies;
mod trial;
mod verdict;

use crate::foreign_names::{Meaning, names};
use crate::json::leaves;
use crate::outcome::{Outcome, RuleError, not_checked};
use crate::shop::{CheckedShop, Customer};
use lies::{ELSEWHERE, Kind, Known, Lie, OTHER_CURRENCIES};
use serde_json::Value;
use std::collections::BTreeMap;
use trial::{Trial, close, trial};
use verdict::{changed, judge};

pub(super) async fn forged_price_is_ignored(shop: &CheckedShop, forging: &Forging) -> Outcome {
    forged(shop, forging, Kind::Price).await
}

pub(super) async fn forged_quantity_is_refused(shop: &CheckedShop, forging: &Forging) -> Outcome {
    forged(shop, forging, Kind::Quantity).await
}

pub(super) async fn forged_currency_is_ignored(shop: &CheckedShop, forging: &Forging) -> Outcome {
    forged(shop, forging, Kind::Currency).await
}

pub(super) async fn forged_customer_is_ignored(shop: &CheckedShop, forging: &Forging) -> Outcome {
    forged(shop, forging, Kind::Customer).await
}

pub(super) async fn forged_reference_is_ignored(shop: &CheckedShop, forging: &Forging) -> Outcome {
    forged(shop, forging, Kind::Reference).await
}

pub(super) async fn forged_address_is_ignored(shop: &CheckedShop, forging: &Forging) -> Outcome {
    forged(shop, forging, Kind::Address).await
}

pub(super) async fn forged_terms_are_ignored(shop: &CheckedShop, forging: &Forging) -> Outcome {
    forged(shop, forging, Kind::Terms).await
}

/// What the rules of this group know before the first lie. Without `--order-pattern` they share a few orders out.
pub(crate) struct Forging {
    known: Known,
    shared_out: Option<SharedOut>,
}

/// What the rules of this group found in orders that the shop had not seen, without `--order-pattern`.
struct SharedOut {
    /// By the kind of the lie.
    errors: BTreeMap<Kind, RuleError>,
    is_sold: bool,
}

impl Forging {
    pub(super) async fn begin(shop: &CheckedShop) -> Result<Self, RuleError> {
        let customer = shop.customer(0).await?;
        let (mut honest, mut others_payment) = (Vec::new(), None);
        if shop.has_fresh_orders() {
            for _ in 0..3 {
                let (_, payment) = shop.fresh_payment().await?;
                honest.push(payment.creation.body.clone());
                shop.release(&customer, &payment).await;
            }
            others_payment = shop.buy(&customer, &fresh(shop)?).await.ok();
        }
        let (other, page_origin) = (shop.names_of(1).await, shop.page_origin().to_owned());
        let known = Known { honest, other, others_payment, page_origin };
        let shared_out = match shop.has_fresh_orders() {
            true => None,
            false => Some(SharedOut::send(shop, &customer, &known).await),
        };
        Ok(Self { known, shared_out })
    }
}

impl SharedOut {
    /// Sends each order once, with a share of all lies.
    async fn send(shop: &CheckedShop, customer: &Customer, known: &Known) -> Self {
        let orders = shop.orders.borrow().open.clone();
        let mut shares: Vec<Vec<Lie>> = vec![Vec::new(); orders.len()];
        let count = shares.len();
        for (place, kind) in Kind::EACH.into_iter().enumerate() {
            for (number, lie) in known.lies(kind).into_iter().enumerate().take(count) {
                shares[(place + number) % count].push(lie);
            }
        }
        let mut trials = Vec::new();
        for (order, lies) in orders.into_iter().zip(shares) {
            trials.push(trial(shop, customer, order, lies).await);
        }
        trials.retain(Trial::is_sold);
        let mut errors = BTreeMap::new();
        for (trial, kind) in trials.iter().flat_map(|trial| Kind::EACH.map(|kind| (trial, kind))) {
            if let Err(error) = judge(trial, known, kind) {
                errors.entry(kind).or_insert(error);
            }
        }
        // The shop's own currency may be the one that the lies tell. An order without such a lie shows it.
        let tells_currency = |trial: &Trial| trial.lies.iter().any(|lie| lie.kind == Kind::Currency);
        let honest = trials.iter().find(|trial| !tells_currency(trial)).and_then(|trial| trial.creations.first());
        if honest.is_none_or(|honest| honest.body["currency"] == OTHER_CURRENCIES[0]) {
            let why = "Missing option --order-pattern: without an honest order the shop's own currency is not known.";
            errors.insert(Kind::Currency, RuleError::NotChecked(why.to_owned()));
        }
        Self { errors, is_sold: !trials.is_empty() }
    }
}

/// Sends orders that the shop has not seen with lies of a kind.
async fn forged(shop: &CheckedShop, Forging { known, shared_out }: &Forging, kind: Kind) -> Outcome {
    let customer = shop.customer(0).await?;
    let mut is_sold = false;
    if let Some(SharedOut { errors, is_sold: is_any_sold }) = shared_out {
        is_sold = *is_any_sold;
        errors.get(&kind).filter(|_| is_sold).map_or(Ok(()), |error| Err(error.clone()))?;
    } else {
        for lie in known.lies(kind) {
            let trial = trial(shop, &customer, fresh(shop)?, vec![lie.clone()]).await;
            judge(&trial, known, kind)?;
            if let Some(change) = changed(&trial, known, kind) {
                is_caused(shop, &customer, &lie, &change).await?;
            }
            judge_books(shop, &trial, kind).await?;
            close(shop, &customer, &trial).await;
            is_sold |= trial.is_sold();
        }
    }
    if is_sold { Ok(()) } else { not_checked("No order became a payment: see order_becomes_payment.") }
}

/// Takes an order of the pattern.
fn fresh(shop: &CheckedShop) -> Result<Value, RuleError> {
    let missing =
        || RuleError::NotChecked("Missing option --order-pattern: an order that the shop has not seen.".into());
    shop.fresh_order().ok_or_else(missing)
}

/// Sends the lie with more orders, and honest orders among them: a shop whose prices vary by themselves does not lie.
async fn is_caused(shop: &CheckedShop, customer: &Customer, lie: &Lie, change: &(String, Value)) -> Outcome {
    let (path, usual) = change;
    let mut last = None;
    for is_forged in [false, true, true, false, true, false] {
        let lies = if is_forged { vec![lie.clone()] } else { Vec::new() };
        let trial = trial(shop, customer, fresh(shop)?, lies).await;
        let Some(creation) = trial.creations.first() else { return Ok(()) };
        let is_usual = leaves(&creation.body).get(path) == Some(usual);
        close(shop, customer, &trial).await;
        if is_usual == is_forged {
            return Ok(());
        }
        if is_forged {
            last = Some(trial);
        }
    }
    let Some(trial) = last else { return Ok(()) };
    let sent = leaves(&trial.creations[0].body).get(path).cloned().unwrap_or_default();
    Err(trial.fail(format!("The page changed {path} of the payment from {usual} to {sent}.")))
}

/// Nothing that a page says marks an order paid.
async fn judge_books(shop: &CheckedShop, trial: &Trial, kind: Kind) -> Outcome {
    let tells_paid = kind == Kind::Terms && trial.lies.iter().any(|lie| lie.fields.contains_key("paid"));
    match trial.payment.as_ref().or(trial.again.as_ref().and_then(|again| again.as_ref().ok())) {
        Some(payment) if tells_paid => {
            let what = || "The page said that the order is paid.".to_owned();
            shop.must_be_unpaid(payment, what, || trial.exchange.sent.clone()).await
        }
        _ => Ok(()),
    }
}

/// The headers that a proxy sets, or an attacker.
pub(super) async fn forged_host_is_ignored(shop: &CheckedShop) -> Outcome {
    let customer = shop.customer(0).await?;
    for name in names(Meaning::HostHeader) {
        let order = match shop.fresh_order() {
            Some(order) => order,
            None => shop.open_payment().await?.1.order,
        };
        let value = match name {
            "Forwarded" => format!("for=192.0.2.1;host={ELSEWHERE};proto=https"),
            "Referer" => format!("https://{ELSEWHERE}/"),
            _ => ELSEWHERE.to_owned(),
        };
        let mark = shop.service.mark();
        let request = shop.route_request(&customer, "POST", "/intents").on_own_page();
        let exchange = request.header(name, &value).json(&order).send().await;
        let payment = shop.payment(&order, exchange.clone());
        // What the shop has stored for it is sent again.
        let again = shop.buy(&customer, &order).await;
        for call in shop.service.creations_since(mark) {
            if call.body["redirect_url"].as_str().is_some_and(|address| address.contains(ELSEWHERE)) {
                return Err(exchange.fail(format!("redirect_url is {}.", call.body["redirect_url"])));
            }
        }
        for payment in [payment.ok(), again.ok()].iter().flatten() {
            shop.release_if_fresh(&customer, payment).await;
        }
    }
    Ok(())
}
