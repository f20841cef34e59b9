//! Decisions 2, 3, 7, 9 and 10: the states of a payment, and its fees.

use super::prober::{Prober, Reply};
use guichet::operations::*;
use guichet::values::*;

pub(super) async fn rows(probe: &mut Prober) {
    if let Err(invalid) = intents(probe).await {
        let reply = Reply::default();
        tracing::warn!(%invalid, "a reply lacks a field that the next request needs");
        probe.row("3", "an intent is created with an id", false, &reply);
    }
    fees(probe).await;
}

async fn intents(probe: &mut Prober) -> Result<(), Invalid> {
    let order = order(probe, 11)?;
    let first = probe.send(order.clone()).await;
    probe.row("document", "an intent is created, requires_action", first.has_status("requires_action"), &first);
    probe.row("3", "… with the status 201", is_created(&first), &first);
    let url = first.text("checkout_url").to_owned();
    let has_secret = url.split_once('?').is_some_and(|(_, query)| query.contains("client_secret="));
    probe.row("10", "checkout_url has the client secret in its query", has_secret, &first);
    let appended = ["attempts", "expires_at", "next_action", "last_payment_error", "amount_payable"];
    let whole = appended.iter().all(|name| first.data().get(name).is_some());
    probe.row(
        "3",
        "an intent has attempts, expires_at, next_action, last_payment_error and amount_payable",
        whole,
        &first,
    );

    let again = probe.send(order.clone()).await;
    let same = again.status == 200 && again.text("id") == first.text("id") && is_created(&first);
    probe.row("2", "an equal create returns the same intent: 200", same, &again);
    probe.row("2", "… with Idempotent-Replayed", again.header("idempotent-replayed") == "true", &again);
    let other = probe.send(order.fee_bearer(FeeBearer::Customer)).await;
    let named = other.is("409 merchant_reference_conflict") && other.body["error"]["existing_id"] == first.data()["id"];
    probe.row("2", "a different create under the same reference: 409 with existing_id", named, &other);

    let wrong = async |text: &str| {
        let rest =
            r#""firstname":"Guichet","lastname":"Probe","email":"probe@example.com","description":"guichet-probe""#;
        let body = format!(r#"{{{rest},"merchant_reference":"{}-wrong",{text}}}"#, probe.run);
        probe.send_body::<CreatePaymentIntent>(body, &[]).await
    };
    let number = wrong(r#""amount":5000"#).await;
    let zero = wrong(r#""amount":"0""#).await;
    let francs = wrong(r#""amount":"5000","currency":"ZZZ""#).await;
    let hostile = wrong(r#""amount":"5000","redirect_url":"javascript:alert(1)""#).await;
    for (decision, what, reply) in [
        ("3", "an amount as a JSON number: 422", number),
        ("3", "an amount of \"0\": 422", zero),
        ("3", "an unknown currency: 422", francs),
        ("9", "a redirect_url that is not an https address: 422", hostile),
    ] {
        probe.row(decision, what, reply.status == 422, &reply);
    }

    let id = IntentId::new(first.text("id"))?;
    let read = probe.send(ReadPaymentIntent::new(id.clone())).await;
    probe.row("assumed", "read_payment_intent", read.is_success() && read.text("id") == id.as_str(), &read);
    let unasked = probe.send(AnswerPaymentIntent::new(id.clone(), "123456")).await;
    probe.refused(
        "assumed",
        "answer_payment_intent; 409 if no code is expected",
        "409 intent_not_confirmable",
        &unasked,
    );
    let early = probe.send(AbandonPaymentIntent::new(id.clone(), 1_u32)).await;
    probe.refused(
        "assumed",
        "abandon_payment_intent; 409 if it is not the latest attempt",
        "409 attempt_not_current",
        &early,
    );
    let bare = probe.send(ConfirmPaymentIntent::new(id.clone())).await;
    probe.refused("3", "confirm without a method: 409", "409 intent_not_confirmable", &bare);
    let is_charged = |reply: &Reply| reply.has_status("processing") || reply.has_status("succeeded");
    let paid = probe.send(AttachPaymentMethod::new(id.clone(), phone()?)).await;
    probe.row("assumed", "attach_payment_method charges if confirmation is automatic", is_charged(&paid), &paid);
    let late = probe.send(CancelPaymentIntent::new(id)).await;
    probe.refused(
        "3",
        "a payment that is processing or final cannot be canceled: 409",
        "409 intent_not_cancelable",
        &late,
    );

    let second = probe.send(self::order(probe, 12)?).await;
    let given_up = IntentId::new(second.text("id"))?;
    let canceled = probe.send(CancelPaymentIntent::new(given_up.clone())).await;
    probe.row("assumed", "cancel_payment_intent", canceled.has_status("canceled"), &canceled);
    let again = probe.send(CancelPaymentIntent::new(given_up)).await;
    probe.row("3", "… again: 200, unchanged", again.has_status("canceled"), &again);

    let third = probe.send(self::order(probe, 13)?.confirmation_method(ConfirmationMethod::Manual)).await;
    let manual = IntentId::new(third.text("id"))?;
    let attached = probe.send(AttachPaymentMethod::new(manual.clone(), phone()?)).await;
    let waits = attached.text("status") == "requires_action" && attached.data()["next_action"]["type"] == "confirm";
    probe.row("3", "a manual intent waits for the merchant: next_action confirm", waits, &attached);
    let refused = probe.send_as(ConfirmPaymentIntent::new(manual.clone()), Some(third.text("client_secret"))).await;
    probe.refused("3", "… and its client secret cannot confirm it: 403 role_required", "403 role_required", &refused);
    let confirmed = probe.send(ConfirmPaymentIntent::new(manual.clone())).await;
    probe.row("assumed", "confirm_payment_intent", is_charged(&confirmed), &confirmed);

    let own = probe.send_as(ReadPaymentIntent::new(manual.clone()), Some(third.text("client_secret"))).await;
    probe.row("4", "a client secret reads its own intent", own.is_success(), &own);
    let foreign = probe.send_as(ReadPaymentIntent::new(manual), Some(second.text("client_secret"))).await;
    probe.refused("4", "… and no other: 404", "404 resource_missing", &foreign);
    Ok(())
}

async fn fees(probe: &mut Prober) {
    let (Ok(method), Ok(nowhere)) = (MethodCode::new("mobile_money"), Country::new("ZZ")) else { return };
    let amount = Amount::units(5_000);
    let of = CalculateFee::new(method, Currency::xaf(), amount);
    let known = probe.send(of.clone()).await;
    let nowhere = probe.send(of.clone().country_code(nowhere)).await;
    let nothing = match MethodCode::new("cowries") {
        Ok(cowries) => probe.send(CalculateFee::new(cowries, Currency::xaf(), amount)).await,
        Err(_) => Reply::default(),
    };
    let figure = |name: &str| known.data()[name].as_f64().unwrap_or(f64::NAN);
    let adds_up = (figure("amount") + figure("fee") - figure("total_payable")).abs() < 0.005;
    probe.row("7", "total_payable is amount plus fee", known.is_success() && adds_up, &known);
    probe.row("7", "a fee in an unknown country: 422", nowhere.status == 422, &nowhere);
    probe.row("7", "a fee of an unknown method: 422", nothing.status == 422, &nothing);
}

fn is_created(reply: &Reply) -> bool {
    reply.status == 201 && reply.text("status") == "requires_action" && !reply.text("id").is_empty()
}

/// A create request of this run.
pub(super) fn order(probe: &Prober, number: u32) -> Result<CreatePaymentIntent, Invalid> {
    let reference = MerchantReference::new(format!("{}-{number}", probe.run))?;
    let order = CreatePaymentIntent::new(
        reference,
        Amount::units(5_000),
        "guichet-probe",
        CustomerName { firstname: "Guichet", lastname: "Probe" },
    );
    Ok(order.email(Email::new("probe@example.com")?))
}

/// The test phone that pays at once.
pub(super) fn phone() -> Result<Instrument, Invalid> {
    Ok(Instrument::mobile_money(Phone::new("237670000000")?))
}
