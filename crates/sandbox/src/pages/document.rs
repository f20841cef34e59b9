//! What the hosted page of a payment says in each of its states, as HTML.

use super::{CHECKOUT_STYLE, POLICY};
use crate::problem::Problem;
use crate::replies;
use crate::rules::{
    Cancellation, Decline, Intent, MAX_ATTEMPTS, NextAction, Operator, OperatorStatus, OperatorStatuses, PayingWith,
    Status,
};
use crate::server::site::Version;
use crate::server::static_file::gzip;
use crate::service::Service;
use crate::words::{Language, Sentence, codes, declines, hosted, methods, plain};
use askama::Template;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guichet::flow::{LateApproval, PaymentAsRead, late_approval, redirect_address};
use guichet::protocol::ErrorCode;
use guichet::values::{CardType, Country, FeeBearer, Moment};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;
use url::Url;

/// How many seconds a page without script waits before it asks again: at first, and once the payment has been under way for a while.
const REFRESH: (i64, i64) = (3, 10);
/// When a payment has been under way for a while, in seconds.
const LONG: i64 = 30;
/// How many seconds a page without script shows that the payment has succeeded before it leads to the shop.
const LEAVES_AFTER: i64 = 6;
/// How long after the payment the page leads to the shop by itself, in seconds. A customer who comes back later stays.
const LEAVES_WITHIN: i64 = 60;

/// A payment as its page shows it.
pub(super) struct Payment {
    pub(super) intent: Intent,
    pub(super) merchant: String,
    pub(super) operators: OperatorStatuses,
    pub(super) now: Moment,
}

impl Payment {
    /// What the customer pays.
    fn payable(&self, service: &Service) -> u64 {
        let amount = || self.intent.terms.amount.whole_units();
        self.intent.amount_payable(&service.fees).or_else(amount).unwrap_or_default()
    }

    /// Whether an operator may still take the money of a declined attempt, as every client reads it.
    fn late_approval(&self) -> LateApproval {
        let state = &self.intent.state;
        let mut read = PaymentAsRead::new(state.status.into_str().to_owned().into());
        read.attempts = Some(state.attempts);
        read.is_card = !self.is_mobile();
        read.is_declined = state.declined.is_some();
        read.approvable_until = replies::approvable_until(state);
        read.duplicates = state.duplicate_payments.len();
        read.expires_at = Some(self.intent.expires_at.unix());
        read.as_of = Some(self.now.unix());
        late_approval(&read)
    }

    /// Whether the customer may choose a method now.
    fn is_payable(&self, choosing: bool) -> bool {
        let state = &self.intent.state;
        let step = state.next_action.filter(|_| !choosing || state.next_action == Some(NextAction::Confirm));
        state.status == Status::RequiresAction && step.is_none()
    }

    fn is_mobile(&self) -> bool {
        matches!(self.intent.state.paying_with, Some(PayingWith::MobileMoney { .. }))
    }
}

/// What the customer asks the page for.
pub(super) struct Asked {
    pub(super) language: Language,
    /// Whether a cookie of the page's script shows that it runs.
    pub(super) has_script: bool,
    /// Whether the customer wants another method than the one that asks for a step.
    pub(super) choosing: bool,
    /// Why the form was refused.
    pub(super) problem: Option<Problem>,
    /// The phone that was typed.
    pub(super) phone: String,
}

/// The state that a page shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum View {
    Bank,
    Canceled,
    Code,
    Confirm,
    Declined,
    Expired,
    Failed,
    Ready,
    Succeeded,
    Waiting,
}

impl View {
    fn of(payment: &Payment, asked: &Asked) -> Self {
        let state = &payment.intent.state;
        match (state.status, state.next_action) {
            (Status::Processing, _) => Self::Waiting,
            (Status::Succeeded, _) => Self::Succeeded,
            (Status::Failed, _) => Self::Failed,
            (Status::Canceled, _) if state.cancellation == Some(Cancellation::Expired) => Self::Expired,
            (Status::Canceled, _) => Self::Canceled,
            (Status::RequiresAction, _) if payment.is_payable(asked.choosing) => {
                if state.declined.is_some() {
                    Self::Declined
                } else {
                    Self::Ready
                }
            }
            (Status::RequiresAction, Some(NextAction::Otp)) => Self::Code,
            (Status::RequiresAction, Some(NextAction::Redirect)) => Self::Bank,
            (Status::RequiresAction, _) => Self::Confirm,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bank => "bank",
            Self::Canceled => "canceled",
            Self::Code => "code",
            Self::Confirm => "confirm",
            Self::Declined => "declined",
            Self::Expired => "expired",
            Self::Failed => "failed",
            Self::Ready => "ready",
            Self::Succeeded => "succeeded",
            Self::Waiting => "waiting",
        }
    }

    fn is_final(self) -> bool {
        matches!(self, Self::Canceled | Self::Confirm | Self::Expired | Self::Failed | Self::Succeeded)
    }

    fn tone(self) -> &'static str {
        match self {
            Self::Confirm | Self::Succeeded => "good",
            Self::Declined | Self::Failed => "bad",
            _ => "info",
        }
    }
}

/// One form of a payment method.
struct Method {
    kind: &'static str,
    is_card: bool,
    label: &'static str,
    price: String,
    fee: String,
    pay: String,
}

/// One operator to choose.
struct OperatorChoice {
    code: &'static str,
    name: &'static str,
    is_closed: bool,
    note: &'static str,
}

/// The page. A text that is empty, and a list without entries, is left out.
#[derive(Default, Template)]
#[template(path = "checkout.html")]
struct Document<'a> {
    language: Language,
    assets: &'a str,
    style: &'static str,
    max_attempts: u32,
    prefixes: String,
    id: String,
    /// The client secret, if the page loads the script.
    secret: Option<String>,
    /// Whether the page is that of a link without a secret, whose script moves a secret in the fragment to the query.
    is_unknown: bool,
    /// The page's address.
    path: String,
    merchant: String,
    heading: String,
    amount: String,
    description: String,
    name: &'static str,
    tone: &'static str,
    title: String,
    sentences: Vec<String>,
    steps: Vec<String>,
    wrong: String,
    token: String,
    /// The version of the payment, so that an outdated form changes nothing.
    version: i64,
    methods: Vec<Method>,
    operators: Vec<OperatorChoice>,
    phone: &'a str,
    asks_for_code: bool,
    pay: String,
    receipt: Vec<(&'static str, String)>,
    issuer: String,
    can_retry: bool,
    can_check: bool,
    is_waiting: bool,
    is_final: bool,
    is_last: bool,
    can_choose: bool,
    can_abandon: bool,
    can_cancel: bool,
    shop: String,
    leave: &'static str,
}

/// The response with the page of a payment.
pub(super) fn respond(
    service: &Service,
    payment: &Payment,
    asked: &Asked,
    files: &Version,
    request: &HeaderMap,
) -> Response<Body> {
    let view = View::of(payment, asked);
    let mut document = Document { assets: files.assets(), ..written(service, payment, asked, view) };
    let since = payment.intent.state.status_history.last().map_or(0, |(at, _)| payment.now.unix() - at);
    let refresh = match view {
        _ if asked.has_script => None,
        View::Waiting => Some((if since > LONG { REFRESH.1 } else { REFRESH.0 }, document.path.clone())),
        View::Succeeded if since < LEAVES_WITHIN => ascii(&document.shop).map(|shop| (LEAVES_AFTER, shop)),
        _ => None,
    };
    let refresh = refresh.map(|(seconds, address)| format!("{seconds}; url={address}"));
    // A page that refreshes itself loads no script: the reload would end what the script does. Nor does one that says what is wrong with
    // a form, because the script would not say it.
    if refresh.is_some() || asked.problem.is_some() || !files.has("hosted.js") {
        document.secret = None;
    }
    let status = asked.problem.as_ref().map_or(StatusCode::OK, |problem| problem.status);
    let mut response = html(&document, status, request);
    let refresh = refresh.and_then(|refresh| HeaderValue::try_from(refresh).ok());
    response.headers_mut().extend(refresh.map(|refresh| (header::REFRESH, refresh)));
    response
}

/// The page of a link that opens no payment.
pub(super) fn link_wrong(language: Language, status: StatusCode, files: &Version) -> Response<Body> {
    let document = Document { is_unknown: true, ..Document::empty(language, files.assets()) };
    html(&document.saying("link_wrong", &hosted::LINK_WRONG, &plain::NO_COOKIE), status, &HeaderMap::new())
}

/// The page of a request that failed.
pub(super) fn trouble(language: Language, status: StatusCode, files: &Version) -> Response<Body> {
    let sentence = if status == StatusCode::PAYLOAD_TOO_LARGE { &codes::BODY_TOO_LARGE } else { &codes::UNAVAILABLE };
    let document = Document { can_retry: true, ..Document::empty(language, files.assets()) };
    html(&document.saying("trouble", &hosted::TROUBLE, sentence), status, &HeaderMap::new())
}

impl<'a> Document<'a> {
    fn empty(language: Language, assets: &'a str) -> Self {
        Self {
            language,
            assets,
            style: &CHECKOUT_STYLE,
            max_attempts: MAX_ATTEMPTS,
            prefixes: Operator::prefixes(),
            merchant: language.of(&hosted::PAY_TITLE).to_owned(),
            ..Self::default()
        }
    }

    /// A page that says one thing.
    fn saying(self, name: &'static str, title: &Sentence, sentence: &Sentence) -> Self {
        let say = |sentence| self.language.of(sentence).to_owned();
        Self { name, tone: "bad", title: say(title), sentences: vec![say(sentence)], ..self }
    }
}

/// The page of a payment, without the address of the files.
fn written<'a>(service: &Service, payment: &Payment, asked: &'a Asked, view: View) -> Document<'a> {
    let Payment { intent, merchant, .. } = payment;
    let (terms, state, language) = (&intent.terms, &intent.state, asked.language);
    let payable = language.money(payment.payable(service), &terms.currency);
    let is_open = payment.late_approval() != LateApproval::Never;
    let is_unsure =
        is_open && matches!(view, View::Ready | View::Declined | View::Failed | View::Canceled | View::Expired);
    let is_mobile = payment.is_mobile();
    let has_form = matches!(view, View::Ready | View::Declined);
    let shop = leads_to(intent);
    let title = if is_unsure { &hosted::UNSURE } else { title(view, is_mobile) };
    let has_step = matches!(view, View::Code | View::Bank);
    let secret = service.instance_key.client_secret(&intent.id).expose().to_owned();
    Document {
        id: intent.id.to_string(),
        secret: Some(secret),
        path: format!("/checkout/{}", intent.id),
        merchant: merchant.clone(),
        heading: language.fill(&hosted::PAY_MERCHANT, &[("merchant", merchant)]),
        amount: payable.clone(),
        description: terms.description.clone(),
        name: view.name(),
        tone: if is_unsure { "info" } else { view.tone() },
        title: language.of(title).to_owned(),
        sentences: sentences(service, payment, asked, view, is_unsure),
        steps: if view == View::Waiting && is_mobile {
            steps(state.paying_with.as_ref(), language)
        } else {
            Vec::new()
        },
        wrong: asked.problem.as_ref().map(|problem| wrong(problem, language).to_owned()).unwrap_or_default(),
        token: service.instance_key.form(&intent.id).expose().to_owned(),
        version: intent.version,
        methods: if has_form { forms(service, intent, language) } else { Vec::new() },
        operators: if has_form { operators(&payment.operators, language) } else { Vec::new() },
        phone: &asked.phone,
        asks_for_code: view == View::Code,
        pay: language.fill(&hosted::PAY_AMOUNT, &[("amount", &payable)]),
        receipt: if view == View::Succeeded { receipt(payment, language, payable) } else { Vec::new() },
        issuer: if view == View::Bank {
            replies::challenge_url(intent, &service.instance_key, &service.public_origin)
        } else {
            String::new()
        },
        can_check: view == View::Waiting || is_open,
        is_waiting: view == View::Waiting,
        is_final: view.is_final(),
        is_last: state.attempts >= MAX_ATTEMPTS,
        can_choose: has_step,
        can_abandon: view == View::Waiting && is_mobile,
        can_cancel: has_form || has_step,
        leave: language.of(if (has_form || has_step) && !is_open { &hosted::LEAVE_UNPAID } else { &hosted::LEAVE }),
        shop,
        ..Document::empty(language, "")
    }
}

fn title(view: View, is_mobile: bool) -> &'static Sentence {
    match view {
        View::Bank => &hosted::BANK,
        View::Canceled => &hosted::CANCELED,
        View::Code => &hosted::CODE,
        View::Confirm => &hosted::CONFIRM,
        View::Declined => &hosted::DECLINED,
        View::Expired => &hosted::EXPIRED,
        View::Failed => &hosted::FAILED,
        View::Ready => &hosted::CHOOSE,
        View::Succeeded => &hosted::SUCCEEDED,
        View::Waiting if is_mobile => &hosted::WAITING,
        View::Waiting => &hosted::WAITING_CARD,
    }
}

/// What the page says of the state: why the last attempt failed, whether money was taken, and what to do. The script says the same, but
/// that this page checks again by itself.
fn sentences(service: &Service, payment: &Payment, asked: &Asked, view: View, is_unsure: bool) -> Vec<String> {
    let (intent, state, language) = (&payment.intent, &payment.intent.state, asked.language);
    let money = |units: Option<u64>| language.money(units.unwrap_or_default(), &intent.terms.currency);
    let payable = money(Some(payment.payable(service)));
    let mut all: Vec<String> = Vec::new();
    let late = payment.late_approval();
    let declined = state.declined.filter(|_| matches!(view, View::Declined | View::Failed));
    let is_reason_known = !is_unsure || !view.is_final() && state.declined_until().is_none();
    if let Some(decline) = declined.filter(|_| is_reason_known) {
        all.push(language.of(reason(decline)).to_owned());
    }
    let unpaid = matches!(view, View::Declined | View::Failed | View::Canceled | View::Expired);
    for approval in &state.duplicate_payments {
        let amount = money(intent.amount_with(&approval.with, &service.fees));
        all.push(language.fill(&hosted::DUPLICATE_TEXT, &[("amount", &amount)]));
    }
    if unpaid && late == LateApproval::Never && state.duplicate_payments.is_empty() {
        all.push(language.of(&hosted::NOT_CHARGED).to_owned());
    }
    let operator = state.paying_with.as_ref().and_then(PayingWith::operator).and_then(Operator::of_code);
    let operator = operator.map_or_else(|| language.of(&hosted::YOUR_OPERATOR), |operator| operator.name);
    let values = [("amount", payable.as_str()), ("payee", &payment.merchant), ("operator", operator)];
    let mut own: Vec<&Sentence> = Vec::new();
    if is_unsure {
        match view {
            View::Failed => own.push(&hosted::FAILED_UNSURE),
            View::Canceled => own.push(&hosted::CANCELED_UNSURE),
            View::Expired => own.push(&hosted::EXPIRED_UNSURE),
            _ => {}
        }
        own.push(if view.is_final() { &hosted::OVER_UNSURE_TEXT } else { &plain::LOOK_TEXT });
    } else {
        let is_mobile = payment.is_mobile();
        own.extend(match view {
            View::Bank => Some(&hosted::BANK_TEXT),
            View::Canceled => Some(&hosted::CANCELED_TEXT),
            View::Code => Some(&hosted::CODE_TEXT),
            View::Confirm => Some(&hosted::CONFIRM_TEXT),
            View::Expired => Some(&hosted::EXPIRED_TEXT),
            View::Failed => Some(&hosted::FAILED_TEXT),
            View::Succeeded => Some(&hosted::SUCCEEDED_TEXT),
            View::Waiting if is_mobile => Some(&hosted::WAITING_ASKS),
            View::Waiting => Some(&hosted::WAITING_CARD_TEXT),
            View::Declined | View::Ready => None,
        });
    }
    if view == View::Declined {
        match MAX_ATTEMPTS.saturating_sub(state.attempts) {
            1 => own.push(&hosted::ATTEMPTS_LEFT_1),
            2 => own.push(&hosted::ATTEMPTS_LEFT_2),
            _ => {}
        }
    }
    all.extend(own.into_iter().map(|sentence| language.fill(sentence, &values)));
    if late != LateApproval::Never {
        if !is_unsure {
            all.push(language.of(&hosted::UNSURE_EARLIER).to_owned());
        }
        all.push(match late.until() {
            Some(until) => language.fill(&hosted::UNSURE_UNTIL, &[("until", &there(until).1)]),
            None => language.of(&hosted::UNSURE_OPEN).to_owned(),
        });
        let refund = if view == View::Succeeded { &hosted::UNSURE_PAID } else { &hosted::UNSURE_REFUND };
        all.push(language.of(refund).to_owned());
    }
    if view.is_final() && intent.terms.redirect_url.is_none() {
        all.push(language.of(&hosted::MAY_CLOSE).to_owned());
    }
    all
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

/// Why a form was refused.
fn wrong(problem: &Problem, language: Language) -> &'static str {
    let param = problem.param().unwrap_or_default();
    language.of(match param {
        // The phone is the only part of mobile money that a customer types.
        "payment_method" => &hosted::PHONE_WRONG,
        "payment_method.operator" => &hosted::PHONE_CLOSED,
        "payment_method.card.number" if problem.code == ErrorCode::TestCardRequired => &codes::TEST_CARD_REQUIRED,
        "payment_method.card.number" => &hosted::CARD_NUMBER_WRONG,
        "payment_method.card.exp_month" => &hosted::EXP_MONTH_WRONG,
        "payment_method.card.exp_year" => &hosted::EXP_YEAR_WRONG,
        "payment_method.card.cvc" => &hosted::CVC_WRONG,
        "otp" => &hosted::OTP_WRONG,
        "payment_method.type" => &codes::PAYMENT_METHOD_UNAVAILABLE,
        _ => &codes::PARAMETER_INVALID,
    })
}

/// What the customer does on the phone.
fn steps(with: Option<&PayingWith>, language: Language) -> Vec<String> {
    let operator = with.and_then(PayingWith::operator).and_then(Operator::of_code);
    let dial = operator.map(|operator| language.fill(&hosted::STEP_DIAL, &[("ussd", operator.ussd)]));
    let first = [&hosted::STEP_OPEN_PROMPT, &hosted::STEP_ENTER_PIN].map(|step| language.of(step).to_owned());
    first.into_iter().chain(dial).collect()
}

/// A form for each method that the payment takes, with what the customer pays by it.
fn forms(service: &Service, intent: &Intent, language: Language) -> Vec<Method> {
    let terms = &intent.terms;
    let money = |units: u64| language.money(units, &terms.currency);
    let amount = terms.amount.whole_units().unwrap_or_default();
    let fee = |kind: &str, card: CardType| -> Option<u64> {
        let is_free = terms.fee_bearer == FeeBearer::Merchant;
        let fee = service.fees.fee(kind, &terms.currency, &Country::cm(), card, amount).ok()?;
        Some(if is_free { 0 } else { fee })
    };
    let form = |kind: &'static str, label: &Sentence| {
        let (local, abroad) = (fee(kind, CardType::Local)?, fee(kind, CardType::International)?);
        let price = money(amount.saturating_add(local.max(abroad)));
        // The number decides which kind of card it is.
        let is_apart = local != abroad;
        Some(Method {
            kind,
            is_card: kind == "card",
            label: language.of(label),
            fee: if is_apart {
                String::new()
            } else if local == 0 {
                language.of(&hosted::FEE_NONE).to_owned()
            } else {
                language.fill(&hosted::FEE_INCLUDED, &[("fee", &money(local))])
            },
            pay: language.fill(if is_apart { &hosted::PAY_UP_TO } else { &hosted::PAY_AMOUNT }, &[("amount", &price)]),
            price,
        })
    };
    let all = [("mobile_money", &methods::MOBILE_MONEY), ("card", &methods::CARD)];
    all.into_iter().filter(|(kind, _)| terms.accepts(kind)).filter_map(|(kind, label)| form(kind, label)).collect()
}

fn operators(statuses: &OperatorStatuses, language: Language) -> Vec<OperatorChoice> {
    let choice = |operator: &'static Operator| {
        let status = statuses.of(operator.code);
        OperatorChoice {
            code: operator.code,
            name: operator.name,
            is_closed: status == OperatorStatus::Closed,
            note: match status {
                OperatorStatus::Closed => language.of(&hosted::OPERATOR_CLOSED),
                OperatorStatus::Delayed => language.of(&hosted::OPERATOR_DELAYED),
                OperatorStatus::Operational => "",
            },
        }
    };
    Operator::of_country(&Country::cm()).map(choice).collect()
}

fn receipt(payment: &Payment, language: Language, amount: String) -> Vec<(&'static str, String)> {
    let intent = &payment.intent;
    let (with, number) = match &intent.state.paying_with {
        Some(PayingWith::Card { brand, last4, .. }) => (brand.clone(), format!("**** {last4}")),
        Some(with @ PayingWith::MobileMoney { phone, .. }) => {
            let operator = with.operator().and_then(Operator::of_code).map(|operator| operator.name);
            (
                operator.unwrap_or_else(|| language.of(&methods::MOBILE_MONEY)).to_owned(),
                PayingWith::masked_phone(phone),
            )
        }
        None => (String::new(), String::new()),
    };
    let (date, time) = there(intent.created_at.unix());
    let rows = [
        (&hosted::RECEIPT_PAYEE, payment.merchant.clone()),
        (&hosted::RECEIPT_PAID_WITH, with),
        (&hosted::RECEIPT_NUMBER, number),
        (&hosted::RECEIPT_REFERENCE, intent.terms.merchant_reference.clone()),
        (&hosted::RECEIPT_DATE, format!("{date} {time}")),
        (&hosted::RECEIPT_TOTAL, amount),
    ];
    rows.into_iter().map(|(label, value)| (language.of(label), value)).filter(|(_, value)| !value.is_empty()).collect()
}

/// The date and the time at the customer's: the operators' country is one hour ahead of UTC all year.
fn there(unix: i64) -> (String, String) {
    let moment = Moment::from_unix(unix + 60 * 60).to_string();
    let (date, time) = moment.split_once('T').unwrap_or_default();
    (date.to_owned(), format!("{} (UTC+1)", time.get(..5).unwrap_or_default()))
}

/// The address of the shop with the parameters of a return, as `guichet/hosted` leaves to it. Empty if there is none.
fn leads_to(intent: &Intent) -> String {
    let known = [
        ("payment_intent", intent.id.as_str()),
        ("payment_ref", &intent.payment_ref),
        ("merchant_reference", &intent.terms.merchant_reference),
        ("status", intent.state.status.into_str()),
    ];
    let address = intent.terms.redirect_url.as_deref();
    address.and_then(|address| redirect_address(address, &[], &known).ok()).unwrap_or_default()
}

/// The same address in the characters that a header may have.
fn ascii(address: &str) -> Option<String> {
    Url::parse(address).ok().map(String::from)
}

/// The content security policy of the page: its one style is allowed by its digest.
static OWN_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let digest = STANDARD.encode(Sha256::digest(CHECKOUT_STYLE.as_bytes()));
    let policy = POLICY
        .replace("style-src 'self'", &format!("style-src 'self' 'sha256-{digest}'"))
        .replace("form-action 'none'", "form-action 'self'");
    HeaderValue::try_from(policy).expect("a policy is plain text")
});

pub(super) fn html(document: &impl Template, status: StatusCode, request: &HeaderMap) -> Response<Body> {
    let text = document.render().expect("a template writes to memory");
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, OWN_POLICY.clone());
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding, accept-language, cookie"));
    let compressed = gzip(text.as_bytes(), request);
    headers.extend(compressed.as_ref().map(|_| (header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))));
    *response.body_mut() = compressed.map_or_else(|| Body::from(text), Body::from);
    response
}
