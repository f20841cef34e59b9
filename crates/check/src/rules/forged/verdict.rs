//! What a trial shows.

use super::lies::{ELSEWHERE, FORGED, Kind, Known, Lie};
use super::trial::Trial;
use crate::json::{leaves, text_of};
use crate::outcome::Outcome;
use serde_json::Value;
use std::collections::BTreeMap;

/// Whether what the service was sent tells one of the lies.
pub(super) fn judge(trial: &Trial, known: &Known, kind: Kind) -> Outcome {
    let honest = known.honest.first();
    let lies: Vec<&Lie> = trial.lies.iter().filter(|lie| lie.kind == kind).collect();
    if lies.is_empty() {
        return Ok(());
    }
    for creation in trial.all_creations() {
        for (path, sent) in leaves(&creation.body) {
            let is_honest = honest.is_some_and(|honest| leaves(honest).get(&path) == Some(&sent));
            let tells = |lie: &&&Lie| lie.values().iter().any(|told| is_told(&path, &sent, told, honest.is_some()));
            if !is_honest && lies.iter().any(|lie| tells(&lie)) {
                return Err(trial.fail(format!("The page set {path} of the payment to {sent}.")));
            }
        }
        let amount = text_of(&creation.body["amount"]);
        let is_honest = known.honest.iter().any(|honest| text_of(&honest["amount"]) == amount);
        if matches!(kind, Kind::Price | Kind::Quantity) && !is_honest && !is_price(&amount) {
            return Err(trial.fail(format!("The page made the amount of the payment {amount}.")));
        }
    }
    let got = trial.exchange.json()["intent"]["id"].clone();
    if kind == Kind::Reference
        && let Some(other) = &known.others_payment
        && got == *other.id
    {
        return Err(trial.fail("The page named the payment of another order, and got it."));
    }
    judge_again(trial)
}

/// Whether an amount may be a price: digits, and perhaps two decimals of a currency that has them.
fn is_price(amount: &str) -> bool {
    let (whole, decimals) = amount.split_once('.').unwrap_or((amount, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    are_digits(whole)
        && are_digits(decimals)
        && decimals.len() <= 2
        && amount.parse::<f64>().is_ok_and(|amount| amount > 1.0)
}

/// Whether a text or a number of a payment is one that the page told.
fn is_told(path: &str, sent: &Value, told: &Value, is_honest_known: bool) -> bool {
    let (sent, told) = (text_of(sent), text_of(told));
    // Values of which an honest payment may have one. Only a comparison with an honest payment shows which.
    let is_usual = ["merchant", "customer", "card", "manual", "succeeded", "paid", "true"].contains(&told.as_str());
    if is_usual && !is_honest_known {
        return false;
    }
    let is_mark = |text: &str| text.to_ascii_lowercase().contains(FORGED) || text.contains(ELSEWHERE);
    match (sent.parse::<f64>(), told.parse::<f64>()) {
        (Ok(sent), Ok(told)) if path.ends_with("amount") => sent == told,
        _ if is_mark(&told) && sent.contains(ELSEWHERE) => true,
        _ if is_mark(&told) => sent.to_ascii_lowercase().contains(&told.to_ascii_lowercase()),
        // A payment has other small numbers than its amount.
        _ => sent == told && told.len() > 2,
    }
}

/// The honest order after the forged one becomes the same payment. If the forged one was refused, it had no effect.
fn judge_again(trial: &Trial) -> Outcome {
    let is_refused = (400..500).contains(&trial.exchange.status());
    let created = trial.creations.iter().find(|call| call.reply["data"]["id"].is_string());
    if is_refused && created.is_some() {
        return Err(trial.fail("The forged order was refused, and the shop created a payment for it."));
    }
    if trial.is_another_order() {
        return Ok(());
    }
    match (&trial.payment, &trial.again) {
        (Some(forged), Some(Ok(again))) if forged.id != again.id => Err(trial.fail(format!(
            "With forged fields and without them, the order became two payments, {} and {}.",
            forged.reference, again.reference
        ))),
        (Some(_), Some(Err(exchange))) if exchange.status() != 429 => Err(trial.fail(format!(
            "After it was sent with forged fields, the honest order did not get its payment: {}.",
            exchange.response_text()
        ))),
        _ => judge_references(trial),
    }
}

/// The order has its payment: with forged fields it does not become another one.
fn judge_references(trial: &Trial) -> Outcome {
    let Some(Ok(payment)) = &trial.again else { return Ok(()) };
    let other = trial.creations_again.iter().find(|call| call.body["merchant_reference"] != *payment.reference);
    other.map_or(Ok(()), |other| {
        let why = "Sent once more with forged fields, the order became another payment";
        Err(trial.fail(format!("{why}: {} and {}.", payment.reference, other.body["merchant_reference"])))
    })
}

/// What differs from what the service is sent for every honest order: the field and its value in honest orders.
pub(super) fn changed(trial: &Trial, known: &Known, kind: Kind) -> Option<(String, Value)> {
    let always = constant(&known.honest);
    for creation in trial.all_creations() {
        let sent = leaves(&creation.body);
        for (path, value) in &always {
            let is_changed = sent.get(path) != Some(value);
            // More of a thing costs more.
            let is_dearer = path == "amount" && amount_of(sent.get(path)) > amount_of(Some(value));
            if is_changed && !(kind == Kind::Quantity && (is_dearer || path != "amount")) {
                return Some((path.clone(), value.clone()));
            }
        }
    }
    None
}

fn amount_of(value: Option<&Value>) -> f64 {
    value.and_then(|value| text_of(value).parse().ok()).unwrap_or_default()
}

/// The fields that are equal in all of these.
fn constant(bodies: &[Value]) -> BTreeMap<String, Value> {
    let mut bodies = bodies.iter().map(leaves);
    let first = bodies.next().unwrap_or_default();
    bodies.fold(first, |mut known, body| {
        known.retain(|path, value| body.get(path) == Some(value));
        known
    })
}
