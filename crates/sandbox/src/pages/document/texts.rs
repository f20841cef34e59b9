//! The sentences of the page of a payment: why the last attempt failed, whether money was taken, what to do, and the
//! receipt.

use super::{Amount, Payment, View, forms};
use crate::rules::{Decline, MAX_ATTEMPTS, Operator, OperatorStatus, PayingWith};
use crate::service::Service;
use crate::words::{Language, Sentence, Sentences, declines, hosted, methods, plain};
use guichet::flow::LateApproval;
use guichet::operations::Item;
use guichet::values::Moment;

/// After how many seconds of waiting the page says what the customer may look for, and that it takes longer than usual.
const NOTES: [(i64, &Sentence); 2] = [(90, &hosted::WAITING_VERY_LONG), (20, &hosted::WAITING_LONG)];

/// The texts of one page, in their order.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) title: &'static str,
    pub(super) reason: &'static str,
    pub(super) sentences: Vec<String>,
    pub(super) more: String,
    pub(super) notes: Vec<String>,
}

/// One thing to do on the phone. A code to dial stands between the texts.
pub(super) struct Step {
    pub(super) before: &'static str,
    pub(super) ussd: &'static str,
    pub(super) after: &'static str,
}

/// One item of the order.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) price: String,
}

/// One row of the receipt.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) value: String,
}

/// What the page says in this view. `is_unsure`: it is not known whether an operator takes the money of a declined
/// attempt, and nothing else matters more.
pub(super) fn texts(service: &Service, payment: &Payment, language: Language, view: View, is_unsure: bool) -> Texts {
    let (intent, state, entry) = (&payment.intent, &payment.intent.state, view.entry());
    let late = payment.late_approval();
    let currency = intent.terms.currency.as_str();
    let money =
        |units: Option<u64>| language.money(guichet::values::Amount::units(units.unwrap_or_default()), currency);
    let declined = state.declined.filter(|_| entry.is_unpaid);
    // At the end, the reason of the last attempt would contradict what is not known of an earlier one.
    let is_reason_known = !is_unsure || !entry.is_final && state.declined_until().is_none();

    let mut facts: Vec<String> = Vec::new();
    for approval in &state.duplicate_payments {
        let amount = money(intent.amount_with(&approval.with, &service.fees));
        facts.push(language.fill(&hosted::DUPLICATE_TEXT, &[("amount", &amount)]));
    }
    if entry.is_unpaid && late == LateApproval::Never && state.duplicate_payments.is_empty() {
        facts.push(language.of(&hosted::NOT_CHARGED).to_owned());
    }

    let mut own: Vec<&Sentence> = Vec::new();
    if is_unsure {
        own.extend(entry.in_doubt);
    } else {
        own.extend(entry.text);
    }
    if view == View::Declined {
        match MAX_ATTEMPTS.saturating_sub(state.attempts) {
            1 => own.push(&hosted::ATTEMPTS_LEFT_1),
            2 => own.push(&hosted::ATTEMPTS_LEFT_2),
            _ => {}
        }
    }
    if entry.is_final && intent.terms.redirect_url.is_none() {
        own.push(&hosted::MAY_CLOSE);
    }
    let (payable, operator) = (money(Some(payment.payable(service))), operator_of(payment));
    let operator_name = operator.map_or_else(|| language.of(&hosted::YOUR_OPERATOR), |operator| operator.name);
    let values = [("amount", payable.as_str()), ("payee", &payment.merchant), ("operator", operator_name)];
    let mut own: Vec<_> = own.into_iter().map(|sentence| language.fill(sentence, &values)).collect();
    if view == View::WaitingForPhone {
        // A wrong number is seen here, while the customer can still choose another one.
        own.extend(asked_phone(payment).map(|phone| language.fill(&plain::ASKED_PHONE, &[("phone", &phone)])));
    }
    let doubt = doubt(payment, late, language, view, is_unsure);

    // Of what is not known, that is the first thing to be read.
    let (sentences, more) = if is_unsure { (doubt, own) } else { (own, doubt) };
    let mut notes = Vec::new();
    if view == View::WaitingForPhone {
        let note = NOTES.iter().find(|(after, _)| payment.waited() >= *after);
        notes.extend(note.map(|(_, sentence)| language.of(sentence).to_owned()));
        let is_delayed =
            operator.is_some_and(|operator| payment.operators.of(operator.code) == OperatorStatus::Delayed);
        notes.extend(is_delayed.then(|| language.fill(&hosted::OPERATOR_SLOW, &values)));
    }
    Texts {
        title: language.of(if is_unsure { &hosted::UNSURE } else { entry.title }),
        reason: declined.filter(|_| is_reason_known).map(|decline| language.of(reason(decline))).unwrap_or_default(),
        sentences: facts.into_iter().chain(sentences).collect(),
        more: more.join(" "),
        notes,
    }
}

/// What is not known of a declined attempt, and until when.
fn doubt(payment: &Payment, late: LateApproval, language: Language, view: View, is_unsure: bool) -> Vec<String> {
    if late == LateApproval::Never {
        return Vec::new();
    }
    let mut doubt = Vec::new();
    if !is_unsure {
        doubt.push(language.of(&hosted::UNSURE_EARLIER).to_owned());
    }
    doubt.push(match late.until() {
        Some(until) => language.fill(&hosted::UNSURE_UNTIL, &[("until", &time_there(until, payment.now))]),
        None => language.of(&hosted::UNSURE_OPEN).to_owned(),
    });
    let refund = if view == View::Succeeded { &hosted::UNSURE_PAID } else { &hosted::UNSURE_REFUND };
    doubt.push(language.of(refund).to_owned());
    doubt
}

fn operator_of(payment: &Payment) -> Option<&'static Operator> {
    payment.intent.state.paying_with.as_ref().and_then(PayingWith::operator).and_then(Operator::of_code)
}

/// The phone that has the operator's question, as far as it may be shown.
fn asked_phone(payment: &Payment) -> Option<String> {
    match &payment.intent.state.paying_with {
        Some(PayingWith::MobileMoney { phone, .. }) => Some(PayingWith::masked_phone(phone)),
        _ => None,
    }
}

fn reason(decline: Decline) -> &'static Sentence {
    match decline {
        Decline::AuthenticationRequired => &declines::AUTHENTICATION_REQUIRED,
        Decline::ExpiredCard => &declines::EXPIRED_CARD,
        Decline::FraudBlocked => &declines::FRAUD_BLOCKED,
        Decline::Generic => &declines::GENERIC_DECLINE,
        Decline::IncorrectCvc => &declines::INCORRECT_CVC,
        Decline::IncorrectOtp => &declines::INCORRECT_OTP,
        Decline::InsufficientFunds => &declines::INSUFFICIENT_FUNDS,
        Decline::LimitExceeded => &declines::LIMIT_EXCEEDED,
        Decline::PayerNotFound => &declines::PAYER_NOT_FOUND,
        Decline::PayerTimeout => &declines::PAYER_TIMEOUT,
        Decline::ProcessingError => &declines::PROCESSING_ERROR,
        Decline::ProviderUnavailable => &declines::PROVIDER_UNAVAILABLE,
        Decline::RejectedByPayer => &declines::REJECTED_BY_PAYER,
    }
}

/// What the customer does on the phone.
pub(super) fn steps(payment: &Payment, language: Language) -> Vec<Step> {
    let first = [&hosted::STEP_OPEN_PROMPT, &hosted::STEP_ENTER_PIN];
    let first = first.map(|step| Step { before: language.of(step), ussd: "", after: "" });
    let dial = operator_of(payment).map(|operator| {
        let (before, after) = language.of(&hosted::STEP_DIAL).split_once("{ussd}").unwrap_or_default();
        Step { before, ussd: operator.ussd, after }
    });
    first.into_iter().chain(dial).collect()
}

impl Step {
    /// The address that dials the code.
    pub(super) fn dials(&self) -> String {
        self.ussd.replace('#', "%23")
    }
}

/// The items of the order. What cannot be read is left out: the description stands above them.
pub(super) fn items(payment: &Payment, language: Language) -> Vec<Line> {
    let terms = &payment.intent.terms;
    let items = terms.items.as_deref().and_then(|items| serde_json::from_str::<Vec<Item>>(items.get()).ok());
    let line = |item: Item| {
        let price = language.money(item.price, item.currency.as_str());
        Line { name: item.name, price: format!("{} × {price}", item.quantity) }
    };
    items.into_iter().flatten().map(line).collect()
}

/// The receipt. It shows no secret, and of a number what the service shows.
pub(super) fn receipt(payment: &Payment, language: Language, amount: &Amount, fee: &str) -> Vec<Row> {
    let intent = &payment.intent;
    let (with, number) = match &intent.state.paying_with {
        Some(PayingWith::Card { brand, last4, .. }) => {
            (language.of(&methods::CARD).to_owned(), format!("{brand} •••• {last4}"))
        }
        Some(PayingWith::MobileMoney { phone, .. }) => {
            let operator = operator_of(payment).map(|operator| operator.name);
            (
                operator.unwrap_or_else(|| language.of(&methods::MOBILE_MONEY)).to_owned(),
                PayingWith::masked_phone(phone),
            )
        }
        None => (String::new(), String::new()),
    };
    let (date, time) = there(intent.created_at.unix());
    let rows = [
        ("payee", &hosted::RECEIPT_PAYEE, payment.merchant.clone()),
        ("paid_with", &hosted::RECEIPT_PAID_WITH, with),
        ("number", &hosted::RECEIPT_NUMBER, number),
        ("reference", &hosted::RECEIPT_REFERENCE, intent.terms.merchant_reference.clone()),
        ("date", &hosted::RECEIPT_DATE, format!("{date} {time}")),
        ("total", &hosted::RECEIPT_TOTAL, [&amount.0, fee].join("\n").trim().to_owned()),
    ];
    let row = |(name, label, value)| Row { name, label: language.of(label), value };
    rows.map(row).into_iter().filter(|row| !row.value.is_empty()).collect()
}

/// What the customer pays, and their fee in it.
pub(super) fn paid(service: &Service, payment: &Payment, language: Language) -> (Amount, String) {
    let terms = &payment.intent.terms;
    let (payable, amount) = (payment.payable(service), terms.amount.whole_units().unwrap_or_default());
    let fee = payable.saturating_sub(amount);
    let money = |units| language.money(guichet::values::Amount::units(units), terms.currency.as_str());
    (Amount(money(payable)), forms::fee_included(fee, &money(fee), language))
}

/// The date and the time at the customer's: the operators' country is one hour ahead of UTC all year.
fn there(unix: i64) -> (String, String) {
    let moment = Moment::from_unix(unix + 60 * 60).to_string();
    let (date, time) = moment.split_once('T').unwrap_or_default();
    (date.to_owned(), format!("{} (UTC+1)", time.get(..5).unwrap_or_default()))
}

/// The time at the customer's, with the date if it is not today.
fn time_there(unix: i64, now: Moment) -> String {
    let (date, time) = there(unix);
    if there(now.unix()).0 == date { time } else { format!("{date} {time}") }
}
