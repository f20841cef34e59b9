//! What the shop believes: only a reply that this payment has succeeded, in this amount and currency, of this customer,
//! pays this order.

use crate::outcome::{Outcome, RuleError, not_checked};
use crate::service::{Interfering, Kind, Lie, Lies, Target};
use crate::shop::{Books, CheckedShop, Customer, Expected, Kept, Payment, Settled, ToldPaid, orders_missing};
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The payments among which the lies of a rule are shared out.
const PAYMENTS: usize = 6;

/// What a lie may name: the payment, another one of the same customer, and the e-mail of another customer.
struct Subject<'a> {
    payment: &'a Payment,
    other: Option<&'a Payment>,
    other_email: Option<&'a str>,
}

pub(super) async fn wrong_amount_pays_nothing(shop: &CheckedShop, told: &ToldPaid) -> Result<Kept, RuleError> {
    lies_pay_nothing(shop, told, |subject| {
        let amount = subject.payment.amount();
        let Ok(units) = amount.parse::<u64>() else { return vec![Lie::succeeded("amount", json!("1"))] };
        let mut wrong = vec![json!("1"), json!("0"), json!(""), Value::Null, json!(true), json!(1), json!([])];
        // One unit less and more; a value that is this one once it is rounded, cut or read as a float; one that begins
        // with it.
        let less = units.saturating_sub(1);
        wrong.extend([json!(less.to_string()), json!((units + 1).to_string()), json!(less), json!(units + 1)]);
        wrong.extend([
            json!(format!("{less}.99999999999999999999")),
            json!(format!("{amount}.4")),
            json!(format!("{less}.6")),
        ]);
        wrong.extend([json!(format!("{amount}0")), json!(format!("{amount}x")), json!(format!("-{amount}"))]);
        if units >= 10 {
            wrong.extend([json!((units / 10).to_string()), json!((units / 100).to_string())]);
            let step = 10_u64.pow(units.ilog10() / 2 + 1);
            wrong.extend([json!((units + step).to_string()), json!((units / step * step + step / 2 + 1).to_string())]);
        }
        wrong.retain(|value| value.as_u64() != Some(units) && value.as_str() != Some(amount));
        let lies = wrong.into_iter().map(|value| Lie::succeeded("amount", value));
        lies.chain([Lie::succeeded_without("amount")]).collect()
    })
    .await
}

pub(super) async fn wrong_currency_pays_nothing(shop: &CheckedShop, told: &ToldPaid) -> Result<Kept, RuleError> {
    lies_pay_nothing(shop, told, |subject| {
        let currency = subject.payment.creation.reply["data"]["currency"].as_str().unwrap_or_default();
        let near = [format!("{currency}X"), format!("X{currency}"), currency.chars().take(2).collect()];
        let others = ["XOF", "UGX", "USD", ""].map(str::to_owned).into_iter().filter(|other| other != currency);
        let wrong = others.chain(near).map(Value::from).chain([Value::Null, json!(true)]);
        let lies = wrong.map(|value| Lie::succeeded("currency", value));
        lies.chain([Lie::succeeded_without("currency")]).collect()
    })
    .await
}

pub(super) async fn wrong_reference_pays_nothing(shop: &CheckedShop, told: &ToldPaid) -> Result<Kept, RuleError> {
    lies_pay_nothing(shop, told, |subject| {
        let reference = &subject.payment.reference;
        let mut wrong = near_texts(reference);
        wrong.extend(["ANOTHER-ORDER".into(), format!("{reference}.1"), format!("{reference}-1")]);
        wrong.extend(subject.other.map(|other| other.reference.clone()));
        let wrong = wrong.into_iter().map(Value::from).chain([json!("")]);
        let mut lies: Vec<Lie> = wrong.map(|value| Lie::succeeded("merchant_reference", value)).collect();
        // A shop that marks its payments knows them without a reference, which some services do not return.
        if mark(subject).is_none() {
            let none = [Value::Null, json!(true)].map(|value| Lie::succeeded("merchant_reference", value));
            lies.extend(none);
            lies.push(Lie::succeeded_without("merchant_reference"));
        }
        lies
    })
    .await
}

pub(super) async fn wrong_id_pays_nothing(shop: &CheckedShop, told: &ToldPaid) -> Result<Kept, RuleError> {
    lies_pay_nothing(shop, told, |subject| {
        let wrong = near_texts(&subject.payment.id).into_iter().chain(["pi_another".to_owned()]).map(Value::from);
        let wrong = wrong.chain([Value::Null, json!("")]).chain(subject.other.map(|other| json!(other.id)));
        let mut lies: Vec<Lie> = wrong.map(|value| Lie::succeeded("id", value)).collect();
        lies.push(Lie::succeeded_without("id"));
        // The whole reply is about another payment of this customer.
        lies.extend(subject.other.map(|other| {
            let mut whole = other.creation.reply["data"].clone();
            whole["status"] = json!("succeeded");
            Lie::fields(whole)
        }));
        lies
    })
    .await
}

pub(super) async fn wrong_owner_pays_nothing(shop: &CheckedShop, told: &ToldPaid) -> Result<Kept, RuleError> {
    lies_pay_nothing(shop, told, |subject| {
        if let Some(mark) = mark(subject) {
            let wrong = near_texts(mark).into_iter().chain(["another".to_owned()]);
            return wrong.map(|mark| Lie::succeeded("metadata", json!({ MARK: mark }))).collect();
        }
        // A shop that sends no e-mail has none to compare.
        let Some(email) = subject.payment.creation.body["email"].as_str() else { return Vec::new() };
        let (name, host) = email.split_once('@').unwrap_or((email, "example.com"));
        let mut wrong = vec!["eve@evil.example".into(), format!("x{email}"), format!("{email}.evil.example")];
        wrong.extend([format!("{name}@evil.example"), format!("eve@{host}"), format!("{name}+eve@{host}")]);
        wrong.extend([String::new(), name.to_owned(), email.chars().skip(1).collect()]);
        wrong.extend(subject.other_email.map(str::to_owned));
        wrong.retain(|other| other.to_lowercase() != email.to_lowercase());
        let wrong = wrong.into_iter().map(Value::from).chain([Value::Null, json!(true)]);
        let customer = |email: Value| json!({"firstname": "Eve", "lastname": "Eve", "email": email});
        let lies = wrong.map(|email| Lie::succeeded("customer", customer(email)));
        let without = [json!({"firstname": "Eve", "lastname": "Eve"}), Value::Null];
        let lies = lies.chain(without.map(|customer| Lie::succeeded("customer", customer)));
        lies.chain([Lie::succeeded_without("customer")]).collect()
    })
    .await
}

/// The member of `metadata` by which a ledger recognizes its payments, whatever e-mail address a reply has.
const MARK: &str = "guichet_mark";

fn mark<'a>(subject: &Subject<'a>) -> Option<&'a str> {
    subject.payment.creation.body["metadata"][MARK].as_str()
}

pub(super) async fn only_succeeded_pays(shop: &CheckedShop, told: &ToldPaid) -> Result<Kept, RuleError> {
    lies_pay_nothing(shop, told, |subject| {
        let amount = subject.payment.amount();
        let statuses =
            ["processing", "requires_action", "pending", "paid", "success", "approved", "authorized", "refunded"];
        let near = ["SUCCEEDED", "succeeded ", "succeeded_partially", "not_succeeded", "unsucceeded"];
        let is_unknown = |status: &&str| !shop.service.profile().is_some_and(|profile| profile.knows(status));
        let wrong = statuses.into_iter().filter(is_unknown).chain(near).map(Value::from);
        let wrong = wrong.chain([Value::Null, json!(true), json!(1), json!(["succeeded"])]);
        let mut lies: Vec<Lie> = wrong.map(|status| Lie::fields(json!({"status": status}))).collect();
        for status in ["requires_action", "processing"] {
            lies.push(Lie::fields(json!({
                "status": status, "attempts": 1, "paid": true, "amount_received": amount, "last_payment_error": null,
                "payment_method": {"type": "mobile_money", "phone": "237670000000"}, "next_action": null,
            })));
        }
        for status in [StatusCode::INTERNAL_SERVER_ERROR, StatusCode::NOT_FOUND, StatusCode::PAYMENT_REQUIRED] {
            lies.push(Lie::succeeded_with_http(status));
        }
        lies
    })
    .await
}

/// An unknown status is none that is final: the shop goes on reading.
pub(super) async fn unknown_status_is_read_on(shop: &CheckedShop) -> Settled {
    let (customer, payment) = shop.fresh_payment().await?;
    let lies = ["under_review", "reversed"].map(|status| Lie::fields(json!({"status": status})));
    let interfering = lie(shop, &payment, &Arc::new(Lies::new(&payment.id, lies.into())));
    for _ in 0..2 {
        let exchange = shop.status(&customer, &payment).await;
        if exchange.tells_end() {
            let why = "The service answered with a status that this page does not know, and the page was told that the \
                       payment has ended.";
            return Err(exchange.fail(why));
        }
    }
    shop.wait_for_read(&[&payment]).await?;
    drop(interfering);
    let other = |_: &Payment| {
        "The service answered with an unknown status, and the order got another payment: the customer may pay both."
            .to_owned()
    };
    shop.must_get_no_other(&customer, &payment, other).await?;
    if !shop.has_fresh_orders() {
        return Ok(Vec::new());
    }
    let what =
        "The service gave a status that the guide does not name, and then the customer paid and never came back.";
    shop.must_be_settled(&payment, what).await
}

/// Texts that differ from this one in case, by a prefix, a suffix, white space or width.
fn near_texts(text: &str) -> Vec<String> {
    let wide = |c: char| match c {
        '!'..='~' => char::from_u32(c as u32 + 0xfee0).unwrap_or(c),
        _ => c,
    };
    let shorter: String = text.chars().take(text.chars().count().saturating_sub(1)).collect();
    let mut near = vec![text.to_lowercase(), text.to_uppercase(), text.chars().map(wide).collect(), shorter];
    near.extend(["0", " ", "\n", "\u{200b}", "\u{0}"].map(|end| format!("{text}{end}")));
    near.extend(["X", " ", "0"].map(|start| format!("{start}{text}")));
    near.retain(|other| other != text && !other.is_empty());
    near
}

/// A payment, and the untrue replies about it.
struct LiedAbout {
    payment: Payment,
    lies: Arc<Lies>,
}

/// The service gives untrue replies about payments that nobody has paid: their orders stay unpaid.
async fn lies_pay_nothing(
    shop: &CheckedShop,
    _: &ToldPaid,
    lies: impl Fn(&Subject<'_>) -> Vec<Lie>,
) -> Result<Kept, RuleError> {
    let (customer, first) = shop.fresh_payment().await?;
    let mut payments = vec![first];
    while shop.has_fresh_orders() && payments.len() < PAYMENTS {
        payments.push(shop.fresh_payment().await?.1);
    }
    let other = match payments.last() {
        Some(last) if payments.len() > 1 => Some(last.clone()),
        _ => second_payment(shop, &customer).await,
    };
    let other_email = shop.email_of(1).await.ok().flatten();
    let lied_about = |(place, payment): (usize, &Payment)| {
        let other = other.as_ref().filter(|other| other.id != payment.id).or(payments.first());
        let other = other.filter(|other| other.id != payment.id);
        let subject = Subject { payment, other, other_email: other_email.as_deref() };
        let shared_out: Vec<Lie> = lies(&subject).into_iter().skip(place).step_by(payments.len()).collect();
        let is_empty = shared_out.is_empty();
        let lies = Arc::new(Lies::new(&payment.id, shared_out));
        (!is_empty).then(|| LiedAbout { payment: payment.clone(), lies })
    };
    let lied_about: Vec<LiedAbout> = payments.iter().enumerate().filter_map(lied_about).collect();
    let kept = match lied_about.is_empty() {
        true => Ok(().into()),
        false => tell(shop, &customer, &lied_about, other.as_ref()).await,
    };
    for payment in &payments {
        if shop.has_fresh_orders() {
            shop.release(&customer, payment).await;
        } else {
            shop.set_aside(payment);
        }
    }
    kept
}

async fn tell(
    shop: &CheckedShop,
    customer: &Customer,
    lied_about: &[LiedAbout],
    other: Option<&Payment>,
) -> Result<Kept, RuleError> {
    let lying: Vec<Interfering<'_>> = lied_about.iter().map(|one| lie(shop, &one.payment, &one.lies)).collect();
    for LiedAbout { payment, lies } in lied_about {
        for _ in 0..lies.len() {
            let before = lies.told();
            let exchange = shop.status(customer, payment).await;
            if exchange.is_success() && exchange.tells("succeeded") && lies.told() > before {
                let why = "The page was told that the payment has succeeded.";
                return Err(exchange.fail(format!("{} {why}", said(lies))));
            }
        }
        must_be_unpaid(shop, payment, payment, lies).await?;
        // The shop reads the payment in the reply to a repeated creation too. What the page gets is not judged here.
        shop.send_order(customer, &payment.order).await;
    }
    let payments: Vec<&Payment> = lied_about.iter().map(|one| &one.payment).collect();
    // Without fresh orders one payment has all the lies, and each was told to the status route above.
    let rounds = lied_about.iter().map(|one| one.lies.len()).max().unwrap_or_default().min(4);
    for _ in 0..rounds {
        if !shop.wait_for_read(&payments).await? {
            break;
        }
    }
    let is_read = lied_about.iter().any(|one| one.lies.told() > 0);
    // The shop has got the reply that was told last, and may still write.
    shop.environment.sleep(Duration::from_millis(300)).await;
    drop(lying);
    for payment in &payments {
        // An answer about something else is no end of this payment. The shop may keep it for a person to look at.
        let other = |_: &Payment| {
            format!(
                "The service's replies about the payment were untrue, and the order got another one, although {} can \
                 still be paid.",
                payment.reference
            )
        };
        shop.must_get_no_other(customer, payment, other).await?;
    }
    for LiedAbout { payment, lies } in lied_about {
        must_be_unpaid(shop, payment, payment, lies).await?;
        if let Some(other) = other {
            must_be_unpaid(shop, other, payment, lies).await?;
        }
    }
    if shop.options.orders_command.is_none() {
        return Err(orders_missing());
    }
    let outcome = if is_read { Ok(()) } else { not_checked("The shop did not read the payment.") };
    let what = "The service gave untrue replies about a payment that nobody had paid.";
    let expected = payments.iter().filter(|_| shop.has_fresh_orders());
    let expected = expected.map(|payment| Expected::new(what, payment, Books::UNPAID)).collect();
    Ok(Kept { expected, outcome })
}

fn said(lies: &Lies) -> String {
    format!("Nobody paid, and the service's replies about the payment had {lies} (told {} times).", lies.told())
}

/// Untrue replies about the payment pay neither its order nor another one.
async fn must_be_unpaid(shop: &CheckedShop, order: &Payment, payment: &Payment, lies: &Lies) -> Outcome {
    let Payment { id, reference, .. } = payment;
    let sent = || format!("replies to the shop's reads of {id}, and to its creation under {reference}");
    shop.must_be_unpaid(order, || said(lies), sent).await
}

fn lie<'a>(shop: &'a CheckedShop, payment: &Payment, lies: &Arc<Lies>) -> Interfering<'a> {
    let (intent, reference) = (payment.id.clone(), payment.reference.clone());
    // A creation names no id, so its reply is compared by the reference alone.
    let target = if lies.replace_id() { Target::ReadsOf(intent) } else { Target::Payment { intent, reference } };
    shop.service.interfere(target, Kind::Lie(Arc::clone(lies)))
}

/// The payment of another order of `--order`.
async fn second_payment(shop: &CheckedShop, customer: &Customer) -> Option<Payment> {
    let order = shop.orders.borrow().open.get(1).cloned()?;
    let payment = shop.buy(customer, &order).await.ok()?;
    // An order that an earlier rule has paid is no victim.
    let is_unpaid = matches!(shop.books(&payment).await, Ok(Some(books)) if books.paid == 0);
    is_unpaid.then_some(payment)
}
